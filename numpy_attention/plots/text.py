"""Plots as plain text: numbers as they stand in cells, and tables whose Chinese columns line up."""

import numpy as np

from ..walkthrough.text import matrix


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


def table(values, rows, columns, *, sums=False, hidden=None):
    """A matrix as lines of text with its labels; hidden cells show as ``·``, large matrices as their corners.

    >>> print(table(np.array([[0.25, 0.75]]), ["我"], ["爱", "AI"], sums=True))
            爱      AI       Σ
    我  0.2500  0.7500  1.0000
    """
    values = np.asarray(values)
    if hidden is None:
        return matrix(values, rows, columns, sums=sums, indent=0)
    return matrix(np.where(hidden, np.nan, values), rows, columns, indent=0).replace("nan", "  ·")
