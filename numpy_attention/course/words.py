"""Sentences in two languages: Chinese first, English second, as everywhere in the course."""
from typing import NamedTuple


class Words(NamedTuple):
    """One sentence in Chinese and in English.

    >>> str(Words("形状不对。", "The shape is wrong."))
    '形状不对。 The shape is wrong.'
    """

    zh: str
    en: str

    def __str__(self):
        return f"{self.zh} {self.en}".strip()


class Finding(NamedTuple):
    """What is wrong with an answer: where and what, and a hint if there is one."""

    what: Words
    hint: Words | None = None


class Trouble(Exception):
    """A learner's function gave nothing that could be compared; carries the Finding that says why."""

    def __init__(self, zh, en, hint=None):
        super().__init__(en)
        self.finding = Finding(Words(zh, en), hint)
