"""Rotary scaling: turn more slowly, so that a longer text looks like one that the model knows.

A model that was trained on texts of 8 000 tokens has never seen its slow pairs of columns turned any further than they
turn in 8 000 steps. To read longer texts, all pairs may be slowed down alike (linear), or by another base (NTK), or
only the slow ones (Llama 3, YaRN): the fast pairs tell near places apart and stay as they are, the slow ones are
divided by the factor, and those in between are blended.
"""
import math

import numpy as np

from ...engine.arguments import finite, one_of, size
from .rotary import Rotary

KINDS = ("default", "linear", "ntk", "llama3", "yarn")


class ScaledRotary(Rotary):
    """Rotary with the speed of each pair handed in.

    Args:
        speeds: (d/2,), from rotary_speeds. interleaved: as for Rotary.
        attention_factor: a factor on what comes out, 1 but for YaRN.

    rotary(x, *, offset=0, positions=None) -> out, as Rotary. `rotary.positions`, where it is set, stands in for
    positions= that are not given: a model sets it for all its layers at once.

    >>> x = np.ones((3, 4))
    >>> plain, scaled = na.Rotary(4), na.ScaledRotary(na.rotary_speeds(4, kind="linear", factor=2))
    >>> bool(np.allclose(scaled(x, positions=[0, 2, 4]), plain(x)))
    True

    Source: Su et al. 2021 (RoFormer), equation (34); Peng et al. 2023 (YaRN); Llama Team 2024, section 3.2.
    """

    positions = None

    def __init__(self, speeds, *, interleaved=False, attention_factor=1.0):
        speeds = np.array(speeds, float)
        if speeds.ndim != 1 or not speeds.size or not np.isfinite(speeds).all():
            raise ValueError(f"speeds must be finite numbers of shape (d/2,); got {speeds}")
        super().__init__(2 * len(speeds), interleaved=interleaved)
        self.speeds, self.stretch = speeds, finite("attention_factor", attention_factor, above=0)

    def forward(self, x, *, offset=0, positions=None):
        return super().forward(x, offset=offset, positions=self.positions if positions is None else positions)

    def backward(self, dout):
        return super().backward(dout)

    FORWARD = (
        ("out", "each pair of x turned by position · speed", "... L d",
         "Turn each row by an angle that tells its place.", "按所在位置把每一行旋转一个角度。"),
    )
    BACKWARD = Rotary.BACKWARD


def rotary_speeds(d, *, base=10000.0, kind="default", factor=1.0, low=None, high=None, original=8192, length=None):
    """How far each pair of d columns turns from one place to the next, in radians: (d/2,).

    Args:
        kind: "default" for base^(−2i/d); "linear" for all of them divided by factor; "ntk" for a larger base once a
            text is longer than `original` ("dynamic NTK"); "llama3" and "yarn" for the slow pairs only.
        low, high: how often a pair turns round within `original` places to count as slow (at most low) or as fast (at
            least high): 1 and 4 for "llama3", 1 and 32 for "yarn", unless given.
        original: the number of places that the model was trained on. length: of the text, for "ntk".
    Raises: ValueError for another kind, or numbers that are not positive.

    >>> na.rotary_speeds(4, base=100)
    array([1. , 0.1])
    >>> na.rotary_speeds(4, base=100, kind="linear", factor=4)
    array([0.25 , 0.025])
    >>> na.rotary_speeds(4, base=100, kind="llama3", factor=4, original=32)          # 5 turns, and half a turn
    array([1.   , 0.025])

    Source: Su et al. 2021, section 3.3; Chen et al. 2023 (linear); Peng et al. 2023 (YaRN), section 3.1 to 3.3 and
    definition 1 (dynamic NTK); Llama Team 2024, section 3.2 (llama3).
    """
    one_of("kind", kind, KINDS)
    low = 1.0 if low is None else low
    high = {"yarn": 32.0}.get(kind, 4.0) if high is None else high
    for name, number in (("base", base), ("factor", factor), ("low", low), ("high", high), ("original", original)):
        finite(name, number, above=1 if name == "base" and kind == "yarn" else 0)
    if not low < high:
        raise ValueError(f"low must be below high, got {low} and {high}")
    d = size("d", d)
    if d % 2:
        raise ValueError(f"d must be even, since columns are turned in pairs; got {d}")
    if kind == "ntk" and d > 2:                                         # a single pair turns at speed 1 for any base
        longer = max(size("length", original if length is None else length), original) / original
        base = base * (factor * longer - (factor - 1)) ** (d / (d - 2))
    speeds = float(base) ** (-np.arange(0, d, 2) / d)
    if kind == "linear":
        return speeds / factor
    if kind == "llama3":
        turns = original * speeds / (2 * math.pi)
        fast = np.clip((turns - low) / (high - low), 0, 1)              # 1 for fast pairs, 0 for slow ones
        return fast * speeds + (1 - fast) * speeds / factor
    if kind == "yarn":                                                  # here the blend is linear in the pair's number
        first, last = (d * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base)) for turns in (high, low))
        first, last = max(math.floor(first), 0), min(math.ceil(last), d - 1)
        slow = np.clip((np.arange(d // 2) - first) / max(last - first, 1e-3), 0, 1)
        return (1 - slow) * speeds + slow * speeds / factor
    return speeds


def yarn_attention_factor(factor):
    """What YaRN multiplies queries and keys by, 0.1 ln(factor) + 1, so that long texts keep sharp weights.

    >>> round(na.yarn_attention_factor(4), 4)
    1.1386

    Source: Peng et al. 2023 (YaRN), equation (22).
    """
    return 0.1 * math.log(factor) + 1 if finite("factor", factor, above=0) > 1 else 1.0
