"""The catalogue's sizes and examples, and how to run one, for tests that hold all layers to the same rules.

Upstream gradients are random, because softmax is blind to a constant one.
"""
from numpy_attention.catalogue import (  # noqa: F401  (the tests take their sizes from here)
    EXAMPLES,
    GROUPED,
    MASK,
    QKV,
    D,
    H,
    L,
    N,
    S,
    d_k,
    d_v,
    draw,
    kdim,
    randomise,
    vdim,
)

# What is known to be missing, and is skipped with its reason wherever it shows. Delete a line to switch it on.
OPEN = {
    ("shapes", "ScaledDotProductAttention, grouped"): "the class states H for K and V, and all axes for a bias",
}

FLOATS = [name for name, example in EXAMPLES.items() if any(array.dtype.kind == "f" for array in example.inputs)]


def run(layer, inputs, options, seed=9):
    """Forward and backward with a random upstream gradient: out, input gradients, all parameter gradients."""
    out = layer(*inputs, **options)
    grads = layer.backward(draw(*out.shape, seed=seed))
    return out, as_tuple(grads), layer.named_grads()


def as_tuple(grads):
    return grads if isinstance(grads, tuple) else (grads,)
