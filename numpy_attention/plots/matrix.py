"""Draws one matrix: coloured cells, numbers, token labels, hatching where a mask hides, sums beside the rows.

Everything here is in real inches and points, whatever page the axes stand on. What does not fit is left out: numbers
below 5 points, labels that would touch. Cells below two pixels are pooled: each dot shows the largest of its block.
"""

import math

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.patheffects import withStroke

from ..words.colours import ACCENT, GREY, ink
from ..words.numbers import matrix as text_matrix
from .tokens import label_columns, label_rows

MOST_NUMBERS = 64
LEAST_CELL = 0.02       # inches: two pixels at 100 dots per inch
LEAST_TYPE = 5.0


def number(value, digits=2):
    """A number with a true minus sign; what is not 0 never reads as 0, and from a million on one digit will do.

    >>> number(-0.25), number(-0.0048), number(0.0), number(float("nan")), number(2e12)
    ('−0.25', '−5e-3', '0.00', 'NaN', '2e12')
    """
    if not np.isfinite(value):
        return "NaN" if np.isnan(value) else "∞" if value > 0 else "−∞"
    rounded = round(float(value), digits)
    if (not rounded and value) or abs(rounded) >= 1e6:
        return short_power(value)
    # Adding zero turns -0.0 into 0.0.
    return f"{rounded + 0.0:.{digits}f}".replace("-", "−")


def short_power(value):
    """One digit and a power of ten.

    >>> short_power(np.float64(-2e12)), short_power(3e-9)
    ('−2e12', '3e-9')
    """
    text = f"{float(value):.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return "−" + text[1:] if value < 0 else text


def total(values, digits=2):
    """The sum of a row in words; what is rounding noise beside the numbers that were added is 0.

    >>> total(np.array([0.1, 0.2, -0.3]))
    '0.00'
    """
    found = values.sum()
    noise = np.abs(values).sum() * 1e-12
    return number(0.0 if abs(found) < noise else found, digits)


def number_format(values, digits=2):
    """A function that writes the numbers of ``values`` alike: whole ones bare, others with up to ``digits`` decimals,
    and very large or very small ones as powers of ten.

    >>> number_format(np.array([1.0, -2.0]))(-2.0), number_format(np.array([0.5, 1.0]))(1.0)
    ('−2', '1.00')
    """
    finite = values[np.isfinite(values)]
    largest = np.max(np.abs(finite), initial=0)
    if largest >= 10_000 or 0 < largest < 0.5 * 10.0**-digits:
        return lambda value: (number(value) if not np.isfinite(value) else short_power(value) if value else "0")
    whole = np.all(finite == np.round(finite))
    # Three digits before the point leave no room for two behind it.
    digits = 0 if whole else max(0, digits - max(0, len(str(int(largest))) - 1))
    return lambda value: number(value, digits)


def table(values, rows, columns, *, sums=False, hidden=None):
    """A matrix as text: token labels, a Σ column if asked for, and a dot in each hidden cell.

    >>> print(table(np.array([[0.25, 0.75]]), ["我"], ["爱", "AI"], sums=True))
            爱      AI       Σ
    我  0.2500  0.7500  1.0000
    """
    values = np.asarray(values)
    if hidden is None:
        return text_matrix(values, rows, columns, sums=sums, indent=0)
    return text_matrix(np.where(hidden, np.nan, values), rows, columns, indent=0).replace("nan", "  ·")


def draw_matrix(
    axes, values, scale, *, rows=None, columns=None, pitch=0.4, hidden=None,
    numbers=None, digits=2, size=9, sums=False, top=True, words=("", ""),
):
    """Draw ``values`` into ``axes``, first row on top.

    Args:
        values: (rows, columns).
        scale: (colour map, norm), as made in drawing.py.
        rows, columns: token labels, or None for no labels on that side.
        pitch: size of one cell in inches, which decides what there is room for; a pair if width and height differ.
        hidden: boolean (rows, columns), True where a mask hides the cell: hatched, never coloured.
        numbers: write the values into the cells, by default when there are at most 64; or a function that writes one.
        size: points of numbers and labels, less where a cell is small.
        sums: write the sum of each row to its right, if the rows are high enough.
        top: column labels above rather than below.
        words: what the rows and the columns are, "query ↓" and "key →", written where they point.

    Returns: the AxesImage; its ``pooled`` says how many rows and columns one dot stands for.
    """
    values = np.asarray(values)
    colours, norm = scale
    wide, high = pitch if isinstance(pitch, tuple) else (pitch, pitch)
    hidden = np.zeros(values.shape, bool) if hidden is None else np.broadcast_to(hidden, values.shape)
    colours = colours.with_extremes(bad="0.8")
    if values.size == 0:
        return _empty(axes, values, colours, norm, size)
    L, S = values.shape
    blocks = pooling(values.shape, (wide, high))
    shown = np.ma.masked_invalid(pool(np.where(hidden, np.nan, values), blocks))
    extent = (-0.5, shown.shape[1] * blocks[1] - 0.5, shown.shape[0] * blocks[0] - 0.5, -0.5)
    image = axes.imshow(shown, cmap=colours, norm=norm, aspect="auto", interpolation="nearest", origin="upper",
                        extent=extent, resample=False, filternorm=True, alpha=1)
    image.pooled = blocks
    axes.set(xlim=(-0.5, S - 0.5), ylim=(L - 0.5, -0.5), facecolor="0.8")
    axes.grid(False)
    if min(wide, high) > 0.06:
        thin = min(0.8, 4 * min(wide, high))
        axes.hlines(np.arange(0.5, L - 1), -0.5, S - 0.5, color="white", linewidth=thin)
        axes.vlines(np.arange(0.5, S - 1), -0.5, L - 0.5, color="white", linewidth=thin)
    if hidden.any():
        hatch(axes, hidden)
    write = numbers if callable(numbers) else number_format(values, digits)
    if not callable(numbers) and norm.vmin is not None and norm.vmin >= 0:
        least, usual = 0.5 * 10.0**-digits, write
        write = lambda value: "≈0" if 0 < value < least else usual(value)     # noqa: E731
    written = numbers if numbers is not None else values.size <= MOST_NUMBERS
    written = write_numbers(axes, values, image, hidden, write, (wide, high), size) if written else False
    if not written and norm.vmin is not None and norm.vmin < 0 and min(wide, high) >= 0.05:
        mark_negative(axes, values, image, hidden)
    size = size if size >= LEAST_TYPE else 0
    if sums and size and high * 72 > size * 1.2:
        write_sums(axes, values, size)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.tick_params(which="both", left=False, right=False, top=False, bottom=False)
    if rows is not None and size:
        label_rows(axes, rows, high, size=size)
    if columns is not None and size:
        label_columns(axes, columns, wide, size=size, top=top)
    if any(words) and size:
        name_axes(axes, words, columns if columns is not None and size else None, (wide * S, high * L), wide, size, top)
    axes.spines[:].set(visible=True, color=GREY, linewidth=0.6)
    return image


def name_axes(axes, words, columns, inches, pitch, size, top=True):
    """What the axes are, upright: "query ↓" above the row labels, "key →" above the column labels."""
    from .tokens import column_room
    down, right = words
    small = max(LEAST_TYPE, size - 1)
    labels = column_room(columns, pitch, size=size) if columns is not None and top else 0.03
    if down:
        axes.set_ylabel(down, fontsize=small, color=GREY, rotation=0, ha="right", va="bottom", linespacing=1.0)
        axes.yaxis.set_label_coords(-0.05 / inches[0], 1 + 0.03 / inches[1])
    if right:
        axes.xaxis.set_label_position("top")
        axes.set_xlabel(right, fontsize=small, color=GREY, ha="left", va="bottom", linespacing=1.0)
        axes.xaxis.set_label_coords(0, 1 + labels / inches[1])


def _empty(axes, values, colours, norm, size):
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, f"empty\n{values.shape}", transform=axes.transAxes, ha="center", va="center", color=GREY,
              fontsize=max(size, LEAST_TYPE))
    image = axes.imshow(np.ma.masked_all((1, 1)), cmap=colours.with_extremes(bad=(0, 0, 0, 0)), norm=norm,
                        aspect="auto")
    image.pooled = 1, 1
    return image


def pooling(shape, pitch):
    """How many rows and columns one dot stands for, so that no dot is below two pixels.

    >>> pooling((4096, 4096), (3.0 / 4096, 3.0 / 4096)), pooling((3, 3), (0.4, 0.4))
    ((28, 28), (1, 1))
    """
    return tuple(max(1, math.ceil(LEAST_CELL / size - 1e-9)) if count else 1
                 for count, size in zip(shape, reversed(pitch), strict=True))


def pool(values, blocks):
    """The number of largest size in each block of so many rows and columns; NaN only where all of a block is NaN.

    >>> pool(np.array([[0.1, -0.9, np.nan], [0.2, 0.0, np.nan]]), (2, 2))
    array([[-0.9,  nan]])
    """
    if blocks == (1, 1):
        return values
    for axis, block in enumerate(blocks):
        starts = np.arange(0, values.shape[axis], block)
        high, low = np.fmax.reduceat(values, starts, axis), np.fmin.reduceat(values, starts, axis)
        values = np.where(-low > high, low, high)
    return values


def write_numbers(axes, values, image, hidden, write, pitch, size):
    """The value of each cell, in black or white; a hidden cell says –. Returns whether there was room."""
    texts = np.array([[write(value) for value in row] for row in values.tolist()], dtype=object)
    longest = max((len(text) for text, lost in zip(texts.ravel(), hidden.ravel(), strict=True) if not lost), default=1)
    # A digit is about 0.64 of its size wide; a line fills three fifths of a cell at most.
    size = min(size, 0.96 * pitch[0] * 72 / (0.64 * longest), 0.6 * pitch[1] * 72)
    if size < LEAST_TYPE:
        return False
    for (i, j), value in np.ndenumerate(values):
        if hidden[i, j]:
            axes.text(j, i, "–", ha="center", va="center", fontsize=size, color="0.3")
        else:
            colour = ink(image.cmap(image.norm(value)) if np.isfinite(value) else (0.8, 0.8, 0.8))
            axes.text(j, i, texts[i, j], ha="center", va="center_baseline", fontsize=size, color=colour)
    return True


def mark_negative(axes, values, image, hidden):
    """A small − on each negative cell, so that the sign survives a print without colours."""
    far = image.norm.vmax
    places = np.argwhere((values < -0.04 * far) & ~hidden)
    colours = [ink(image.cmap(image.norm(values[i, j]))) for i, j in places]
    axes.add_collection(LineCollection([((j - 0.2, i), (j + 0.2, i)) for i, j in places], colors=colours,
                                       linewidths=0.9, zorder=3), autolim=False)


def write_sums(axes, values, size):
    """A column Σ to the right of the cells."""
    S = values.shape[1]
    for i, row in enumerate(values):
        axes.text(S - 0.38, i, f"Σ {total(row)}", va="center_baseline", fontsize=size, color=GREY)


def hatch(axes, hidden):
    """Hatch the hidden cells, as one shape, so that large masks stay cheap."""
    vertices, codes = [], []
    for i, row in enumerate(hidden):
        edges = np.flatnonzero(np.diff(np.r_[0, row.astype(np.int8), 0])) - 0.5
        for left, right in edges.reshape(-1, 2):
            vertices += [(left, i - 0.5), (right, i - 0.5), (right, i + 0.5), (left, i + 0.5), (left, i - 0.5)]
            codes += [Path.MOVETO, *[Path.LINETO] * 3, Path.CLOSEPOLY]
    axes.add_patch(PathPatch(Path(vertices, codes), facecolor="0.93", edgecolor="0.65", hatch="////", linewidth=0))


def outline(axes, i, j, rows=1, columns=1):
    """Frame a block of cells whose top left cell is (i, j); None takes all rows or columns of the image."""
    S, L = (int(abs(b - a)) for a, b in (axes.get_xlim(), axes.get_ylim()))
    rows, columns = L if rows is None else rows, S if columns is None else columns
    frame = Rectangle((j - 0.5, i - 0.5), columns, rows, fill=False, edgecolor=ACCENT, linewidth=2.4, zorder=5)
    frame.set(clip_on=False, path_effects=[withStroke(linewidth=4.4, foreground="white")])
    axes.add_patch(frame)
