"""Activations: the bend between two linear layers.

Two linear layers in a row are one linear layer. What makes a second one worthwhile is a bend in between: a function
that treats small and large numbers differently, each number on its own. ReLU cuts off at 0; GELU and SiLU do the same
with a rounded corner. Backward, each number's gradient is multiplied by the slope at the place where it came in.
"""
import math

import numpy as np

from ..engine.layer import Layer
from ..engine.normal import bell, normal_share


class ReLU(Layer):
    """max(x, 0). At the corner itself the slope is taken as 0; NaN stays NaN.

    >>> relu = na.ReLU()
    >>> relu([-2., 0., 3.]), relu.backward([1., 1., 1.])
    (array([0., 0., 3.]), array([0., 0., 1.]))

    Source: Nair and Hinton 2010.
    """

    FORWARD = (("out", "max(x, 0)", "...", "What is negative becomes 0.", "负数变成 0。"),)
    BACKWARD = (("dx", "dout where x > 0, else 0", "...",
                 "What was cut off hears nothing.", "被截掉的数收不到梯度。"),)

    def forward(self, x):
        out = np.where(x.real <= 0, 0, x)
        self.cache = {"x": x, "out": out}
        return out

    def backward(self, dout):
        dx = np.where(self.cache["x"].real <= 0, 0, dout)
        self.grads = {"out": dout, "x": dx}
        return dx


class GELU(Layer):
    """x Φ(x), where Φ(x) is the share of a standard normal distribution below x.

    Args: approximate: "none" for Φ itself, "tanh" for x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2, off by up to 0.0005.
    Raises: ValueError for any other word.

    >>> na.GELU()([-1., 0., 1.]).round(4)
    array([-0.1587,  0.    ,  0.8413])
    >>> na.GELU(approximate="tanh")([-1., 0., 1.]).round(4)
    array([-0.1588,  0.    ,  0.8412])

    Source: Hendrycks and Gimpel 2016, section 2.
    """

    FORWARD = (
        ("share", "Φ(x)", "...",
         "How much of each number may pass? The larger, the more.", "每个数放行多少？数越大，放行越多。"),
        ("out", "x ∘ share", "...", "Let that much through.", "放行这么多。"),
    )
    BACKWARD = (
        ("dx", "dout ∘ (share + x ∘ φ(x))", "...",
         "The product rule; φ, the bell curve, is the slope of Φ.", "乘积求导；Φ 的导数 φ 就是钟形曲线。"),
    )

    def __init__(self, *, approximate="none"):
        super().__init__()
        if approximate not in ("none", "tanh"):
            raise ValueError(f'approximate must be "none" or "tanh", got {approximate!r}')
        self.approximate = approximate
        if approximate == "tanh":
            self.restate(share="σ(2 √(2 / π) x ∘ (1 + 0.044715 x²))",
                         dx="dout ∘ (share + share ∘ (1 − share) ∘ 2 √(2 / π) x ∘ (1 + 0.134145 x²))")

    def forward(self, x):
        if self.approximate == "none":
            share = normal_share(x)
        else:       # (1 + tanh u) / 2 is σ(2u), which keeps its digits where tanh u is nearly -1
            share = sigmoid(TANH_RATE * (x + 0.044715 * x * x * x))
        out = x * share
        self.cache = {"x": x, "share": share, "out": out}
        return out

    def backward(self, dout):
        x, share = self.cache["x"], self.cache["share"]
        if self.approximate == "none":
            slope = bell(x)
        else:
            fade = share * (1 - share)      # the slope of σ; where it is 0, not even 0 · ∞ is computed
            slope = np.where(fade == 0, 0, fade * TANH_RATE * (1 + 3 * 0.044715 * x * x))
        dx = dout * (share + x * slope)
        self.grads = {"out": dout, "x": dx}
        return dx


class SiLU(Layer):
    """x σ(x), also called swish, where σ(x) = 1 / (1 + e⁻ˣ).

    >>> na.SiLU()([-1., 0., 1.]).round(4)
    array([-0.2689,  0.    ,  0.7311])

    Source: Elfwing, Uchibe and Doya 2017; Ramachandran, Zoph and Le 2017.
    """

    FORWARD = (
        ("share", "σ(x)", "...",
         "How much of each number may pass? The larger, the more.", "每个数放行多少？数越大，放行越多。"),
        ("out", "x ∘ share", "...", "Let that much through.", "放行这么多。"),
    )
    BACKWARD = (
        ("dx", "dout ∘ share ∘ (1 + x ∘ (1 − share))", "...",
         "The product rule; σ (1 − σ) is the slope of σ.", "乘积求导；σ 的导数是 σ (1 − σ)。"),
    )

    def forward(self, x):
        share = sigmoid(x)
        out = x * share
        self.cache = {"x": x, "share": share, "out": out}
        return out

    def backward(self, dout):
        x, share = self.cache["x"], self.cache["share"]
        dx = dout * share * (1 + x * (1 - share))
        self.grads = {"out": dout, "x": dx}
        return dx


TANH_RATE = 2 * math.sqrt(2 / math.pi)
ACTIVATIONS = {"relu": ReLU, "gelu": GELU, "silu": SiLU}


def activation(name):
    """A new layer for "relu", "gelu" or "silu"; or from anything that makes one when called, such as na.GELU."""
    make = ACTIVATIONS.get(name) if isinstance(name, str) else name
    if not callable(make) or isinstance(make, Layer):
        raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, or a layer's class such as na.GELU; "
                         f"got {name!r}")
    return make()


def sigmoid(x):
    """1 / (1 + e⁻ˣ), where the exponential is always of something negative and cannot overflow."""
    small = np.exp(np.where(x.real < 0, x, -x))
    return np.where(x.real < 0, small, 1) / (1 + small)
