"""One row of a gradient check's report: a tensor with its two gradients, and its worst element.

The worst element is the one whose difference is largest for the tolerance it is allowed, atol + rtol · |numeric|.
Its ratio analytic / numeric is often the bug's name: 0.5 is a forgotten factor, -1 a sign, √d_k a missing scale.
"""
from dataclasses import dataclass

import numpy as np

COLUMNS = ("tensor", "shape", "worst at", ">analytic", ">numeric", ">differ", ">ratio", "verdict")


@dataclass
class Row:
    """One tensor: both gradients, where they differ most, and what that means.

    `skipped` is True at kinks, where no slope exists. `count` is how many numbers the row stands for.
    """

    name: str
    kind: str
    analytic: np.ndarray
    numeric: np.ndarray
    atol: float
    rtol: float
    skipped: np.ndarray = None
    count: int = None
    shape: tuple = None

    def __post_init__(self):
        self.skipped = np.zeros(self.numeric.shape, bool) if self.skipped is None else self.skipped
        self.count = self.numeric.size if self.count is None else self.count
        self.shape = self.numeric.shape if self.shape is None else self.shape
        self.difference = np.where(self.skipped, 0.0, np.abs(self.analytic - self.numeric))
        excess = self.difference / (self.atol + self.rtol * np.abs(self.numeric) + np.finfo(float).tiny)
        self.excess = np.where(np.isfinite(excess) | self.skipped, excess, np.inf)          # NaN never passes
        self.empty = self.numeric.size == 0
        self.ok = self.empty or bool((self.excess <= 1).all() and not self.skipped.all())
        worst = 0 if self.empty else int(np.where(self.skipped, -1, self.excess).argmax())
        self.worst = () if self.empty else tuple(int(i) for i in np.unravel_index(worst, self.numeric.shape))

    @property
    def largest(self):
        """The largest difference in this tensor."""
        return float(self.difference.max(initial=0.0))

    @property
    def negligible(self):
        """Are both gradients 0 as far as the tolerance can tell?"""
        size = np.maximum(np.abs(self.analytic), np.abs(self.numeric))
        return self.ok and not self.empty and float(size.max()) <= self.atol

    @property
    def verdict(self):
        if self.empty or self.skipped.all():
            return "empty" if self.empty else "only kinks"
        return "FAIL" if not self.ok else "zero" if self.negligible else "ok"

    @property
    def at_worst(self):
        """(analytic, numeric, difference, ratio) at the worst element; no ratio where it would divide zero by zero."""
        if self.empty:
            return (float("nan"),) * 4
        analytic, numeric = float(self.analytic[self.worst]), float(self.numeric[self.worst])
        ratio = analytic / numeric if numeric != 0 and not self.negligible else float("nan")
        return analytic, numeric, float(self.difference[self.worst]), ratio

    def cells(self):
        if self.empty:
            return [self.name, _tuple(self.shape), *[""] * 5, self.verdict]
        analytic, numeric, difference, ratio = self.at_worst
        return [self.name, _tuple(self.shape), _tuple(self.worst) if self.worst else "", f"{analytic:.4g}",
                f"{numeric:.4g}", f"{difference:.1e}", "" if ratio != ratio else f"{ratio:.4g}", self.verdict]


def _tuple(numbers):
    return f"({','.join(map(str, numbers))})"
