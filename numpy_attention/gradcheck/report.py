"""The report of a gradient check: one row for each tensor, with its worst element.

The worst element is the one whose difference is largest for the tolerance it is allowed, atol + rtol · |numeric|.
Its ratio analytic / numeric is often the bug's name: 0.5 is a forgotten factor, -1 a sign, √d_k a missing scale.
"""
from dataclasses import dataclass, field

import numpy as np

from .layout import paragraphs, table


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


@dataclass
class GradientReport:
    """What `check_gradients` found: `.ok`, `.assert_ok()`; as text by `print`, as a table in a notebook.

    `.rows`: one for each tensor. `.lines`: what else was verified. `.warnings`, `.diagnosis`: sentences.
    `.problem`: why nothing could be compared, if so. `.largest`: largest difference. `.elements`: numbers compared.
    `.method`, `.reason`: how the slopes were measured, and why so.
    `.settings`: step, dtype, atol, rtol, upstream, seconds of measuring.
    `.to_dict()` for machines, `.plot()` for eyes.

    >>> report = na.check_gradients(na.Softmax(), [[0., 1., 2.]])
    >>> report.ok, report.rows[0].name, report.largest < 1e-12
    (True, 'scores', True)
    """

    layer: str
    method: str = "nothing measured"
    reason: str = ""
    settings: dict = field(default_factory=dict)
    rows: list = field(default_factory=list)
    lines: list = field(default_factory=list)
    warnings: list = field(default_factory=list)
    diagnosis: list = field(default_factory=list)
    problem: str = ""
    seconds: float = 0.0

    @property
    def ok(self):
        """True if every element of every tensor agrees and every further rule is kept."""
        return not self.problem and all(row.ok for row in self.rows) and all(line.ok for line in self.lines)

    @property
    def largest(self):
        """The largest difference between the analytic and the numeric gradient."""
        return max((row.largest for row in self.rows), default=0.0)

    @property
    def elements(self):
        """How many numbers were compared."""
        return max((row.count for row in self.rows if row.kind == "all"),
                   default=sum(int(row.count - row.skipped.sum()) for row in self.rows))

    def assert_ok(self):
        """Raise AssertionError with the whole report unless all is well."""
        if not self.ok:
            raise AssertionError(f"\n{self}")

    def to_dict(self):
        """The report as dictionaries, lists, strings and numbers, ready for json.dumps."""
        from .machine import as_dictionary
        return as_dictionary(self)

    def plot(self, **options):
        """The error of every element as a picture; returns a matplotlib Figure."""
        from .picture import plot_report
        return plot_report(self, **options)

    def headline(self):
        """The outcome in one line."""
        bad = sum(not row.ok for row in self.rows)
        broken = sum(not line.ok for line in self.lines) if not self.problem else 0
        parts = [self.problem] * bool(self.problem) + [f"{bad} of {len(self.rows)} tensors differ"] * bool(bad)
        parts += [f"{broken} further rule{'s' * (broken > 1)} broken"] * bool(broken)
        good = f"all {self.elements:,} numbers agree" if self.elements else "there were no numbers to compare"
        return f"Gradient check of {self.layer}: {'; '.join(parts) or good}"

    def sections(self):
        """(title, lines) of everything that is said below the table."""
        mark = {True: "ok  ", False: "FAIL"}
        return [("What is wrong", [f"- {text}" for text in self.diagnosis]),
                ("Mind", [f"- {text}" for text in self.warnings]),
                ("Also verified", [f"{mark[line.ok]} {line.name}: {line.text}" for line in self.lines])]

    def details(self):
        """Lines under the headline: method and tolerance."""
        if not self.rows:
            return []
        s = self.settings
        return [f"{self.method}, {s['step']} ({self.reason}); {s['dtype']}; upstream {s['upstream']}",
                f"passes if |analytic − numeric| <= {s['atol']:.1e} + {s['rtol']:.0e} |numeric|; largest difference "
                f"{self.largest:.1e}; measured in {s['seconds'] * 1000:.0f} ms ({self.seconds * 1000:.0f} ms in all)"]

    def __str__(self):
        text = paragraphs([self.headline(), *self.details()])
        if self.rows:
            text += ["", *table(COLUMNS, [row.cells() for row in self.rows])]
        for title, lines in self.sections():
            if lines:
                text += ["", title, *paragraphs(lines, indent=2)]
        return "\n".join(text)

    __repr__ = __str__

    def _repr_html_(self):
        from .machine import as_html
        return as_html(self)


COLUMNS = ("tensor", "shape", "worst at", ">analytic", ">numeric", ">differ", ">ratio", "verdict")


def _tuple(numbers):
    return f"({','.join(map(str, numbers))})"
