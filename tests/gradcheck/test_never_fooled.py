"""Everything by which a gradient check has been fooled in public; each must be seen."""
import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.catalogue import EXAMPLES
from numpy_attention.gradcheck.report import Row

from .test_others_layers import normal, text


def softmax_with(backward):
    class Mutant(na.Softmax):
        def backward(self, dweights):
            weights = self.cache["weights"]
            self.grads = {"weights": dweights, "scores": backward(weights, dweights)}
            return self.grads["scores"]
    return Mutant()


def right(p, d):
    return p * (d - (p * d).sum(axis=-1, keepdims=True))


MUTANTS = {"x3": (lambda p, d: 3 * right(p, d), "3 times what it should be"),
           "sign": (lambda p, d: -right(p, d), "the sign is flipped"),
           "no row term": (lambda p, d: p * d, "row term − Σ weights ∘ dweights is missing"),
           "diagonal": (lambda p, d: p * (1 - p) * d, "only the diagonal of the softmax's Jacobian"),
           "straight": (lambda p, d: d, "passed straight through"),
           "mean": (lambda p, d: p * (d - (p * d).mean(axis=-1, keepdims=True)), "the row term is a mean, not a sum"),
           "plus": (lambda p, d: p * (d + (p * d).sum(axis=-1, keepdims=True)), "the sign of the row term is wrong"),
           "factor": (lambda p, d: d - (p * d).sum(axis=-1, keepdims=True), "the factor weights is missing")}


@pytest.mark.parametrize("shape", [(2, 5), (2, 3, 5)])
@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_softmaxes_are_caught_and_named(name, shape):
    backward, words = MUTANTS[name]
    report = na.check_gradients(softmax_with(backward), normal(*shape))
    assert not report.ok
    assert words in " ".join(report.diagnosis)


def test_a_constant_upstream_on_a_softmax_is_warned_about():
    report = na.check_gradients(softmax_with(lambda p, d: 3 * right(p, d)), normal(2, 5), upstream=np.ones((2, 5)))
    assert "your upstream is constant" in " ".join(report.warnings)
    report = na.check_gradients(na.Linear(5, 3, rng=0), normal(2, 5), upstream=np.ones((2, 3)))
    assert not report.warnings


def test_nan_fails():
    report = na.check_gradients((lambda x: (x * 2, x), lambda d, x: d * np.where(x > 0, 2, np.nan)), normal(2, 5))
    assert not report.ok
    assert "NaN" in " ".join(report.diagnosis)


def test_a_fault_of_a_tenth_of_a_percent_in_one_number_is_caught():
    class Linear(na.Linear):
        def backward(self, dout):
            dx = super().backward(dout)
            self.grads["W"] = self.grads["W"].copy()
            self.grads["W"][1, 2] *= 1.001
            return dx
    for method in ("complex", "central", "directional"):
        assert not na.check_gradients(Linear(5, 3, rng=0), normal(2, 5), method=method).ok
    report = na.check_gradients(Linear(5, 3, rng=0), normal(2, 5))
    assert report.rows[1].worst == (1, 2)
    assert report.diagnosis == ["W: only the element (1, 2) is wrong"]


def test_the_bias_of_the_keys_is_zero_by_design():
    report = na.check_gradients(na.MultiHeadAttention(8, 2, rng=0), normal(2, 4, 8))
    assert "key_proj.b: zero by design" in " ".join(report.warnings)
    assert {row.name: row.verdict for row in report.rows}["key_proj.b"] == "zero"


def test_one_array_in_several_roles_is_compared_by_the_sum():
    x, attention = normal(2, 3, 4), na.ScaledDotProductAttention()
    for inputs, names in (((x, x, x), ["Q=K=V"]), ((x, x[:], x[...]), ["Q=K=V"]), ((x.copy(), x, x[:]), ["Q", "K=V"]),
                          ((x[..., :2], x[..., 1:3], x[..., 2:].copy()), ["Q+K", "V"]), ((x, x[::-1], x), ["Q+K+V"])):
        report = na.check_gradients(attention, *inputs)
        report.assert_ok()
        assert [row.name for row in report.rows] == names
    halves = na.check_gradients(attention, x[0], x[1], x[1].copy())     # one memory, but no number in common
    assert [row.name for row in halves.rows] == ["Q", "K", "V"]

    class OneForAll(na.ScaledDotProductAttention):
        def backward(self, dheads):
            return sum(super().backward(dheads))

    class OnlyQuery(na.ScaledDotProductAttention):
        def backward(self, dheads):
            return super().backward(dheads)[0]
    na.check_gradients(OneForAll(), x, x, x).assert_ok()
    assert not na.check_gradients(OnlyQuery(), x, x, x).ok


class Draws:
    """Dropout that draws from wherever `draw` says."""

    def __init__(self, draw):
        self.draw, self.rng = draw, np.random.default_rng(0)

    def forward(self, x):
        self.keep = self.draw(self, x.shape) > 0.5
        return 2 * x * self.keep

    def backward(self, dout):
        return 2 * dout * self.keep


def test_random_draws_are_held_still():
    rng = np.random.default_rng(5)
    dropout = na.Dropout(0.5, rng=rng)
    before = rng.bit_generator.state
    report = na.check_gradients(dropout, normal(3, 4))
    report.assert_ok()
    assert "the draws of rng are held still" in text(report)
    assert rng.bit_generator.state == before
    na.check_gradients(Draws(lambda self, shape: self.rng.random(shape)), normal(3, 4)).assert_ok()


def test_global_random_numbers_are_held_still_and_given_back():
    legacy = np.random.mtrand._rand
    before = legacy.get_state()
    na.check_gradients(Draws(lambda self, shape: legacy.random_sample(shape)), normal(3, 4)).assert_ok()
    after = legacy.get_state()
    assert before[2] == after[2]
    assert (before[1] == after[1]).all()


def test_randomness_out_of_reach_is_refused_with_the_disagreement():
    report = na.check_gradients(Draws(lambda self, shape: np.random.default_rng().random(shape)), normal(3, 4))
    assert not report.ok
    assert "two calls on the same input differ by" in text(report)


def test_dropout_with_a_new_draw_in_backward_is_caught():
    class Redraws(na.Dropout):
        def backward(self, dout):
            dx = np.where(self.rng.random(dout.shape) >= self.p, dout / (1 - self.p), 0)
            self.grads = {"out": dout, "x": dx}
            return dx
    assert not na.check_gradients(Redraws(0.5, rng=0), normal(3, 4)).ok


def test_hidden_state_is_reported_as_not_repeatable():
    class Counts:
        n = 0

        def forward(self, x):
            self.n += 1
            return x * self.n

        def backward(self, dout):
            return dout * self.n
    report = na.check_gradients(Counts(), normal(2, 3))
    assert not report.ok
    assert "the first and the second call on the same input differ by" in text(report)


def relu_forward(x):
    return np.maximum(x, 0), x


def test_kinks_are_skipped_and_counted():
    x = normal(3, 4)
    x[0, 1] = x[2, 2] = 0
    x[1, 1] = 1e-5                                                  # near a kink, but not on it: compared
    report = na.check_gradients((relu_forward, lambda d, x: d * (x > 0)), x)
    report.assert_ok()
    assert "2 of 12 elements skipped" in text(report)
    assert report.elements == 10
    assert not na.check_gradients((relu_forward, lambda d, x: d), x).ok
    assert not na.check_gradients((relu_forward, lambda d, x: d), np.zeros(3)).ok       # nothing but kinks is no pass


def test_ties_of_a_maximum_are_skipped():
    def forward(x):
        return x.max(axis=-1), x

    def backward(d, x):
        return d[..., None] * (np.arange(x.shape[-1]) == x.argmax(axis=-1)[..., None])
    x = normal(3, 4)
    x[1, :2] = 5
    report = na.check_gradients((forward, backward), x)
    report.assert_ok()
    assert "2 of 12 elements skipped" in text(report)


def test_wild_curves_are_no_kinks():
    report = na.check_gradients((lambda x: (np.sin(1000 * x), x), lambda d, x: 1000 * d * np.cos(1000 * x)), normal(5),
                                method="central")
    report.assert_ok()
    assert report.elements == 5


def test_float32_is_checked_on_a_float64_copy_unless_asked_otherwise():
    layer, x = na.Linear(4, 3, rng=0, dtype=np.float32), normal(2, 4).astype(np.float32)
    report = na.check_gradients(layer, x)
    report.assert_ok()
    assert "float64 copy of a float32 layer" in text(report)
    assert report.largest < 1e-14
    for method in ("auto", "central"):
        as_it_is = na.check_gradients(layer, x, dtype=None, method=method)
        as_it_is.assert_ok()
        assert as_it_is.settings["dtype"] == "float32"
    assert layer.params["W"].dtype == np.float32


def test_what_is_not_complex_safe_is_measured_by_differences_and_the_report_says_why():
    for forward, backward, why in (
            (lambda x: (np.abs(x), x), lambda d, x: d * np.sign(x), "drops the imaginary part"),
            (lambda x: (np.where(x.real > 0, x.real, 0), x), lambda d, x: d * (x > 0), "drops the imaginary part"),
            (lambda x: (np.array([float(v) ** 2 for v in x]), x), lambda d, x: 2 * d * x, "does not take complex"),
            (lambda x: (np.sqrt(x * np.conj(x) + 1), x), lambda d, x: d * x / np.sqrt(x * x + 1), "imaginary part")):
        report = na.check_gradients((forward, backward), normal(5))
        report.assert_ok()
        assert "central" in report.method
        assert why in report.reason


def test_a_forward_that_fills_a_real_array_is_checked_right():
    def forward(x, w):
        out = np.zeros_like(x)
        out[:] = x * w
        return out, (x, w)
    report = na.check_gradients((forward, lambda d, c: (d * c[1], d * c[0])), normal(5), normal(5, seed=2))
    report.assert_ok()
    assert report.method == "complex step"


@pytest.mark.parametrize("title", ["ScaledDotProductAttention, mask", "MultiHeadAttention, memory", "LayerNorm",
                                   "GatedFeedForward"])
def test_a_millionth_off_in_any_one_number_is_caught(title):
    example = EXAMPLES[title]
    layer, inputs, options = example.layer(), example.inputs, example.options
    right = na.check_gradients(layer, *inputs, **options, rules=False)
    rng = np.random.default_rng(0)
    for row in right.rows:
        if row.verdict == "ok":
            place = np.unravel_index(np.abs(row.numeric).argmax(), row.shape)
            wrong = row.analytic.copy()
            wrong[place] *= 1 + 1e-6 * rng.choice([-1, 1])
            changed = Row(row.name, row.kind, wrong, row.numeric, row.tolerance)
            assert not changed.ok
            assert changed.worst == place
