"""Mean squared error: by its formula, both gradients, and shapes that must not be broadcast."""
import numpy as np
import pytest

import numpy_attention as na

from ..standard import draw

P, T = draw(3, 4), draw(3, 4, seed=1)


def test_by_its_formula():
    assert na.MeanSquaredError()(P, T) == pytest.approx(((P - T) ** 2).mean())
    assert na.MeanSquaredError(reduction="sum")(P, T) == pytest.approx(((P - T) ** 2).sum())
    np.testing.assert_allclose(na.MeanSquaredError(reduction="none")(P, T), (P - T) ** 2)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gradients(reduction):
    loss = na.MeanSquaredError(reduction=reduction)
    na.check_gradients(loss, P, T).assert_ok()
    loss(P, T)
    dprediction, dtarget = loss.backward(*([np.ones((3, 4))] if reduction == "none" else []))
    np.testing.assert_array_equal(dprediction, -dtarget)


@pytest.mark.parametrize("target", [T[:1], T[0], T[..., None], T.T, 0.0])
def test_nothing_is_broadcast(target):
    with pytest.raises(ValueError, match="prediction and target must have the same shape"):
        na.MeanSquaredError()(P, target)


def test_the_mean_over_nothing_is_0():
    loss = na.MeanSquaredError()
    assert loss(np.zeros((0, 3)), np.zeros((0, 3))) == 0
    assert [d.shape for d in loss.backward()] == [(0, 3), (0, 3)]


def test_float32_stays_float32_and_whole_numbers_become_floats():
    loss = na.MeanSquaredError()
    assert loss(P.astype(np.float32), T.astype(np.float32)).dtype == np.float32
    assert {d.dtype for d in loss.backward()} == {np.dtype(np.float32)}
    assert loss([1, 2], [1, 4]) == 2.0


def test_other_reductions_are_refused():
    with pytest.raises(ValueError, match="mean, sum, none"):
        na.MeanSquaredError(reduction="max")
