"""Golden numbers: what each layer should give, worked out separately, from the formula and one dot product at a time.

Slow on purpose: no reshape, no transpose, no broadcasting, nothing that could share a mistake with the layers.
"""
import math

import numpy as np


def attention(mha, x, memory=None, mask=None):
    """(out, weights) of multi-head attention over a batch, from mha's parameters; mask (N, H, L, S) or None."""
    p, memory = mha.named_params(), x if memory is None else memory
    H, H_kv = mha.split.num_heads, mha.split_kv.num_heads
    N, L, S = len(x), x.shape[1], memory.shape[1]
    Q = _project(x, p["query_proj.W"], p["query_proj.b"])
    K = _project(memory, p["key_proj.W"], p["key_proj.b"])
    V = _project(memory, p["value_proj.W"], p["value_proj.b"])
    d_k, d_v = Q.shape[-1] // H, V.shape[-1] // H_kv
    weights, concat = np.zeros((N, H, L, S)), np.zeros((N, L, H * d_v))
    for n, h, i in np.ndindex(N, H, L):
        kv = h // (H // H_kv)                                       # neighbours share a key/value head
        visible = [j for j in range(S) if mask is None or mask[n, h, i, j]]
        mine, its, values = (slice(k * d, k * d + d) for k, d in ((h, d_k), (kv, d_k), (kv, d_v)))
        row = _softmax([Q[n, i, mine] @ K[n, j, its] / math.sqrt(d_k) for j in visible])
        for j, weight in zip(visible, row, strict=True):
            weights[n, h, i, j] = weight
            concat[n, i, h * d_v:h * d_v + d_v] += weight * V[n, j, values]
    return _project(concat, p["output_proj.W"], p["output_proj.b"]), weights


def _softmax(scores):
    if not scores:
        return []
    exponentials = [math.exp(score - max(scores)) for score in scores]
    return [one / sum(exponentials) for one in exponentials]


def _project(rows, W, b):
    out = np.zeros((*rows.shape[:-1], len(b)))
    for place in np.ndindex(*out.shape[:-1]):
        for c in range(len(b)):
            out[(*place, c)] = rows[place] @ W[:, c] + b[c]
    return out


def embedding(layer, ids):
    """Each id's row."""
    return np.array([[list(layer.params["W"][i]) for i in row] for row in ids])


def norm(layer, x):
    """Each row brought to mean 0 and spread 1, then scaled and shifted."""
    out = np.empty_like(x)
    for place in np.ndindex(*x.shape[:-1]):
        row = x[place]
        mean = sum(row) / len(row)
        std = math.sqrt(sum((number - mean) ** 2 for number in row) / len(row) + layer.eps)
        out[place] = [(number - mean) / std * g + b
                      for number, g, b in zip(row, layer.params["gamma"], layer.params["beta"], strict=True)]
    return out


def block(layer, x, mask=None):
    """An encoder layer, post-norm, ReLU."""
    attended, _ = attention(layer.self_attn, x, mask=mask)
    normed, ff = norm(layer.norm1, x + attended), layer.feed_forward
    hidden = np.maximum(_project(normed, ff.up_proj.params["W"], ff.up_proj.params["b"]), 0)
    return norm(layer.norm2, normed + _project(hidden, ff.down_proj.params["W"], ff.down_proj.params["b"]))
