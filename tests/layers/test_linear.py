"""Linear: sums over every leading axis, for the bias too, and rows that nobody listened to."""
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

from ..standard import L, N, draw, randomise


@pytest.mark.parametrize(("lead", "rows"), [((), 1), ((3,), 3), ((2, 3), 6), ((2, 3, 5), 30), ((0, 3), 0)])
def test_the_bias_hears_from_every_row(lead, rows):
    # A sum over all leading axes, neither a mean nor a sum over the first axis alone.
    layer = na.Linear(5, 4, rng=0)
    layer(np.ones((*lead, 5)))
    dx = layer.backward(np.ones((*lead, 4)))
    assert_array_equal(layer.grads["b"], [rows] * 4)
    assert_array_equal(layer.grads["W"], np.full((5, 4), rows))
    assert dx.shape == (*lead, 5)


def test_rows_side_by_side_equal_rows_one_by_one():
    layer = randomise(na.Linear(5, 4))
    x = draw(N, L, 5)
    assert_allclose(layer(x), [[layer(row) for row in rows] for rows in x], rtol=1e-13)


def test_a_row_without_gradient_teaches_nothing_even_if_it_holds_nan():
    # Padding may hold anything: 0 · NaN must not become the gradient of every weight.
    layer = randomise(na.Linear(5, 4))
    x, dout = draw(6, 5), draw(6, 4, seed=1)
    dout[2] = 0
    layer(x)
    layer.backward(dout)
    expected = layer.grads["W"]
    x[2] = [np.nan, np.inf, -np.inf, 1e308, 0]
    layer(x)
    layer.backward(dout)
    assert_array_equal(layer.grads["W"], expected)


def test_a_nan_that_matters_shows_itself():
    layer = randomise(na.Linear(5, 4))
    out = layer(np.where(np.arange(15).reshape(3, 5) == 7, np.nan, 1.0))
    assert_array_equal(np.isnan(out).all(axis=1), [False, True, False])
    layer.backward(np.ones((3, 4)))
    assert_array_equal(np.isnan(layer.grads["W"]).all(axis=1), np.arange(5) == 2)


def test_the_start_is_seeded_and_scaled():
    layer = na.Linear(400, 300, rng=7)
    assert_array_equal(layer.params["W"], na.Linear(400, 300, rng=np.random.default_rng(7)).params["W"])
    assert_allclose(layer.params["W"].std(), 1 / 20, rtol=0.02)
    assert_array_equal(layer.params["b"], np.zeros(300))
    assert "b" not in na.Linear(4, 3, bias=False).params


@pytest.mark.parametrize("shape", [(), (4,), (5, 4), (5, 1), (5, 2, 0)])
def test_a_wrong_width_is_named(shape):
    with pytest.raises(ValueError, match="in_features = 5") as raised:
        na.Linear(5, 4)(np.zeros(shape))
    assert f"got {shape}" in str(raised.value)
