"""Softcap: bend large scores down so that none exceeds a limit.

c · tanh(scores / c) leaves small scores as they are and lets large ones approach c, so that no single key can drown
all others by an enormous score. Where the curve is flat, hardly any gradient comes through.
"""
import numpy as np

from ...engine.arguments import is_number
from ...engine.layer import Layer


class SoftCap(Layer):
    """cap · tanh(scores / cap).

    Args: cap: the limit c, positive.
    Raises: ValueError unless cap is a positive finite number.

    >>> na.SoftCap(2.0)([-100., 0.1, 100.]).round(4)
    array([-2.    ,  0.0999,  2.    ])

    Source: Gemma Team 2024 (Gemma 2), section 2, "logit soft-capping".
    """

    def __init__(self, cap):
        super().__init__()
        if not is_number(cap) or cap <= 0:
            raise ValueError(f"softcap must be a positive finite number, or None for no cap; got {cap!r}")
        self.cap = float(cap)

    def forward(self, scores):
        capped = self.cap * np.tanh(scores / self.cap)
        self.cache = {"scores": scores, "capped": capped}
        return capped

    def backward(self, dcapped):
        capped = self.cache["capped"]
        dscores = np.where(dcapped == 0, 0, dcapped * (1 - (capped / self.cap) ** 2))     # even where capped is NaN
        self.grads = {"capped": dcapped, "scores": dscores}
        return dscores

    FORWARD = (
        ("capped", "c tanh(scores / c)", "...",
         "No score may exceed c.", "任何分数都不能超过 c。"),
    )
    BACKWARD = (
        ("dscores", "dcapped ∘ (1 − (capped / c)²)", "...",
         "Where the curve is flat, little gradient comes through.", "曲线平的地方，梯度几乎传不过去。"),
    )
