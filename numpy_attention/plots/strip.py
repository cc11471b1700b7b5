"""The layout of the walkthrough strip: which matrices stand in a row, how large they are, where their corners lie."""

import textwrap
from dataclasses import dataclass

import numpy as np

from ..words.terminal import width
from .inputs import one_head, to_array
from .page import LEAST, fold
from .tokens import column_room

CELL = 0.44
WIDEST = 2.3
SUMS = 0.56
LABELS = 0.28
TYPE = 8.5              # points of numbers, labels and formulas
AXES = 0.15             # for the words "key →" above the column labels
HALF = 0.62             # from the labels up: shape, formula, name, and the direction
GAP = 0.5               # below a half, for the arrows around


@dataclass(frozen=True)
class Column:
    """One column of the strip: a matrix of the forward half and, below it, its gradient.

    ``name`` is the step's; ``rows`` and ``columns`` are the symbols of what is drawn, which may be the transpose.
    """

    name: str
    role: str
    rows: str
    columns: str
    transposed: bool = False
    before: str = ""

    @property
    def label(self):
        return self.name + "ᵀ" * self.transposed


COLUMNS = (
    Column("Q", "compare", "L", "d_k"),
    Column("K", "compare", "d_k", "S", transposed=True, before="@"),
    Column("product", "scores", "L", "S", before="="),
    Column("scores", "scores", "L", "S", before="÷ √dₖ\n→"),
    Column("weights", "weights", "L", "S", before="softmax\n→"),
    Column("V", "values", "S", "d_v", before="@"),
    Column("heads", "values", "L", "d_v", before="="),
)
# Which matrix each gradient is computed from, next to what the forward half left behind.
COMES_FROM = {
    "V": "heads", "weights": "heads", "scores": "weights", "product": "scores", "K": "product", "Q": "product",
}


def matrix_of(trace, name, column, head, batch):
    """The matrix of one step for one head, turned as it is drawn; None if the trace lacks it."""
    if name not in trace:
        return None
    values = to_array(trace[name].value, name)
    if values.ndim > 2 and column.name in "KV":
        # Fewer key and value heads than query heads: a group of queries shares one.
        queries = np.shape(trace["Q"].value)[-3]
        head = head * values.shape[-3] // queries if -queries <= head < queries else head
    values = one_head(values, name, head=head, batch=batch)
    return values.T if column.transposed else values


def used_columns(trace):
    """The columns that this trace can fill; what is essential must be there."""
    missing = [name for name in ("Q", "K", "V", "scores", "weights", "heads") if name not in trace]
    if missing:
        raise ValueError(f"trace lacks the steps {', '.join(missing)}: trace an attention layer after its forward")
    if "product" in trace:
        return COLUMNS
    return [Column("scores", "scores", "L", "S", before="÷ √dₖ\n=") if c.name == "scores" else c
            for c in COLUMNS if c.name != "product"]


class StripLayout:
    """Where the columns stand, in design inches; cells of a long axis get thin, so that it stays in 2.3 inches.

    All stand in one row, or in several lines where there is less ``room``; below every line of matrices stands the
    line of their gradients.

    Args:
        room: inches across; ``tall`` is None if there may be as many as it takes. scale: of the page.
        columns: the Columns shown.
        shapes: size of each symbolic axis.
        tokens: {"L": query tokens, "S": key tokens}.
        sums: names of the columns with a Σ to their right, for each half.
        formulas: a function of half and column name that returns a formula or "".
        title, made: the lines above and below.
    """

    def __init__(self, room, tall, scale, columns, shapes, tokens, sums, formulas, title, made):
        small = TYPE * scale < LEAST            # nothing but names will be written: no room for the rest
        self.pitch = {symbol: min(CELL, WIDEST / max(size, 1)) for symbol, size in shapes.items()}
        self.columns, self.sums, self.left, self.labels, self.line = columns, sums, {}, {}, {}
        self.sizes = {c.name: (shapes[c.columns] * self.pitch[c.columns], shapes[c.rows] * self.pitch[c.rows])
                      for c in columns}
        x, line, widest = 0.2, 0, 0.0
        for column in columns:
            gap = (0.62 if "→" in column.before else 0.42) * bool(column.before)
            longest = max(map(width, tokens.get(column.rows, ())), default=0)
            self.labels[column.name] = 0.1 if small else 0.085 * min(8, longest) + 0.08
            taken = self.sizes[column.name][0] + SUMS * (not small and any(column.name in names for names in sums))
            if tall is not None and self.line and x + gap + self.labels[column.name] + taken > room - 0.1:
                x, line = 0.2, line + 1
            x += gap + max(self.labels[column.name], 0.5 * (x == 0.2 and not small))
            self.left[column.name], self.line[column.name] = x, line
            x += taken
            widest = max(widest, x)
        self.width, self.lines = widest + 0.2, line + 1
        self.height = [max(self.sizes[name][1] for name in self.line if self.line[name] == at)
                       for at in range(self.lines)]
        self.label_room = max(LABELS, column_room(tokens["S"], self.pitch["S"], size=TYPE)) + AXES
        self.halves = len(sums)
        folded = max(self.wrap(c.name, formulas(half, c.name)).count("\n")
                     for half in range(self.halves) for c in columns)
        self.above = 0.34 if small else HALF + 0.15 * folded + self.label_room
        self.gap_below = 0.3 if small else GAP
        self.title, self.made = fold(title, self.width - 0.3, 13), fold(made, self.width - 0.6, 10, 4)
        self.head = 0.2 + 0.25 * (self.title.count("\n") + 1)
        self.foot = self.head + sum(self.block(at) for at in range(self.lines))
        self.bars = self.foot + (0.1 + 0.19 * (self.made.count("\n") + 1)) * bool(made) + 0.3
        self.size = self.width, self.bars + 0.4

    def block(self, line):
        """Height of one line of matrices with their gradients."""
        return self.halves * (self.above + self.height[line]) + self.gap_below * (self.halves - 1) + self.gap_below

    def top(self, name, half):
        """The upper edge of a matrix."""
        line = self.line[name]
        before = sum(self.block(at) for at in range(line))
        return self.head + before + self.above + half * (self.above + self.height[line] + self.gap_below)

    def tall(self, name):
        """The height of the line in which a matrix stands."""
        return self.height[self.line[name]]

    def middle(self, name):
        """The middle of a column."""
        return self.left[name] + self.sizes[name][0] / 2

    def gap(self, name, half):
        """Start and end of the free space to the left of a column."""
        order = [column.name for column in self.columns]
        before = order[order.index(name) - 1]
        end = self.left[name] - self.labels[name]
        if self.line[before] != self.line[name]:
            return end - 0.5, end
        return self.left[before] + self.sizes[before][0] + SUMS * (before in self.sums[half]), end

    def wrap(self, name, formula):
        """The formula in lines that stay above their own matrix, broken where it may be."""
        room = max(int((self.sizes[name][0] + 0.45) / 0.066), 12)
        lines = textwrap.wrap(formula.replace("Σ_S ", "Σ_S\xa0"), room, break_long_words=False)
        return "\n".join(lines).replace("\xa0", " ")
