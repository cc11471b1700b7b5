"""The rules of a call: what happens around every layer's forward and backward, so that a layer holds only its formulas.

* Inputs become float arrays of the layer's own, so that changing yours later changes nothing here.
* float32 stays float32, float16 is computed in float32, integers become float64, complex stays complex.
* What lies in the cache is read-only.
* A forward that fails leaves every cache as it was.
* backward wants a forward before it and an upstream gradient of the right shape; for a scalar loss it is 1.
* backward goes back through one forward: a part whose cache has been replaced in between is named, not used.

The layer that is called from outside opens a pass. It alone checks and converts; the layers inside it are handed what
has been checked already and only say that they ran. When the pass ends, the caches of all of them are closed.
"""
import functools
import inspect
import itertools
import threading

import numpy as np

from .arguments import rectangular

FLOAT32, FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)


class _Pass:
    """One call from outside, and all that happens inside of it."""

    __slots__ = ("layer", "number", "ran")

    def __init__(self, layer, number):
        self.layer = layer              # whose formulas are being computed right now
        self.number = number            # of the forward that is under way, or that backward goes back through
        self.ran = []                   # (layer, its cache before) of each layer that has run


class _Thread(threading.local):
    """What this thread is in the middle of: a pass, or nothing."""

    current = None


_thread = _Thread()
_numbers = itertools.count(1)


def with_forward_rules(forward):
    """`forward` with the rules around it."""
    places = [p for p in inspect.signature(forward).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
    names = [p.name for p in places]
    optional = {p.name for p in places if p.default is None}

    @functools.wraps(forward)
    def checked(self, *inputs, **options):
        current = _thread.current
        if current is None:
            return from_outside(self, inputs, options)
        outer = current.layer
        if outer is self:                               # super().forward(...): the same layer, the same run
            return forward(self, *inputs, **options)
        current.ran.append((self, self.cache))
        current.layer = self
        try:
            out = forward(self, *inputs, **options)
        finally:
            current.layer = outer
        if type(out) is np.ndarray:
            out.setflags(False)
        return out

    def from_outside(self, inputs, options):
        if len(inputs) > len(names):
            raise TypeError(f"{type(self).__name__} takes {', '.join(names)}; got {len(inputs)} arrays")
        given = dict(zip(names, inputs))                # noqa: B905  (fewer inputs than names are fine)
        for name in names[len(inputs):]:
            if name in options:
                given[name] = options.pop(name)
        with np.errstate(all="ignore"):     # an exp that underflows to 0 is as meant; NaN and inf show themselves
            half = take_in(given, self.integer_inputs, optional)
            number = next(_numbers)
            _thread.current = current = _Pass(self, number)
            current.ran.append((self, self.cache))
            try:
                out = forward(self, **given, **options)
                for layer, _ in current.ran:
                    cache = layer.cache
                    freeze(cache)
                    before = layer._ran[0]
                    layer._ran = (-number if before == number or before == -number else number), cache
                self._half = half
            except BaseException:
                for layer, cache in reversed(current.ran):
                    layer.cache = cache
                raise
            finally:
                _thread.current = None
            return _halved(out) if half else out

    return checked


def with_backward_rules(backward):
    """`backward` with the rules around it."""

    @functools.wraps(backward)
    def checked(self, dout=None):
        current = _thread.current
        if current is None:
            return from_outside(self, dout)
        outer = current.layer
        if outer is self:
            return backward(self, dout)
        number, cache = self._ran
        if number != current.number and self.cache is cache and self.remembers:
            _check_cache(self, outer, current)
        current.layer = self
        try:
            return backward(self, _upstream(self, dout) if dout is None else dout)
        finally:
            current.layer = outer

    def from_outside(self, dout):
        with np.errstate(all="ignore"):
            dout = _upstream(self, dout)
            _thread.current = _Pass(self, self._ran[0])
            try:
                found = backward(self, dout)
            finally:
                _thread.current = None
            if not self._half:
                return found
            return tuple(map(_halved, found)) if isinstance(found, tuple) else _halved(found)

    return checked


def also_ran(layer):
    """Say that a part of the layer that is running takes part in the pass, although it is not called itself."""
    _thread.current.ran.append((layer, layer.cache))


def left_out(*layers):
    """Empty the caches of parts that this forward does without, so that nobody reads in them what an older one left."""
    for layer in layers:
        if layer.cache:
            _thread.current.ran.append((layer, layer.cache))
            layer.cache = {}


def take_in(given, integer_inputs=(), optional=()):
    """Make the inputs arrays of our own, floats in one precision; returns whether they came as float16."""
    there = [name for name, array in given.items() if not (array is None and name in optional)]
    for name in integer_inputs:
        if name in there:
            given[name] = _owned(rectangular(name, given[name]))
    floats = {name: _as_floats(name, given[name]) for name in there if name not in integer_inputs}
    dtype = np.result_type(*floats.values()) if floats else FLOAT64     # in the machine's byte order
    half = dtype == np.float16
    for name, array in floats.items():
        given[name] = _owned(array, FLOAT32 if half else dtype)
    return half


def _halved(array):
    """`array` in half precision; complex numbers have none."""
    return array.astype(np.float16) if array.dtype.kind == "f" else array


def _upstream(self, dout):
    """dout as an array of our own with the shape of the last forward's result; 1 for a loss unless given."""
    if not self.cache:
        raise RuntimeError(f"{type(self).__name__}.backward needs a forward pass first: call layer(...) and then "
                           "backward")
    name = next(reversed(self.cache))
    out = self.cache[name]
    if dout is None:
        if out.shape:
            raise TypeError(f"{type(self).__name__}.backward needs d{name}, of shape {out.shape}: only a scalar, "
                            "such as a loss, starts the backward pass by itself")
        return np.ones((), out.dtype)                   # dLoss/dLoss
    dout = _as_floats(f"d{name}", dout)
    if dout.shape != out.shape:
        raise ValueError(f"d{name} must have the shape of {name}, {out.shape}; got {dout.shape}")
    return _owned(dout, dout.dtype if dout.dtype.kind == "c" else out.dtype)


def _as_floats(name, given):
    """`given` as an array of floats or complex numbers, or an error that names it."""
    if type(given) is not np.ndarray:
        if isinstance(given, np.ma.MaskedArray):
            raise TypeError(f"{name} is a masked array, and its mask would be lost: give {name}.filled(0), say, and "
                            "hide what is not there with mask=")
        try:
            given, kept = np.asarray(given), given
        except ValueError as error:
            raise ValueError(f"{name} must be a rectangular array of numbers: {error}") from None
        if given.dtype.kind not in "fciub":
            raise TypeError(f"{name} must be an array of numbers, got {type(kept).__name__} of dtype {given.dtype}")
    kind = given.dtype.kind
    if kind == "f" or kind == "c":
        return given
    if kind in "iub":
        return given.astype(FLOAT64)
    raise TypeError(f"{name} must be an array of numbers, got {type(given).__name__} of dtype {given.dtype}")


def _owned(array, dtype=None):
    """A copy of `array` in `dtype`, read-only: even of a read-only array somebody may hold a view that is not."""
    array = np.array(array, dtype)
    array.setflags(False)
    return array


def freeze(cache):
    """Make every array of the cache read-only."""
    for array in dict.values(cache):
        if isinstance(array, np.ndarray):
            array.setflags(False)               # write=False, by place: three times as fast as by name


def _check_cache(layer, outer, current):
    """Refuse to go back through a part whose cache does not belong to this forward, or has been used up already."""
    name = next((name for name, part in outer.sublayers().items() if part is layer), None)
    who = f"{type(outer).__name__}.{name}" if name else f"a {type(layer).__name__} inside {type(outer).__name__}"
    if layer._ran[0] != -current.number:
        raise RuntimeError(f"{who} has run again since this forward, alone or inside another layer, so its cache "
                           "belongs to that run: call forward again before backward")
    if any(cache is layer.cache for cache in current.ran):
        raise RuntimeError(f"{who} ran more than once in this forward, and its cache holds only the last run: backward "
                           "would go through that one twice. Give each place a layer of its own (two layers may share "
                           "their params), or put each run's cache back before its backward")
    current.ran.append(layer.cache)
