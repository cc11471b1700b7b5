"""An exercise: the stages that an answer goes through, and the mistakes whose traces it knows.

Three kinds of stage see different mistakes. Golden numbers are what one can do on paper. A random case of another
size catches answers that know the golden numbers by heart or work for square matrices only. A gradient check and an
invariant ask about what must hold for any numbers.

A hint names a mistake only if exactly one known mistake gives this learner's answers for *all* inputs that were tried,
and not the right ones. Otherwise it says what is seen: a shape, a missing axis, a transpose, results in another order.
A stage counts only if all before it were passed: by itself an invariant may prove little.
"""
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..words.languages import Words
from .calling import SECONDS, Learner
from .check_result import CheckResult
from .comparing import BLANK, compare, is_coarse
from .drawing import draws
from .remark import Remark, Trouble

GOLDEN = Words("参考数值", "golden numbers")
RANDOM = Words("随机数字", "random numbers")
GRADIENT = Words("梯度检查", "gradient check")
INVARIANT = Words("不变量", "invariant")


class Mistake(NamedTuple):
    """A typical wrong answer, and what to say to somebody who gives it."""

    answer: object
    zh: str
    en: str


class CheckStage(NamedTuple):
    """One test of an answer: run(answer) is None, or the Remark that says what is wrong."""

    title: Words
    run: Callable


@dataclass(frozen=True)
class Exercise:
    """What course.check knows about one exercise.

    Attributes:
        name: what the notebook calls it, "softmax-backward".
        notebook: the first letters of the notebook's name, "02".
        task: what to do, in one sentence.
        stages: the tests, in order. solution: one right answer. mistakes: typical wrong ones.
        arguments: the names of the function's arguments; empty if the answer is not a function.
        minutes, difficulty: how long it takes, and how hard it is, from 1 to 3. steps: hints before the solution.
        own_hints: whether the stages find the hints themselves, because answers are not numbers to be compared.
        points: what a right answer is worth.
        library: what of the package an answer may call: "nothing", "softmax" (na.Softmax) or "everything".
    """

    name: str
    notebook: str
    task: Words
    stages: tuple
    solution: object
    mistakes: tuple = ()
    arguments: str = ""
    seconds: float = SECONDS
    minutes: int = 5
    difficulty: int = 1
    steps: tuple = ()
    own_hints: bool = False
    points: float = 1
    library: str = "nothing"

    def hint(self, number=1):
        """Hint 1, 2, 3 …, as Words: first what goes in and comes out, then the idea, then nearly the code.

        Raises: ValueError for a number that there is not.

        >>> from numpy_attention import course
        >>> course.exercises()["merge-heads"].hint(2).en
        'First move H behind L again, then make one axis of (H, d).'
        """
        if number not in range(1, len(self.steps) + 1):
            raise ValueError(f"{self.name} has hints 1 to {len(self.steps)}; got {number!r}")
        return self.steps[number - 1]

    def check(self, answer):
        """Put an answer through all stages; never raises for what the learner did."""
        learner = answer
        if self.arguments:
            if not callable(answer):
                what = Remark(Words(f"请把函数本身交给 check，而不是 {type(answer).__name__}。",
                                     f"Hand the function itself to check, not a {type(answer).__name__}."),
                               Words("写函数名，不要加括号。", "Write its name, without the brackets of a call."))
                return CheckResult(self.name, [(self.stages[0].title, what)])
            learner = Learner(answer, self.arguments, self.seconds)
        results, failed = [], None
        for stage in self.stages:               # after the first failure only to see more of the learner's answers
            try:
                remark = stage.run(learner)
            except Trouble as trouble:
                remark = trouble.remark
            except Exception as error:      # an answer so strange that the test itself trips over it
                remark = Remark(Words(f"没法测：{error}", f"This could not even be tested: {error}"))
            if failed is None:
                results.append((stage.title, remark))
                failed = remark
            if failed is not None and (failed.what is BLANK or self.own_hints or getattr(learner, "late", None)):
                break
        if failed is not None and failed.what is not BLANK and not self.own_hints:
            results[-1] = (results[-1][0], Remark(failed.what, self.known(learner) or failed.hint))
        return CheckResult(self.name, results, len(self.stages), getattr(learner, "printed", ""))

    def known(self, learner):
        """The words of the one known mistake that gives all answers of this learner and not the right ones, or None."""
        calls = getattr(learner, "calls", ())
        fits = {(mistake.zh, mistake.en) for mistake in self.mistakes if callable(mistake.answer) and calls
                and all(same(told, tried(mistake.answer, inputs)) for inputs, told in calls)
                and not all(same(tried(self.solution, inputs), tried(mistake.answer, inputs)) for inputs, _ in calls)}
        return Words(*fits.pop()) if len(fits) == 1 else None


def tried(function, inputs):
    """What a function returns, or the kind of error that it raises."""
    try:
        with np.errstate(all="ignore"):
            return function(*inputs)
    except Exception as error:
        return type(error)


def same(a, b):
    """Whether two answers are the same, as far as their precision goes; errors are the same if their kinds are."""
    if isinstance(a, type) or isinstance(b, type):
        return a is b
    if isinstance(a, dict) or isinstance(b, dict):
        alike = isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys()
        return alike and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, tuple):
        a = tuple(a)
    a, b = (x if isinstance(x, tuple) else (x,) for x in (a, b))
    try:
        return len(a) == len(b) and all(map(_alike, a, b))
    except (TypeError, ValueError):
        return False


def _alike(x, y):
    if isinstance(x, dict):
        return same(x, y)
    room = {"rtol": 1e-3, "atol": 1e-5} if is_coarse(x) else {"rtol": 1e-7, "atol": 1e-9}
    return np.shape(x) == np.shape(y) and np.allclose(x, y, equal_nan=True, **room)


def golden(inputs, expected, outputs, title=GOLDEN, **tolerance):
    """A stage: for these inputs the function returns these numbers. outputs: (("dQ", "L d_k"), ...)."""
    return CheckStage(title, lambda learner: outcome(learner(*inputs), expected, outputs, **tolerance))


def random_case(make, reference, outputs, *, seeds=(1, 2), title=RANDOM, **tolerance):
    """A stage: for the inputs of make(rng) the function returns what `reference` does."""
    def run(learner):
        for seed in seeds:
            inputs = make(draws(seed))
            found = outcome(learner(*inputs), reference(*inputs), outputs, **tolerance)
            if found:
                return found
        return None
    return CheckStage(title, run)


def outcome(value, expected, outputs, **tolerance):
    """Compare one or several results; the Remark on the first that is wrong, or None."""
    names = ", ".join(name for name, _ in outputs)
    if len(outputs) == 1:
        value, expected = (value,), (expected,)
    elif value is None or value is Ellipsis:
        return compare(value, np.zeros(()), names)
    elif not isinstance(value, tuple | list) or len(value) != len(outputs):
        count = len(value) if isinstance(value, tuple | list) else 1
        return Remark(Words(f"应返回 {len(outputs)} 个数组：{names}；你返回了 {count} 个。",
                            f"Return {len(outputs)} arrays, {names}; there {'is' if count == 1 else 'are'} {count}."))
    remarks = [compare(one, right, name, symbols, **tolerance)
               for one, right, (name, symbols) in zip(value, expected, outputs, strict=True)]
    first = next((remark for remark in remarks if remark), None)
    if first and first.what is not BLANK and 1 < len(outputs) <= 4 and _in_another_order(value, expected, tolerance):
        return Remark(first.what, Words(f"结果都对，顺序不对：应返回 {names}。",
                                        f"The results are right, in the wrong order: return {names}."))
    return first


def _in_another_order(value, expected, tolerance):
    """Whether the results are the expected ones, exchanged."""
    return any(all(compare(value[i], right, **tolerance) is None for i, right in zip(order, expected, strict=True))
               for order in itertools.permutations(range(len(expected))) if order != tuple(range(len(expected))))
