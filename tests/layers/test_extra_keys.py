"""Extra keys: where they stand, that nobody is without a key, and what their gradients add up to."""
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

from ..standard import MASK, QKV, H, L, N, S, d_k, d_v, draw, randomise

BOTH = {"learned": True, "zero": True}


def made(**rows):
    return randomise(na.ExtraKeyAttention(H, d_k, d_v, **rows))


@pytest.mark.parametrize("rows", [{}, {"learned": False, "zero": True}, BOTH, {"learned": False}], ids=str)
def test_it_is_attention_with_more_rows_behind(rows):
    layer, (Q, K, V) = made(**rows), QKV
    rows = {"learned": True, "zero": False, **rows}
    for name, given in (("extra_key", "K"), ("extra_value", "V")):
        array = K if given == "K" else V
        if rows["learned"]:
            array = np.concatenate([array, np.broadcast_to(layer.params[name], (N, H, 1, array.shape[-1]))], axis=2)
        if rows["zero"]:
            array = np.concatenate([array, np.zeros((N, H, 1, array.shape[-1]))], axis=2)
        K, V = (array, V) if given == "K" else (K, array)
    extra = sum(rows.values())
    mask = np.concatenate([MASK, np.ones((N, H, L, extra), bool)], axis=-1)
    plain = na.ScaledDotProductAttention()
    assert_allclose(layer(*QKV, mask=MASK), plain(Q, K, V, mask=mask), rtol=1e-13)
    assert layer.weights.shape == (N, H, L, S + extra)
    dheads = draw(N, H, L, d_v, seed=5)
    dQ, dK, dV = plain.backward(dheads)
    for mine, theirs in zip(layer.backward(dheads), (dQ, dK[..., :S, :], dV[..., :S, :]), strict=True):
        assert_allclose(mine, theirs, rtol=1e-12, atol=1e-14)
    if rows["learned"]:
        assert_allclose(layer.grads["extra_key"], dK[..., S:S + 1, :].sum(axis=0), rtol=1e-12)
        assert_allclose(layer.grads["extra_value"], dV[..., S:S + 1, :].sum(axis=0), rtol=1e-12)


def test_a_query_whose_keys_are_all_hidden_looks_at_the_extra_one():
    layer = made()
    heads = layer(*QKV, mask=np.zeros((L, S), bool))
    assert_array_equal(layer.weights, np.broadcast_to(np.eye(S + 1)[S], layer.weights.shape))
    assert_allclose(heads, np.broadcast_to(layer.params["extra_value"], heads.shape))


@pytest.mark.parametrize("shape", [(L, 1), (1, 1), (L, S), (N, L, 1), (N, 1, 1, S), (N, H, 1, 1)], ids=str)
def test_the_gradient_of_every_shape_of_bias(shape):
    # A bias of one column is for all the real keys, and for none of the extra ones.
    layer, bias, step = made(**BOTH), draw(*shape, seed=6), 1e-30
    dheads = draw(*layer(*QKV, bias=bias).shape, seed=5)
    layer.backward(dheads)
    dbias = layer.grads["bias"]
    assert dbias.shape == shape
    for cell in np.ndindex(shape):
        moved = bias.astype(complex)
        moved[cell] += 1j * step
        measured = (layer(*QKV, bias=moved) * dheads).sum().imag / step
        assert_allclose(dbias[cell], measured, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(("place", "shape"), [(1, (N, 1, S, d_k)), (1, (N, H, S, d_k + 1)), (2, (N, H, S, d_k)),
                                              (1, (S, d_k))])
def test_keys_and_values_that_do_not_fit(place, shape):
    given = list(QKV)
    given[place] = np.ones(shape)
    with pytest.raises(ValueError, match="must have shape|must share"):
        made()(*given)
