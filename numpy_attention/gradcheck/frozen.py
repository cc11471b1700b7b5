"""Randomness held still: every run of a layer with dropout must make the same draw.

A slope is the difference of two runs, so the two must be runs of one function. All random generators that lie in the
layer, and NumPy's and Python's global ones, are put back to the same state before each run.
"""
import random

import numpy as np

LEGACY_STATE = np.random.get_state, np.random.set_state


class Frozen:
    """Remembers the state of every generator reachable from `thing`; `rewind()` goes back to it."""

    def __init__(self, thing):
        self.generators = [(name or "rng", generator, _state(generator)) for name, generator in _reachable(thing)]

    def rewind(self):
        for _, generator, state in self.generators:
            _put_back(generator, state)

    def moved(self):
        """The names of the generators that have been drawn from since."""
        return [name for name, generator, state in self.generators if not _same(_state(generator), state)]


class FrozenGlobals:
    """The same for NumPy's and Python's global generators; as a context it gives them back as they were."""

    def __init__(self):
        self.numpy, self.python = LEGACY_STATE[0](), random.getstate()

    def rewind(self):
        LEGACY_STATE[1](self.numpy)
        random.setstate(self.python)

    def moved(self):
        numpy_moved = not _same(LEGACY_STATE[0](), self.numpy)
        return ["np.random"] * numpy_moved + ["random"] * (random.getstate() != self.python)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.rewind()


def _reachable(thing, path="", seen=None):
    """(where, generator) of all generators in the object's attributes, dictionaries and lists."""
    seen = set() if seen is None else seen
    if id(thing) in seen or isinstance(thing, np.ndarray | str | int | float | type):
        return
    seen.add(id(thing))
    if isinstance(thing, np.random.Generator | np.random.RandomState | random.Random):
        yield path, thing
        return
    inner = thing.items() if isinstance(thing, dict) else enumerate(thing) if isinstance(thing, list | tuple) else ()
    for key, value in inner or getattr(thing, "__dict__", {}).items():
        yield from _reachable(value, f"{path}.{key}".lstrip("."), seen)


def _state(generator):
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.get_state() if isinstance(generator, np.random.RandomState) else generator.getstate()


def _put_back(generator, state):
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.setstate(state)


def _same(a, b):
    """Equality of generator states, which are nests of dictionaries, tuples and arrays."""
    if isinstance(a, dict):
        return all(_same(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return all(map(_same, a, b))
    return bool(np.all(a == b))
