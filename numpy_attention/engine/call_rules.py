"""The house rules: what happens around every layer's forward and backward, so that a layer holds only its formulas.

* Inputs become float arrays of the layer's own, so that changing yours later changes nothing here.
* float32 stays float32, float16 is computed in float32, integers become float64, complex stays complex.
* What lies in the cache is read-only.
* A forward that fails leaves every cache as it was.
* backward wants a forward before it and an upstream gradient of the right shape; for a scalar loss it is 1.

Only the layer that is called from outside keeps them; the layers inside it are handed what has been checked already.
"""
import functools
import inspect
import threading

import numpy as np

from .lazy import settled


class _Running(threading.local):
    """What this thread is in the middle of: None, or [(layer, its cache before), ...] of the layers that ran so far."""

    replaced = None


_running = _Running()


def with_forward_rules(forward):
    """`forward` with the house rules around it."""
    places = [p for p in inspect.signature(forward).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
    arrays = [p.name for p in places]
    optional = {p.name for p in places if p.default is None}

    @functools.wraps(forward)
    def checked(self, *inputs, **options):
        if _running.replaced is not None:
            _running.replaced.append((self, self.cache))
            out = forward(self, *inputs, **options)
            self.cache = freeze(self.cache)
            return out
        if len(inputs) > len(arrays):
            raise TypeError(f"{type(self).__name__} takes {', '.join(arrays)}; got {len(inputs)} arrays")
        given = dict(zip(arrays, inputs, strict=False))
        given.update({name: options.pop(name) for name in arrays if name in options and name not in given})
        taken = {name: _as_floats(name, array) for name, array in given.items()
                 if name not in self.integer_inputs and not (array is None and name in optional)}
        dtype = np.result_type(*taken.values()) if taken else np.dtype(float)
        half = dtype == np.float16
        for name, array in taken.items():
            given[name] = _owned(array, np.dtype(np.float32) if half else dtype)
        _running.replaced = replaced = [(self, self.cache)]
        try:
            with np.errstate(all="ignore"):     # an exp that underflows to 0 is as meant; NaN and inf show themselves
                out = forward(self, **given, **options)
                self.cache = freeze(self.cache)
                self._half = half
                return out.astype(np.float16) if half else out
        except BaseException:
            for layer, cache in reversed(replaced):
                layer.cache = cache
            raise
        finally:
            _running.replaced = None

    return checked


def with_backward_rules(backward):
    """`backward` with the house rules around it."""

    @functools.wraps(backward)
    def checked(self, dout=None):
        if _running.replaced is not None and dout is not None:
            found = backward(self, dout)
            self.grads = settled(self.grads)
            return found
        if not self.cache:
            raise RuntimeError(f"{type(self).__name__}.backward needs a forward pass first: call layer(...) and then "
                               "backward")
        name = next(reversed(self.cache))
        out = self.cache[name]
        if dout is None:
            if out.shape:
                raise TypeError(f"{type(self).__name__}.backward needs d{name}, of shape {out.shape}: only a scalar, "
                                "such as a loss, starts the backward pass by itself")
            dout = np.ones((), out.dtype)               # dLoss/dLoss
        if _running.replaced is not None:
            return backward(self, dout)
        dout = _as_floats(f"d{name}", dout)
        if dout.shape != out.shape:
            raise ValueError(f"d{name} must have the shape of {name}, {out.shape}; got {dout.shape}")
        _running.replaced = []
        try:
            with np.errstate(all="ignore"):
                found = backward(self, _owned(dout, dout.dtype if dout.dtype.kind == "c" else out.dtype))
                self.grads = settled(self.grads)
                if not self._half:
                    return found
                return (tuple(d.astype(np.float16) for d in found) if isinstance(found, tuple)
                        else found.astype(np.float16))
        finally:
            _running.replaced = None

    return checked


def _as_floats(name, given):
    try:
        array = np.asarray(given)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array of numbers: {error}") from None
    if array.dtype.kind in "iub":
        return array.astype(np.float64)
    if array.dtype.kind not in "fc":
        raise TypeError(f"{name} must be an array of numbers, got {type(given).__name__} of dtype {array.dtype}")
    return array


def _owned(array, dtype):
    """`array` in `dtype`, read-only, and such that nobody else can write to its memory."""
    if array.dtype == dtype and not array.flags.writeable:
        owner = array if array.base is None else array.base
        if isinstance(owner, np.ndarray) and owner.base is None and not owner.flags.writeable:
            return array
    array = np.array(array, dtype=dtype)
    array.flags.writeable = False
    return array


def freeze(cache):
    """The cache with every array read-only."""
    for array in dict.values(cache):
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return settled(cache)
