"""LayerNorm: what it cannot feel, constant rows, several axes, bad settings."""
import numpy as np
import pytest
from numpy.testing import assert_allclose

import numpy_attention as na

from ..standard import D, L, N, draw, randomise


def test_rows_have_mean_0_and_spread_1():
    out = na.LayerNorm(D, eps=0)(draw(N, L, D) * 5 + 3)
    np.testing.assert_allclose(out.mean(axis=-1), 0, atol=1e-14)
    np.testing.assert_allclose(out.std(axis=-1), 1)


def test_shifting_and_stretching_a_row_changes_nothing():
    x, layer = draw(N, L, D), randomise(na.LayerNorm(D, eps=0))
    np.testing.assert_allclose(layer(x * 3 - 7), layer(x), rtol=1e-12)


def test_so_the_gradient_has_no_part_along_either():
    x, layer = draw(N, L, D), randomise(na.LayerNorm(D, eps=0))
    layer(x)
    dx = layer.backward(draw(N, L, D, seed=1))
    np.testing.assert_allclose(dx.sum(axis=-1), 0, atol=1e-13)
    np.testing.assert_allclose((dx * x).sum(axis=-1), 0, atol=1e-13)


def test_a_constant_row_gives_beta():
    layer = randomise(na.LayerNorm(D))
    out = layer(np.full((3, D), 7.0))
    np.testing.assert_array_equal(out, np.broadcast_to(layer.params["beta"], (3, D)))
    assert np.isfinite(layer.backward(draw(3, D))).all()


def test_a_large_offset_costs_no_digits_of_the_rest():
    x = np.arange(4.0)
    np.testing.assert_allclose(na.LayerNorm(4)(x + 1e8), na.LayerNorm(4)(x), rtol=1e-7)


def test_several_axes_are_one_row():
    x = draw(N, L, D)
    flat = na.LayerNorm(L * D)
    whole = na.LayerNorm((L, D))
    np.testing.assert_allclose(whole(x).reshape(N, -1), flat(x.reshape(N, -1)))
    dout = draw(N, L, D, seed=1)
    np.testing.assert_allclose(whole.backward(dout).reshape(N, -1), flat.backward(dout.reshape(N, -1)))
    np.testing.assert_allclose(whole.grads["gamma"].ravel(), flat.grads["gamma"])
    assert whole(x[0]).shape == (L, D)


def test_a_list_of_axes_and_an_empty_batch():
    layer = na.LayerNorm([L, D])
    assert layer(np.zeros((0, L, D))).shape == (0, L, D)
    assert layer.backward(np.zeros((0, L, D))).shape == (0, L, D)
    assert not layer.grads["gamma"].any()


@pytest.mark.parametrize(("affine", "bias", "names"), [(True, True, ["gamma", "beta"]), (True, False, ["gamma"]),
                                                       (False, True, []), (False, False, [])])
def test_what_is_learned(affine, bias, names):
    layer = na.LayerNorm(D, affine=affine, bias=bias)
    layer(draw(L, D))
    layer.backward(draw(L, D))
    assert [*layer.params] == names
    assert sorted(layer.named_grads()) == sorted(names)


def test_float32_stays_float32_and_eps_counts_in_float16():
    layer = na.LayerNorm(D)
    layer(draw(L, D).astype(np.float32))
    assert {array.dtype for array in layer.cache.values()} == {np.dtype(np.float32)}
    assert np.isfinite(layer(np.full((1, D), 1e-4, np.float16))).all()


@pytest.mark.parametrize("shape", [(D + 1,), (L, D - 1), (), (D, L), (L, 1)])
def test_another_width_is_refused(shape):
    with pytest.raises(ValueError, match=rf"x must have shape \(\.\.\., {D}\)"):
        na.LayerNorm(D)(np.zeros(shape))
    with pytest.raises(ValueError, match=rf"\(\.\.\., {L}, {D}\)"):
        na.LayerNorm((L, D))(np.zeros(shape))


@pytest.mark.parametrize("wrong", [0, -1, (), (4, 0), 2.0, True, "8", None])
def test_sizes_that_are_none_are_refused(wrong):
    for make in (na.LayerNorm, na.RMSNorm):
        with pytest.raises((TypeError, ValueError), match="normalized_shape"):
            make(wrong)


@pytest.mark.parametrize("wrong", [-1e-5, np.nan, np.inf, "small", None, True, [1e-5]])
def test_an_eps_that_is_none_is_refused(wrong):
    for make in (na.LayerNorm, na.RMSNorm):
        with pytest.raises(ValueError, match="eps"):
            make(D, eps=wrong)


@pytest.mark.parametrize("make", [na.LayerNorm, na.RMSNorm])
@pytest.mark.parametrize(("dtype", "large"), [(np.float32, 1e20), (np.float64, 1e200)])
def test_rows_whose_squares_overflow_are_normed_all_the_same(make, dtype, large):
    layer, x = make(8), draw(3, 8)
    x[1] = 0                                                        # beside the large rows, one of zeros
    expected = make(8, eps=0.0 if make is na.RMSNorm else 1e-300)(np.where(x == 0, 1, x))
    out = layer((x * large).astype(dtype))
    assert out.dtype == dtype
    assert_allclose(out[[0, 2]], expected[[0, 2]], rtol=1e-5 if dtype == np.float32 else 1e-12)
    assert_allclose(out[1], 0)
    assert np.isfinite(layer.backward(np.ones((3, 8), dtype))).all()
