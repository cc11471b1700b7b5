"""What a layer holds, wherever it lies, and copies of it that can be nudged.

A check never works on the caller's own arrays. It copies the layer together with its inputs, and two things must
survive the copying: arrays that share memory (a weight under two names, a view into a long vector, query = key) still
share it, and any array can be asked for its twin. So `walk` finds every array first, in attributes, slots, lists,
tuples, dictionaries, closures; then the memory below them is copied once, in the precision wanted, the arrays are laid
over it as before, and `copy.deepcopy` is told to use these twins.
"""
import copy
import functools
import gc
import io
import pickle
import random
import threading
import types
import weakref
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np

GENERATORS = np.random.Generator, np.random.RandomState, random.Random
STAYS = (types.ModuleType, io.IOBase, threading.Thread, Executor,   # a copy of the layer shares them with it
         weakref.ProxyType, weakref.CallableProxyType)
PLAIN = str | bytes | int | float | complex | bool | type(None) | type | np.generic
HOLDERS = list | tuple | set | frozenset | deque
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


def walk(thing, seen=None):
    """Every Found that is reachable from `thing`, itself included; an array under each of its names, all else once.

    What only functions and classes can see comes last.
    """
    seen = {} if seen is None else seen
    now, later = [Found((), thing, True)], []
    while now or later:
        if not now:
            now, later = later[::-1], []
        found = now.pop()
        known = id(found.thing) in seen and not isinstance(found.thing, np.ndarray)
        if known or isinstance(found.thing, PLAIN) or len(seen) > MOST:
            continue
        seen[id(found.thing)] = found.thing
        yield found
        inner = [Found((*found.path, step), value, found.copied and same) for step, value, same in inside(found.thing)]
        now += [f for f in inner[::-1] if f.copied == found.copied]
        later += [f for f in inner if f.copied != found.copied]


def is_numbers(thing):
    """Is it an array of numbers, or of a class made of one?"""
    return isinstance(thing, np.ndarray) and thing.dtype.kind in "fciub" and not isinstance(thing, np.ma.MaskedArray)


def inside(thing):
    """(step, inner thing, whether a deep copy copies it) of all that lies directly in `thing`."""
    if isinstance(thing, Mapping):
        return [(key, value, True) for key, value in thing.items()]
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return [(*pair, True) for pair in zip(thing._fields, thing, strict=True)]
    if isinstance(thing, HOLDERS) or (isinstance(thing, np.ndarray) and thing.dtype == object):
        return [(i, value, True) for i, value in enumerate(thing.flat if isinstance(thing, np.ndarray) else thing)]
    if isinstance(thing, types.FunctionType):
        return [(name, value, False) for name, value in _of_function(thing)]
    if isinstance(thing, functools.partial):
        return [("func", thing.func, True), ("args", thing.args, True), ("keywords", thing.keywords, True)]
    if isinstance(thing, types.MethodType):
        return [(thing.__name__, thing.__func__, False), ("self", thing.__self__, True)]
    if isinstance(thing, threading.local):          # each thread's own, out of a copy's reach
        return [(name, value, False) for name, value in vars(thing).items()]
    if isinstance(thing, (*GENERATORS, *STAYS, types.BuiltinFunctionType)):
        return []
    own = attributes(thing)
    if "__wrapped__" in own:                        # functools.cache and the like
        return [("function", own["__wrapped__"], False)]
    kind = () if isinstance(thing, np.ndarray) else _of_class(type(thing))
    return [*((name, value, True) for name, value in own.items()), *kind]


def attributes(thing):
    """All attributes that an object itself holds, those in slots too; no property is run."""
    try:
        found = dict(object.__getattribute__(thing, "__dict__"))
    except AttributeError:                          # slots alone
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
    names = dict(zip(map(id, function.__closure__ or ()), function.__code__.co_freevars, strict=True))
    yield from ((names[id(cell)], content) for cell, content in _cells(function))
    yield from enumerate(function.__defaults__ or ())
    yield from (function.__kwdefaults__ or {}).items()
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        foreign = isinstance(value, types.FunctionType) and value.__module__ != function.__module__
        if isinstance(value, GLOBALS) and not foreign:
            yield name, value


def follow(thing, path):
    """What lies at the end of `path`, as seen from outside; None where the path breaks off.

    Somebody's properties may raise whatever they like: then nothing lies there, and that is the answer.
    """
    for step in path:
        try:
            thing = thing[step] if isinstance(thing, Mapping) or not isinstance(step, str) else getattr(thing, step)
        except Exception:
            return None
    return thing


def special(found):
    """[(Found, way)] of all with which deepcopy cannot be trusted: what `duplicate` does with it instead."""
    ours = {id(f.thing) for f in found if f.copied}
    ways = ((f, _way(f.thing, ours)) for f in found if f.copied or is_numbers(f.thing))
    return [(f, way) for f, way in ways if way]


def _way(thing, ours):
    """array: copied by ourselves; stays: shared; view: of a copied dictionary; shell: rebuilt attribute by attribute;
    closure: a function that sees what is copied sees the copy; "" where deepcopy knows best."""
    if isinstance(thing, np.ndarray):
        return "array" if is_numbers(thing) else ""
    if isinstance(thing, types.FunctionType):
        return "closure" if any(id(content) in ours for _, content in _cells(thing)) else ""
    if isinstance(thing, types.MappingProxyType):
        return "view"
    if isinstance(thing, STAYS):
        return "stays"
    if isinstance(thing, GENERATORS) or type(thing) in (dict, list, tuple, set, deque, types.MethodType):
        return ""
    simple = type(thing).__new__ is object.__new__ and bool(attributes(thing))
    if simple and (hasattr(type(thing), "__getattr__") or hasattr(type(thing), "__deepcopy__")):
        return "shell"
    try:
        thing.__reduce_ex__(4)
        return ""
    except Exception:                               # a lock, a generator, an object that refuses: whatever it says
        return "shell" if simple else "stays"


def duplicate(things, specials, dtype_of):
    """(a deep copy of `things`, {id(thing): its twin}), with arrays in the precision `dtype_of(array)`."""
    memo, pools, cells, hollow, views = {}, {}, {}, [], []
    for (_, thing, copied), way in specials:
        if id(thing) in memo or (way == "array" and not copied):
            continue
        if way == "stays":
            memo[id(thing)] = thing
        elif way == "view":
            views.append(thing)
        elif way == "closure":
            memo[id(thing)] = _same_function(thing, cells)
        else:
            twin = _twin(thing, pools, dtype_of(thing)) if way == "array" else object.__new__(type(thing))
            memo[id(thing)] = twin
            if type(twin) is not np.ndarray:
                hollow.append((thing, twin))
    for view in views:                              # its dictionary is known to the garbage collector alone
        memo[id(view)] = types.MappingProxyType(copy.deepcopy(gc.get_referents(view)[0], memo))
    for thing, twin in hollow:
        for name, value in attributes(thing).items():
            object.__setattr__(twin, name, copy.deepcopy(value, memo))
    twins = copy.deepcopy(things, memo)
    for cell, content in cells.values():            # what was not copied by now is nobody's but the function's: shared
        cell.cell_contents = memo.get(id(content), content)
    return twins, memo


def _cells(function):
    """(cell, content) of all that a function closes over."""
    for cell in function.__closure__ or ():
        try:
            yield cell, cell.cell_contents
        except ValueError:                          # not set yet
            continue


def _same_function(function, cells):
    """The function again, over cells of its own, which are filled later."""
    for cell, content in _cells(function):
        cells.setdefault(id(cell), (types.CellType(), content))
    closure = tuple(cells[id(cell)][0] if id(cell) in cells else cell for cell in function.__closure__)
    twin = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__,
                              closure)
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__dict__.update(vars(function))
    return twin


def _twin(array, pools, dtype):
    """The array again, over a copy of the memory that it shares with others."""
    root, kind = array, type(array)
    while isinstance(root.base, np.ndarray):
        root = root.base
    whole = root.flags.c_contiguous or root.flags.f_contiguous
    if not array.size or not whole or root.dtype != array.dtype:
        twin = np.array(array, dtype=dtype)
    else:
        key = id(root), np.dtype(dtype)
        if key not in pools:
            pools[key] = np.array(root.ravel(order="K"), dtype=dtype), root
        memory, size = pools[key][0], array.itemsize
        offset = (array.__array_interface__["data"][0] - root.__array_interface__["data"][0]) // size
        strides = tuple(stride // size * memory.itemsize for stride in array.strides)
        twin = np.ndarray(array.shape, memory.dtype, memory, offset * memory.itemsize, strides)
    return twin if kind in (np.ndarray, np.memmap) else twin.view(kind)


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
        return [name for name, generator, state in self.generators
                if pickle.dumps(_state(generator)) != pickle.dumps(state)]


def _state(generator):
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.get_state() if isinstance(generator, np.random.RandomState) else generator.getstate()
