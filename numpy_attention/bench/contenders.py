"""What is timed: one forward and one backward, by several hands.

`plain` is what a student writes down from the lecture: bare NumPy, no classes, no checks, nothing kept but what
backward needs. Whoever is slower pays for something; whoever is faster has found something.
"""
import importlib.util
import math

import numpy as np

from ..layers.multi_head import MultiHeadAttention
from ..layers.variants.blocked_attention import BlockedAttention

NAMES = ("plain", "direct", "blocked", "torch with weights", "torch SDPA")


def contender(name, size, dtype):
    """A function of no arguments that does forward and backward of multi-head self-attention once.

    Args: name: one of NAMES. size: (N, L, D, H). dtype: its name. All of a size get the same numbers.
    Raises: ImportError for the torch ones where PyTorch is not installed.
    """
    N, L, D, H = size
    x, dout = _draw(2, (N, L, D), dtype)
    if name.startswith("torch"):
        return _torch(x, dout, H, need_weights=name == "torch with weights")
    mha = MultiHeadAttention(D, H, rng=0, dtype=dtype, attention=BlockedAttention() if name == "blocked" else None)
    if name == "plain":
        params = mha.named_params()
        return lambda: plain(x, dout, params, H)
    return lambda: (mha.forward(x), mha.backward(dout))


def attention_alone(name, length, dtype="float32", *, causal=False, heads=8, width=64):
    """The same for the attention without its projections: name is "blocked" or "torch SDPA"."""
    Q, K, V, dheads = _draw(4, (1, heads, length, width), dtype)
    if name == "blocked":
        attention = BlockedAttention(causal=causal)
        return lambda: (attention.forward(Q, K, V), attention.backward(dheads))
    torch = importlib.import_module("torch")
    given = [torch.from_numpy(array.copy()).requires_grad_() for array in (Q, K, V)]
    dheads = torch.from_numpy(dheads.copy())

    def once():
        for tensor in given:
            tensor.grad = None
        torch.nn.functional.scaled_dot_product_attention(*given, is_causal=causal).backward(dheads)

    return once


def available(names=NAMES):
    """Those of the contenders that can run here."""
    return tuple(name for name in names if not name.startswith("torch") or importlib.util.find_spec("torch"))


def plain(x, dout, params, H):
    """Multi-head self-attention as the textbook has it: (out, dx, the parameters' gradients by name)."""
    N, L, D = x.shape
    scale = 1 / math.sqrt(D // H)

    def split(table):
        return table.reshape(N, L, H, D // H).swapaxes(1, 2)                    # (N,L,D) -> (N,H,L,d_k)

    def merge(table):
        return table.swapaxes(1, 2).reshape(N, L, D)                            # (N,H,L,d_k) -> (N,L,D)

    # Forward.
    Q, K, V = (split(x @ params[f"{role}_proj.W"] + params[f"{role}_proj.b"]) for role in ("query", "key", "value"))
    scores = Q @ K.mT * scale                                                   # (N,H,L,L)
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=-1, keepdims=True)
    heads = weights @ V                                                         # (N,H,L,d_k)
    concat = merge(heads)
    out = concat @ params["output_proj.W"] + params["output_proj.b"]            # (N,L,D)
    # Backward, the same way up again.
    grads = {"output_proj.W": concat.reshape(-1, D).T @ dout.reshape(-1, D), "output_proj.b": dout.sum(axis=(0, 1))}
    dheads = split(dout @ params["output_proj.W"].T)
    dV = weights.mT @ dheads
    dweights = dheads @ V.mT
    dscores = weights * (dweights - (weights * dweights).sum(axis=-1, keepdims=True)) * scale
    dQ, dK = dscores @ K, dscores.mT @ Q
    dx = 0
    for role, gradient in (("query", dQ), ("key", dK), ("value", dV)):
        gradient = merge(gradient)
        grads[f"{role}_proj.W"] = x.reshape(-1, D).T @ gradient.reshape(-1, D)
        grads[f"{role}_proj.b"] = gradient.sum(axis=(0, 1))
        dx = dx + gradient @ params[f"{role}_proj.W"].T
    return out, dx, grads


def operations(size):
    """Multiplications and additions in the matrix products of one forward and backward: three times the forward's."""
    N, L, D, _ = size
    return 3 * (4 * 2 * N * L * D * D + 2 * 2 * N * L * L * D)


def operations_alone(length, *, causal=False, heads=8, width=64):
    """The same for the attention alone; under a causal mask half of the scores are never needed."""
    return 3 * 2 * 2 * heads * length * length * width / (2 if causal else 1)


def _draw(count, shape, dtype):
    """Read-only arrays, which the layers need not copy."""
    rng = np.random.default_rng(0)
    arrays = [rng.standard_normal(shape, dtype=dtype) for _ in range(count)]
    for array in arrays:
        array.flags.writeable = False
    return arrays


def _torch(x, dout, H, need_weights):
    torch = importlib.import_module("torch")
    mha = torch.nn.MultiheadAttention(x.shape[-1], H, batch_first=True, dtype=getattr(torch, x.dtype.name))
    x, dout = torch.from_numpy(x.copy()).requires_grad_(), torch.from_numpy(dout.copy())

    def once():
        x.grad = None
        mha.zero_grad(set_to_none=True)
        out, _ = mha(x, x, x, need_weights=need_weights, average_attn_weights=False)
        out.backward(dout)

    return once
