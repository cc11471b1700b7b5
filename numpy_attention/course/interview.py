"""The interview: questions with a 30-second answer, a 2-minute answer, follow-ups, the typical wrong answer, a proof.

    from numpy_attention.course import interview

    interview.page("why")               the questions of one group, as a page of the notebook
    interview.prove("why")              run the line that proves each answer
    python -m numpy_attention course interview [GROUP]      asks, waits, shows

The questions lie in interview.txt, one block each: ? question, 30 and 2m answers, + follow-ups, x what is often said
and wrong, > Python that raises if the answer does not hold. Chinese stands left of the |, English right of it.
"""
from pathlib import Path
from typing import NamedTuple

from ..words.languages import Words
from . import speech

FIELDS = {"?": "question", "30": "short", "2m": "long", "+": "follow_up", "x": "wrong"}
LABELS = {"short": Words("30 秒", "30 seconds"), "long": Words("2 分钟", "2 minutes"),
          "follow_up": Words("追问", "follow-up"), "wrong": Words("常见的错误回答", "a typical wrong answer")}


class Question(NamedTuple):
    """One question with its answers; `proof` is Python that raises if the answer does not hold."""

    group: str
    question: Words
    short: Words
    long: Words
    follow_up: Words
    wrong: Words
    proof: str

    def prove(self):
        """Run the proof; raises AssertionError if the answer does not hold."""
        exec(f"import numpy as np\nimport numpy_attention as na\n{self.proof}", {})

    def parts(self):
        """(label with its colon, text) of each part but the question and the proof, in the language of the course."""
        colon = "：" if speech.language() == "zh" else ": "
        return [(speech.say(LABELS[name]) + colon, speech.lines(getattr(self, name)))
                for name in ("short", "long", "follow_up", "wrong")]

    def topic(self):
        """What its group is called, in the language of the course; in English, what one types."""
        name, _, zh = self.group.partition(" ")
        return speech.say(Words(zh, name))


def questions(group=None):
    """All questions in order, or those of one group.

    Raises: ValueError for a group that there is not.

    >>> from numpy_attention.course import interview
    >>> len(interview.questions()) >= 38, interview.questions("why")[0].question.en
    (True, 'Why divide by √d_k?')
    """
    found, fields, now = [], {}, ""
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        mark, _, text = line.partition(" ")
        if mark == "#":
            now = text
        elif mark == ">":
            found.append(Question(now, *(fields[name] for name in FIELDS.values()), text))
        elif mark in FIELDS:
            zh, bar, en = text.partition(" | ")
            assert bar, f"no | in: {line}"
            fields[FIELDS[mark]] = Words(zh.strip(), en.strip())
    if group is None:
        return found
    chosen = [each for each in found if group in each.group.split()]
    if not chosen:
        raise ValueError(f"there is no group {group!r}; there are: {', '.join(groups())}")
    return chosen


def groups():
    """The names of the groups, in order.

    >>> from numpy_attention.course import interview
    >>> interview.groups()[:3]
    ['basics', 'shapes', 'why']
    """
    return list(dict.fromkeys(each.group.split()[0] for each in questions()))


class InterviewPage:
    """Questions as a page: text in a terminal, folded answers in a notebook."""

    def __init__(self, asked):
        self.asked = asked

    def _repr_markdown_(self):
        return "\n\n".join(self._markdown(number, each) for number, each in enumerate(self.asked, 1))

    @staticmethod
    def _markdown(number, each):
        parts = "\n".join(f"\n**{label.strip()}** {'<br>'.join(text)}\n" for label, text in each.parts())
        code = each.proof.replace("; ", "\n")
        return (f"**{number}. {'<br>'.join(speech.lines(each.question))}**\n\n<details><summary>"
                f"{speech.say(Words('答案', 'answer'))}</summary>\n{parts}\n```python\n{code}\n```\n\n</details>")

    def __repr__(self):
        lines = []
        for number, each in enumerate(self.asked, 1):
            lines += [f"{number}. {speech.say(each.question)}"]
            lines += [f"   {label}{' '.join(text)}" for label, text in each.parts()]
        return "\n".join(lines)


def page(group=None):
    """The questions of a group, or all, to be shown as the last line of a cell."""
    return InterviewPage(questions(group))


def prove(group=None):
    """Run the proofs of a group; a line for each question.

    >>> from numpy_attention.course import interview
    >>> print(interview.prove("backward").splitlines()[0])
    ✓ 推导 softmax 的反向传播。 Derive the backward pass of softmax.
    """
    lines = []
    for each in questions(group):
        each.prove()
        lines.append(f"✓ {speech.say(each.question)}")
    return "\n".join(lines)
