"""Draws one matrix: coloured cells, numbers, token labels, hatching where a mask hides, sums beside the rows."""

import numpy as np
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.patheffects import withStroke

from .colours import ACCENT, GREY, ink
from .text import decimal, number_format
from .tokens import label_columns, label_rows

MOST_NUMBERS = 64


def draw_matrix(
    axes, values, scale, *, rows=None, columns=None, pitch=0.4, hidden=None,
    numbers=None, digits=2, size=9, sums=False, top=True,
):
    """Draw ``values`` into ``axes``, first row on top.

    Args:
        values: (rows, columns).
        scale: (colour map, norm), as made in colours.py.
        rows, columns: token labels, or None for no labels on that side.
        pitch: size of one cell in inches, which decides how labels are thinned out; a pair if width and height differ.
        hidden: boolean (rows, columns), True where a mask hides the cell: hatched, never coloured.
        numbers: write the values into the cells, by default when there are at most 64; or a function that writes one.
        sums: write the sum of each row to its right, if the rows are high enough.
        top: column labels above rather than below.

    Returns:
        the AxesImage.
    """
    values = np.asarray(values)
    colours, norm = scale
    wide, high = pitch if isinstance(pitch, tuple) else (pitch, pitch)
    hidden = np.zeros(values.shape, bool) if hidden is None else np.broadcast_to(hidden, values.shape)
    colours = colours.with_extremes(bad="0.8")
    shown = np.ma.masked_invalid(np.where(hidden, np.nan, values))
    # Fine maps are averaged down to the pixels there are; coarse ones keep hard edges.
    smooth = "antialiased" if max(values.shape) > 64 else "nearest"
    if values.size == 0:
        return _empty(axes, values, colours, norm)
    image = axes.imshow(shown, cmap=colours, norm=norm, aspect="auto", interpolation=smooth)
    L, S = values.shape
    if min(wide, high) > 0.12:
        axes.hlines(np.arange(0.5, L - 1), -0.5, S - 0.5, color="white", linewidth=0.8)
        axes.vlines(np.arange(0.5, S - 1), -0.5, L - 0.5, color="white", linewidth=0.8)
    if hidden.any():
        hatch(axes, hidden)
    if numbers if numbers is not None else values.size <= MOST_NUMBERS:
        write = numbers if callable(numbers) else number_format(values, digits)
        write_numbers(axes, values, image, hidden, write, size)
    if sums and high > 0.17:
        write_sums(axes, values, size)
    axes.set_xticks([])
    axes.set_yticks([])
    if rows is not None:
        label_rows(axes, rows, high, size=size)
    if columns is not None:
        label_columns(axes, columns, wide, size=size, top=top)
    for spine in axes.spines.values():
        spine.set(color=GREY, linewidth=0.6)
    return image


def _empty(axes, values, colours, norm):
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, f"empty\n{values.shape}", transform=axes.transAxes, ha="center", va="center", color=GREY)
    return axes.imshow(np.ma.masked_all((1, 1)), cmap=colours.with_extremes(bad=(0, 0, 0, 0)), norm=norm, aspect="auto")


def write_numbers(axes, values, image, hidden, write, size):
    """The value of each cell, in black or white; a hidden cell says –."""
    for (i, j), value in np.ndenumerate(values):
        if hidden[i, j]:
            axes.text(j, i, "–", ha="center", va="center", fontsize=size, color="0.3")
        else:
            colour = ink(image.cmap(image.norm(value)) if np.isfinite(value) else "0.8")
            axes.text(j, i, write(value), ha="center", va="center_baseline", fontsize=size, color=colour)


def write_sums(axes, values, size):
    """A column Σ to the right of the cells."""
    S = values.shape[1]
    for i, total in enumerate(values.sum(axis=1)):
        axes.text(S - 0.38, i, f"Σ {decimal(total)}", va="center_baseline", fontsize=size, color=GREY)


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
    L, S = axes.images[0].get_array().shape
    rows, columns = L if rows is None else rows, S if columns is None else columns
    frame = Rectangle((j - 0.5, i - 0.5), columns, rows, fill=False, edgecolor=ACCENT, linewidth=2.4, zorder=5)
    frame.set(clip_on=False, path_effects=[withStroke(linewidth=4.4, foreground="white")])
    axes.add_patch(frame)
