"""Grouped heads: several query heads share one key/value head.

With H query heads and H_kv key/value heads, query head h reads key/value head h // (H / H_kv). It saves memory where
keys and values are kept and makes two projections smaller; there are as many scores as before, since each key/value
head is simply repeated for its group. What was read several times hears from every reader, so in the backward pass the
gradients of a group add up.
"""
import numpy as np

from ...engine.arguments import size
from ...engine.layer import Layer


class RepeatHeads(Layer):
    """(..., H_kv, S, d) -> (..., H_kv·times, S, d): each head stands `times` times in a row.

    Args: times: how many query heads share a key/value head.
    Raises: ValueError for fewer than three axes.

    >>> na.RepeatHeads(2)([[[1.]], [[5.]]])[:, 0, 0]
    array([1., 1., 5., 5.])

    Source: Ainslie et al. 2023 (GQA), section 2; Shazeer 2019 for a single shared head.
    """

    def __init__(self, times):
        super().__init__()
        self.times = size("times", times)

    def forward(self, x):
        if x.ndim < 3:
            raise ValueError(f"x must have shape (..., H_kv, S, d); got {x.shape}")
        out = repeat(x, self.times)
        self.cache = {"x": x, "out": out}
        return out

    def backward(self, dout):
        dx = add_group(dout, self.times)
        self.grads = {"out": dout, "x": dx}
        return dx

    FORWARD = (
        ("out", "each head of x, times in a row", "... H S d",
         "Every query head gets a copy of its group's head.", "同组的每个查询头都拿到一份。"),
    )
    BACKWARD = (
        ("dx", "Σ dout over each group", "... H_kv S d",
         "The readers' gradients add up.", "同组各个头的梯度相加。"),
    )


def group_size(Q, K):
    """How many query heads share each key/value head."""
    return 1 if Q.shape[:-2] == K.shape[:-2] else Q.shape[-3] // K.shape[-3]


def repeat(x, times):
    """(..., H_kv, S, d) -> (..., H_kv·times, S, d)."""
    return x if times == 1 else np.repeat(x, times, axis=-3)


def add_group(dx, times):
    """(..., H_kv·times, S, d) -> (..., H_kv, S, d): the sum over each group."""
    if times == 1:
        return dx
    *lead, H, S, d = dx.shape
    return dx.reshape(*lead, H // times, times, S, d).sum(axis=-3)
