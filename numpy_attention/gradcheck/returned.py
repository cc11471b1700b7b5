"""Which gradient belongs to what: backward hands out arrays without names, so they are matched with the inputs.

One gradient for each input, in their order; inputs that are no floats (ids, labels, options) may be left out or get
None. A dictionary is read by name. An array given by keyword has its gradient in `grads` under that name.
"""
import numpy as np

from . import parameters
from .callee import Finding


class Returned:
    """The matching, found out in one trial.

    `arrays`: {where: (name, array)} of everything that has a gradient, where being an argument's number, a keyword or
    a Parameter. `gradients(trial, dout)`: {where: gradient}. `missing`: names of parameters without a gradient.
    `declined`: names of float inputs for which backward hands out None. `unknown`: paths of arrays in attributes that
    a run left alone and gave no gradient. `doubtful`: whole-number inputs that got one.
    """

    def __init__(self, trial, names, given, named=None):
        layer = trial.callee.layer
        before = parameters.attributes(layer) if named is None else {}
        trial.out = trial.forward()
        numbers = {i: a for i, a in enumerate(trial.arguments) if _is_numbers(a)}
        floats = [i for i, a in numbers.items() if a.dtype.kind in "fc"]
        different = [i for i in floats if not any(_is_same(given[i], given[j]) for j in floats if j < i)]
        raw = self._run(trial, np.zeros(trial.out.shape))
        self._place = _match(trial.callee.name, raw, names, [range(len(names)), [*numbers], floats, different])
        self._place = {i: place for i, place in self._place.items() if i in numbers and raw[place] is not None}
        self.arrays = {i: (_name(layer, names[i], names), numbers[i]) for i, place in self._place.items()}
        if len(raw) < len(floats):                  # one gradient for an array that plays several roles
            self.arrays.update({j: (names[j], numbers[j]) for j in floats for i in self._place
                                if j not in self._place and _is_same(given[i], given[j])})
        self.declined = [names[i] for i in floats if i not in self.arrays]
        self.doubtful = [i for i in self.arrays if i not in floats]
        grads = getattr(layer, "grads", None)
        self.arrays.update({name: (name, value) for name, value in trial.keywords.items()
                            if _is_numbers(value) and isinstance(grads, dict) and name in grads})
        found = parameters.find(layer, named) + parameters.attribute_pairs(layer, before)
        known = {p.path for p in found}
        self.unknown = [path for path, array in before.items() if path not in known
                        and parameters.follow(layer, path) is array]
        self.missing = [p.name for p in found if parameters.gradient_of(layer, p) is None]
        self.arrays.update({p: (p.name, parameters.follow(layer, p.path)) for p in found
                            if p.name not in self.missing})

    def gradients(self, trial, dout):
        """{where: gradient} after one backward of the trial."""
        raw, layer, found = self._run(trial, dout), trial.callee.layer, {}
        for where in self.arrays:
            if isinstance(where, int):
                if where in self._place:
                    found[where] = raw.get(self._place[where])
            elif isinstance(where, str):
                found[where] = layer.grads.get(where)
            else:
                found[where] = parameters.gradient_of(layer, where)
        return {where: _numbers(gradient) for where, gradient in found.items()}

    @staticmethod
    def _run(trial, dout):
        """What backward returned, or failing that what it left in grads, as a dictionary by place or name."""
        returned = trial.backward(dout)
        if not returned:
            grads = getattr(trial.callee.layer, "grads", None)
            return dict(grads) if isinstance(grads, dict) else {}
        return returned if isinstance(returned, dict) else dict(enumerate(returned))


def _match(name, raw, names, choices):
    """{argument number: place in raw}, by name or by the first of the choices that has the right number."""
    *_, floats, _ = choices
    inputs = ", ".join(names[i] for i in floats)
    if any(isinstance(key, str) for key in raw):
        keys = {i: next((key for key in (names[i], f"d{names[i]}") if key in raw), None) for i in range(len(names))}
        matched = {i: key for i, key in keys.items() if key is not None}
        if floats and not matched:
            raise Finding(f"{name}.backward hands out no gradient for {inputs}, only for {', '.join(map(str, raw))}")
        return matched
    for some in choices:
        if len(some) == len(raw):
            return dict(zip(some, raw, strict=True))
    raise Finding(f"{name}.backward returned {len(raw) or 'no'} gradient{'s' * (len(raw) != 1)}, but forward took "
                  f"{len(floats)} input{'s' * (len(floats) != 1)} ({inputs}): it should return one for each")


def _name(layer, name, names):
    """The name that the layer's cache gives the argument first: the query of mha(x) is x, the key of two is memory."""
    cache = getattr(layer, "cache", None)
    if not isinstance(cache, dict) or name not in cache:
        return name
    return next(other for other, array in cache.items() if array is cache[name] and (
        other == name or other not in names))


def _numbers(gradient):
    """The gradient as an array; NaN if it holds anything else than real numbers."""
    try:
        array = np.asarray(gradient)
    except ValueError:
        return np.array(np.nan)
    return array if array.dtype.kind in "fiub" else np.full(array.shape, np.nan)


def _is_numbers(given):
    return isinstance(given, np.ndarray) and given.dtype.kind in "fciu"


def _is_same(a, b):
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return a is b
    return a.shape == b.shape and a.strides == b.strides and np.shares_memory(a, b)
