"""An exercise: the stages that an answer goes through, and the mistakes whose traces it knows.

Three kinds of stage see different mistakes. Golden numbers are what one can do on paper. A random case of another
size catches answers that know the golden numbers by heart or work for square matrices only. A gradient check and an
invariant ask about what must hold for any numbers. If an answer equals what a known mistake gives, the hint names it.
"""
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..words.languages import Words
from .calling import SECONDS, Learner
from .check_result import CheckResult
from .comparing import BLANK, compare
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
    """

    name: str
    notebook: str
    task: Words
    stages: tuple
    solution: object
    mistakes: tuple = ()
    arguments: str = ""
    seconds: float = SECONDS

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
        results, stopped = [], False
        for stage in self.stages:
            if stopped:
                break
            try:
                remark = stage.run(learner)
            except Trouble as trouble:
                remark, stopped = trouble.remark, True
            except Exception as error:      # an answer so strange that the test itself trips over it
                remark = Remark(Words(f"没法测：{error}", f"This could not even be tested: {error}"))
            results.append((stage.title, remark))
            stopped = stopped or (remark is not None and remark.what is BLANK)
        return CheckResult(self.name, results, len(self.stages), getattr(learner, "printed", ""))


def golden(inputs, expected, outputs, mistakes=(), title=GOLDEN, **tolerance):
    """A stage: for these inputs the function returns these numbers. outputs: (("dQ", "L d_k"), ...)."""
    def run(learner):
        return outcome(learner(*inputs), expected, outputs, inputs, mistakes, **tolerance)
    return CheckStage(title, run)


def random_case(make, reference, outputs, mistakes=(), *, seeds=(1, 2), title=RANDOM, **tolerance):
    """A stage: for the inputs of make(rng) the function returns what `reference` does."""
    def run(learner):
        for seed in seeds:
            inputs = make(np.random.default_rng(seed))
            expected = reference(*inputs)
            found = outcome(learner(*inputs), expected, outputs, inputs, mistakes, **tolerance)
            if found:
                return found
        return None
    return CheckStage(title, run)


def outcome(value, expected, outputs, inputs=(), mistakes=(), **tolerance):
    """Compare one or several results; if they are what a known mistake gives, its words are the hint."""
    if len(outputs) == 1:
        value, expected = (value,), (expected,)
    elif not isinstance(value, tuple | list) or len(value) != len(outputs):
        names = ", ".join(name for name, _ in outputs)
        if value is None or value is Ellipsis:
            return compare(value, np.zeros(()), names)
        count = len(value) if isinstance(value, tuple | list) else 1
        return Remark(Words(f"应返回 {len(outputs)} 个数组：{names}；你返回了 {count} 个。",
                             f"Return {len(outputs)} arrays, {names}; there {'is' if count == 1 else 'are'} {count}."))
    for one, right, (name, symbols) in zip(value, expected, outputs, strict=True):
        found = compare(one, right, name, symbols, **tolerance)
        if found:
            return Remark(found.what, _known(value, inputs, mistakes) or found.hint)
    return None


def _known(value, inputs, mistakes):
    """The words of the mistake that gives exactly this answer; None if it is a new one."""
    for mistake in mistakes:
        try:
            with np.errstate(all="ignore"):
                wrong = mistake.answer(*inputs) if callable(mistake.answer) else mistake.answer
            wrong = wrong if isinstance(wrong, tuple) else (wrong,)
            if all(np.shape(a) == np.shape(b) and np.allclose(a, b, atol=1e-9, equal_nan=True)
                   for a, b in zip(value, wrong, strict=True)):
                return Words(mistake.zh, mistake.en)
        except Exception:       # a mistake that does not even run for these shapes
            continue
    return None
