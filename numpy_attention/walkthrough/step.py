"""A step: one tensor of a computation, with everything that can be said of it.

A trace is a row of steps, first the forward ones in the order in which they were computed, then the backward ones.
Name, formula, symbolic shape and the sentences come from the layer's own statement; the numbers from its last run.
"""
import inspect
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

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

    @property
    def shape(self):
        """The actual shape of the value."""
        return self.value.shape

    @property
    def short_name(self):
        """The name without its layer's: "dW" for "query_proj.dW"."""
        return self.name.rpartition(".")[2]


def source_line(layer, method, name):
    """(file:line, code) of the line in `layer`'s forward or backward that first assigns `name`."""
    function = inspect.unwrap(getattr(type(layer), method))
    try:
        lines, first = inspect.getsourcelines(function)
        file = Path(inspect.getsourcefile(function))
    except (OSError, TypeError):        # a layer typed into a prompt has no file
        return "", ""
    key = re.escape(name.removeprefix("d"))
    target = rf"(?:{re.escape(name)}\b(?!\.)|self\.grads\[\"{key}\"\])"
    assigned = re.compile(rf"^\s*(?:[\w.\[\]\"]+\s*[,=]\s*)*{target}[^=(]*=(?!=)")
    for number, line in enumerate(lines, first):
        if assigned.match(line):
            shown = file.relative_to(PACKAGE.parent) if file.is_relative_to(PACKAGE) else file.name
            return f"{shown}:{number}", line.partition("  #")[0].strip()
    return "", ""
