"""RMSNorm: what it cannot feel, rows of zeros, and how it differs from LayerNorm."""
import numpy as np
import pytest

import numpy_attention as na

from ..standard import D, L, N, draw, randomise


def test_rows_have_mean_square_1():
    out = na.RMSNorm(D, eps=0)(draw(N, L, D) * 5 + 3)
    np.testing.assert_allclose((out**2).mean(axis=-1), 1)


def test_stretching_a_row_changes_nothing_shifting_it_does():
    x, layer = draw(N, L, D), randomise(na.RMSNorm(D, eps=0))
    np.testing.assert_allclose(layer(x * 3), layer(x), rtol=1e-12)
    assert np.abs(layer(x + 3) - layer(x)).max() > 0.1
    dx = layer.backward(draw(N, L, D, seed=1))
    x = layer.cache["x"]
    np.testing.assert_allclose((dx * x).sum(axis=-1), 0, atol=1e-13)


def test_of_rows_with_mean_0_it_is_layer_norm():
    x = draw(N, L, D)
    x -= x.mean(axis=-1, keepdims=True)
    np.testing.assert_allclose(na.RMSNorm(D)(x), na.LayerNorm(D)(x))


def test_a_row_of_zeros_stays_zero():
    layer = na.RMSNorm(D)
    assert not layer(np.zeros((3, D))).any()
    assert np.isfinite(layer.backward(draw(3, D))).all()


def test_several_axes_are_one_row():
    x = draw(N, L, D)
    np.testing.assert_allclose(na.RMSNorm((L, D))(x).reshape(N, -1), na.RMSNorm(L * D)(x.reshape(N, -1)))


def test_another_width_is_refused():
    with pytest.raises(ValueError, match=rf"\(\.\.\., {D}\).*\({N}, {D + 1}\)"):
        na.RMSNorm(D)(np.zeros((N, D + 1)))
