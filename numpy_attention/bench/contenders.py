"""What is timed: one forward and one backward of multi-head self-attention, by several hands."""
import importlib.util

import numpy as np

from ..layers.multi_head import MultiHeadAttention
from ..layers.variants.blocked_attention import BlockedAttention

NAMES = ("direct", "blocked", "torch with weights", "torch SDPA")


def contender(name, size, dtype):
    """A function of no arguments that does forward and backward once, for size (N, L, D, H) and a dtype's name.

    Raises: ImportError for the torch ones where PyTorch is not installed.
    """
    N, L, D, H = size
    rng = np.random.default_rng(0)
    x, dout = (rng.standard_normal((N, L, D)).astype(dtype) for _ in range(2))
    if name.startswith("torch"):
        return _torch(x, dout, H, need_weights=name == "torch with weights")
    mha = MultiHeadAttention(D, H, rng=0, dtype=dtype, attention=BlockedAttention() if name == "blocked" else None)
    return lambda: (mha.forward(x), mha.backward(dout))


def available():
    """The contenders that can run here."""
    return NAMES if importlib.util.find_spec("torch") else NAMES[:2]


def _torch(x, dout, H, need_weights):
    torch = importlib.import_module("torch")
    mha = torch.nn.MultiheadAttention(x.shape[-1], H, batch_first=True, dtype=getattr(torch, x.dtype.name))
    x, dout = torch.from_numpy(x).requires_grad_(), torch.from_numpy(dout)

    def once():
        x.grad = None
        mha.zero_grad(set_to_none=True)
        out, _ = mha(x, x, x, need_weights=need_weights, average_attn_weights=False)
        out.backward(dout)

    return once


def operations(size):
    """Multiplications and additions in the matrix products of one forward and backward: three times the forward's."""
    N, L, D, _ = size
    return 3 * (4 * 2 * N * L * D * D + 2 * 2 * N * L * L * D)
