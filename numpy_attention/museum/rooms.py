"""The rooms: a correct layer each, the inputs to try it with, and its golden numbers.

All parameters are random, biases too, so that no zero hides a term; batch, heads, tokens and widths all differ.
"""
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..layers.embedding import Embedding
from ..layers.layer_norm import LayerNorm
from ..layers.multi_head import MultiHeadAttention
from ..layers.transformer_encoder_layer import TransformerEncoderLayer
from ..masks import causal_mask
from . import reference

N, H, L, S, D = 3, 4, 5, 7, 8                 # so d_k = 2


class Room(NamedTuple):
    """What the detectors need: `make()` a correct layer, its `calls` [(inputs, options)] and `expected(layer, call)`.

    `attends`: whether tokens look at each other, so that causality and permutations mean something.
    """

    make: Callable
    calls: list
    expected: Callable
    attends: bool = True

    @property
    def gradient_calls(self):
        """Calls with masks if there are any: a gradient that is right under a mask is right without one."""
        return [call for call in self.calls if call[1]] or self.calls


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def random_parameters(layer, seed=0):
    """The layer, every parameter random and of a useful size."""
    rng = np.random.default_rng(seed)
    for part in (layer, *layer.sublayers().values()):
        for name, old in part.params.items():
            part.params[name] = rng.standard_normal(old.shape) / (np.sqrt(len(old)) if old.ndim > 1 else 1)
        if part is not layer:
            random_parameters(part, rng.integers(2**32))
    return layer


def _make(kind, *sizes, **options):
    return lambda: random_parameters(kind(*sizes, rng=0, **options))


def _masks():
    """A causal mask; one padding mask for each item, in which one query of one head may see nothing at all."""
    some = np.ones((N, H, L, S), bool)
    some[1, :, :, 3:] = False
    some[0, :, 1, :] = False
    return causal_mask(L), some


CAUSAL, PADDED = _masks()
X, MEMORY = normal(N, L, D), normal(N, S, D)
WIDE = X * np.array([1.0, 1.0, 1e-3])[:, None, None] * 60            # rows of very different size


def _attention_expected(mha, inputs, options):
    mask = options.get("mask")
    mask = mask if mask is None else np.broadcast_to(mask, (N, H, L, inputs[-1].shape[1]))
    return reference.attention(mha, inputs[0], inputs[-1], mask)


def _attention_calls(wide=True):
    calls = [((X,), {}), ((X,), {"mask": CAUSAL}), ((X, MEMORY), {}), ((X, MEMORY), {"mask": PADDED})]
    return [*calls, ((WIDE,), {})] if wide else calls


ROOMS = {
    "attention": Room(_make(MultiHeadAttention, D, H), _attention_calls(), _attention_expected),
    "grouped": Room(_make(MultiHeadAttention, D, H, num_kv_heads=2), _attention_calls(), _attention_expected),
    "dropout": Room(_make(MultiHeadAttention, D, H, dropout=0.4), _attention_calls(), _attention_expected),
    "embedding": Room(_make(Embedding, 6, 4), [((np.array([[1, 4, 1], [0, 4, 4]]),), {})],
                      lambda layer, inputs, options: (reference.embedding(layer, *inputs), None), attends=False),
    "norm": Room(lambda: random_parameters(LayerNorm(D)), [((X,), {})],
                 lambda layer, inputs, options: (reference.norm(layer, *inputs), None), attends=False),
    "block": Room(_make(TransformerEncoderLayer, D, H, 7), [((X,), {}), ((X,), {"mask": CAUSAL})],
                  lambda layer, inputs, options: (reference.block(layer, *inputs, _full(options)), None)),
}


def _full(options):
    return np.broadcast_to(options["mask"], (N, H, L, L)) if "mask" in options else None
