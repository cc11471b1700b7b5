"""The puzzles of the page, in a notebook: change numbers of 我 爱 AI until the goal is reached; everything follows.

The page is walkthrough/page.py's; it stands in a frame below the cell. Outside a notebook the command opens it.
"""
from ..walkthrough.examples import worked_example
from ..walkthrough.html import frame
from ..walkthrough.page import puzzle_number
from . import speech


class Puzzle:
    """One puzzle: a frame in a notebook, the command as text."""

    def __init__(self, number):
        self.number = puzzle_number(number)

    def __repr__(self):
        return f"python -m numpy_attention page --puzzle {self.number}"

    def _repr_html_(self):
        return frame(worked_example("by-hand").trace(), lang=speech.language(), puzzle=self.number)


def puzzle(number):
    """Puzzle 1 to 10 of the page, to be solved below the cell; the page says when it is.

    Raises: ValueError where there is none with this number.

    >>> from numpy_attention import course
    >>> course.puzzle(6)
    python -m numpy_attention page --puzzle 6
    """
    return Puzzle(number)
