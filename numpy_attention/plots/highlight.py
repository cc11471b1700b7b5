"""What one query, or one cell, of attention was made from."""

import math
from numbers import Integral

import numpy as np

from .matrix import number

MOST_TERMS = 6


def read_highlight(highlight, L, S):
    """``highlight`` as (i, j), where j is None for a whole query; None if there is none.

    >>> read_highlight(1, 3, 3), read_highlight((0, -1), 3, 4)
    ((1, None), (0, 3))
    """
    if highlight is None:
        return None
    given = highlight if isinstance(highlight, (tuple, list)) else (highlight,)
    if not 1 <= len(given) <= 2 or not all(isinstance(index, Integral) for index in given):
        raise TypeError(f"highlight must be a query i or a cell (i, j), not {highlight!r}")
    for index, size, axis in zip(given, (L, S), ("L", "S"), strict=False):
        if not -size <= index < size:
            raise ValueError(f"highlight {highlight!r} is out of range: there are {axis} = {size}")
    i, j = (*given, None)[:2]
    return i % L, None if j is None else j % S


def frames(column, cell):
    """Blocks to frame in one column of the strip: (row, column, rows, columns), None for all there are."""
    i, j = cell
    if column.rows == "L":
        # A matrix of L by S shows the cell itself, the others show the whole row of the query.
        return [(i, j, 1, 1)] if column.columns == "S" and j is not None else [(i, 0, 1, None)]
    if j is None:
        return []
    return [(0, j, None, 1)] if column.columns == "S" else [(j, 0, 1, None)]


def explain(matrices, cell, tokens):
    """The sum behind a cell, or the mixture behind a query, written out.

    >>> one = np.ones((1, 1))
    >>> matrices = {"Q": one, "K": 2 * one, "product": 2 * one, "scores": 2 * one, "weights": one}
    >>> explain(matrices, (0, 0), {"L": ["a"], "S": ["b"]})
    'product[a, b] = 1·2 = 2  →  ÷ √1 = 2  →  exp(2) / (exp(2)) = 1'
    """
    i, j = cell
    row = tokens["L"][i]
    if j is None:
        pairs = zip(matrices["weights"][i], tokens["S"], strict=True)
        return f"heads[{row}] = " + _sum(f"{number(weight)}·V[{token}]" for weight, token in pairs)
    q, k = matrices["Q"][i], matrices["K"][:, j]
    scores, weight = matrices["scores"][i], matrices["weights"][i, j]
    made = (f"product[{row}, {tokens['S'][j]}] = "
            + _sum(f"{_short(a)}·{_short(b)}" for a, b in zip(q, k, strict=True)) + f" = {_short(q @ k)}")
    # A mask, a bias or a cap takes part in a score or weight too: then only the result is stated.
    scaled = np.isclose(q @ k / math.sqrt(len(q)), scores[j])
    made += f"  →  ÷ √{len(q)} = {_short(scores[j])}" if scaled else f"  →  scores = {_short(scores[j])}"
    exponentials = np.exp(scores - scores.max())
    if np.isclose(exponentials[j] / exponentials.sum(), weight):
        row_sum = _sum(f"exp({_short(score)})" for score in scores)
        return f"{made}  →  exp({_short(scores[j])}) / ({row_sum}) = {_short(weight)}"
    return f"{made}  →  weights = {_short(weight)}"


def _sum(terms):
    terms = list(terms)
    return " + ".join(terms[:MOST_TERMS]) + " + …" * (len(terms) > MOST_TERMS)


def _short(value):
    return number(value, 0 if value == round(value) else 2) if np.isfinite(value) else number(value)
