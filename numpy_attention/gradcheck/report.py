"""The report of a gradient check: one row for each tensor, with its worst element.

The worst element is the one whose difference is largest for the tolerance it is allowed, atol + rtol · |numeric|.
Its ratio analytic / numeric is often the bug's name: 0.5 is a forgotten factor, -1 a sign, √d_k a missing scale.
"""
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Row:
    """One tensor: both gradients, and where they differ most."""

    name: str
    kind: str
    analytic: np.ndarray
    numeric: np.ndarray
    atol: float
    rtol: float

    def __post_init__(self):
        self.difference = np.abs(self.analytic - self.numeric)
        excess = self.difference / (self.atol + self.rtol * np.abs(self.numeric) + np.finfo(float).tiny)
        excess = np.where(np.isfinite(excess), excess, np.inf)          # NaN never passes
        self.ok = bool((excess <= 1).all())
        self.worst = np.unravel_index(int(excess.argmax()), excess.shape) if excess.size else ()

    @property
    def largest(self):
        """The largest difference in this tensor."""
        return float(self.difference.max(initial=0.0))

    def cells(self):
        if not self.analytic.size:
            return [self.name, _tuple(self.analytic.shape), "", "", "", "", "", "empty"]
        analytic, numeric = float(self.analytic[self.worst]), float(self.numeric[self.worst])
        zero = self.ok and max(np.abs(self.analytic).max(), np.abs(self.numeric).max()) <= self.atol
        ratio = "" if zero or numeric == 0 else f"{analytic / numeric:.4f}"
        return [self.name, _tuple(self.analytic.shape), _tuple(self.worst), f"{analytic:.4g}", f"{numeric:.4g}",
                f"{self.difference[self.worst]:.1e}", ratio, "FAIL" if not self.ok else "zero" if zero else "ok"]


@dataclass
class GradientReport:
    """What `check_gradients` found: `.ok`, `.rows`, `.assert_ok()`, and as text by `str()` or `print`.

    >>> report = na.check_gradients(na.Softmax(), [[0., 1., 2.]])
    >>> report.ok, report.rows[0].name, report.largest < 1e-12
    (True, 'scores', True)
    """

    layer: str
    method: str
    reason: str
    rows: list = field(default_factory=list)

    @property
    def ok(self):
        """True if every element of every tensor agrees."""
        return all(row.ok for row in self.rows)

    @property
    def largest(self):
        """The largest difference between the analytic and the numeric gradient."""
        return max((row.largest for row in self.rows), default=0.0)

    @property
    def elements(self):
        """How many numbers were compared."""
        return sum(row.analytic.size for row in self.rows)

    def assert_ok(self):
        """Raise AssertionError with the whole table unless everything agrees."""
        if not self.ok:
            raise AssertionError(f"\n{self}")

    def __str__(self):
        heads = ["tensor", "shape", "worst at", "analytic", "numeric", "differ", "ratio", "verdict"]
        table = [heads, *(row.cells() for row in self.rows)]
        widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
        left = (0, 1, 2, 7)
        lines = [" ".join(cell.ljust(w) if i in left else cell.rjust(w)
                          for i, (cell, w) in enumerate(zip(row, widths, strict=True))).rstrip() for row in table]
        bad = sum(not row.ok for row in self.rows)
        verdict = f"{bad} of {len(self.rows)} tensors FAIL" if bad else "all agree"
        return "\n".join([f"Gradient check of {self.layer}: {self.elements} elements, {verdict}",
                          f"{self.method} ({self.reason}); largest difference {self.largest:.1e}", "", *lines])

    __repr__ = __str__


def _tuple(numbers):
    return f"({','.join(str(int(n)) for n in numbers)})"
