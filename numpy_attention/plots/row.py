"""A row of matrices at one cell size, each with its name, its formula and, under it, its colour bar."""

from dataclasses import dataclass

import numpy as np

from ..walkthrough.text import width
from . import marks
from .bar import small_bar
from .colours import GREY
from .figure import axes_at, picture
from .matrix import draw_matrix
from .text import table
from .tokens import column_room, row_room
from .words import key_axis, query_axis

WIDEST = {1: 8.0, 2: 4.5, 3: 3.2}
CELL = 0.52


@dataclass
class Panel:
    """One matrix of a row: its numbers, its scale and the words around it.

    ``bar`` is the label of its colour bar, empty for none; ``rows`` and ``columns`` replace the row's own labels.
    """

    name: str
    values: np.ndarray
    scale: tuple
    formula: str = ""
    bar: str = ""
    hidden: np.ndarray = None
    sums: bool = False
    numbers: object = None
    rows: list = None
    columns: list = None
    axes: tuple = None


def draw_row(panels, rows, columns, *, title, lang, fig=None, footer=""):
    """Draw the panels side by side.

    Args:
        panels: the Panels; their ``axes`` are a pair of words that replaces ("query ↓", "key →").
        rows, columns: token labels, shared by the panels that bring none of their own.
        title, footer: lines above and below.

    Returns:
        the Figure, and the Axes of each panel.
    """
    L = max(max(panel.values.shape[0] for panel in panels), 1)
    S = max(max(panel.values.shape[1] for panel in panels), 1)
    pitch = min(CELL, WIDEST[len(panels)] / S), min(CELL, WIDEST[3] / L)
    pitch = (min(pitch),) * 2 if max(L, S) <= 4 * min(L, S) else pitch
    labels = [(panel.rows or rows, panel.columns or columns) for panel in panels]
    above = 0.85 + max(column_room(label[1], pitch[0]) for label in labels)
    lefts, x = [], 0.2
    for panel, (names, _) in zip(panels, labels, strict=True):
        least = 0.085 * max(width(panel.name) * 1.15, width(panel.formula) * 0.85)
        wide = panel.values.shape[1] * pitch[0]
        x += 0.25 + row_room(names) + max(0, least - wide) / 2
        lefts.append(x)
        x += wide + 0.55 * panel.sums + max(0, least - wide) / 2
    tall = L * pitch[1]
    size = max(x + 0.3, 0.2 + 0.088 * width(title)), above + tall + 0.95 + 0.3 * bool(footer)
    figure = picture(fig, *size)
    formulas = any(panel.formula for panel in panels)
    drawn = [_panel(figure, size, panel, left, above, pitch, names, formulas, lang)
             for panel, left, names in zip(panels, lefts, labels, strict=True)]
    for panel, left in zip(panels, lefts, strict=True):
        if panel.bar:
            long = max(1.0, 0.6 * panel.values.shape[1] * pitch[0])
            small_bar(figure, axes_at(figure, size, left, above + tall + 0.55, long, 0.1), panel.scale, panel.bar)
    marks.write(figure, size, 0.15, 0.1, title, ha="left", fontsize=12)
    marks.write(figure, size, 0.15, size[1] - 0.25, footer, ha="left", fontsize=9, color=GREY)
    return figure, drawn


def _panel(figure, size, panel, left, top, pitch, names, formulas, lang):
    L, S = panel.values.shape
    axes = axes_at(figure, size, left, top, max(S, 1) * pitch[0], max(L, 1) * pitch[1])
    room = panel.values.size <= 100 and min(pitch) > 0.36
    numbers = room if panel.numbers is None else room and panel.numbers
    draw_matrix(axes, panel.values, panel.scale, pitch=pitch, hidden=panel.hidden, sums=panel.sums, numbers=numbers,
                rows=names[0], columns=names[1])
    axes.set_label(panel.name)
    down, right = panel.axes or (query_axis(lang), key_axis(lang))
    axes.set_ylabel(down, fontsize=8, color=GREY, labelpad=2)
    axes.set_xlabel(right, fontsize=8, color=GREY, labelpad=3)
    middle, above = left + S * pitch[0] / 2, top - column_room(names[1], pitch[0])
    marks.write(figure, size, middle, above - 0.02, panel.formula, va="bottom", fontsize=8.5, color=GREY)
    marks.write(figure, size, middle, above - 0.19 * formulas, panel.name, va="bottom", fontsize=12)
    return axes


def row_text(title, panels, rows, columns):
    """The row as tables."""
    return "\n\n".join([title, *(
        f"{panel.name} {panel.formula}".rstrip() + "\n"
        + table(panel.values, panel.rows or rows, panel.columns or columns, sums=panel.sums, hidden=panel.hidden)
        for panel in panels)])
