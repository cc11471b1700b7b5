"""Which gradient belongs to what: to the inputs, to the parameters; and which of them are one.

backward hands out arrays without names, so they are matched with the inputs: one gradient for each input, in their
order; inputs that are no floats (ids, labels, options) may be left out or get None. A dictionary is read by name. An
input that is a list or a dictionary of arrays gets a list or a dictionary of gradients.

No list of parameters is needed: an array that a layer holds before and after forward is one if backward leaves a
gradient for it in the usual place. For an array `W` that is `dW`, `grad_W`, `W_grad` beside it or `grads["W"]`; for
`params["W"]` it is `grads["W"]`; for `W.data` or `W.value` it is `W.grad`. Whatever else the output depends on is
named in the report as not checked. A layer with other habits is described by the caller: params={"table": "slope"}.

Most often one array is one variable. But attention is called with query = key = value, and then nudging a number of the
query nudges the key and the value as well: the slope that is measured is the sum of three gradients. Arrays that share
memory, whole or in part, are therefore one variable: a flat row of the numbers that exist, and for every array the
places of its numbers in that row.
"""
import array as buffers
import copy
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType

import numpy as np

from .copies import attributes, follow
from .layer_under_test import Finding

FORMS = ("d{}", "grad_{}", "{}_grad", "d_{}")
BOXED = "data", "value"          # of a parameter that is an object of its own
ROWS = list | tuple | buffers.array
OTHER = -1.5, 1.5, 1.01          # what inputs are multiplied by to have other ones
CONTAINERS = ("params", "parameters", "_params", "weights", "_parameters")


# -------------------------------------------------------------------------------------------------------- the inputs

@dataclass(eq=False)
class Slot:
    """A place where an array goes in: argument number or keyword, and the path inside it if it is a container."""

    argument: object
    path: tuple
    name: str
    array: np.ndarray

    def gradient(self, raw, layer):
        """Its gradient in what backward handed out, or under its name in the layer's grads."""
        if self.argument in raw:
            found = raw[self.argument]
            return follow(found, self.path) if self.path else found
        return follow(layer, ("grads", self.argument)) if isinstance(self.argument, str) else None


def slots(arguments, keywords, names):
    """Every array that goes in."""
    found = []
    for key, name, given in [*((i, names[i], a) for i, a in enumerate(arguments)), *((k, k, a) for k, a in
                                                                                   keywords.items())]:
        found += [Slot(key, path, ".".join([name, *map(str, path)]), array) for path, array in _arrays(given)]
    return found


def _arrays(given, path=()):
    if isinstance(given, np.ndarray):
        if given.dtype.kind in "fciub":
            yield path, given
    elif isinstance(given, list | tuple | deque | dict):
        for step, inner in given.items() if isinstance(given, dict) else enumerate(given):
            yield from _arrays(inner, (*path, step))


def match(name, returned, into, names, count, is_loss=False):
    """{argument: gradient or container of gradients}: what backward returned, beside what went in.

    Args: into: the Slots. names: of the positional arguments; count: how many there are. is_loss: one number came out;
        then the gradient of the first input is enough: the others are targets, and said not to be checked.
    Raises: Finding if the numbers do not fit.
    """
    raw = listed(returned)
    floats = list(dict.fromkeys(s.argument for s in into if s.array.dtype.kind in "fc"))
    inputs = ", ".join(str(names[i]) if isinstance(i, int) else i for i in floats)
    whole = list(dict.fromkeys(s.argument for s in into if isinstance(s.argument, int) and s.array.dtype.kind != "b"))
    if isinstance(raw, dict):
        keys = {i: next((key for key in (word, f"d{word}", f"grad_{word}", f"d_{word}") if key in raw), None)
                for i, word in [*enumerate(names), *((k, k) for k in floats if isinstance(k, str))]}
        found = {i: raw[key] for i, key in keys.items() if key is not None}
        if floats and not found and len(whole) == 1 and any(s.path for s in into):
            return {whole[0]: raw}                  # one argument, itself a dictionary
        if floats and not found:
            raise Finding(f"{name} hands out no gradient for {inputs}, only for {', '.join(map(str, raw))}")
        return found
    parts = [s for s in into if s.argument == floats[0]] if len(floats) == 1 else []
    if len(parts) > 1 and len(raw) == len(parts) != 1:
        return {floats[0]: raw}                     # one argument, itself a list
    own = [i for i in floats if isinstance(i, int)]
    first = {}
    for s in into:
        if s.argument in own and not s.path:
            first.setdefault((s.array.__array_interface__["data"][0], s.array.shape, s.array.strides), s.argument)
    different = [i for i in own if i in first.values() or any(s.path for s in into if s.argument == i)]
    solid = [i for i in own if any(s.argument == i and s.array.ndim for s in into)]     # a bare number is an option
    last = max((i for i in own), default=-1)        # options at the end need no gradient
    for some in (range(count), whole, own, floats, different, solid, range(last + 1)):
        if len(some) == len(raw):
            return dict(zip(some, raw, strict=True))
    if len(own) == 1 and isinstance(returned, list):
        return {own[0]: returned}                   # one gradient, as lists of lists of numbers
    if is_loss and len(raw) == 1 and own:
        return {own[0]: raw[0]}
    raise Finding(f"{name} returned {len(raw) or 'no'} gradient{'s' * (len(raw) != 1)}, but forward took "
                  f"{len(floats)} input{'s' * (len(floats) != 1)} ({inputs}): it should return one for each")


def listed(returned):
    """What backward returned as a list or a dictionary."""
    if returned is None:
        return []
    if isinstance(returned, dict):
        return returned
    if isinstance(returned, Iterator):              # yielded one by one, or by map
        return list(returned)
    if isinstance(returned, list) and all(isinstance(number, int | float) for number in returned):
        return [returned]                           # one gradient, as a plain list of numbers
    return list(returned) if isinstance(returned, tuple | list) else [returned]


# ---------------------------------------------------------------------------------------------------- the parameters

@dataclass(eq=False)
class Parameter:
    """Its name, the array itself in the original layer, and the paths at which its gradient may be."""

    name: str
    array: np.ndarray
    gradients: tuple

    def gradient(self, _, layer):
        """Its gradient in `layer`, a copy that has run backward; None if there is none.

        An array with two names may have two gradients. If they are equal, each is the whole; if not, each is that of
        one role, and they add up.
        """
        found = []
        for paths in self.gradients:
            arrays = (_numbers(follow(layer, path)) for path in paths)
            one = next((a for a in arrays if a is not None), None)
            if one is not None and not any(one is other or np.array_equal(one, other) for other in found):
                found.append(one)
        if len(found) > 1 and all(a.shape == found[0].shape for a in found):
            return sum(found)
        return found[0] if found else None


def _numbers(value):
    if isinstance(value, float | np.floating | list):
        try:
            value = np.asarray(value, float)
        except (ValueError, TypeError):
            return None
    return value if isinstance(value, np.ndarray) else None


def candidates(found, named=None):
    """Parameters among all that was Found in a layer: those that the caller names, or all that may turn out to be."""
    arrays = [(path, thing) for path, thing, copied in found if copied and isinstance(thing, np.ndarray)]
    if named is None:
        same = {}
        for path, array in arrays:
            if array.dtype.kind in "fciuV" and not _is_gradient(path):
                same.setdefault(id(array), []).append((path, array))
        return [Parameter(_name(group), group[0][1], tuple(_near(path) for path, _ in group))
                for group in same.values()]
    known = {".".join(map(str, path)): array for path, array in arrays}
    pairs = named.items() if isinstance(named, dict) else [(name, None) for name in named]
    parameters = []
    for name, gradient in pairs:
        if name not in known:
            raise ValueError(f"params names {name!r}, but the layer has no array there; it has "
                             f"{', '.join(list(known)[:8]) or 'none at all'}")
        paths = (_steps(gradient),) if gradient else _near(_steps(name))
        parameters.append(Parameter(name.replace("params.", ""), known[name], (paths,)))
    return parameters


def plain_numbers(found, layer):
    """The names of Python's own numbers, or rows of them, that have a gradient: they cannot be nudged in place."""
    names = []
    for path, thing, copied in found:
        holds = copied and not isinstance(thing, np.ndarray | FunctionType)
        for name, value in (thing if isinstance(thing, dict) else attributes(thing) if holds else {}).items():
            first, at = next(iter(value), None) if isinstance(value, ROWS) else value, (*path, name)
            if isinstance(first, float) and Parameter("", None, (_near(at),)).gradient(None, layer) is not None:
                names.append(f"{_name([(at, None)])} (Python's own numbers)")
    return names


def _name(group):
    """The name of the innermost place."""
    path = max((path for path, _ in group), key=len)
    named = [step for step in path if step != "params"]
    if path[-1] in BOXED:
        named = named[:-1]
    return ".".join(map(str, named if isinstance(named[-1], str) else path))


def _is_gradient(path):
    return any(step in ("grads", "grad", "cache") for step in path)


def _near(path):
    """Where the gradient of the array at `path` may be, the likeliest place first."""
    *owner, name = path
    owner, found = tuple(owner), []
    for i in reversed(range(len(owner))):
        if owner[i] in CONTAINERS:                                  # params.W -> grads.W, grads.dW, dW
            found += [(*owner[:i], "grads", *owner[i + 1:], form) for form in (name, *_forms(name))]
            found += [(*owner[:i], *owner[i + 1:], form) for form in _forms(name)]
        if isinstance(owner[i], str):                               # weights.W -> dweights.W, grads.W
            found += [(*owner[:i], form, *owner[i + 1:], name) for form in (*_forms(owner[i]), "grads")]
    if name in BOXED:
        found.insert(0, (*owner, "grad"))
    found += [(*owner, form) for form in _forms(name)] + [(*owner, name, "grad")]
    found += [(*owner, "grads", form) for form in (name, *_forms(name))]
    return tuple(found)


def _forms(name):
    return [form.format(name) for form in FORMS] if isinstance(name, str) else []


def _steps(dotted):
    return tuple(int(step) if step.isdecimal() else step for step in dotted.split("."))


# ------------------------------------------------------------------------------------ numbers that are nudged together

class Variable:
    """Numbers that are nudged together with all places that they go to.

    `values`: the flat row; `members`: pairs (Slot or Parameter, places), places being an index array of that member's
    shape, or None where the array simply is the row. `kind`: "input" or "parameter".
    """

    def __init__(self, members):
        self.members = sorted(members, key=lambda member: -member[0].array.size)
        self.kind = "input" if isinstance(members[0][0], Slot) else "parameter"
        first = members[0][0].array
        joined = "=" if members[0][1] is None else "+"
        self.name = joined.join(member.name for member, _ in members)
        if members[0][1] is None:
            self.shape, self.values = first.shape, np.array(first).reshape(-1)
        else:
            self.values = np.empty(1 + max(places.max() for _, places in members), first.dtype)
            for member, places in members:
                self.values[places] = member.array
            self.shape = self.values.shape

    def elsewhere(self, factor, learned):
        """The same at other numbers, parameters `learned` times as large."""
        there = copy.copy(self)
        there.values = other(self.values, factor) if self.kind == "input" else self.values * learned
        there.values = there.values.astype(self.values.dtype)
        return there

    @property
    def size(self):
        return self.values.size

    def scale(self, own=False):
        """How large a nudge is natural for each number: its own size; for a very small one that of the others,
        unless only its `own` may be.
        """
        sizes = np.abs(self.values.astype(float))
        sizes = np.where(np.isfinite(sizes), sizes, 0)
        some = sizes[sizes > 0]
        if own and some.size:
            return np.where(sizes > 0, sizes, some.min())
        return np.maximum(sizes, (0.03 if some.size else 1.0) * (np.median(some) if some.size else 1.0))

    def total(self, gradients):
        """The row's gradient from those of its members: where they share a number, they add up.

        Gradients of parameters that are views of one another, as the parameters are, are counted once.
        """
        total, seen = np.zeros(self.shape), []
        for (member, places), gradient in zip(self.members, gradients, strict=True):
            if gradient is None:
                continue
            if gradient.shape != member.array.shape or gradient.dtype.kind not in "fiub":
                return np.full(self.shape, np.nan)
            if self.kind == "parameter" and any(np.shares_memory(gradient, other) for other in seen):
                continue
            seen.append(gradient)
            np.add.at(total, ... if places is None else places, gradient)
        return total


def other(array, factor):
    """Other numbers of the same kind and size: in another order and, if they are floats, stretched."""
    turned = array.reshape(-1)[::-1].reshape(array.shape) if factor != 1.01 else array
    if array.dtype.kind != "f":
        return turned
    return np.where(np.isfinite(turned), turned, array) * np.asarray(factor, array.dtype)


def variables(members, dtype=None):
    """One Variable for each group of Slots and Parameters that share memory; `dtype`: of its row, None for its own."""
    groups = []
    for member in members:
        touching = [g for g in groups if any(_overlap(member.array, other.array) for other in g)]
        groups = [g for g in groups if g not in touching] + [[other for g in touching for other in g] + [member]]
    found = {}
    for group in groups:
        variable = _variable(group)
        while variable.name in found:               # an input and a parameter of one name
            variable.name += "'"
        variable.values = variable.values.astype(dtype or variable.values.dtype)
        found[variable.name] = variable
    return found


def _variable(group):
    if len(group) == 1:
        return Variable([(group[0], None)])
    arrays = [member.array for member in group]
    cells, numbered = np.unique(np.concatenate([_addresses(a).reshape(-1) for a in arrays]), return_inverse=True)
    numbered = np.split(numbered.reshape(-1), np.cumsum([a.size for a in arrays])[:-1])
    places = [inverse.reshape(a.shape) for inverse, a in zip(numbered, arrays, strict=True)]
    if all(p.shape == places[0].shape and (p == places[0]).all() for p in places) and cells.size == arrays[0].size:
        return Variable([(member, None) for member in group])
    return Variable(list(zip(group, places, strict=True)))


def _overlap(a, b):
    return a is b or (a.dtype == b.dtype and np.may_share_memory(a, b) and np.shares_memory(a, b))


def _addresses(array):
    """Where in memory each number of the array lies."""
    address = np.array(array.__array_interface__["data"][0])
    for length, stride in zip(array.shape, array.strides, strict=True):
        address = address[..., None] + np.arange(length) * stride
    return address
