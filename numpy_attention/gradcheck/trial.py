"""One trial: a fresh copy of the layer, run forward once on copies of the inputs; then backward as often as one likes.

A fresh copy has seen no other run, so nothing that a layer keeps for itself (gradients that add up, a counter, running
averages) can travel from one measurement into the next.
"""
import copy

import numpy as np

from .callee import Finding
from .frozen import Frozen


class Trial:
    """`out`, and `backward(dout)` with what the layer returned as a list or a dictionary."""

    def __init__(self, callee, arguments, keywords, frozen_globals):
        self.callee = callee.copy()
        self._given = arguments, keywords
        frozen_globals.rewind()
        self.frozen = Frozen(self.callee.layer)
        self.out = self.forward()

    def forward(self):
        """The output for fresh copies of the inputs; of several things that forward returns, the first."""
        arguments, keywords = self._given
        made = {id(a): copied(a) for a in arguments}        # one array given twice stays one array
        self.arguments = [made[id(a)] for a in arguments]
        self.keywords = {name: copied(a) for name, a in keywords.items()}
        return as_output(self.callee.name, self.callee.forward(*self.arguments, **self.keywords))

    def backward(self, dout):
        self.callee.forget()
        returned = self.callee.backward() if starts_itself(self.callee, self.out) else self.callee.backward(dout)
        if returned is None:
            return []
        if isinstance(returned, dict):
            return returned
        if isinstance(returned, list) and all(isinstance(number, int | float) for number in returned):
            return [returned]                               # one gradient, as a plain list of numbers
        return list(returned) if isinstance(returned, tuple | list) else [returned]


def as_output(name, out):
    out = out[0] if isinstance(out, tuple) and out else out
    array = np.array(out)                                   # a layer may fill the same array again in the next run
    if array.dtype.kind not in "fciub":
        raise Finding(f"{name}.forward must return an array of numbers; it returned {type(out).__name__}")
    return array


def starts_itself(callee, out):
    """Is this a scalar loss, whose backward needs nothing to start from?"""
    return out.ndim == 0 and not callee.backward_needs_upstream()


def copied(given):
    """A copy of an argument, whatever it is; an array keeps its layout in memory."""
    if isinstance(given, np.ndarray):
        return given.copy(order="K")
    return given if given is None or isinstance(given, str | int | float) else copy.deepcopy(given)
