"""Rotary scaling: turn more slowly, so that a longer text looks like one that the model knows.

A model that was trained on texts of 8 000 tokens has never seen its slow pairs of columns turned any further than they
turn in 8 000 steps. To read longer texts, all pairs may be slowed down alike (linear), or only the slow ones (Llama 3):
the fast pairs tell near places apart and stay as they are, the slow ones are divided by the factor, and those in
between are blended.
"""
import math

import numpy as np

from ...engine.arguments import size
from .rotary import Rotary, turn


def rotary_speeds(d, *, base=10000.0, kind="default", factor=1.0, low=1.0, high=4.0, original=8192):
    """How far each pair of d columns turns from one place to the next, in radians: (d/2,).

    Args:
        kind: "default" for base^(−2i/d); "linear" for all of them divided by factor; "llama3" for the slow ones only.
        low, high: with "llama3", how often a pair turns round within `original` places to count as slow (at most
            low) or as fast (at least high).
    Raises: ValueError for another kind, or numbers that are not positive.

    >>> na.rotary_speeds(4, base=100)
    array([1. , 0.1])
    >>> na.rotary_speeds(4, base=100, kind="linear", factor=4)
    array([0.25 , 0.025])
    >>> na.rotary_speeds(4, base=100, kind="llama3", factor=4, original=32)          # 5 turns, and half a turn
    array([1.   , 0.025])

    Source: Su et al. 2021, section 3.3; Chen et al. 2023 (linear); Llama Team 2024, section 3.2 (llama3).
    """
    if kind not in ("default", "linear", "llama3"):
        raise ValueError(f'kind must be "default", "linear" or "llama3"; got {kind!r}')
    if not all(0 < number < np.inf for number in (base, factor, low, high, original)) or not low < high:
        raise ValueError("base, factor, low, high and original must be positive, and low below high; got "
                         f"{base}, {factor}, {low}, {high}, {original}")
    speeds = float(base) ** (-np.arange(0, size("d", d), 2) / d)
    if kind == "linear":
        return speeds / factor
    if kind == "llama3":
        turns = original * speeds / (2 * math.pi)
        fast = np.clip((turns - low) / (high - low), 0, 1)         # 1 for fast pairs, 0 for slow ones
        return fast * speeds + (1 - fast) * speeds / factor
    return speeds


class ScaledRotary(Rotary):
    """Rotary with the speed of each pair handed in.

    Args: speeds: (d/2,), from rotary_speeds. interleaved: as for Rotary.

    rotary(x, *, offset=0, positions=None) -> out, as Rotary. `rotary.positions`, where it is set, stands in for
    positions= that are not given: a model sets it for all its layers at once.

    >>> x = np.ones((3, 4))
    >>> plain, scaled = na.Rotary(4), na.ScaledRotary(na.rotary_speeds(4, kind="linear", factor=2))
    >>> bool(np.allclose(scaled(x, positions=[0, 2, 4]), plain(x)))
    True

    Source: Su et al. 2021 (RoFormer), equation (34); Llama Team 2024, section 3.2.
    """

    FORWARD = (
        ("out", "each pair of x turned by position · speed", "... L d",
         "Turn each row by an angle that tells its place.", "按所在位置把每一行旋转一个角度。"),
    )
    BACKWARD = (
        ("dx", "each pair of dout turned back", "... L d",
         "Turn the gradient back by the same angle.", "把梯度按同样的角度转回去。"),
    )

    positions = None

    def __init__(self, speeds, *, interleaved=False):
        speeds = np.array(speeds, float)
        if speeds.ndim != 1 or not np.isfinite(speeds).all():
            raise ValueError(f"speeds must be finite numbers of shape (d/2,); got {speeds}")
        super().__init__(2 * len(speeds), interleaved=interleaved)
        self.speeds = tuple(speeds.tolist())

    def forward(self, x, *, offset=0, positions=None):
        if x.ndim < 2 or x.shape[-1] < self.d:
            raise ValueError(f"x must have shape (..., L, width) with width >= d = {self.d}; got {x.shape}")
        positions = self.positions if positions is None else np.asarray(positions)
        if positions is None:
            positions = offset + np.arange(x.shape[-2])
        angle = positions[..., None] * np.array(self.speeds)                # (..., L, d/2)
        cos, sin = np.cos(angle).astype(x.real.dtype), np.sin(angle).astype(x.real.dtype)
        out = turn(x, cos, sin, self.interleaved)
        self.cache = {"x": x, "cos": cos, "sin": sin, "out": out}
        return out

    def backward(self, dout):
        dx = turn(dout, self.cache["cos"], -self.cache["sin"], self.interleaved)
        self.grads = {"out": dout, "x": dx}
        return dx
