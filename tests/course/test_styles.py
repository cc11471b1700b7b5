"""Right answers are accepted in any decent form; a wrong one is told its cause only if that is its cause."""
import numpy as np
import pytest

from numpy_attention import course
from numpy_attention.course.exercise import same, tried

EXERCISES = course.exercises()
NUMBERS = [name for name in EXERCISES if name not in ("kill-the-bugs", "causality-probe", "one-row-by-hand")]


def each_result(change):
    """A style of answering: what happens to every array that the solution returns."""
    def styled(solution):
        def answer(*inputs):
            value = solution(*inputs)
            return tuple(map(changed, value)) if isinstance(value, tuple) else change(value)
        return answer

    def changed(value):
        return {name: change(x) for name, x in value.items()} if isinstance(value, dict) else change(value)
    return styled


def strided(x):
    x = np.asarray(x)
    wide = np.zeros((*x.shape, 2), x.dtype)
    wide[..., 0] = x
    return wide[..., 0]


def read_only(x):
    x = np.array(x)
    x.flags.writeable = False
    return x


def listed(value):
    return list(value) if isinstance(value, tuple) else value


STYLES = {
    "arrays": each_result(np.asarray),
    "nested lists": each_result(lambda x: np.asarray(x).tolist()),
    "nested tuples": each_result(lambda x: tuple(x) if np.ndim(x) else x),
    "lists of arrays": each_result(lambda x: list(x) if np.ndim(x) else x),
    "a list of results": lambda solution: lambda *inputs: listed(solution(*inputs)),
    "float32": each_result(lambda x: np.asarray(x, np.float32)),
    "Fortran order": each_result(lambda x: np.array(x, order="F")),
    "a view with gaps": each_result(strided),
    "read-only": each_result(read_only),
    "complex without an imaginary part": each_result(lambda x: np.asarray(x) + 0j),
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", NUMBERS)
def test_right_answers_in_any_form(name, style):
    if style.startswith("complex") and name in ("two-heads", "same-output"):
        pytest.skip("these are not compared with one right answer")
    verdict = course.check(name, STYLES[style](EXERCISES[name].solution))
    assert verdict.ok, str(verdict)


@pytest.mark.parametrize("row", [(0.1065, 0.1065, 0.787), np.array([0.11, 0.11, 0.79], np.float32), [0.11, 0.11, 0.79]])
def test_a_row_typed_in_any_form(row):
    assert course.check("one-row-by-hand", row).ok


def test_a_probe_may_cut_the_sequence_off():
    def by_truncation(forward, x):
        whole = forward(x)
        return all(np.allclose(forward(x[:t]), whole[:t], rtol=0, atol=1e-10) for t in range(1, len(x)))
    verdict = course.check("causality-probe", by_truncation)
    assert verdict.ok, str(verdict)


def nudged(x):
    x = np.array(x, float)
    x[(0,) * x.ndim] += 0.01
    return x


WRONG = {
    "a little too large": each_result(lambda x: np.asarray(x) * 1.01 + 0.001),
    "one cell off": each_result(nudged),
    "negative": each_result(lambda x: -np.asarray(x) - 0.5),
    "squares": each_result(lambda x: np.asarray(x) ** 2 + 0.1),
    "zeros": each_result(lambda x: np.zeros_like(np.asarray(x))),
    "turned round": each_result(lambda x: np.flip(np.asarray(x)) + 1e-3),
    "an axis summed": each_result(lambda x: np.sum(x, axis=-1) if np.ndim(x) else np.asarray([x, x])),
    "rounded": each_result(lambda x: np.round(np.asarray(x, float), 1) + 0.001),
}


@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("name", [name for name in NUMBERS if name not in ("two-heads", "same-output")])
def test_no_wrong_answer_passes_and_none_is_told_a_cause_that_is_not_its_own(name, kind):
    exercise = EXERCISES[name]
    wrong = WRONG[kind](exercise.solution)
    verdict = course.check(name, wrong)
    assert not verdict.ok
    named = [mistake for mistake in exercise.mistakes if verdict.hint == (mistake.zh, mistake.en)]
    if named and not exercise.own_hints:
        learner = Recorder(wrong)
        for stage in exercise.stages:
            tried(stage.run, [learner])
        assert any(all(same(told, tried(mistake.answer, inputs)) for inputs, told in learner.calls)
                   for mistake in named), str(verdict)


class Recorder:
    """A function that remembers what it was asked."""

    def __init__(self, function):
        self.function, self.calls = function, []

    def __call__(self, *inputs):
        value = self.function(*inputs)
        self.calls.append((inputs, value))
        return value


def hint(name, answer):
    verdict = course.check(name, answer)
    assert not verdict.ok
    return verdict.hint and verdict.hint.en


def test_causes_that_used_to_be_told_wrongly():
    softmax = na_softmax
    assert "√L" in hint("attention-forward", lambda Q, K, V: both(softmax(Q @ K.T / np.sqrt(len(Q))), V))
    for wrong in (lambda s: sum(s[i, i - 1] > s[i, i] for i in range(len(s))),
                  lambda s: sum(s[i, i - 1] >= s[i, (i + 1) % len(s)] for i in range(len(s))),
                  lambda s: sum(s[i, i - 1] < s[i, (i + 1) % len(s)] for i in range(len(s)))):
        assert "swapped" not in (hint("previous-beats-next", wrong) or "")

    def without_complex(f, x):
        gradient = np.empty_like(x)
        for i in np.ndindex(x.shape):
            z = x.copy()
            z[i] += np.real(1e-20j)
            gradient[i] = np.imag(f(z)) / 1e-20
        return gradient

    assert "thrown away" in hint("complex-gradient", without_complex)
    negative = WRONG["negative"](EXERCISES["complex-gradient"].solution)
    assert "minus f" not in (hint("complex-gradient", negative) or "")
    assert "keepdims" not in (hint("numeric-gradient", lambda f, x: (f(x + 1e-5) - f(x - 1e-5)) / 2e-5) or "")


def test_a_merge_that_overflows_is_refused():
    def overflowing(m1, l1, o1, m2, l2, o2):
        m = np.maximum(m1, m2)
        return m, (np.exp(m1) * l1 + np.exp(m2) * l2) / np.exp(m), \
            (np.exp(m1)[:, None] * o1 + np.exp(m2)[:, None] * o2) / np.exp(m)[:, None]
    assert not course.check("merge-softmax", overflowing).ok


def test_answers_that_say_nothing_score_nothing():
    for name in ("causality-probe", "kill-the-bugs"):
        for constant in (True, False, None):
            assert course.check(name, lambda *inputs, constant=constant: constant).passed == 0
    assert course.check("softmax-backward", lambda weights, dweights: np.zeros_like(weights)).passed == 0


def test_numbers_are_printed_until_they_differ():
    solution = EXERCISES["softmax-backward"].solution
    verdict = course.check("softmax-backward-jacobian", lambda p, d: solution(p, d) + 1e-5)
    said = next(remark.what.en for _, remark in verdict.results if remark)
    yours, right = said.partition("yours is ")[2].split(", it should be ")
    assert yours != right.partition(". ")[0]


def na_softmax(scores):
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def both(weights, V):
    return weights, weights @ V
