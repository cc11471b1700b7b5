"""One number for each distance: where it is added, who shares it, and what is refused."""
import numpy as np
import pytest
from numpy.testing import assert_allclose

import numpy_attention as na

from ..standard import MASK, QKV, H, L, S, draw


def test_the_bias_is_added_before_or_behind_the_cap():
    Q, K, V = QKV
    for first in (False, True):
        inner = na.ScaledDotProductAttention(softcap=0.5, bias_first=first)
        attention = na.RelativeBiasAttention(H, num_buckets=8, max_distance=4, rng=0, attention=inner)
        attention(Q, K, V)
        scores, bias = Q @ K.mT / np.sqrt(Q.shape[-1]), attention.relative_bias(na.relative_places(L, S))
        adjusted = 0.5 * np.tanh((scores + bias) / 0.5) if first else 0.5 * np.tanh(scores / 0.5) + bias
        assert_allclose(attention.weights, na.Softmax()(adjusted), rtol=0, atol=1e-15)


def test_all_sequences_and_pairs_of_one_distance_add_up():
    layer = na.RelativePositionBias(H, num_buckets=8, max_distance=20, rng=0)
    dbias = draw(1, H, L, S)
    buckets = na.t5_buckets(na.relative_places(L, S), num_buckets=8, max_distance=20)
    layer(na.relative_places(L, S))
    layer.backward(dbias)
    for bucket in range(8):
        assert_allclose(layer.grads["table"][bucket], dbias[0][:, buckets == bucket].sum(axis=-1), rtol=0, atol=1e-14)


def test_a_given_bias_is_added_and_keeps_its_shape():
    attention = na.RelativeBiasAttention(H, num_buckets=8, max_distance=4, rng=0)
    bias = draw(L, S)
    attention(*QKV, mask=MASK, bias=bias)
    attention.backward(draw(*attention.cache["heads"].shape))
    assert attention.grads["bias"].shape == bias.shape
    na.check_gradients(attention, *QKV, mask=MASK, bias=bias).assert_ok()


def test_what_does_not_fit_is_refused():
    with pytest.raises(TypeError, match="relative must hold whole numbers, got dtype float64"):
        na.t5_buckets([0.5])
    with pytest.raises(ValueError, match="num_buckets = 2 must leave at least one exact distance each way"):
        na.RelativePositionBias(H, num_buckets=2)
    with pytest.raises(ValueError, match=r"Q must have shape \(\.\.\., H, L, d_k\) with H = 2"):
        na.RelativeBiasAttention(2)(*QKV)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_buckets_do_not_depend_on_the_kind_of_whole_numbers(dtype, bidirectional):
    ends = np.array([np.iinfo(dtype).min, 0, 1, 9, np.iinfo(dtype).max], dtype)
    found = na.t5_buckets(ends, bidirectional=bidirectional)
    near = np.clip(ends.astype(float), -128, 128).astype(int)
    np.testing.assert_array_equal(found, na.t5_buckets(near, bidirectional=bidirectional))
    assert (found >= 0).all() and (found < 32).all()


def test_nobody_there():
    mha = na.MultiHeadAttention(4, 2, attention=na.RelativeBiasAttention(2, rng=0), rng=0)
    mha(np.zeros((2, 0, 4)))
    assert mha.backward(np.zeros((2, 0, 4))).shape == (2, 0, 4)
    assert (mha.attention.relative_bias.grads["table"] == 0).all()
    assert na.MergeHeads().forward(np.zeros((0, 3, 4))).shape == (3, 0)
