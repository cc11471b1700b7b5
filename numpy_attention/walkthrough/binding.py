"""From the names in a layer's formula to the tensors of a whole trace.

A layer states its steps in its own words: x, W, dout. Here each word finds its array, in the layer's cache, gradients
and parameters, and the array finds the name under which the trace shows it. An array is known by being the same object
or, if somebody handed on a copy, by its numbers. What a formula names and a trace does not show (a learned matrix, the
holes of a dropout) becomes a constant of the run.
"""
import inspect
import math

import numpy as np

from .formula import NotAFormula, parse, replaced
from .operations import merge

GREEK = {"γ": "gamma", "β": "beta"}
PROJECTIONS = {"Q": "query_proj", "K": "key_proj", "V": "value_proj", "O": "output_proj"}
# What a setting of a layer is called in its formula.
SETTINGS = {"c": "cap", "ε": "label_smoothing", "count": "_count"}
CONSTANTS = {"π": math.pi}
UNCHANGED = {"class_weights": 1.0}                      # settings that are None unless asked for, and what None means


LOOSE = ("keep", "kept", "cos", "sin")                    # drawn or looked up at each run, and no step


class Unbound(LookupError):
    """A name of a formula that stands for nothing here."""


class Binding:
    """The tensors that a trace has so far, and the constants that its formulas use besides."""

    def __init__(self, layer):
        self.tensors, self.constants, self.learned, self.trees = [], {}, {}, {}
        self._parameters = {id(array): (name, array.copy()) for name, array in layer.named_params().items()}

    def add(self, name, array):
        """A tensor that the trace shows."""
        self.tensors.append((array, name))

    def find(self, array):
        """The tree that stands for an array: the name of a tensor, or of heads laid side by side; None if unknown."""
        for known, name in self.tensors:
            if known is array:
                return ("name", name)
        if isinstance(array, np.ndarray) and array.dtype.kind in "fc":
            for known, name in self.tensors:
                if _equal(known, array):
                    return ("name", name)
                if np.ndim(known) > 2 and _equal(merge(known), array):
                    return ("merge", ("name", name))
        return None

    def tree(self, layer, stage, array, prefix="", bound=None):
        """The tree of a stated step with the trace's names in it, or None: it is a sentence, or names the unknown."""
        if id(array) in self.trees:                     # a layer inside has stated it already
            return self.trees[id(array)][1]
        try:
            return self.resolve(layer, parse(stage.formula), np.shape(array), prefix, bound)
        except (NotAFormula, Unbound):
            return None

    def resolve(self, layer, tree, shape, prefix="", bound=None):
        """The tree with every name found; raises Unbound."""
        scalar_loss = layer.cache and np.ndim(layer.cache[next(reversed(layer.cache))]) == 0

        def change(part):
            head = part[0]
            if head == "name":
                return self._named(layer, part[1], prefix, bound or {}, shape)
            if head == "layer":
                return self._called(layer, *part[1:])
            if head == "sum" and scalar_loss:
                return ("all", part[1])
            if head in ("split", "repeat"):
                return (*part, ("number", float(shape[-3])))
            if head == "softmax" and layer.cache.get("mask") is not None:
                mask = layer.cache["mask"]
                return (*part, self.find(mask) or ("name", self._constant(f"{prefix}mask", mask)))
            if head == "onehot":
                return (*part, ("number", float(_sizes(layer)["C"]), "C"))
            if head == "turn":
                return (*part, ("number", float(layer.interleaved)))
            if head == "join":
                return self._joined(layer, part, prefix)
            return part

        return replaced(_as_adjusted(layer, tree), change)

    def _named(self, layer, name, prefix, bound, shape):
        array = _held(layer, name)
        if array is not None:
            found = self.find(array)
            if found is not None:
                if name == "bias" and np.ndim(array) == 3 and len(shape) == 4:
                    return ("heads_axis", found)
                return found
            if name in bound:
                return bound[name]
            if id(array) in self._parameters or np.asarray(array).dtype.kind in "biu" or name in LOOSE:
                return ("name", self._constant(prefix + name, array))
        if name in bound:
            return bound[name]
        if name.startswith("extra_"):
            return ("nothing",)
        kind, _, role = name.partition("_")
        for spelling in (PROJECTIONS.get(role, role), f"{role}_proj"):
            inner = layer.sublayers().get(spelling)
            if inner is not None and kind in "Wb" and role:
                if kind in inner.params:
                    return ("name", self._constant(prefix + name, inner.params[kind]))
                return ("nothing",)                     # a projection without a bias
        if name in CONSTANTS:
            return ("number", CONSTANTS[name], name)
        if GREEK.get(name, name) in ("gamma", "beta", "b"):
            return ("nothing",)
        value = _setting(layer, name)
        if value is None:
            value = _sizes(layer).get(name)
        if value is None:
            raise Unbound(name)
        if np.ndim(value):
            return ("name", self._constant(prefix + name, np.asarray(value)))
        return ("number", float(value), name)

    def _constant(self, name, array):
        learned, array = self._parameters.get(id(array), ("", array))
        while any(shown == name for _, shown in self.tensors) or self.constants.get(name, array) is not array:
            name += "_inside"                           # a mask that was widened is not the trace's mask
        self.constants[name] = array
        if learned:
            self.learned[name] = learned
        return name

    def _called(self, layer, name, *arguments):
        """The tensor that a layer inside gave, forwards or backwards."""
        inner = called(layer, name)
        if not inner:
            raise Unbound(name)
        inner = inner[-1][1]
        if ".backward" in name:
            inputs = [key for key in ("x", "query", "memory", *inspect.signature(inner.forward).parameters)
                      if key in inner.grads]
            which = 1 if name.endswith("2") else 0
            array = inner.grads[inputs[which]] if len(inputs) > which else None
            given = inner.grads.get(next(reversed(inner.cache)))
        else:
            array, given = inner.cache[next(reversed(inner.cache))], next(iter(inner.cache.values()))
        if array is None:
            raise Unbound(name)
        if array is given:                              # a dropout that is off hands on what it got
            return arguments[0]
        found = self.find(array)
        if found is None:
            raise Unbound(name)
        return found

    def _joined(self, layer, part, prefix):
        rows = [row for row in part[2:] if row != ("nothing",)]
        if getattr(layer, "zero", False):
            width = layer.d_k if part[1][1].endswith("K") else layer.d_v
            rows.append(("name", self._constant(f"{prefix}zeros_{width}", np.zeros((1, width)))))
        return (*part[:2], *rows)


def calls(tree):
    """The layers that a formula calls, the innermost first: ("layer", name, arguments)."""
    found = [call for part in tree[1:] if isinstance(part, tuple) for call in calls(part)]
    return [*found, tree] if tree[0] == "layer" else found


def called(layer, name):
    """(name, layer) of those inside `layer` that run for a call, in that order; `layers` are all of a stack."""
    short = name.partition(".")[0]
    if layer.part(short) is not None:
        found = [(short, layer.part(short))]
    else:
        found = [(full, one) for full, one in layer.sublayers().items() if full.startswith(f"{short}.")]
    found = found[::-1] if ".backward" in name else found
    return [(full, one) for full, one in found if one.cache]


def without_nothing(tree):
    """The tree without what this layer was made without: no bias is added, no scale multiplied."""
    def change(part):
        if part[0] in ("plus", "times") and ("nothing",) in part:
            return part[1] if part[2] == ("nothing",) else part[2]
        return part
    return replaced(tree, change)


def _as_adjusted(layer, tree):
    """softmax(scores) means the scores as they went in: with a softcap and a bias, where there are such."""
    done = [name for name in layer.cache if name in ("capped", "biased") and layer.cache[name] is not None]
    adjusted = done[-1] if done else "scores"
    return replaced(tree, lambda part: ("softmax", ("name", adjusted))
                    if part[0] == "softmax" and part[1] in (("name", "scores"), ("name", "capped")) else part)


def _held(layer, name):
    """The array that a layer (or one inside it) has under a name of its formulas; None if there is none."""
    name = "keep" if name == "kept" else name
    gradients = layer.grads if name.startswith("d") else {}
    for held, key in ((layer.cache, name), (gradients, name[1:]), (layer.params, GREEK.get(name, name))):
        if held and held.get(key) is not None:
            return held[key]
    if name == "keep":
        return next((array for inner in layer.sublayers().values() if (array := _held(inner, name)) is not None), None)
    return None


def _setting(layer, name):
    """A number that the layer was made with, or a layer inside it: eps, c, p."""
    attribute = SETTINGS.get(name, name)
    if hasattr(layer, attribute):
        value = getattr(layer, attribute)
        value = UNCHANGED.get(name) if value is None else value() if inspect.ismethod(value) else value
        if isinstance(value, int | float | np.ndarray | np.generic):
            return value
    return next((value for inner in layer.sublayers().values() if (value := _setting(inner, name)) is not None), None)


def _sizes(layer):
    """{symbol: size}, from the shapes that the layer states and the arrays that it holds."""
    sizes = {}
    for stage in (*layer.FORWARD, *layer.BACKWARD):
        if isinstance(stage, str):
            continue
        arrays = [_held(layer, stage.name), layer.cache.get(stage.name.removeprefix("d"))]
        for array in arrays:
            if array is not None:
                for symbol, size in zip(reversed(stage.shape.split()), reversed(np.shape(array)), strict=False):
                    if symbol == "...":
                        break
                    sizes.setdefault(symbol, size)
    return sizes


def _equal(known, array):
    return np.shape(known) == array.shape and array.size > 0 and bool(np.array_equal(known, array, equal_nan=True))
