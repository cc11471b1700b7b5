"""What every layer shares.

A layer is three dictionaries and a pair of methods:

    params   the learned arrays                        {"W": ..., "b": ...}
    cache    every tensor of the last forward, by name, in order of computation
    grads    dLoss/d(name) after backward, each with the shape of what it belongs to

    out = layer(x)              # the same as layer.forward(x)
    dx = layer.backward(dout)   # one gradient for each array given to forward

A subclass writes only its formulas; what goes for all of them is in call_rules.py.
"""
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

    def keep(self, **steps):
        """Make these the cache, in this order; a step that an option left out is None and not kept."""
        self.cache = {name: array for name, array in steps.items() if array is not None}

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
