"""Predict first: a guess beside what was measured, and how near it was.

A measurement that one has guessed wrong is remembered. So every experiment of the course asks before it answers; in
the notebooks as they are saved the answers are folded away.
"""
from html import escape

import numpy as np

from ..words.languages import Words
from . import speech


class Prediction:
    """Guesses beside what was measured: (question, guess, measured), once or several times."""

    def __init__(self, asked):
        self.asked = asked

    def __repr__(self):
        return "\n".join(f"{question}\n{answer(guess, measured)}" for question, guess, measured in self.asked)

    def _repr_html_(self):
        """Folded away until a guess was made: a click unfolds it."""
        return "".join(
            f"<details{'' if guess is None else ' open'}><summary>{escape(str(question))}: "
            f"{escape(speech.say(FOLDED))}</summary><pre>{escape(answer(guess, measured))}</pre></details>"
            for question, guess, measured in self.asked)


FOLDED = Words("先猜，再点开看答案", "guess first, then click for the answer")


def predict(*asked):
    """Show a guess beside the measurement, and how near it was.

    Args: question, guess, measured; or several triples of these.

    >>> predict("Σ?", 3, 1.0)
    Σ?
      你猜 your guess: 3
      实测 measured:   1
      差得远：是实测的 3 倍。 Far off: 3 times what was measured.
    >>> predict(("a", None, 2), ("b", "ZERO", "zero"))
    a
      你猜 your guess: — (还没猜 no guess yet)
      实测 measured:   2
    b
      你猜 your guess: ZERO
      实测 measured:   zero
      猜对了！ Right!
    """
    return Prediction(asked if isinstance(asked[0], tuple) else [asked])


def answer(guess, measured):
    """The lines below the question."""
    said = [f"  {speech.say(Words('你猜', 'your guess'))}: "
            + (f"— ({speech.say(Words('还没猜', 'no guess yet'))})" if guess is None else shown(guess)),
            f"  {speech.say(Words('实测', 'measured'))}:   {shown(measured)}"]
    if guess is not None:
        said.append(f"  {speech.say(nearness(guess, measured))}")
    return "\n".join(said)


def nearness(guess, measured):
    """How near a guess was, in words: by ratio for numbers, right or not for anything else.

    >>> nearness(0.9, 0.87).en, nearness(True, False).en
    ('Close: off by 3 %.', 'Not this time.')
    """
    right, wrong = Words("猜对了！", "Right!"), Words("这次没猜对。", "Not this time.")
    numbers = [np.asarray(x) for x in (guess, measured)]
    if any(x.dtype.kind not in "iuf" for x in numbers):
        same = (" ".join(str(x).lower().split()) for x in (guess, measured))
        return right if len(set(same)) == 1 else wrong
    yours, true = numbers
    if yours.shape != true.shape:
        return wrong
    if np.allclose(yours, true, rtol=5e-3, atol=5e-3 * np.abs(true).max(initial=0) + 1e-12):
        return right
    if true.ndim or true == 0 or yours / true <= 0:
        return wrong
    ratio = float(yours / true)
    if abs(ratio - 1) <= 0.25:
        percent = f"{abs(ratio - 1):.0%}".replace("%", " %")
        return Words(f"很近：差 {percent}。", f"Close: off by {percent}.")
    times = f"{ratio:.2g}" if ratio < 100 else f"{ratio:,.0f}"
    return Words(f"差得远：是实测的 {times} 倍。", f"Far off: {times} times what was measured.")


def shown(x):
    """A number with four digits, anything else as it is."""
    return f"{x:.4g}" if isinstance(x, float) else str(x)
