"""What is said about an answer that is not right."""
from typing import NamedTuple

from ..words.languages import Words


class Remark(NamedTuple):
    """What is wrong with an answer: where and what, and a hint if there is one."""

    what: Words
    hint: Words | None = None


class Trouble(Exception):
    """A learner's function gave nothing that could be compared; carries the Remark that says why."""

    def __init__(self, zh, en, hint=None):
        super().__init__(en)
        self.remark = Remark(Words(zh, en), hint)
