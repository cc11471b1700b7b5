"""The ways in which people write a layer, seen as one.

* An object with `forward(*inputs)` and `backward(dout)`. Its learned arrays lie in dictionaries (or lists) `params` and
  `grads`, in pairs of attributes such as `W` and `dW`, or where the caller says; layers inside it count, too.
* A pair of functions, `out, cache = forward(x, w, b)` and `dx, dw, db = backward(dout, cache)`, as courses have it.

A `Callee` runs either of them, and finds a parameter by its path: `("query_proj", "params", "W")`.
"""
import copy
import inspect

import numpy as np

GRADIENT_NAMES = ("{}", "d{}", "grad_{}", "{}_grad", "d_{}")


class Finding(Exception):
    """Something about the layer that ends the check; the report says it instead of a traceback."""


class Callee:
    """An object with forward and backward."""

    def __init__(self, layer):
        self.layer = layer
        self.name = type(layer).__name__
        self._forward = "forward" if hasattr(layer, "forward") else "__call__"
        self.integer_inputs = getattr(layer, "integer_inputs", ())

    def copy(self):
        """A deep copy; whatever is done to it, the caller's layer does not notice."""
        try:
            return copy.deepcopy(self)
        except Exception as error:
            raise TypeError(f"{self.name} cannot be copied ({error}), and a check never works on your own: "
                            "keep files, locks and the like out of the layer") from None

    def forward(self, *inputs, **keywords):
        return _said(f"{self.name}.forward", getattr(self.layer, self._forward), *inputs, **keywords)

    def backward(self, *dout):
        return _said(f"{self.name}.backward", self.layer.backward, *dout)

    def forget(self):
        """Gradients that are added up start from 0 again, if the layer offers that."""
        if hasattr(self.layer, "zero_grad"):
            self.layer.zero_grad()

    @property
    def functions(self):
        return getattr(self.layer, self._forward), self.layer.backward

    def backward_needs_upstream(self):
        """Or does backward start by itself, as that of a loss?"""
        try:
            places = inspect.signature(self.functions[1]).parameters.values()
        except (TypeError, ValueError):
            return True
        needed = [p for p in places if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        return len(needed) > (self.layer is None)       # a pair's backward takes the cache as well


class Pair(Callee):
    """Two functions; the cache travels from one to the other."""

    def __init__(self, forward, backward):
        self.layer, self.functions = None, (forward, backward)
        self.name = getattr(forward, "__name__", "forward")
        self.integer_inputs, self.cache = (), None

    functions = None

    def forward(self, *inputs, **keywords):
        returned = _said(self.name, self.functions[0], *inputs, **keywords)
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise Finding(f"{self.name} must return two things, out and cache; it returned "
                          f"{len(returned) if isinstance(returned, tuple) else type(returned).__name__}")
        out, self.cache = returned
        return out

    def backward(self, *dout):
        return _said(getattr(self.functions[1], "__name__", "backward"), self.functions[1], *dout, self.cache)


def callee(thing):
    """The Callee of a layer or a pair of functions; anything else is refused with what is missing."""
    if isinstance(thing, Callee):
        return thing
    if isinstance(thing, tuple | list):
        if len(thing) == 2 and all(map(callable, thing)):
            return Pair(*thing)
        raise TypeError(f"a pair of functions is (forward, backward); got {len(thing)} things in a "
                        f"{type(thing).__name__}")
    kind = type(thing).__name__
    if isinstance(thing, type):
        raise TypeError(f"{thing.__name__} is a class: make a layer of it first, {thing.__name__}(...)")
    if inspect.isroutine(thing):
        raise TypeError(f"a function alone has no backward: give the pair ({thing.__name__}, its backward)")
    if not callable(getattr(thing, "forward", None)) and not callable(thing):
        raise TypeError(f"{kind} is no layer: it has no forward(*inputs)")
    if not callable(getattr(thing, "backward", None)):
        raise TypeError(f"{kind} has no backward(dout), so there is nothing to compare: "
                        "it should return the gradient of each input")
    return Callee(thing)


def positional(callee, inputs, keywords):
    """(names, inputs, keywords), where what was given by name but has a place among the arguments is put there."""
    try:
        known = list(inspect.signature(callee.functions[0]).parameters.values())
    except (TypeError, ValueError):
        known = []
    known = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    inputs, keywords = list(inputs), dict(keywords)
    while len(inputs) < len(known) and known[len(inputs)] in keywords:
        inputs.append(keywords.pop(known[len(inputs)]))
    return [*known[:len(inputs)], *(f"input {i}" for i in range(len(known), len(inputs)))], inputs, keywords


def _said(name, function, *inputs, **keywords):
    try:
        with np.errstate(all="ignore"):
            return function(*inputs, **keywords)
    except Finding:
        raise
    except Exception as error:
        raise Finding(f"{name} raised {type(error).__name__}: {error}") from error
