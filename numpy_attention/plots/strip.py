"""The layout of the walkthrough strip: which matrices stand in a row, how large they are, where their corners lie."""

import textwrap
from dataclasses import dataclass

import numpy as np

from ..walkthrough.text import width
from .sources import one_head, to_array
from .tokens import column_room

CELL = 0.44
WIDEST = 2.3
SUMS = 0.56
LABELS = 0.28


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


class Layout:
    """Where the columns stand, in inches from the left; cells of a long axis get thin, so that it stays in 2.3 inches.

    Args:
        columns: the Columns shown.
        shapes: size of each symbolic axis.
        tokens: {"L": query tokens, "S": key tokens}.
        sums: names of the columns with a Σ to their right, for each half.
    """

    def __init__(self, columns, shapes, tokens, sums):
        self.pitch = {symbol: min(CELL, WIDEST / max(size, 1)) for symbol, size in shapes.items()}
        self.columns, self.sums, self.left, self.labels = columns, sums, {}, {}
        self.sizes = {c.name: (shapes[c.columns] * self.pitch[c.columns], shapes[c.rows] * self.pitch[c.rows])
                      for c in columns}
        x = 0.45
        for column in columns:
            gap = 0.6 if "→" in column.before else 0.4
            longest = max(map(width, tokens.get(column.rows, ())), default=0)
            self.labels[column.name] = 0.085 * min(8, longest) + 0.08
            x += gap * bool(column.before) + self.labels[column.name]
            self.left[column.name] = x
            x += self.sizes[column.name][0] + SUMS * any(column.name in names for names in sums)
        self.width = x + 0.2
        self.height = max(size[1] for size in self.sizes.values())
        self.label_room = max(LABELS, column_room(tokens["S"], self.pitch["S"], size=8.5))

    def middle(self, name):
        """The middle of a column."""
        return self.left[name] + self.sizes[name][0] / 2

    def gap(self, name, half):
        """Start and end of the free space to the left of a column."""
        order = [column.name for column in self.columns]
        before = order[order.index(name) - 1]
        start = self.left[before] + self.sizes[before][0] + SUMS * (before in self.sums[half])
        return start, self.left[name] - self.labels[name]

    def wrap(self, name, formula):
        """The formula in lines that stay above their own matrix."""
        room = int((self.sizes[name][0] + 0.45) / 0.066)
        return "\n".join(textwrap.wrap(formula, max(room, 12), break_long_words=False))
