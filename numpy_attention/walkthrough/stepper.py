"""The stepper: a place in a trace, and what can be asked there. It reads and prints nothing by itself.

The prompt (python -m numpy_attention step) and the page are thin skins over it; in a notebook it shows itself as the
page. Steps are numbered from 1, as they are shown.
"""
from dataclasses import dataclass

import numpy as np

from ..words.labels import visible
from .checking import check, gradient_of
from .saying import explanation, heading
from .trace import Trace
from .why import cell_name, why


class Stepper:
    """Walk through a trace: next, prev, goto; where, explain, why; backward_of, check, diff.

    Args: trace: a Trace. lang: "zh", "en" or "both". precision: decimals shown.

    >>> stepper = na.Stepper(na.worked_example("by-hand").trace())
    >>> stepper.goto("weights").name, stepper.next().name, stepper.prev().name
    ('weights', 'heads', 'weights')
    >>> print(stepper.why("我", "AI"))
    weights[我, AI] = e^2 / (e^0 + e^1 + e^2)
    = 7.3891 / 11.1073 = 0.6652
    >>> stepper.check().ok
    True
    """

    def __init__(self, trace, *, lang="both", precision=4):
        if not isinstance(trace, Trace):
            raise TypeError(f"Stepper wants a Trace, such as na.trace(layer); got {type(trace).__name__}")
        if not len(trace):
            raise ValueError("the trace has no steps")
        self.trace, self.lang, self.precision, self.number = trace, lang, precision, 1

    @property
    def step(self):
        """The step where we are."""
        return self.trace[self.number - 1]

    def next(self):
        """One step on. Raises IndexError at the last one."""
        if self.number == len(self.trace):
            raise IndexError(f"{self.step.name} is the last step")
        self.number += 1
        return self.step

    def prev(self):
        """One step back. Raises IndexError at the first one."""
        if self.number == 1:
            raise IndexError(f"{self.step.name} is the first step")
        self.number -= 1
        return self.step

    def goto(self, which):
        """To the step with this number (from 1) or name. Raises LookupError if there is none."""
        if isinstance(which, str) and not which.isdecimal():
            self.number = self.trace.index(which) + 1
        elif 1 <= int(which) <= len(self.trace):
            self.number = int(which)
        else:
            raise IndexError(f"there is no step {which}: they go from 1 to {len(self.trace)}")
        return self.step

    def where(self):
        """One line: what is traced, number and name of the step, forward or backward; NaN and inf are shouted."""
        return heading(self.trace, self.number)

    def explain(self):
        """The step as text: formula, shapes, numbers, one sentence, what comes next."""
        return explanation(self.trace, self.number, self.lang, self.precision)

    def why(self, *cell):
        """The cell written out term by term: why(i, j), with numbers or tokens; leading axes are 0 unless given."""
        return why(self.trace, self.number - 1, self.index(cell), precision=self.precision, lang=self.lang)

    def index(self, cell):
        """A cell, given by numbers or tokens, as an index into the step's value. Raises IndexError, KeyError."""
        shape = self.step.shape
        if len(cell) > len(shape) or len(cell) < min(2, len(shape)):
            raise IndexError(f"a cell of {self.step.name} {shape} has {len(shape)} indices, or the last "
                             f"{min(2, len(shape))}; got {len(cell)}")
        cell = (0,) * (len(shape) - len(cell)) + tuple(cell)
        symbols = ["", *self.step.symbols.split()][-len(cell):]
        return tuple(self._place(given, axis, symbols[axis - len(cell)] if axis - len(cell) >= -len(symbols) else "")
                     for axis, given in enumerate(cell))

    def _place(self, given, axis, symbol):
        size, tokens = self.step.shape[axis], self.trace.tokens(symbol) or ()
        shown = visible(given)
        if isinstance(given, str) and shown in tokens:
            if tokens.count(shown) > 1:
                raise KeyError(f"the token {given!r} occurs {tokens.count(shown)} times: give its number, from 0")
            return tokens.index(shown)
        try:
            place = int(given)
        except ValueError:
            known = f" or one of {', '.join(tokens)}" if tokens else ""
            raise KeyError(f"{given!r} is no place along axis {axis}: give a number{known}") from None
        if not -size <= place < size:
            raise IndexError(f"{place} is out of range: axis {axis} of {self.step.name} has {size} places, from 0")
        return place % size

    def backward_of(self, which=None):
        """The step that holds the gradient of a step (this one unless given). Raises LookupError if there is none."""
        return gradient_of(self.trace, self.step if which is None else self.trace[which])

    def check(self, which=None):
        """The numeric check of a step's gradient, as a GradientReport with one row; see na.check_gradients."""
        return check(self.trace, self.number - 1 if which is None else which)

    def diff(self, other, *, rtol=1e-9, atol=1e-12):
        """The first step at which another trace parts from this one, and where; None if they agree."""
        theirs = getattr(other, "trace", other)
        for number, step in enumerate(self.trace, 1):
            if step.name not in theirs:
                return Difference(number, step.name, f"step {number} {step.name}: only one of the traces has it")
            value = theirs[step.name].value
            if value.shape != step.shape:
                return Difference(number, step.name, f"step {number} {step.name}: {step.shape} against {value.shape}")
            apart = ~np.isclose(step.value, value, rtol=rtol, atol=atol, equal_nan=True)
            if apart.any():
                index = tuple(int(i) for i in np.argwhere(apart)[0])
                text = (f"step {number} {cell_name(self.trace, step.name, index)}: {step.value[index]:.6g} against "
                        f"{value[index]:.6g}; {apart.sum()} of {apart.size} numbers differ")
                return Difference(number, step.name, text, index)
        more = [step.name for step in theirs if step.name not in self.trace]
        return Difference(0, more[0], f"{more[0]}: only the other trace has it") if more else None

    def _repr_html_(self):
        from .html import frame
        return frame(self.trace, start=self.number, lang=self.lang)


@dataclass(frozen=True)
class Difference:
    """Where two traces part: number (from 1) and name of the step, the first cell, and all of it in words."""

    number: int
    name: str
    text: str
    index: tuple = ()

    def __str__(self):
        return self.text
