"""A step: one tensor of a computation, with everything that can be said of it.

A trace is a row of steps, first the forward ones in the order in which they were computed, then the backward ones.
Name, formula, symbolic shape and the sentences come from the layer's own statement; the numbers from its last run.
"""
import ast
import inspect
import textwrap
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .formula import code

PACKAGE = Path(__file__).parents[1]


@dataclass(frozen=True, eq=False)
class Step:
    """One tensor of a trace.

    Attributes:
        name: "weights", "dQ", ...; a dotted name such as "query_proj.dW" inside a layer's layer.
        formula: how it is computed, or "given".
        symbols: its shape in the letters of the notation table, "N H L S".
        value: the numbers, read-only.
        note_en, note_zh: one sentence.
        direction: "forward" or "backward".
        where, code: file and line of the layer's source that computes it, and that line.
        tree: the formula as a tree, with the trace's names in it (see formula.py); None if it cannot be read.

    >>> step = na.worked_example("by-hand").trace()["weights"]
    >>> step.formula, step.shape, step.direction
    ('softmax(scores)', (3, 3), 'forward')
    >>> step.code
    'weights = self.softmax(adjusted, mask=mask)'
    """

    name: str
    formula: str
    symbols: str
    value: np.ndarray
    note_en: str = ""
    note_zh: str = ""
    direction: str = "forward"
    where: str = ""
    code: str = ""
    tree: tuple | None = None

    @property
    def lesson(self):
        """The formula as a line of NumPy, as a lecture would write it; "" if it cannot be read."""
        return "" if self.tree is None else f"{code(('name', self.name))} = {code(self.tree)}"

    @property
    def shape(self):
        """The actual shape of the value."""
        return self.value.shape

    def to_latex(self, **options):
        """The step as LaTeX, formula and numbers; options as in walkthrough.papers.to_typst."""
        from .papers import to_latex
        return to_latex(self, **options)

    def to_typst(self, **options):
        """The step as Typst, formula and numbers; options as in walkthrough.papers.to_typst."""
        from .papers import to_typst
        return to_typst(self, **options)

    @property
    def short_name(self):
        """The name without its layer's: "dW" for "query_proj.dW"."""
        return self.name.rpartition(".")[2]


def source_line(layer, method, name):
    """(file:line, code) of the line in `layer`'s forward or backward that makes `name`; ("", "") if none does.

    That is the first of: `name = ...` (also among several, `dQ, dK = ...`), `self.grads["Q"] = ...`, and "Q": ... in a
    dictionary or Q=... in a call, and `self.grads[name] = ...` for several names in turn.
    """
    for owner in type(layer).__mro__:               # a layer that hands a step to its base has the line there
        if method not in vars(owner):
            continue
        function = inspect.unwrap(vars(owner)[method])
        try:
            lines, first = inspect.getsourcelines(function)
            file = Path(inspect.getsourcefile(function))
        except (OSError, TypeError):                # a layer typed into a prompt has no file
            return "", ""
        number = _line_of(ast.parse(textwrap.dedent("".join(lines))), name, name.removeprefix("d"))
        if number is not None:
            shown = file.relative_to(PACKAGE.parent) if file.is_relative_to(PACKAGE) else file.name
            return f"{shown}:{first + number - 1}", lines[number - 1].partition("  #")[0].strip()
    return "", ""


def _line_of(source, name, key):
    """The number of the first line that makes `name`, or stores it under `key`."""
    made, stored, looped = [], [], []
    for node in ast.walk(source):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name:
            made.append(node.lineno)
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            stored += [node.lineno] if getattr(node.slice, "value", None) == key else []
            looped += [node.lineno] if isinstance(node.slice, ast.Name) else []
        elif isinstance(node, ast.Dict):
            stored += [k.lineno for k in node.keys if getattr(k, "value", None) == key]
        elif isinstance(node, ast.keyword) and node.arg == key:
            stored.append(node.value.lineno)
    return min(made or stored or looped, default=None)
