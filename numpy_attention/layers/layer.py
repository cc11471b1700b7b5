"""What every layer shares.

A layer is three dictionaries and a pair of methods:

    params   the learned arrays                        {"W": ..., "b": ...}
    cache    every tensor of the last forward, by name, in order of computation
    grads    dLoss/d(name) after backward, each with the shape of what it belongs to

    out = layer(x)              # the same as layer.forward(x)
    dx = layer.backward(dout)   # one gradient for each array given to forward

A subclass writes only its formulas. The house rules around them are kept here, once:

* inputs become float arrays of the layer's own, so that changing yours later changes nothing here;
* float32 stays float32, float16 is computed in float32, integers become float64, complex stays complex;
* what lies in the cache is read-only;
* a forward that fails leaves every cache as it was;
* backward wants a forward before it and an upstream gradient of the right shape; for a scalar loss it is 1.
"""
import functools
import inspect
import operator
import threading
from typing import NamedTuple

import numpy as np


class Stage(NamedTuple):
    """One stated step of a layer: the tensor's name, its formula, its shape in symbols, a sentence in two languages."""

    name: str
    formula: str
    shape: str
    en: str = ""
    zh: str = ""


class Layer:
    """Base of all layers; see the module's first paragraphs.

    FORWARD and BACKWARD state each step once, as (name, formula, shape, English, Chinese). Docstrings, traces,
    tables and plots read them there. A plain string names a sublayer whose own steps stand in that place.

    >>> class Square(na.Layer):
    ...     def forward(self, x):
    ...         out = x * x
    ...         self.cache = {"x": x, "out": out}
    ...         return out
    ...
    ...     def backward(self, dout):
    ...         self.grads = {"x": dout * 2 * self.cache["x"]}
    ...         return self.grads["x"]
    >>> square = Square()
    >>> square([1, 2, 3]), square.backward([1, 1, 1])
    (array([1., 4., 9.]), array([2., 4., 6.]))
    """

    FORWARD = ()
    BACKWARD = ()
    integer_inputs = ()     # names of inputs that are ids, not floats

    params = cache = grads = None
    _half = False           # did the last input come as float16?
    training = True         # matters to dropout only; see train() and eval()

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        own = vars(cls)
        if "FORWARD" in own:
            cls.FORWARD, cls.BACKWARD = _stages(cls.FORWARD), _stages(cls.BACKWARD)
            cls.__doc__ = f"{(cls.__doc__ or cls.__name__).rstrip()}\n\n{_table(cls)}"
        if "forward" in own:
            cls.forward = _with_house_rules(cls.forward)
        if "backward" in own:
            cls.backward = _with_backward_rules(cls.backward)

    def __init__(self):
        self.params, self.cache, self.grads = {}, {}, {}

    def __call__(self, *inputs, **options):
        return self.forward(*inputs, **options)

    def sublayers(self):
        """The layers this one is made of, by name, in the order in which they were set up."""
        found = {}
        for name, value in vars(self).items():
            if isinstance(value, Layer):
                found[name] = value
            elif isinstance(value, list):
                found.update({f"{name}.{i}": item for i, item in enumerate(value) if isinstance(item, Layer)})
        return found

    def named_params(self):
        """All learned arrays, with dotted names: {"query_proj.W": ..., ...}."""
        return self._named("params")

    def named_grads(self):
        """The gradients of all learned arrays, under the names of named_params()."""
        return self._named("grads")

    def _named(self, which):
        found = {name: getattr(self, which)[name] for name in self.params if name in getattr(self, which)}
        for prefix, layer in self.sublayers().items():
            found.update({f"{prefix}.{name}": array for name, array in layer._named(which).items()})
        return found

    def parameters(self, like, *names):
        """The named params in the precision of the input `like`; None for one that the layer does not have."""
        dtype = like.real.dtype
        arrays = [self.params.get(name) for name in names]
        arrays = [a if a is None or a.dtype == dtype or a.dtype.kind == "c" else a.astype(dtype) for a in arrays]
        return arrays if len(names) > 1 else arrays[0]

    def train(self, training=True):
        """Switch dropout on (as it is at first) here and in all sublayers. Returns the layer."""
        self.training = training
        for layer in self.sublayers().values():
            layer.train(training)
        return self

    def eval(self):
        """Switch dropout off, here and in all sublayers. Returns the layer."""
        return self.train(False)

    def __setstate__(self, state):
        vars(self).update(state)
        _freeze(self.cache)     # NumPy copies and unpickles read-only arrays as writable ones

    def __repr__(self):
        arrays = ", ".join(f"{name} {'×'.join(map(str, array.shape))}" for name, array in self.params.items())
        lines = [f"{type(self).__name__}({arrays})"]
        for name, layer in self.sublayers().items():
            lines += f"{name}: {layer!r}".split("\n")
        return "\n  ".join(lines)


def _stages(statement):
    return tuple(entry if isinstance(entry, str) else Stage(*entry) for entry in statement)


def _table(cls):
    """The statement as the aligned lines that close the docstring."""
    lines = []
    for title, stages in (("Forward", cls.FORWARD), ("Backward", cls.BACKWARD)):
        stages = [Stage(stage, "its own steps", "") if isinstance(stage, str) else stage for stage in stages]
        if not stages:
            continue
        name, formula = (max(len(stage[i]) for stage in stages) for i in (0, 1))
        lines += [f"    {title}:"]
        lines += [f"        {s.name:<{name}}  {s.formula:<{formula}}  {s.shape and f'({s.shape})'}".rstrip()
                  for s in stages]
    return "\n".join(lines)


_running = threading.local()    # .outer is the layer whose forward or backward this thread is inside of


def _with_house_rules(forward):
    """`forward` with the rules of the module's docstring. Sublayers run inside a layer that has kept them already."""
    places = [p for p in inspect.signature(forward).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
    arrays = [p.name for p in places]
    optional = {p.name for p in places if p.default is None}

    @functools.wraps(forward)
    def checked(self, *inputs, **options):
        if getattr(_running, "outer", None) is not None:
            out = forward(self, *inputs, **options)
            _freeze(self.cache)
            return out
        if len(inputs) > len(arrays):
            raise TypeError(f"{type(self).__name__} takes {', '.join(arrays)}; got {len(inputs)} arrays")
        given = dict(zip(arrays, inputs, strict=False))
        given.update({name: options.pop(name) for name in arrays if name in options and name not in given})
        floats = [name for name in given if name not in self.integer_inputs
                  and not (given[name] is None and name in optional)]
        taken = {name: _as_floats(name, given[name]) for name in floats}
        dtype = np.result_type(*taken.values()) if taken else np.dtype(float)
        half = dtype == np.float16
        for name, array in taken.items():
            given[name] = _owned(array, np.dtype(np.float32) if half else dtype)
        before = [(layer, layer.cache) for layer in _all_layers(self)]
        _running.outer = self
        try:
            with np.errstate(all="ignore"):     # an exp that underflows to 0 is as meant; NaN and inf show themselves
                out = forward(self, **given, **options)
        except BaseException:
            for layer, cache in before:
                layer.cache = cache
            raise
        finally:
            _running.outer = None
        _freeze(self.cache)
        self._half = half
        return out.astype(np.float16) if half else out

    return checked


def _with_backward_rules(backward):
    @functools.wraps(backward)
    def checked(self, dout=None):
        inside = getattr(_running, "outer", None) is not None
        if inside and dout is not None:
            return backward(self, dout)
        kind = type(self).__name__
        if not self.cache:
            raise RuntimeError(f"{kind}.backward needs a forward pass first: call layer(...) and then backward")
        name, out = next(reversed(self.cache.items()))
        if dout is None:
            if out.shape:
                raise TypeError(f"{kind}.backward needs d{name}, of shape {out.shape}: only a scalar, such as a loss, "
                                "starts the backward pass by itself")
            dout = np.ones((), out.dtype)               # dLoss/dLoss
            if inside:
                return backward(self, dout)
        dout = _as_floats(f"d{name}", dout)
        if dout.shape != out.shape:
            raise ValueError(f"d{name} must have the shape of {name}, {out.shape}; got {dout.shape}")
        _running.outer = self
        try:
            with np.errstate(all="ignore"):
                found = backward(self, _owned(dout, dout.dtype if dout.dtype.kind == "c" else out.dtype))
        finally:
            _running.outer = None
        if not self._half:
            return found
        return tuple(d.astype(np.float16) for d in found) if isinstance(found, tuple) else found.astype(np.float16)

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


def _freeze(cache):
    for array in cache.values():
        if isinstance(array, np.ndarray):
            array.flags.writeable = False


def _all_layers(layer):
    return [layer, *(inner for sub in layer.sublayers().values() for inner in _all_layers(sub))]


def precision(dtype):
    """`dtype` as a NumPy dtype that can hold learned numbers, or an error: in whole numbers every W would become 0."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "fc":
        raise TypeError(f"dtype must be a float or complex dtype, got {dtype}")
    return dtype


def size(name, value):
    """`value` as a positive int, or an error that names it."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from None
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}")
    return number
