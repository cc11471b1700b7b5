"""Dropout: in training, let a random part of the numbers fall out.

A network that may lose any number at any time cannot lean on a single one of them. What is left is scaled up by
1 / (1 − p), so that on average nothing changes and, once training is over, nothing is left to do: dropout is then
simply switched off with `layer.eval()`. Backward goes through the same holes as forward did: that draw is kept.
"""
import numpy as np

from ...engine.arguments import generator, is_number
from ...engine.layer import Layer


class Dropout(Layer):
    """x with each number set to 0 with probability p, the others divided by 1 − p; x itself after eval().

    Args:
        p: probability of falling out, 0 <= p < 1.
        rng: seed or np.random.Generator. Every forward in training draws anew from it.

    Shapes: x and out (...). The cache's `keep`, bool (...), is True where a number was kept; None when nothing was
        drawn, because p is 0 or the layer is in eval mode.
    Raises: ValueError for p outside 0 <= p < 1.

    >>> dropout = na.Dropout(0.5, rng=0)
    >>> dropout(np.ones(6))
    array([2., 0., 0., 0., 2., 2.])
    >>> dropout.backward(np.ones(6))             # the same holes
    array([2., 0., 0., 0., 2., 2.])
    >>> dropout.eval()(np.ones(6))
    array([1., 1., 1., 1., 1., 1.])

    Source: Srivastava et al. 2014; the scaling at training time is their section 10, "inverted dropout".
    """

    def __init__(self, p=0.5, *, rng=None):
        super().__init__()
        if not is_number(p) or not 0 <= p < 1:
            raise ValueError(f"p is the probability of falling out and must lie in 0 <= p < 1; got {p!r}")
        self.p = float(p)
        self.rng = generator(rng)

    @property
    def drops(self):
        """Is anything dropped at present?"""
        return self.training and self.p > 0

    def forward(self, x):
        keep = None
        out = x
        if self.drops:
            keep = self.rng.random(x.shape) >= self.p
            out = np.where(keep, x / (1 - self.p), 0)       # a choice, not a product: even NaN falls out
        self.cache = {"x": x, "keep": keep, "out": out}
        return out

    def backward(self, dout):
        keep = self.cache["keep"]
        dx = dout if keep is None else np.where(keep, dout / (1 - self.p), 0)
        self.grads = {"out": dout, "x": dx}
        return dx

    FORWARD = (
        ("out", "keep ∘ x / (1 − p)", "...",
         "A random part falls out, the rest grows to make up for it.", "随机丢掉一部分，剩下的放大来补足。"),
    )
    BACKWARD = (
        ("dx", "keep ∘ dout / (1 − p)", "...",
         "The gradient meets the same holes and the same scale.", "梯度在同样的位置被丢掉，也同样放大。"),
    )
