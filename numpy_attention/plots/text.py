"""Plots as plain text: numbers, token labels, and tables whose Chinese columns line up."""

import unicodedata

import numpy as np

MOST_CELLS = 400


def width(text):
    """Columns that ``text`` takes in a terminal; a Chinese character takes two.

    >>> width("我 AI")
    5
    """
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def shorten(text, limit):
    """``text`` in at most ``limit`` columns, its end replaced by … if need be.

    >>> shorten("internationalisation", 8)
    'interna…'
    """
    if width(text) <= limit:
        return text
    kept = ""
    for character in text:
        if width(kept + character) > limit - 1:
            break
        kept += character
    return kept + "…"


def decimal(value, digits=2):
    """A number with a true minus sign, and no minus before zero.

    >>> decimal(-0.25), decimal(-0.001), decimal(float("nan"))
    ('−0.25', '0.00', 'NaN')
    """
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "∞" if value > 0 else "−∞"
    # Adding zero turns -0.0 into 0.0.
    return f"{round(float(value), digits) + 0.0:.{digits}f}".replace("-", "−")


def number_format(values, digits=2):
    """A function that writes the numbers of ``values`` alike: whole ones bare, others with up to ``digits`` decimals,
    and very large or very small ones as powers of ten.

    >>> number_format(np.array([1.0, -2.0]))(-2.0), number_format(np.array([0.5, 1.0]))(1.0)
    ('−2', '1.00')
    """
    finite = values[np.isfinite(values)]
    largest = np.max(np.abs(finite), initial=0)
    if largest >= 10_000 or 0 < largest < 0.5 * 10.0**-digits:
        return lambda value: f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−")
    whole = np.all(finite == np.round(finite))
    # Three digits before the point leave no room for two behind it.
    digits = 0 if whole else max(0, digits - max(0, len(str(int(largest))) - 1))
    return lambda value: decimal(value, digits)


def table(values, rows, columns, *, sums=False, hidden=None, digits=2):
    """A matrix as lines of text with its labels; hidden cells show as ``·``.

    >>> print(table(np.array([[0.25, 0.75]]), ["我"], ["爱", "AI"], sums=True))
          爱    AI     Σ
    我  0.25  0.75  1.00
    """
    values = np.asarray(values)
    if values.size > MOST_CELLS:
        return f"({values.shape[0]} × {values.shape[1]}, too many numbers to list)"
    write = number_format(values, digits)
    lines = [["", *columns, *["Σ"] * sums]]
    for i, row in enumerate(values):
        cells = ["·" if hidden is not None and hidden[i, j] else write(value) for j, value in enumerate(row)]
        lines.append([rows[i], *cells, *[decimal(row.sum())] * sums])
    first = max(width(line[0]) for line in lines)
    others = max((width(cell) for line in lines for cell in line[1:]), default=0)
    return "\n".join(
        "  ".join([pad(line[0], -first), *(pad(cell, others) for cell in line[1:])]).rstrip() for line in lines
    )


def pad(text, columns):
    """``text`` filled up with spaces on its left, or on its right if ``columns`` is negative."""
    space = " " * (abs(columns) - width(text))
    return space + text if columns > 0 else text + space
