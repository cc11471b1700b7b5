"""Numbers and matrices as text: alike in every row, with their labels, the corners only where there are too many."""
import numpy as np

from .terminal import screen_width, shorten, table, width

MOST_ROWS, MOST_COLUMNS, CORNER = 12, 8, 3


def numbers(array, precision=4):
    """The numbers of an array as equally formatted strings: integers as such, others with `precision` decimals.

    >>> numbers([0.5, -0.0]), numbers([1.0, 2.0])
    ([['0.5000', '0.0000']], [['1', '2']])
    """
    array = np.asarray(array)
    finite = np.abs(array[np.isfinite(array)])
    if array.dtype.kind in "biu" or ((finite == np.round(finite)).all() and finite.max(initial=0) < 1e6):
        shown = "{:.0f}".format
    elif finite.max() >= 1e6 or finite.max() < 10.0 ** -precision:
        shown = f"{{:.{precision}e}}".format
    else:
        shown = f"{{:.{precision}f}}".format
    zero = shown(0.0)
    texts = [[shown(x) for x in row] for row in np.atleast_2d(array).tolist()]
    return [[zero if text == f"-{zero}" else text for text in row] for row in texts]


def matrix(array, rows=None, columns=None, *, precision=4, sums=False, indent=4):
    """A matrix (r, c) with the labels of its rows and columns; a Σ column if `sums`; large ones show their corners.

    >>> print(matrix(np.array([[0.25, 0.75]]), ["我"], ["爱", "AI"], sums=True, indent=0))
            爱      AI       Σ
    我  0.2500  0.7500  1.0000
    """
    array = np.atleast_2d(array)
    if array.size == 0:
        return " " * indent + "(no numbers)"
    keep_rows = _kept(array.shape[0], MOST_ROWS, CORNER)
    for most, corner in ((MOST_COLUMNS, CORNER), (2, CORNER), (2, 2), (2, 1)):
        lines = _lines(array, rows, columns, keep_rows, _kept(array.shape[1], most, corner), precision, sums)
        if max(map(width, lines)) <= screen_width() - indent:
            break
    return "\n".join(" " * indent + line for line in lines)


def _lines(array, rows, columns, keep_rows, keep_columns, precision, sums):
    """The lines of the rows and columns that are kept; a None among them is the gap."""
    shown = array[np.ix_([i for i in keep_rows if i is not None], [j for j in keep_columns if j is not None])]
    cells = [_with_gaps(row, keep_columns) for row in numbers(shown, precision)]
    cells = [list(row) for row in _with_gaps(cells, keep_rows, ["…"] * len(keep_columns))]
    heads = [""] * len(keep_columns)
    if columns is not None:
        heads = ["…" if j is None else shorten(columns[j], 10) for j in keep_columns]
    if sums:
        totals = [f"{array[i].sum():.{precision}f}" for i in keep_rows if i is not None]
        totals = [text.removeprefix("-") if not text.strip("-0.") else text for text in totals]
        cells = [[*row, total] for row, total in zip(cells, _with_gaps(totals, keep_rows), strict=True)]
        heads.append("Σ")
    labels = [] if rows is None else ["" if i is None else shorten(rows[i], 12) for i in keep_rows]
    if any(labels):
        cells = [[label, *row] for label, row in zip(labels, cells, strict=True)]
        heads = ["", *heads]
    lines = table([heads, *cells], "<>" if any(labels) else ">", gap=2, columns=10**6)
    return lines if any(heads) else lines[1:]


def _kept(count, most, corner):
    """Which of `count` rows are shown; None stands for the gap."""
    return list(range(count)) if count <= most else [*range(corner), None, *range(count - corner, count)]


def _with_gaps(items, kept, gap="…"):
    items = iter(items)
    return [gap if k is None else next(items) for k in kept]
