"""Changing one thing inside a model while it reads, and nothing else.

To learn what a part does, change what it hands on and see what becomes of the answer. The change is put around a layer
of a copy (see apart.py); the model itself stays as it is. One run can try a whole row of changes at once: the text goes
in several times, as a batch, and each copy is changed in its own way.
"""
import numpy as np

from ..engine.layer import Layer, known_layer
from .apart import apart
from .question import texts


class Edited(Layer):
    """A layer with something done to what goes in, or to what comes out.

    Args: inner: the layer. before, after: functions of an array of your own to change, which return it.
    """

    def __init__(self, inner, *, before=None, after=None):
        super().__init__()
        self.inner, self.before, self.after = inner, before, after

    def __getattr__(self, name):
        if name == "inner":
            raise AttributeError(name)
        return getattr(self.inner, name)

    def forward(self, x, *, mask=None, bias=None):
        options = {"mask": mask, "bias": bias}
        x = x if self.before is None else self.before(x.copy())
        out = self.inner(x, **{name: given for name, given in options.items() if given is not None})
        out = out if self.after is None else self.after(out.copy())
        self.cache = {"x": x, "out": out}
        return out


def read(model, ids, **options):
    """(logits, the twin that read the ids): the model's own caches are left alone.

    Raises: ValueError/TypeError unless ids are (N, L) or (L,), without an option that the model does not take.
    """
    twin = apart(known_layer(model, "model")).eval()
    return twin(np.atleast_2d(texts(ids)), **options), twin


def read_edited(model, ids, layer, part, **change):
    """The logits of copies of one text, with a change around one part of a block.

    Args: ids (N, L). layer: which block. part: "block", "attention", "feed_forward", or "heads" for what the heads
        found, side by side, before it is mixed. change: before= or after=, see Edited.
    """
    twin = apart(model).eval()
    block = twin.blocks[layer]
    if part == "block":
        twin.blocks[layer] = Edited(block, **change)
    elif part == "heads":
        block.attention.output_proj = Edited(block.attention.output_proj, **change)
    else:
        setattr(block, part, Edited(getattr(block, part), **change))
    return twin(ids)


def head_columns(attention, head):
    """The columns of concat that a head fills."""
    d_v = len(attention.output_proj.params["W"]) // attention.split.num_heads
    return slice(head * d_v, (head + 1) * d_v)
