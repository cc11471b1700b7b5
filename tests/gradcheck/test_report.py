"""What comes out: the table, the diagnosis, the further rules; as text, as HTML, for machines, as pictures."""
import json
import pickle

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.gradcheck import step_curve
from numpy_attention.gradcheck.diagnosis import name_of
from numpy_attention.words.terminal import width

from .test_others_layers import affine_backward, affine_forward, normal, text


def patched(layer, change):
    """The layer with `change(grads)` applied after its backward; what it returns is returned."""
    class Patched(type(layer)):
        def backward(self, dout):
            super().backward(dout)
            return change(self.grads)
    layer.__class__ = Patched
    return layer


def report_of(change, **options):
    mha = na.MultiHeadAttention(8, 2, rng=0)
    return na.check_gradients(patched(mha, change), normal(3, 4, 8), **options)


def test_str_fits_a_terminal_and_shows_every_tensor():
    report = na.check_gradients(na.TransformerEncoder(1, 4, 2, 5, rng=0), normal(2, 3, 4))
    assert max(map(width, str(report).splitlines())) <= 80
    assert all(row.name in str(report) for row in report.rows)
    assert "\x1b" not in str(report)
    assert str(report) == repr(report)


def test_assert_ok_says_the_whole_report():
    with pytest.raises(AssertionError, match="(?s)1 of 9 tensors differ.*tensor.*x .*FAIL"):
        report_of(lambda grads: 2 * grads["x"]).assert_ok()


def test_html_and_dictionary():
    report = report_of(lambda grads: grads["x"] * np.nan)
    assert "<table>" in report._repr_html_()
    assert "&lt;=" in report._repr_html_()
    found = json.loads(json.dumps(report.to_dict()))
    assert found["ok"] is False
    assert found["rows"][0]["name"] == "x"
    assert found["rows"][0]["analytic"] == "nan"
    assert pickle.loads(pickle.dumps(report)).diagnosis == report.diagnosis


@pytest.mark.parametrize(("change", "words"), [
    (lambda g: g["x"] / 3, "x: every element is 0.3333 times what it should be, which is 1/N (N = 3)"),
    (lambda g: g["x"] * 2, "√"),
    (lambda g: -g["x"], "x: every element is -1 times what it should be: the sign is flipped"),
    (lambda g: g["query"] + g["value"], "x: the path through key is missing"),
    (lambda g: g["value"], "x: the path through query and key is missing"),
    (lambda g: g["x"] + g["key"], "x: the path through key is counted twice"),
    (lambda g: 0 * g["x"], "x: backward gives 0, but the output does depend on it"),
    (lambda g: g["x"][..., ::-1], "x: the right numbers in the wrong places"),
    (lambda g: np.where(np.arange(4)[:, None] == 2, 0, g["x"]), "x: wrong only at index 2 of axis 1"),
    (lambda g: g["x"] + 0.1 * np.sin(np.arange(8)), "x: no simple pattern"),
    (lambda g: g["x"][0], "x: the gradient has shape (4, 8), the tensor (3, 4, 8)"),
])
def test_the_diagnosis_names_the_fault(change, words):
    report = report_of(change)
    assert not report.ok
    assert words in " ".join(report.diagnosis)


def test_the_diagnosis_knows_a_missing_scale_and_a_mean_for_a_sum():
    attention = na.ScaledDotProductAttention()
    report = na.check_gradients(patched(attention, lambda g: (g["Q"] * np.sqrt(6), g["K"] / np.sqrt(6), g["V"])),
                                normal(2, 3, 4, 6), normal(2, 3, 5, 6), normal(2, 3, 5, 7))
    assert report.diagnosis[0] == (
        "Q: every element is 2.449 times what it should be, which is √d_k (d_k = 6): the scale 1/√d_k is missing")
    assert "K: every element is 0.4082 times" in report.diagnosis[1]

    def mean(dout, cache):
        dx, dw, _ = affine_backward(dout, cache)
        return dx, dw, dout.mean(axis=0)
    report = na.check_gradients((affine_forward, mean), normal(3, 2, 4), normal(8, 5), normal(5))
    assert "which is 1/x.shape[0] (x.shape[0] = out.shape[0] = 3): a mean where a sum belongs" in report.diagnosis[0]


def test_a_bias_that_was_not_summed_is_told_over_which_axes():
    report = na.check_gradients((lambda x, b: (x + b, None), lambda d, _: (d, d)), normal(2, 3, 4), normal(4))
    assert "sum it over axes 0 and 1" in report.diagnosis[0]
    assert "db is (2, 3, 4), should be (4,)" in text(report)


def test_correct_except_at_hidden_cells():
    class Leaks(na.Softmax):
        def backward(self, dweights):
            dscores = super().backward(dweights)
            self.grads["scores"] = np.where(self.cache["mask"], dscores, dweights)
            return self.grads["scores"]
    mask = np.array([[True, True, False, True], [True, False, True, True], [False, True, True, True]])
    report = na.check_gradients(Leaks(), normal(2, 3, 4), mask=mask)
    assert "correct except at hidden cells" in " ".join(report.diagnosis)


class Rude:
    """A scale that breaks one rule after another, as told."""

    def __init__(self, fault):
        self.fault, self.params, self.grads, self.calls = fault, {"g": normal(4)}, {"g": np.zeros(4)}, 0

    def forward(self, x):
        if self.fault == "writes into x":
            x *= 1.0000001
        if self.fault == "half done":
            g = self.params["g"]
            g *= 2
            self.x = x.copy()
            g /= 2
        self.x = x
        return x * self.params["g"]

    def backward(self, dout):
        self.calls += 1
        dg = (dout * self.x).sum(axis=0)
        if self.fault == "adds up":
            self.grads["g"] += dg
        elif self.fault == "forgets":
            self.grads["g"] = dg / self.calls
        else:
            self.grads["g"] = dg.astype(np.float32) if self.fault == "float32" else dg
        if self.fault == "writes into dout":
            dout *= 2
            return dout / 2 * self.params["g"]
        if self.fault == "clips":
            return np.clip(dout, -1, 1) * self.params["g"]
        return dout * self.params["g"] + (1e-3 if self.fault == "offset" else 0)


@pytest.mark.parametrize(("fault", "name", "words"), [
    ("adds up", "backward twice", "twice as much"), ("forgets", "backward twice", "something else for g"),
    ("writes into x", "left unchanged", "x changed"), ("writes into dout", "left unchanged", "upstream changed"),
    ("half done", "after an exception", "g changed when forward stopped half-way"),
    ("float32", "dtypes", "dg is float32, should be float64"), ("clips", "linear in upstream", "not for x"),
    ("offset", "backward of 0", "is not 0 for x"),
])
def test_each_further_rule_can_fail(fault, name, words):
    report = na.check_gradients(Rude(fault), normal(3, 4))
    line = next(line for line in report.lines if line.name == name)
    assert not line.ok
    assert words in line.text
    assert not report.ok


def test_a_polite_layer_keeps_all_rules_and_zero_grad_excuses_adding_up():
    na.check_gradients(Rude("nothing"), normal(3, 4)).assert_ok()
    excused = type("Excused", (Rude,), {"zero_grad": lambda self: self.grads.update(g=np.zeros(4))})
    na.check_gradients(excused("adds up"), normal(3, 4)).assert_ok()


def test_the_callers_layer_and_arrays_stay_as_they_are():
    mha, x = na.MultiHeadAttention(8, 2, rng=0), normal(3, 4, 8)
    mha.backward(np.ones_like(mha(x)))
    cache, grads, before = mha.cache, mha.grads, {name: a.copy() for name, a in mha.named_params().items()}
    x.flags.writeable = False
    na.check_gradients(mha, x).assert_ok()
    assert mha.cache is cache
    assert mha.grads is grads
    assert all((before[name] == a).all() for name, a in mha.named_params().items())


def test_pictures():
    attention = na.ScaledDotProductAttention()
    report = na.check_gradients(attention, *normal(3, 3, 4))
    assert "dV agrees" in report.plot("V").alt_text
    assert "complex step is best" in report.plot_steps("K", lang="both").alt_text
    with pytest.raises(ValueError, match="there is no tensor 'W'"):
        report.plot("W")


def test_the_v_curve_has_its_floor():
    best = step_curve(na.ScaledDotProductAttention(), *normal(3, 3, 4)).best()
    assert best["complex step"][1] < 1e-14 < 1e-12 < best["float64 central"][1] < best["float64 one-sided"][1]
    assert 1e-6 <= best["float64 central"][0] <= 1e-4
    assert best["float32 central"][0] >= 1e-3


def test_a_ratio_with_two_names_is_given_neither():
    assert name_of(2.0, {"d_v": 4, "N": 2}).startswith(", which could be √d_v")
    assert name_of(6 ** 0.5, {"d_k": 6, "d_v": 6}).startswith(", which is √d_k")
    assert name_of(-1.0, {"N": 2}) == ": the sign is flipped"
    assert not name_of(0.0, {"N": 2})
    assert not name_of(float("inf"), {"N": 2})


def test_at_how_many_lines_forward_was_stopped_is_counted():
    def three(x):
        y = x * x
        z = 2 * y
        return z, x
    report = na.check_gradients((three, lambda d, x: 4 * x * d), normal(3))
    assert "forward stopped at each of 3 lines" in text(report)
    report = na.check_gradients((lambda x: (x * x, x), lambda d, x: 2 * x * d), normal(3))
    assert "forward stopped at its one line" in text(report)
