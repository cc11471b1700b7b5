"""Every exercise accepts its solution and names each typical mistake; nothing a learner does stops a check."""

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest

from numpy_attention import course
from numpy_attention.course.comparing import compare

EXERCISES = course.exercises()
NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks" / "src"
MISTAKES = [(exercise.name, number) for exercise in EXERCISES.values() for number in range(len(exercise.mistakes))]


@pytest.mark.parametrize("name", EXERCISES)
def test_the_solution_is_accepted(name):
    verdict = course.check(name, EXERCISES[name].solution)
    assert verdict.ok, str(verdict)


@pytest.mark.parametrize("name", EXERCISES)
def test_at_least_six_typical_mistakes_are_known(name):
    assert len(EXERCISES[name].mistakes) >= 6


@pytest.mark.parametrize("name", EXERCISES)
def test_hints_come_in_steps_in_both_languages(name):
    exercise = EXERCISES[name]
    assert len(exercise.steps) == 3
    assert 1 <= exercise.difficulty <= 3 <= exercise.minutes
    for words in exercise.steps:
        assert words.zh and words.en and not re.search("[\u4e00-\u9fff]", words.en.replace("爱", ""))


def test_hints_are_given_one_after_the_other():
    name = "pre-norm-block"
    shown = [repr(course.hint(name)) for _ in range(4)]
    assert [f"hint {n} of 3" in text for n, text in zip((1, 2, 3, 3), shown, strict=True)] == [True] * 4
    assert "hint 1 of 3" in repr(course.hint(name, 1))
    with pytest.raises(ValueError, match="has hints 1 to 3; got 4"):
        course.hint(name, 4)
    with pytest.raises(ValueError, match="there is no exercise"):
        course.hint("nothing")


@pytest.mark.parametrize(("name", "number"), MISTAKES)
def test_a_typical_mistake_is_refused_by_name(name, number):
    mistake = EXERCISES[name].mistakes[number]
    verdict = course.check(name, mistake.answer)
    assert not verdict.ok
    assert verdict.hint == (mistake.zh, mistake.en), str(verdict)


@pytest.mark.parametrize("name", EXERCISES)
def test_a_hole_is_called_a_hole(name):
    exercise = EXERCISES[name]
    verdict = course.check(name, (lambda *inputs: ...) if exercise.arguments else ...)
    assert "The hole is still there" in str(verdict)


@pytest.mark.parametrize("name", EXERCISES)
def test_both_languages_and_the_notebook_are_stated(name):
    exercise = EXERCISES[name]
    for words in (exercise.task, *((m.zh, m.en) for m in exercise.mistakes)):
        assert any("\u4e00" <= c <= "\u9fff" for c in words[0])
        assert words[1].isprintable()
        assert words[1]
    assert exercise.notebook.isdecimal()


@pytest.mark.parametrize("name", EXERCISES)
def test_its_notebook_asks_it(name):
    (source,) = NOTEBOOKS.glob(f"{EXERCISES[name].notebook}_*.py")
    text, exercise = source.read_text(encoding="utf-8"), EXERCISES[name]
    assert f'course.check("{name}"' in text, f"{source.name} has no check of it"
    stars = "★" * exercise.difficulty
    assert f'about {exercise.minutes} minutes, difficulty {stars}; if stuck, run `course.hint("{name}")`' in text


def test_every_exercise_of_a_file_is_in_its_list():
    for path in (Path(course.__file__).parent / "exercises").glob("n*.py"):
        made = re.findall(r"^ *(?:\w+ = )?Exercise\(\s*\"([\w-]+)\"", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert made and set(made) <= set(EXERCISES), f"{path.name}: EXERCISES lacks {set(made) - set(EXERCISES)}"


def right(Q, K, V):
    return EXERCISES["attention-forward"].solution(Q, K, V)


def forever(Q, K, V):
    while True:
        pass


def stubborn(Q, K, V):
    while True:
        with contextlib.suppress(Exception):
            raise ValueError


def chatty(Q, K, V):
    print("scores", Q @ K.T)
    return right(Q, K, V)


def careless(Q, K, V):
    Q /= 2
    return right(Q * 2, K, V)


def broken(Q, K, V):
    scale = 2
    return Q @ K / scale, V


def leaving(Q, K, V):
    raise SystemExit


STRANGE = [
    (lambda Q, K, V: None, "None: nothing was returned"),
    (lambda Q, K, V: [["a", "b"], right(Q, K, V)[1]], "weights is a list, not an array of numbers"),
    (lambda Q, K, V: tuple(a.round().astype(int) for a in right(Q, K, V)), "whole numbers"),
    (lambda Q, K, V: tuple(a * np.nan for a in right(Q, K, V)), "There is a nan"),
    (lambda Q, K, V: tuple(a.T for a in right(Q, K, V)), "Rows and columns are swapped"),
    (lambda Q, K, V: tuple(a[None] for a in right(Q, K, V)), "has shape (1, 3, 3), it should have (L, S) = (3, 3)"),
    (lambda Q, K, V: right(Q, K, V)[0], "Return 2 arrays, weights, heads; there is 1"),
    (lambda Q, K, V: ("a", "b"), "weights is a str"),
    (lambda Q: Q, "positional argument"),
    (careless, "changed its input Q[0, 0]"),
    (broken, "line 3 of broken: return Q @ K / scale, V"),
    (leaving, "raised SystemExit"),
    (right(np.eye(3), np.eye(3), np.eye(3)), "without the brackets of a call"),
]


@pytest.mark.parametrize(("answer", "says"), STRANGE)
def test_a_strange_answer_gets_a_helpful_sentence(answer, says):
    verdict = course.check("attention-forward", answer)
    assert not verdict.ok
    assert says in str(verdict)


@pytest.mark.parametrize("answer", [forever, stubborn])
def test_a_loop_without_end_is_stopped(answer):
    exercise = EXERCISES["attention-forward"]
    quick = type(exercise)(**{**vars(exercise), "seconds": 0.2})
    verdict = quick.check(answer)
    assert "still running after 0.2 s and was stopped" in str(verdict)
    assert "3 more not tried yet" in str(verdict)


def test_where_there_are_no_threads_the_check_runs_without_a_time_limit(monkeypatch):
    def no_threads(self):
        raise RuntimeError("can't start new thread")
    monkeypatch.setattr("threading.Thread.start", no_threads)
    assert course.check("attention-forward", right).ok
    assert not course.check("attention-forward", broken).ok


def test_printing_does_no_harm_and_is_shown_once(capsys):
    verdict = course.check("attention-forward", chatty)
    assert verdict.ok
    assert str(verdict).count("scores") == 1
    assert capsys.readouterr().out == ""


def test_warnings_of_a_learners_function_do_not_stop_the_check():
    def loud(Q, K, V):
        np.log(np.zeros(1))
        return right(Q, K, V)
    assert course.check("attention-forward", loud).ok


def test_an_unknown_exercise_is_an_error_that_lists_them():
    with pytest.raises(ValueError, match="attention-forward"):
        course.check("atention-forward", right)


def test_square_answers_are_caught_by_another_size():
    def square(Q, K, V):
        weights = right(Q, K, V)[0]
        return weights, weights @ V[: len(Q)]
    verdict = course.check("attention-forward", square)
    assert [finding is None for _, finding in verdict.results][:2] == [True, False]


def test_comparing_names_the_first_wrong_cell():
    value = np.zeros((2, 3, 4))
    value[1, 0, 2] = 0.5
    found = compare(value, np.zeros((2, 3, 4)), "weights", "H L S")
    assert found.what.en.startswith("weights is wrong at [1, 0, 2] (head 1, query 0, key 2): yours is 0.5")
    assert compare(np.full(3, np.inf), np.full(3, np.inf)) is None


def test_a_guess_stands_beside_the_measurement():
    assert "your guess: 3\n" in repr(course.predict("how many?", 3, 4))
    assert "no guess yet" in repr(course.predict("how many?", None, 4))


def test_a_mistake_in_the_axis_shows_where_there_are_axes_in_front():
    def along_axis_1(scores, mask):
        scores = np.where(mask, scores, -np.inf)
        highest = np.nan_to_num(scores.max(axis=1, keepdims=True), neginf=0)
        shares = np.exp(scores - highest)
        total = shares.sum(axis=1, keepdims=True)
        return shares / np.where(total == 0, 1, total)

    verdict = course.check("masked-softmax", along_axis_1)
    assert not verdict.ok
    assert "axis=1" in verdict.hint.en


def test_a_missing_sum_is_told_by_its_shape():
    found = compare(np.zeros((3, 4)), np.zeros(4), "db_Q", "D")
    assert found.what.en == "db_Q has shape (3, 4), it should have (D) = (4,)."
