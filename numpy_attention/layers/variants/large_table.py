"""A very large table of scores costs more to keep than to compute again.

The numbers are those of layers/attention.py. Here the weights are written over the scores, and the scores' gradient
over the weights' one; whoever asks by name for what was written over gets it computed again.
"""
import math

from ...engine.call_rules import also_ran
from ...engine.lazy import Later, Tensors
from ...engine.row_blocks import by_rows
from ..softmax import softmax, softmax_backward
from .repeat_heads import add_group, group_size, repeat

LARGE = 1 << 22         # numbers: 16 MB of float32


def is_large(Q, K):
    """Has the table of scores, (..., L, S), more numbers than one likes to keep twice?"""
    return math.prod(Q.shape[:-1]) * K.shape[-2] > LARGE


def forward(attention, Q, K, V):
    """heads; the cache's scores come later."""
    scale, group = attention.scale_for(Q), group_size(Q, K)

    def scores():
        return (Q * scale) @ repeat(K, group).mT              # (N,H,L,d_k) (N,H,d_k,S) -> (N,H,L,S)
    table = scores()
    weights = by_rows(softmax, table, out=table)
    heads = weights @ repeat(V, group)                        # (N,H,L,S) (N,H,S,d_v) -> (N,H,L,d_v)
    also_ran(attention.softmax)
    attention.softmax.cache = Tensors({"scores": Later(scores), "weights": weights})
    attention.cache = Tensors({"Q": Q, "K": K, "V": V, "scores": Later(scores), "weights": weights, "heads": heads})
    return heads


def backward(attention, dheads):
    """dQ, dK, dV; the gradient of the weights comes later."""
    Q, K, V, weights = map(attention.cache.get, ("Q", "K", "V", "weights"))
    scale, group = attention.scale_for(Q), group_size(Q, K)
    dV = add_group(weights.mT @ dheads, group)                # (N,H,S,L) (N,H,L,d_v) -> (N,H,S,d_v)

    def dweights():
        return dheads @ repeat(V, group).mT                   # (N,H,L,d_v) (N,H,d_v,S) -> (N,H,L,S)
    table = dweights()
    dscores = by_rows(softmax_backward, weights, table, out=table)
    dQ = dscores @ repeat(K, group) * scale                   # (N,H,L,S) (N,H,S,d_k) -> (N,H,L,d_k)
    dK = add_group(dscores.mT @ Q * scale, group)             # (N,H,S,L) (N,H,L,d_k) -> (N,H,S,d_k)
    attention.softmax.grads = Tensors({"weights": Later(dweights), "scores": dscores})
    attention.grads = Tensors({"heads": dheads, "V": dV, "weights": Later(dweights), "scores": dscores, "Q": dQ,
                               "K": dK})
    return dQ, dK, dV
