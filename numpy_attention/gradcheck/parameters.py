"""Which arrays of a layer are learned, and where their gradients turn up.

No list of names is needed: an array that a layer holds before and after forward is a parameter if backward leaves a
gradient for it in the usual place. For an array `W` that is `dW`, `grad_W`, `W_grad` beside it or `grads["W"]`; for
`params["W"]` it is `grads["W"]`; for `W.data` or `W.value` it is `W.grad`. Whatever else the output depends on is
named in the report as not checked. A layer with other habits is described by the caller: params={"table": "slope"}.
"""
from dataclasses import dataclass

import numpy as np

from .copies import follow

FORMS = ("d{}", "grad_{}", "{}_grad", "d_{}")
BOXED = "data", "value"          # of a parameter that is an object of its own
CONTAINERS = ("params", "parameters", "_params", "weights", "_parameters")


@dataclass(eq=False)
class Parameter:
    """Its name, the array itself in the original layer, and the paths at which its gradient may be."""

    name: str
    array: np.ndarray
    gradients: tuple

    def gradient(self, layer):
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
            if array.dtype.kind in "fciu" and not _is_gradient(path):
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
