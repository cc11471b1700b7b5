"""Parts of parts, under names of the whole.

An encoder layer is made of two residuals, and its attention lies inside the first. For whoever uses it, it is simply
the layer's `self_attn`: that is its name in `named_params()`, in weights from elsewhere, and in code. So a layer may
say which sublayers and which tensors lie deeper, and by what name each of them goes.
"""
from .layer import Layer


class NamedParts(Layer):
    """A layer whose sublayers and tensors lie in its parts.

        PARTS = {"self_attn": "attend.layer", ...}      the sublayers, in their order: attributes to read and to set
        STEPS = {"attended": "attend.added", ...}       tensors in the parts' caches and grads, see `steps`

    A part that is None, or lies in one that is None, is left out.

    >>> from numpy_attention.engine.named_parts import NamedParts
    >>> class Double(NamedParts):
    ...     PARTS = {"proj": "double.layer"}
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.double = na.Residual(na.Linear(2, 2, rng=0))
    >>> Double().proj, list(Double().named_params())
    (Linear(W 2×2, b 2), ['proj.W', 'proj.b'])
    """

    PARTS, STEPS = {}, {}

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        for name, path in vars(cls).get("PARTS", {}).items():
            setattr(cls, name, _part(*path.split(".")))

    def sublayers(self):
        """The parts by their names."""
        found = {name: getattr(self, name) for name in self.PARTS}
        return {name: part for name, part in found.items() if part is not None}

    def part(self, name):
        """The part of that name, be it one of the PARTS or one that holds them."""
        return super().part(name) or getattr(self, name, None)

    def own_name(self, path):
        """The name of the part at `path`, such as "attend.layer"; None if it has none."""
        return next((name for name, deep in self.PARTS.items() if deep == path), None)

    def steps(self, which):
        """{name: tensor} of those STEPS that are in the parts' "cache" or "grads", in the order of the pass."""
        found = {}
        for name, path in self.STEPS.items() if which == "cache" else reversed(self.STEPS.items()):
            part, _, inner = path.partition(".")
            array = getattr(getattr(self, part), which).get(inner)
            if array is not None:
                found[name] = array
        return found


def _part(owner, name):
    def get(self):
        return getattr(getattr(self, owner), name, None)

    def put(self, part):
        setattr(getattr(self, owner), name, part)

    return property(get, put, doc=f"The {name} in `{owner}`.")
