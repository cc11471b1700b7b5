"""Softmax: overflow, hidden cells, and gradients that a constant upstream gradient cannot see."""
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na
from numpy_attention.engine import row_blocks

from ..standard import H, L, N, S, draw


@pytest.mark.parametrize("scores", [
    [[1000, 1001], [0, 1]],                     # no maximum subtracted: row 0 overflows
    [[-1001, -1000], [1000, 1001]],             # the whole array's maximum subtracted: row 0 underflows
    [[1e6, 1e6 + 1], [-1e6, 1 - 1e6]],
])
def test_each_row_subtracts_its_own_maximum(scores):
    assert_allclose(na.Softmax()(scores), [[0.268941, 0.731059]] * 2, atol=1e-6)


@pytest.mark.parametrize("big", [1e308, np.finfo(float).max])
def test_the_largest_scores_there_are(big):
    softmax = na.Softmax()
    weights = softmax([[big, -big, 0], [-big, -big, -big], [big, big, -big]])
    assert_array_equal(weights, [[1, 0, 0], [1 / 3] * 3, [0.5, 0.5, 0]])
    assert np.isfinite(softmax.backward(draw(3, 3))).all()


def test_shares_are_taken_along_the_last_axis():
    scores = draw(N, H, L, S)
    assert_allclose(na.Softmax()(scores).sum(axis=-1), np.ones((N, H, L)), rtol=1e-14)
    assert_array_equal(na.Softmax()([1.0, 1.0]), [0.5, 0.5])


def test_hidden_cells_leave_the_others_whole_shares():
    # Hiding after the softmax would leave a row that sums to a half.
    assert_array_equal(na.Softmax()(np.ones((1, 4)), mask=[[True, True, False, False]]), [[0.5, 0.5, 0, 0]])


def test_a_mask_and_minus_infinity_are_the_same():
    scores, mask, dweights = draw(L, S), draw(L, S, seed=1) > -0.5, draw(L, S, seed=2)
    mask[1] = False
    selected, infinite = na.Softmax(), na.Softmax()
    assert_array_equal(selected(scores, mask=mask), infinite(np.where(mask, scores, -np.inf)))
    assert_array_equal(selected.backward(dweights), infinite.backward(dweights))
    assert_array_equal(selected.cache["weights"][1], np.zeros(S))
    assert_array_equal(selected.grads["scores"][1], np.zeros(S))


@pytest.mark.parametrize("content", [np.nan, np.inf, -np.inf, 1e308])
def test_what_a_hidden_cell_holds_changes_nothing(content):
    scores, dweights, mask = draw(L, S), draw(L, S, seed=2), np.arange(S) != 3
    mask = np.broadcast_to(mask, (L, S))
    softmax = na.Softmax()
    expected = softmax(scores, mask=mask), softmax.backward(dweights)
    scores[:, 3] = dweights[:, 3] = content
    assert_array_equal(softmax(scores, mask=mask), expected[0])
    assert_array_equal(softmax.backward(dweights), expected[1])


def test_the_gradient_at_hidden_cells_is_exactly_zero():
    softmax = na.Softmax()
    weights = softmax([[4, -np.inf, 4, 4, 4]])
    assert_array_equal(weights, [[0.25, 0, 0.25, 0.25, 0.25]])
    assert_array_equal(softmax.backward([[0, 0, 1, 0, 0]]), [[-.0625, 0, .1875, -.0625, -.0625]])


def test_gradients_compete():
    # Shares of a row always sum to 1, so the gradients of its scores sum to 0, and a constant upstream gives 0.
    softmax = na.Softmax()
    weights = softmax(draw(N, H, L, S))
    dweights = draw(N, H, L, S, seed=1)
    dscores = softmax.backward(dweights)
    assert_allclose(dscores.sum(axis=-1), np.zeros((N, H, L)), atol=1e-15)
    assert_allclose(softmax.backward(np.ones_like(weights)), np.zeros_like(weights), atol=1e-15)
    one = weights[1, 2, 3]
    jacobian = np.diag(one) - np.outer(one, one)
    assert_allclose(dscores[1, 2, 3], jacobian @ dweights[1, 2, 3], atol=1e-15)


def test_nan_in_the_open_shows_itself():
    weights = na.Softmax()([[np.nan, 1.0], [0.0, 0.0]])
    assert_array_equal(weights, [[np.nan, np.nan], [0.5, 0.5]])


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4), (2, 0, 0)])
def test_empty_rows(shape):
    softmax = na.Softmax()
    assert softmax(np.zeros(shape)).shape == shape
    assert softmax.backward(np.zeros(shape)).shape == shape


def test_a_number_is_no_row():
    with pytest.raises(ValueError, match=r"scores must have shape \(\.\.\., S\); got \(\)"):
        na.Softmax()(3.0)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("block", [1, 7, 100, 10**9])
def test_blocks_and_threads_do_not_change_a_bit(monkeypatch, block, threads):
    scores, mask, dweights = draw(3, 5, 4, 9), draw(3, 5, 4, 9, seed=1) > -0.5, draw(3, 5, 4, 9, seed=2)
    softmax = na.Softmax()
    expected = softmax(scores, mask=mask), softmax.backward(dweights)
    monkeypatch.setattr(row_blocks, "BLOCK", block)
    monkeypatch.setattr(row_blocks, "THREADS", threads)
    assert_array_equal(softmax(scores, mask=mask), expected[0])
    assert_array_equal(softmax.backward(dweights), expected[1])


@pytest.mark.parametrize("shape", [(2, 300, 500), (3, 200_001)])
def test_long_rows_and_many(shape):
    # Large enough to be cut into blocks for real; hidden NaN and -inf stay silent in the threads, too.
    scores = draw(*shape)
    scores[0, ..., :3] = np.nan, np.inf, -1e308
    mask = np.ones(shape, bool)
    mask[0, ..., :3] = False
    softmax = na.Softmax()
    weights = softmax(scores, mask=mask)
    shares = np.where(mask, np.exp(np.where(mask, scores, 0)), 0)
    assert_allclose(weights, shares / shares.sum(axis=-1, keepdims=True), rtol=1e-12)
    dweights = draw(*shape, seed=1)
    dscores = softmax.backward(dweights)
    felt = weights * dweights
    assert_allclose(dscores, felt - weights * felt.sum(axis=-1, keepdims=True), rtol=1e-9, atol=1e-18)
