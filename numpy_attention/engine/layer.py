"""What every layer shares.

A layer is three dictionaries and a pair of methods:

    params   the learned arrays                        {"W": ..., "b": ...}
    cache    every tensor of the last forward, by name, in order of computation
    grads    dLoss/d(name) after backward, each with the shape of what it belongs to

    out = layer(x)              # the same as layer.forward(x)
    dx = layer.backward(dout)   # one gradient for each array given to forward

A subclass writes only its formulas; what goes for all of them is in call_rules.py. backward reads the learned arrays as
they are when it is called: change them (an optimizer's step) after backward, not between forward and backward.
"""
import weakref
from typing import NamedTuple

from .call_rules import freeze, with_backward_rules, with_forward_rules


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
    inner_shapes = {}       # shapes of the parts' steps that are others in here: {"dK": "N H_kv S d_k"}
    integer_inputs = ()     # names of inputs that are ids, not floats
    asks_places = False     # do its numbers depend on where queries and keys stand? See KVCache
    remembers = True        # does backward need what forward kept? Else one layer may run several times in a forward

    params = cache = grads = None
    training = True         # matters to dropout only; see train() and eval()
    _half = False           # did the last input come as float16?
    _ran = 0, None          # the number of the last pass, and the cache that it left

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        own = vars(cls)
        if "FORWARD" in own:
            cls.FORWARD, cls.BACKWARD = _stages(cls.FORWARD), _stages(cls.BACKWARD)
            cls.__doc__ = f"{(cls.__doc__ or cls.__name__).rstrip()}\n\n{_table(cls)}"
        if "forward" in own:
            cls.forward = with_forward_rules(cls.forward)
        if "backward" in own:
            cls.backward = with_backward_rules(cls.backward)

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

    def part(self, name):
        """The part of that name, None if there is none."""
        return self.sublayers().get(name)

    def adopt(self, layer):
        """`layer`, handed in by a caller, as a part of this one; refused if it is a part of another already.

        A layer has one cache: two owners would go back through each other's forward.
        """
        owner = _owners.get(layer, lambda: None)()
        if owner is not None and owner is not self:
            raise ValueError(f"this {type(layer).__name__} is part of another {type(owner).__name__} already, and a "
                             "layer has only one cache: make one for each, or hand in copy.deepcopy(it)")
        _owners[layer] = weakref.ref(self)
        return layer

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

    def param(self, name, like):
        """The learned array of that name in the precision of the input `like`; None if this layer has none."""
        array = self.params.get(name)
        if array is None or array.dtype == like.dtype or array.dtype.kind == "c":
            return array
        dtype = like.real.dtype
        return array if array.dtype == dtype else array.astype(dtype)

    def keep(self, **steps):
        """Make these the cache, in this order; a step that an option left out is None and not kept."""
        self.cache = {name: array for name, array in steps.items() if array is not None}

    def statement(self, half):
        """The stated steps of "FORWARD" or "BACKWARD" in order, as pairs: names of the parts it lies in, Stage.

        A part's own steps stand in its place, with the shapes that they have in here.
        """
        for stage in getattr(self, half):
            if not isinstance(stage, str):
                yield (), stage
                continue
            part = self.part(stage)
            for path, inner in part.statement(half) if part is not None else ():
                yield (stage, *path), inner._replace(shape=self.inner_shapes.get(inner.name, inner.shape))

    def restate(self, field="formula", **changes):
        """State steps of this one layer differently, where an option has changed them: restate(scores="Q Kᵀ · 2")."""
        for half in ("FORWARD", "BACKWARD"):
            setattr(self, half, tuple(stage if isinstance(stage, str) or stage.name not in changes
                                      else stage._replace(**{field: changes[stage.name]})
                                      for stage in getattr(self, half)))

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
        freeze(self.cache)     # NumPy copies and unpickles read-only arrays as writable ones

    def __repr__(self):
        arrays = ", ".join(f"{name} {'×'.join(map(str, array.shape))}" for name, array in self.params.items())
        lines = [f"{type(self).__name__}({arrays})"]
        for name, layer in self.sublayers().items():
            lines += f"{name}: {layer!r}".split("\n")
        return "\n  ".join(lines)


def known_layer(layer, name="layer"):
    """`layer`, if it is one, or an error that names it."""
    if not isinstance(layer, Layer):
        raise TypeError(f"{name} must be a layer, such as na.Linear(3, 2), or a model made of layers; got {layer!r}")
    return layer


def parts(layer):
    """The layer itself, and all layers inside of it."""
    yield layer
    for part in layer.sublayers().values():
        yield from parts(part)


_owners = weakref.WeakKeyDictionary()     # which layer was handed in to which; copies are free


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
