"""A row of matrices at one cell size, each with its name, its formula and, under it, its colour bar."""

from dataclasses import dataclass

import numpy as np

from ..words.colours import GREY, NAMES
from ..words.terminal import width
from .captions import in_both, key_axis, query_axis
from .drawing import small_bar
from .matrix import draw_matrix, table
from .page import fold, open_page, title_room
from .tokens import column_room, row_room

WIDEST = {1: 8.0, 2: 4.5, 3: 3.2}
CELL, LEAST = 0.52, 0.8         # design inches: the largest cell; the smallest matrix (if its cells are not that large)


@dataclass
class Panel:
    """One matrix of a row: its numbers, its scale and the words around it.

    ``bar`` is the label of its colour bar, empty for none; ``rows`` and ``columns`` replace the row's own labels,
    ``axes`` the words ("query ↓", "key →").
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


class RowLayout:
    """Where the panels go: side by side, or below each other where there is less room.

    ``corners`` are their top left corners, ``pitch`` the size of a cell in design inches.
    """

    def __init__(self, room, tall, scale, panels, labels, title, footer, bars, lang):
        L = max(max(panel.values.shape[0] for panel in panels), 1)
        S = max(max(panel.values.shape[1] for panel in panels), 1)
        self.formulas = any(panel.formula for panel in panels)
        self.labels = labels
        best = None
        for across in range(len(panels), 0, -1):
            self._place(room, tall, panels, L, S, across, bars, lang)
            if best is None or self.pitch[0] > 1.15 * best[1]:
                best = across, self.pitch[0]
        self._place(room, tall, panels, L, S, best[0], bars, lang)
        wide = min(max(self.wide, min(room, 0.35 + 0.0955 * max(map(width, title.split("\n"))))), max(room, self.wide))
        self.title, self.footer = fold(title, wide - 0.3, 12), fold(footer, wide - 0.3, 9)
        self.head = 0.2 + title_room(self.title)
        below = 0.2 + 0.17 * bool(footer) * (self.footer.count("\n") + 1)
        self.corners = [(x, y + self.head) for x, y in self.corners]
        self.size = wide, self.head + self.tall + below

    def _place(self, room, tall, panels, L, S, across, bars, lang):
        """Corners without the head, for ``across`` panels a line."""
        lines = -(-len(panels) // across)
        words = 0.46 + 0.2 * in_both(lang)
        lefts = [0.1 + max(words, row_room(rows)) for rows, _ in self.labels]
        right = [max(0.12 + 0.55 * panel.sums, (1.2 - CELL * panel.values.shape[1]) * bool(bars and panel.bar))
                 for panel in panels]
        fixed = max(sum(lefts[at] + right[at] for at in range(line, min(line + across, len(panels))))
                    for line in range(0, len(panels), across)) + 0.15
        cells = max(sum(max(panel.values.shape[1], 1) for panel in panels[line:line + across])
                    for line in range(0, len(panels), across))
        pitch = [min(CELL, WIDEST.get(across, 3.2) / S, (room - fixed) / cells), min(CELL, 3.2 / L)]
        pitch = [max(min(CELL, LEAST / S), pitch[0]), pitch[1]]
        below, self.pitch = 0.6 if bars else 0.15, tuple(pitch)
        for _ in range(3):      # narrow columns have slanted labels, which take height, which makes cells smaller
            above = 0.44 + 0.17 * self.formulas + max(column_room(names, self.pitch[0]) for _, names in self.labels)
            if tall is not None:
                pitch[1] = max(min(CELL, LEAST / L), min(pitch[1], ((tall - 1.0) / lines - above - below) / L))
            self.pitch = (min(pitch),) * 2 if max(L, S) <= 4 * min(L, S) else tuple(pitch)
        self.above, self.corners, y, self.wide = above, [], 0.0, 0.0
        for line in range(0, len(panels), across):
            x = 0.05
            for at in range(line, min(line + across, len(panels))):
                panel, wide = panels[at], panels[at].values.shape[1] * self.pitch[0]
                least = 0.085 * max(width(panel.name) * 1.15, width(panel.formula) * 0.85)
                x += lefts[at] + max(0, least - wide - lefts[at]) / 2
                self.corners.append((x, y + above))
                x += wide + max(right[at], (least - wide) / 2, (1.2 - wide) * bool(bars and panel.bar))
            self.wide = max(self.wide, x + 0.1)
            y += above + L * self.pitch[1] + below
        self.tall = y


def draw_row(panels, rows, columns, *, title, lang, footer="", bars=True, fig=None, ax=None, size=None):
    """Draw the panels side by side.

    Args:
        panels: the Panels; their ``axes`` are a pair of words that replaces ("query ↓", "key →").
        rows, columns: token labels, shared by the panels that bring none of their own.
        title, footer: lines above and below. fig, ax, size: where to, see page.py.

    Returns: the Page, and the Axes of each panel.
    """
    labels = [(panel.rows or rows, panel.columns or columns) for panel in panels]
    bars = bars and any(panel.bar for panel in panels)
    page = open_page(lambda *room: RowLayout(*room, panels, labels, title, footer, bars, lang), fig=fig, ax=ax,
                     size=size)
    row = page.layout
    drawn = [_panel(page, panel, corner, row, names, lang)
             for panel, corner, names in zip(panels, row.corners, labels, strict=True)]
    page.bars = []
    for panel, (left, top) in zip(panels, row.corners, strict=True):
        if panel.bar and bars:
            high, wide = panel.values.shape[0] * row.pitch[1], panel.values.shape[1] * row.pitch[0]
            bar = small_bar(page, left, top + high + 0.3, max(1.0, 0.6 * wide), panel.scale, panel.bar, high=0.1)
            page.bars.append(bar.ax)
    page.write(0.15, 0.1, row.title, ha="left", fontsize=12, keep=True, room=row.size[0] - 0.2)
    page.write(0.15, row.size[1] - 0.12, row.footer, ha="left", va="bottom", fontsize=9, color=GREY)
    return page, drawn


def _panel(page, panel, corner, row, names, lang):
    L, S = panel.values.shape
    left, top = corner
    axes = page.axes(left, top, max(S, 1) * row.pitch[0], max(L, 1) * row.pitch[1])
    pitch = tuple(part * page.scale for part in row.pitch)
    room = panel.values.size <= 100
    numbers = room if panel.numbers is None else room and panel.numbers
    draw_matrix(axes, panel.values, panel.scale, pitch=pitch, hidden=panel.hidden, sums=panel.sums, numbers=numbers,
                size=page.points(9), rows=names[0], columns=names[1],
                words=panel.axes or (query_axis(lang), key_axis(lang)))
    axes.set_label(panel.name)
    middle, above = left + S * row.pitch[0] / 2, top - column_room(names[1], row.pitch[0]) - 0.16
    page.write(middle, above - 0.02, panel.formula, va="bottom", fontsize=8.5, color=GREY)
    page.write(middle, above - 0.04 - 0.17 * row.formulas, panel.name, va="bottom", fontsize=12, keep=True,
               **({"color": NAMES[panel.name.strip("d")]} if panel.name.strip("d") in NAMES else {}))
    return axes


def row_text(title, panels, rows, columns):
    """The row as tables."""
    return "\n\n".join([title, *(
        f"{panel.name} {panel.formula}".rstrip() + "\n"
        + table(panel.values, panel.rows or rows, panel.columns or columns, sums=panel.sums, hidden=panel.hidden)
        for panel in panels)])
