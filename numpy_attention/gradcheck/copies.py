"""What a layer holds, wherever it lies, and copies of it that can be nudged.

A check never works on the caller's own arrays. It copies the layer together with its inputs, and two things must
survive the copying: arrays that share memory (a weight under two names, a view into a long vector, query = key) still
share it, and any array can be asked for its twin. So `walk` finds every array first, in attributes, slots, lists,
tuples, dictionaries, closures; then the memory below them is copied once, in the precision wanted, the arrays are laid
over it as before, and `copy.deepcopy` is told to use these twins.
"""
import copy
import functools
import io
import random
import threading
import types
from collections import deque
from typing import NamedTuple

import numpy as np

GENERATORS = np.random.Generator, np.random.RandomState, random.Random
STAYS = (types.GeneratorType, types.CoroutineType, types.ModuleType, io.IOBase, threading.Thread,   # deepcopy refuses
         type(threading.Lock()), type(threading.RLock()))           # them; a copy of the layer shares them with it
PLAIN = str | bytes | int | float | complex | bool | type(None) | type | np.generic
GLOBALS = (np.ndarray, dict, list, deque, types.FunctionType, *GENERATORS)
MOST = 20_000


class Found(NamedTuple):
    """Something inside a layer, the path to it, and whether a deep copy of the layer copies it, too."""

    path: tuple
    thing: object
    copied: bool

    @property
    def name(self):
        return ".".join(str(step) for step in self.path[isinstance(self.path[0], int):] if step != "params") if (
            self.path) else ""


def walk(thing, path=(), copied=True, seen=None):
    """Every Found that is reachable from `thing`, itself included; an array under each of its names, all else once."""
    seen = {} if seen is None else seen
    if isinstance(thing, PLAIN) or len(seen) > MOST or (id(thing) in seen and type(thing) is not np.ndarray):
        return
    seen[id(thing)] = thing
    yield Found(path, thing, copied)
    for step, inner, same in inside(thing):
        yield from walk(inner, (*path, step), copied and same, seen)


def inside(thing):
    """(step, inner thing, whether a deep copy copies it) of all that lies directly in `thing`."""
    if isinstance(thing, dict):
        return [(key, value, True) for key, value in thing.items()]
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return [(*pair, True) for pair in zip(thing._fields, thing, strict=True)]
    if isinstance(thing, list | tuple | set | frozenset | deque):
        return [(i, value, True) for i, value in enumerate(thing)]
    if isinstance(thing, np.ndarray):
        return [(i, value, True) for i, value in enumerate(thing.flat)] if thing.dtype == object else []
    if isinstance(thing, types.FunctionType):
        return [(name, value, False) for name, value in _of_function(thing)]
    if isinstance(thing, functools.partial):
        return [("func", thing.func, True), ("args", thing.args, True), ("keywords", thing.keywords, True)]
    if isinstance(thing, types.MethodType):
        return [(thing.__name__, thing.__func__, False), ("self", thing.__self__, True)]
    if isinstance(thing, (*GENERATORS, *STAYS, types.BuiltinFunctionType)):
        return []
    own = attributes(thing)
    if "__wrapped__" in own:                        # functools.cache and the like
        return [("function", own["__wrapped__"], False)]
    return [*((name, value, True) for name, value in own.items()), *_of_class(type(thing))]


def attributes(thing):
    """All attributes that an object itself holds, those in slots too; no property is run."""
    try:
        found = dict(object.__getattribute__(thing, "__dict__"))
    except Exception:
        found = {}
    for kind in type(thing).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            slot = vars(kind).get(f"_{kind.__name__.lstrip('_')}{name}" if name.startswith("__") else name)
            if isinstance(slot, types.MemberDescriptorType):
                try:
                    found[name] = slot.__get__(thing)
                except AttributeError:
                    continue
    return found


def _of_class(kind):
    """Arrays and the like that lie in an object's class, and the globals that its methods name."""
    for owner in kind.__mro__:
        if owner.__module__.partition(".")[0] in ("builtins", "numpy", "collections", "abc", "typing"):
            continue
        for name, value in vars(owner).items():
            if name.startswith("__") and name.endswith("__") and name != "__call__":
                continue
            function = getattr(value, "__func__", value)
            if isinstance(function, types.FunctionType):
                yield name, function, False
            elif isinstance(value, (np.ndarray, dict, list, deque, *GENERATORS)) or callable(
                    follow(value, ("forward",))):
                yield name, value, False


def _of_function(function):
    """What a function can see beside its arguments: closure, default values, and the globals that it names."""
    yield from getattr(function, "__dict__", {}).items()
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:                          # not set yet
            continue
    yield from enumerate(function.__defaults__ or ())
    yield from (function.__kwdefaults__ or {}).items()
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        foreign = isinstance(value, types.FunctionType) and value.__module__ != function.__module__
        if isinstance(value, GLOBALS) and not foreign:
            yield name, value


def follow(thing, path):
    """What lies at the end of `path`, as seen from outside; None where the path breaks off, whatever the reason."""
    for step in path:
        try:
            if isinstance(thing, dict):
                thing = thing[step]
            elif isinstance(step, int) or isinstance(thing, list | tuple | deque):
                thing = getattr(thing, step) if isinstance(step, str) else thing[step]
            else:
                thing = getattr(thing, str(step))
        except Exception:
            return None
    return thing


def duplicate(things, found, dtype_of):
    """(a deep copy of `things`, {id(thing): its twin}), with arrays in the precision `dtype_of(array)`.

    `found`: all that `walk(things)` finds, or what `special` leaves of it.
    """
    memo, pools, shells = {}, {}, []
    for _, thing, copied in found:
        if isinstance(thing, STAYS):
            memo[id(thing)] = thing
        elif copied and type(thing) is np.ndarray and thing.dtype.kind in "fciub":
            memo[id(thing)] = _twin(thing, pools, dtype_of(thing))
        elif copied and hasattr(type(thing), "__getattr__") and not _answers(thing):
            shells.append((thing, memo.setdefault(id(thing), object.__new__(type(thing)))))
    for thing, twin in shells:
        for name, value in attributes(thing).items():
            object.__setattr__(twin, name, copy.deepcopy(value, memo))
    return copy.deepcopy(things, memo), memo


def special(found):
    """Of all that was found, what deepcopy cannot be trusted with."""
    return [f for f in found if isinstance(f.thing, STAYS) or type(f.thing) is np.ndarray
            or hasattr(type(f.thing), "__getattr__")]


def _answers(thing):
    """Can deepcopy ask it whether it has a way of its own?"""
    try:
        getattr(thing, "__deepcopy__", None)
    except Exception:
        return False
    return True


def _twin(array, pools, dtype):
    """The array again, over a copy of the memory that it shares with others."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    whole = root.flags.c_contiguous or root.flags.f_contiguous
    if not array.size or not whole or root.dtype != array.dtype:
        return np.array(array, dtype=dtype)
    key = id(root), np.dtype(dtype)
    if key not in pools:
        pools[key] = np.array(root.ravel(order="K"), dtype=dtype), root
    memory, size = pools[key][0], array.itemsize
    offset = (array.__array_interface__["data"][0] - root.__array_interface__["data"][0]) // size
    strides = tuple(stride // size * memory.itemsize for stride in array.strides)
    return np.ndarray(array.shape, memory.dtype, memory, offset * memory.itemsize, strides)


class Held:
    """Randomness held still: the generators given, and the global ones, put back before each run."""

    def __init__(self, generators):
        self.generators = generators                # [(name, generator, its state)]

    @classmethod
    def now(cls, found):
        """The generators among all that `walk` found, in the state that they are in, and the global ones."""
        named = [(f.name or "rng", f.thing) for f in found if isinstance(f.thing, GENERATORS)]
        named += [("np.random", np.random.mtrand._rand), ("random", random._inst)]
        return cls([(name, generator, _state(generator)) for name, generator in named])

    def of(self, memo):
        """The same for a copy of the layer, {id(generator): its twin}; what was not copied is shared."""
        return Held([(name, memo.get(id(generator), generator), state) for name, generator, state in self.generators])

    def rewind(self):
        """Back to where they were."""
        for _, generator, state in self.generators:
            if isinstance(generator, np.random.Generator):
                generator.bit_generator.state = state
            elif isinstance(generator, np.random.RandomState):
                generator.set_state(state)
            else:
                generator.setstate(state)

    def moved(self):
        """The names of those that have been drawn from since."""
        return [name for name, generator, state in self.generators if not _same(_state(generator), state)]


def _state(generator):
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.get_state() if isinstance(generator, np.random.RandomState) else generator.getstate()


def _same(a, b):
    """Equality of generator states, which are nests of dictionaries, tuples and arrays."""
    if isinstance(a, dict):
        return all(_same(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return all(map(_same, a, b))
    return bool(np.all(a == b))
