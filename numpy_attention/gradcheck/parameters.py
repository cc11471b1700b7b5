"""Where a layer keeps its learned arrays, and where their gradients turn up.

A parameter is found by a path of attribute names, keys and positions from the layer's top, such as
("query_proj", "params", "W"), so that it can be found again in every copy. Its name leaves out the word params:
`query_proj.W`. Its gradient is looked for in `grads` under the same name, beside it as dW, grad_W, W_grad, or, when
value and gradient lie in an object of their own, in that object's `grad`.
"""
from typing import NamedTuple

import numpy as np

from .callee import GRADIENT_NAMES

VALUES = ("value", "data")


class Parameter(NamedTuple):
    """Its name, the path of its value, and the paths where its gradient may be."""

    name: str
    path: tuple
    gradients: tuple


def find(layer, named=None):
    """The parameters of `layer`: those that the caller names, or all in `params` here and in the layers inside."""
    if layer is None:
        return []
    if named is None:
        found = [p for path, owner in _owners(layer) for p in (*_kept(path, owner), *_boxed(path, owner))]
        last = {id(follow(layer, p.path)): p for p in found}     # listed twice: the innermost place is the one read
        return [p for p in found if last[id(follow(layer, p.path))] is p]
    pairs = named.items() if isinstance(named, dict) else [(name, None) for name in named]
    found = []
    for name, gradient in pairs:
        path = _steps(name)
        if not isinstance(follow(layer, path), np.ndarray):
            raise ValueError(f"params names {name!r}, but the layer has no array there")
        found.append(Parameter(name, path, (_steps(gradient),) if gradient else _near(path)))
    return found


def follow(thing, path):
    """What lies at the end of `path`; None if the path breaks off."""
    for step in path:
        if isinstance(thing, dict):
            thing = thing.get(step)
        elif isinstance(thing, list | tuple):
            thing = thing[step] if isinstance(step, int) and step < len(thing) else None
        else:
            thing = getattr(thing, str(step), None)
    return thing


def put(thing, path, value):
    """Set what lies at the end of `path`."""
    owner = follow(thing, path[:-1])
    if isinstance(owner, dict | list):
        owner[path[-1]] = value
    else:
        setattr(owner, path[-1], value)


def gradient_of(layer, parameter):
    """The gradient of one parameter, from the first place that has one; None if no place has."""
    found = (follow(layer, path) for path in parameter.gradients)
    return next((gradient for gradient in found if gradient is not None), None)


def attributes(layer):
    """{path: array} of all float arrays that lie in plain attributes, here and in the layers inside."""
    return {(*path, name): value for path, owner in _owners(layer)
            for name, value in _attributes(owner).items() if _is_float(value)}


def attribute_pairs(layer, before):
    """Parameters kept as attributes: of the arrays `before` a run, those that it left in place and gave a gradient."""
    found = [Parameter(".".join(map(str, path)), path, _near(path)) for path in before]
    return [p for p in found if follow(layer, p.path) is before[p.path]
            and isinstance(gradient_of(layer, p), np.ndarray)]


def _owners(thing, path=(), seen=None):
    """(path, layer) of the layer and all layers inside it, also those in lists and dictionaries."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return
    seen.add(id(thing))
    yield path, thing
    for name, value in _attributes(thing).items():
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for step, item in [((name,), value), *(((name, key), item) for key, item in inner)]:
            if callable(getattr(item, "forward", None)) and callable(getattr(item, "backward", None)):
                yield from _owners(item, (*path, *step), seen)


def _attributes(thing):
    """All attributes of an object, those in slots too."""
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    return {**getattr(thing, "__dict__", {}), **{name: getattr(thing, name) for name in slots if hasattr(thing, name)}}


def _kept(path, owner):
    """Parameters in the owner's `params`, a dictionary or a list, however deep."""
    for keys in _leaves(getattr(owner, "params", None)):
        name = ".".join(map(str, (*path, *keys) if isinstance(keys[0], str) else (*path, "params", *keys)))
        place = (*path, "params", *keys)
        boxed = keys[-1] in VALUES and not isinstance(follow(owner, ("params", *keys[:-1])), dict)
        yield Parameter(name, place, ((*place[:-1], "grad"),) if boxed else _near(place))


def _leaves(container, keys=()):
    items = container.items() if isinstance(container, dict) else (
        enumerate(container) if isinstance(container, list) else ())
    for key, value in items:
        if _is_float(value):
            yield *keys, key
        elif _value_in(value):
            yield *keys, key, _value_in(value)
        else:
            yield from _leaves(value, (*keys, key))


def _boxed(path, owner):
    """Parameters that are objects of their own, with value (or data) and grad."""
    for name, thing in _attributes(owner).items():
        value = _value_in(thing)
        if value:
            yield Parameter(".".join(map(str, (*path, name))), (*path, name, value), ((*path, name, "grad"),))


def _value_in(thing):
    if isinstance(thing, np.ndarray) or not hasattr(thing, "grad"):
        return None
    return next((name for name in VALUES if _is_float(getattr(thing, name, None))), None)


def _near(path):
    """Where the gradient of the array at `path` may be."""
    *owner, name = path
    if not isinstance(name, str):
        return ((*("grads" if step == "params" else step for step in owner), name),)
    names = [form.format(name) for form in GRADIENT_NAMES]
    if "params" in owner:
        at = owner.index("params")
        inside = [(*owner[:at], "grads", *owner[at + 1:], other) for other in names]
        return (*inside, *((*owner[:at], other) for other in names[1:] if at == len(owner) - 1))
    return (*((*owner, other) for other in names[1:]), *((*owner, "grads", other) for other in names))


def _steps(dotted):
    return tuple(int(step) if step.isdecimal() else step for step in dotted.split("."))


def _is_float(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"
