"""Hints in steps, before the solution: first what goes in and comes out, then the idea, then nearly the code.

    course.hint("softmax-backward")         the first hint; asked again, the next one
    course.hint("softmax-backward", 1)      this one

They lie in exercises/hints.txt, one block for each exercise: ? its name, minutes, and difficulty from 1 to 3; then a
line for each hint, Chinese left of the |, English right of it.
"""
from pathlib import Path
from typing import NamedTuple

from ..words.languages import Words
from . import speech

_shown = {}         # how many hints of an exercise were asked for


class Help(NamedTuple):
    """What hints.txt tells about one exercise."""

    minutes: int
    difficulty: int
    steps: tuple


def helps():
    """The Help of each exercise by its name.

    >>> from numpy_attention.course.hints import helps
    >>> helps()["softmax-backward"].minutes, helps()["softmax-backward"].difficulty
    (10, 2)
    """
    found, steps = {}, []
    for line in (Path(__file__).parent / "exercises" / "hints.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("? "):
            _, name, minutes, difficulty = line.split()
            steps = []
            found[name] = int(minutes), int(difficulty), steps
        elif line.strip():
            zh, bar, en = line.partition(" | ")
            assert bar, f"no | in: {line}"
            steps.append(Words(zh.strip(), en.strip()))
    return {name: Help(minutes, difficulty, tuple(steps)) for name, (minutes, difficulty, steps) in found.items()}


class Hint:
    """One hint, as text: which of how many it is, how long the exercise takes, how hard it is, and what it says."""

    def __init__(self, exercise, number):
        self.exercise, self.number, self.words = exercise, number, exercise.hint(number)

    def __repr__(self):
        minutes, stars, of = self.exercise.minutes, "★" * self.exercise.difficulty, len(self.exercise.steps)
        head = Words(f"提示 {self.number}/{of}（{stars}，约 {minutes} 分钟）",
                     f"hint {self.number} of {of} ({stars}, about {minutes} minutes)")
        last = Words("没有更多提示了：答案折叠在课程自己的笔记本里。",
                     "That was the last; the course's own notebook has the solution, folded away.")
        more = Words("再运行一次看下一条。", "Run it again for the next one.") if self.number < of else last
        said = [f"  {text}" for text in (*speech.lines(self.words), speech.say(more))]
        return "\n".join([f"{self.exercise.name}: {speech.say(head)}", *said])


def next_hint(exercise, number=None):
    """A Hint of an exercise: the next one that was not asked for yet, or the one with this number."""
    if number is None:
        number = min(_shown.get(exercise.name, 0) + 1, len(exercise.steps))
    hint = Hint(exercise, number)
    _shown[exercise.name] = max(number, _shown.get(exercise.name, 0))
    return hint
