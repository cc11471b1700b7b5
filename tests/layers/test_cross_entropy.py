"""Cross-entropy: by its formula, what does not count, extreme scores, and bad targets."""
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

import numpy_attention as na

from ..standard import draw

C = 5
LOGITS, TARGET = draw(3, 4, C), np.random.default_rng(0).integers(0, C, (3, 4))
WEIGHTS = np.array([1.0, 0.0, 2.0, 0.5, 3.0])
SETTINGS = {
    "plain": {},
    "ignored": {"ignore_index": 2},
    "weighted": {"class_weights": WEIGHTS},
    "smoothed": {"label_smoothing": 0.2},
    "all": {"ignore_index": 2, "class_weights": WEIGHTS, "label_smoothing": 0.2},
}


def by_hand(logits, target, *, ignore_index=-100, class_weights=None, label_smoothing=0.0):
    """[loss] and [weight] of each target, with a loop."""
    class_weights = np.ones(C) if class_weights is None else class_weights
    losses, counted = [], []
    for row, t in zip(logits.reshape(-1, C), target.ravel(), strict=True):
        logs = np.log(np.exp(row) / np.exp(row).sum())
        right = -class_weights[t] * logs[t]
        spread = -(class_weights * logs).mean()
        keep = t != ignore_index
        losses.append(keep * ((1 - label_smoothing) * right + label_smoothing * spread))
        counted.append(keep * class_weights[t])
    return np.array(losses), np.array(counted)


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_by_its_formula(settings):
    losses, counted = by_hand(LOGITS, TARGET, **settings)
    assert na.CrossEntropyLoss(**settings)(LOGITS, TARGET) == pytest.approx(losses.sum() / counted.sum())
    assert na.CrossEntropyLoss(**settings, reduction="sum")(LOGITS, TARGET) == pytest.approx(losses.sum())
    each = na.CrossEntropyLoss(**settings, reduction="none")(LOGITS, TARGET)
    np.testing.assert_allclose(each, losses.reshape(3, 4))


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_gradients(settings, reduction):
    na.check_gradients(na.CrossEntropyLoss(**settings, reduction=reduction), LOGITS, TARGET).assert_ok()


def test_the_gradient_is_what_was_said_minus_what_was_wanted():
    loss = na.CrossEntropyLoss(reduction="sum")
    loss(LOGITS, TARGET)
    np.testing.assert_allclose(loss.backward(), na.Softmax()(LOGITS) - np.eye(C)[TARGET], atol=1e-15)


def test_a_scalar_loss_starts_the_backward_pass():
    loss = na.CrossEntropyLoss()
    loss(LOGITS, TARGET)
    dlogits = loss.backward()
    np.testing.assert_array_equal(loss.backward(1.0), dlogits)
    np.testing.assert_allclose(loss.backward(3.0), 3 * dlogits)
    each = na.CrossEntropyLoss(reduction="none")
    each(LOGITS, TARGET)
    with pytest.raises(TypeError, match=r"dlosses.*\(3, 4\)"):
        each.backward()
    with pytest.raises(ValueError, match="dlosses"):
        each.backward(1.0)
    with pytest.raises(RuntimeError, match="needs a forward pass first"):
        na.CrossEntropyLoss().backward()


def test_inside_another_layer_too():
    class Model(na.Layer):
        def __init__(self):
            super().__init__()
            self.linear, self.loss = na.Linear(3, C, rng=0), na.CrossEntropyLoss()

        def forward(self, x, *, target):
            loss = self.loss(self.linear(x), target)
            self.cache = {"x": x, "loss": loss}
            return loss

        def backward(self, dloss=1):
            self.grads = {"loss": dloss, "x": self.linear.backward(self.loss.backward())}
            return self.grads["x"]

    model = Model()
    model(draw(4, 3), target=[0, 1, 2, 3])
    assert model.backward().shape == (4, 3)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("settings", [{"ignore_index": -1}, {"ignore_index": -1, "label_smoothing": 0.3},
                                      {"ignore_index": -1, "class_weights": WEIGHTS}])
def test_if_nothing_counts_loss_and_gradients_are_0(reduction, settings):
    loss = na.CrossEntropyLoss(reduction=reduction, **settings)
    assert loss(np.full((2, C), np.nan), [-1, -1]) == 0
    assert not loss.backward().any()
    assert loss(np.zeros((0, C)), []) == 0
    assert loss.backward().shape == (0, C)


def test_if_what_counts_weighs_nothing_loss_and_gradients_are_0():
    loss = na.CrossEntropyLoss(class_weights=WEIGHTS)
    assert loss(draw(2, C), [1, 1]) == 0
    assert not loss.backward().any()


def test_what_lies_in_ignored_rows_never_matters():
    loss = na.CrossEntropyLoss(ignore_index=-1)
    target = [0, -1, 2, -1]
    logits = draw(4, C)
    value, dlogits = loss(logits, target), loss.backward()
    logits[[1, 3]] = [[np.nan] * C, [np.inf] * C]
    assert loss(logits, target) == value
    np.testing.assert_array_equal(loss.backward(), dlogits)


def test_an_ignored_index_may_be_a_class():
    loss = na.CrossEntropyLoss(ignore_index=0, reduction="none")
    assert (loss(LOGITS, np.zeros((3, 4), int)) == 0).all()


def test_classes_that_are_out_of_the_question():
    loss = na.CrossEntropyLoss()
    assert loss([[0.0, -np.inf, 0.0]], [2]) == pytest.approx(math.log(2))
    np.testing.assert_allclose(loss.backward(), [[0.5, 0, -0.5]])
    assert loss([[0.0, -np.inf, 0.0]], [1]) == np.inf


def test_huge_scores_stay_finite():
    loss = na.CrossEntropyLoss()
    assert loss([[1e4, 0.0], [0.0, 1e4]], [1, 1]) == 5000
    np.testing.assert_allclose(loss.backward(), [[0.5, -0.5], [0, 0]])
    assert np.isfinite(loss([[1e307, -1e307]], [1]))


def test_one_class_and_one_target():
    loss = na.CrossEntropyLoss()
    assert str(float(loss([[3.0], [7.0]], [0, 0]))) == "0.0"
    assert loss([1.0, 1.0], 0) == pytest.approx(math.log(2))
    np.testing.assert_allclose(loss.backward(), [-0.5, 0.5])


def test_full_smoothing_asks_for_equal_shares():
    loss = na.CrossEntropyLoss(label_smoothing=1.0)
    assert loss(np.zeros((2, C)), [0, 1]) == pytest.approx(math.log(C))
    np.testing.assert_allclose(loss.backward(), 0, atol=1e-16)


def test_float32_stays_float32():
    loss = na.CrossEntropyLoss(class_weights=WEIGHTS, label_smoothing=0.1)
    assert loss(LOGITS.astype(np.float32), TARGET).dtype == np.float32
    assert loss.backward().dtype == np.float32
    floats = [a for a in (*loss.cache.values(), *loss.grads.values()) if a.dtype.kind == "f"]
    assert {a.dtype for a in floats} == {np.dtype(np.float32)}


def test_the_callers_targets_are_theirs():
    target, loss = TARGET.copy(), na.CrossEntropyLoss()
    loss(LOGITS, target)
    before = loss.backward()
    target[:] = 0
    np.testing.assert_array_equal(loss.backward(), before)


@pytest.mark.parametrize(("logits", "target", "error", "message"), [
    (LOGITS, TARGET[0], ValueError, r"\(3, 4, 5\), target is \(4,\)"),
    (LOGITS.swapaxes(1, 2), TARGET, ValueError, "the classes last"),
    (LOGITS, TARGET.astype(float), TypeError, "whole numbers.*float64"),
    (LOGITS, TARGET > 2, TypeError, "whole numbers.*bool"),
    (LOGITS, np.full((3, 4), C), ValueError, r"0\.\.4 \(C = 5\).*got 5"),
    (LOGITS, np.full((3, 4), -1), ValueError, r"ignore_index = -100; got -1"),
    (np.zeros((2, 0)), [0, 0], ValueError, r"\(2, 0\)"),
    (1.0, 0, ValueError, r"\(\.\.\., C\)"),
    (LOGITS, None, TypeError, "whole numbers"),
])
def test_targets_that_do_not_fit(logits, target, error, message):
    with pytest.raises(error, match=message):
        na.CrossEntropyLoss()(logits, target)


@pytest.mark.parametrize(("settings", "error", "message"), [
    ({"reduction": "average"}, ValueError, "mean, sum, none"), ({"reduction": None}, ValueError, "mean, sum, none"),
    ({"label_smoothing": 1.5}, ValueError, "label_smoothing"), ({"label_smoothing": -0.1}, ValueError, "label_sm"),
    ({"label_smoothing": "a"}, ValueError, "label_smoothing"), ({"class_weights": [-1.0, 1]}, ValueError, "class_wei"),
    ({"class_weights": [np.nan, 1]}, ValueError, "class_weights"), ({"class_weights": 1.0}, ValueError, "class_w"),
    ({"ignore_index": 1.5}, TypeError, "ignore_index"),
])
def test_settings_that_make_no_sense(settings, error, message):
    with pytest.raises(error, match=message):
        na.CrossEntropyLoss(**settings)


def test_class_weights_for_another_number_of_classes():
    with pytest.raises(ValueError, match=r"class_weights must have shape \(C,\) = \(5,\); got \(2,\)"):
        na.CrossEntropyLoss(class_weights=[1, 2])(LOGITS, TARGET)


def test_soft_targets_that_are_onehot_are_hard_ones():
    logits, target = draw(2, 3, 4), np.array([[0, 1, 2], [3, 0, 1]])
    hard, soft = na.CrossEntropyLoss(label_smoothing=0.2), na.CrossEntropyLoss(label_smoothing=0.2)
    assert_allclose(hard(logits, target), soft(logits, np.eye(4)[target]), rtol=1e-14)
    assert_allclose(hard.backward(), soft.backward(), rtol=0, atol=1e-15)


def test_soft_targets_that_are_no_shares_are_refused():
    for wrong, error, message in ((np.full((2, 4), -0.1), ValueError, "target must hold shares that are not negative"),
                                  (np.full((2, 4), np.nan), ValueError, "target must hold shares"),
                                  (np.ones((2, 3)), TypeError, r"floats, a share for each class.*\(2, 4\)")):
        with pytest.raises(error, match=message):
            na.CrossEntropyLoss()(draw(2, 4), wrong)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_float32_stays_float32_where_no_target_counts(reduction):
    loss = na.CrossEntropyLoss(reduction=reduction)
    loss(np.zeros((2, 3), np.float32), [-100, -100])
    loss.backward()
    assert {array.dtype for array in loss.grads.values()} == {np.dtype(np.float32)}
