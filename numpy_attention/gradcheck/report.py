"""The report of a gradient check: what was compared, what differs, and what that means."""
import html
import math
from dataclasses import dataclass, field

import numpy as np

from ..words.pictures import draw
from ..words.terminal import table, wrap

COLUMNS, SIDES = ("tensor", "shape", "worst at", "analytic", "numeric", "differ", "ratio", "verdict"), "<<<>>>><"
CELL = "padding:2px 8px;text-align:{};font-variant-numeric:tabular-nums"


@dataclass
class Row:
    """One tensor: both gradients, where they differ most, and what that means.

    The worst element is the one whose difference is largest for the tolerance that it is allowed. Its ratio analytic /
    numeric is often the bug's name: 0.5 is a forgotten factor, -1 a sign, √d_k a missing scale.

    `tolerance`, `error` (of the measurement), `skipped` (corners, where no slope exists) and `unmeasured` are for each
    number. `count` is how many numbers the row stands for. `why` it was not measured by the complex step, if so;
    `forced`: a second measurement contradicted the first. `note`: a sentence about what was seen.
    """

    name: str
    kind: str
    analytic: np.ndarray
    numeric: np.ndarray
    tolerance: np.ndarray
    skipped: np.ndarray = None
    count: int = None
    shape: tuple = None
    error: np.ndarray = None
    why: str = ""
    forced: bool = False
    note: str = ""
    unmeasured: np.ndarray = None

    def __post_init__(self):
        nothing = np.zeros(self.numeric.shape, bool)
        self.skipped = nothing if self.skipped is None else self.skipped
        self.unmeasured = nothing if self.unmeasured is None else self.unmeasured
        self.error = np.zeros(self.numeric.shape) if self.error is None else self.error
        self.count = self.numeric.size if self.count is None else self.count
        self.shape = self.numeric.shape if self.shape is None else self.shape
        self.tolerance = np.broadcast_to(self.tolerance, self.numeric.shape)
        with np.errstate(all="ignore"):
            self.difference = np.where(self.skipped, 0.0, np.abs(self.analytic - self.numeric))
            excess = self.difference / (self.tolerance + np.finfo(float).tiny)
            same = self.analytic == self.numeric            # infinite on both sides is not the same: no slope
            excess = np.where(same & np.isfinite(self.numeric), 0, excess)
        silent = ~np.isfinite(self.numeric) & np.isfinite(self.analytic)        # nothing was measured to compare with
        self.unmeasured, excess = self.unmeasured | silent, np.where(silent, 0, excess)
        self.excess = np.where(np.isfinite(excess) | self.skipped, excess, np.inf)          # NaN never passes
        self.empty = self.numeric.size == 0
        worst = 0 if self.empty else int(np.where(self.skipped, -1, self.excess).argmax())
        self.worst = () if self.empty else tuple(int(i) for i in np.unravel_index(worst, self.numeric.shape))

    @property
    def differs(self):
        """Is backward wrong here?"""
        return not self.empty and bool((self.excess > 1).any())

    @property
    def ok(self):
        """True if every number was measured, and agrees; corners are left out, but not all may be corners."""
        return self.empty or not (self.differs or self.skipped.all() or self.unmeasured.any())

    @property
    def atol(self):
        """The largest tolerance of a single number."""
        return float(self.tolerance.max(initial=0))

    @property
    def largest(self):
        """The largest difference in this tensor."""
        return float(self.difference.max(initial=0.0))

    @property
    def negligible(self):
        """Are both gradients 0 as far as the tolerance can tell?"""
        size = np.maximum(np.abs(self.analytic), np.abs(self.numeric))
        return self.ok and not self.empty and bool((size <= 2 * self.tolerance).all())

    @property
    def verdict(self):
        if self.empty or self.skipped.all():
            return "empty" if self.empty else "only kinks"
        if self.differs:
            return "FAIL"
        return "unmeasured" if self.unmeasured.any() else "zero" if self.negligible else "ok"

    def at(self, place):
        """(analytic, numeric, ratio) at one place; no ratio where it would divide zero by zero."""
        analytic, numeric = float(self.analytic[place]), float(self.numeric[place])
        return analytic, numeric, analytic / numeric if numeric != 0 and not self.negligible else float("nan")

    def cells(self):
        """What the report's table says of it."""
        if self.empty:
            return [self.name, _tuple(self.shape), *[""] * 5, self.verdict]
        analytic, numeric, ratio = self.at(self.worst)
        return [self.name, _tuple(self.shape), _tuple(self.worst) if self.worst else "", f"{analytic:.4g}",
                f"{numeric:.4g}", f"{self.difference[self.worst]:.1e}", "" if ratio != ratio else f"{ratio:.4g}",
                self.verdict]

    def to_dict(self):
        """The same for machines."""
        analytic, numeric, ratio = map(_number, (math.nan,) * 3 if self.empty else self.at(self.worst))
        return {"name": self.name, "kind": self.kind, "shape": [int(n) for n in self.shape], "worst": list(self.worst),
                "analytic": analytic, "numeric": numeric, "ratio": ratio, "verdict": self.verdict, "ok": self.ok,
                "difference": _number(math.nan if self.empty else float(self.difference[self.worst])),
                "largest": _number(self.largest), "skipped": int(self.skipped.sum()),
                "unmeasured": int(self.unmeasured.sum())}


def _tuple(numbers):
    return f"({','.join(map(str, numbers))})"


@dataclass
class GradientReport:
    """What `check_gradients` found: `.ok`, `.assert_ok()`; as text by `print`, as a table in a notebook.

    `.rows`: one for each tensor. `.lines`: what else was verified. `.warnings`, `.diagnosis`: sentences.
    `.unchecked`: what the output depends on and was not checked; the headline names it, too.
    `.problem`: why nothing could be compared, if so. `.largest`: largest difference. `.elements`: numbers compared.
    `.method`, `.reason`: how the slopes were measured, and why so.
    `.settings`: step, dtype, atol, rtol, upstream, seconds of measuring.
    `.to_dict()` for machines, `.plot()` and `.plot_steps()` for eyes.

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
    unchecked: list = field(default_factory=list)
    problem: str = ""
    seconds: float = 0.0
    again: object = field(default=None, repr=False, compare=False)      # measures the same layer with other steps

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
        return max((row.count for row in self.rows if row.kind == "all"), default=sum(
            int(row.count - row.skipped.sum() - row.unmeasured.sum()) for row in self.rows))

    def assert_ok(self):
        """Raise AssertionError with the whole report unless all is well."""
        if not self.ok:
            raise AssertionError(f"\n{self}")

    def __getstate__(self):
        return {**vars(self), "again": None}        # a report can be kept without the layer that it is about

    def plot(self, tensor=None, **options):
        """The error of every element of one tensor (the worst unless named) as a picture; a matplotlib Figure."""
        rows = {row.name: row for row in self.rows if row.kind in ("input", "parameter") and row.numeric.ndim
                and not row.empty}
        if not rows:
            raise ValueError("there is no picture of this report: "
                             f"{self.problem or 'no tensor was compared element by element'}")
        if tensor is not None and tensor not in rows:
            raise ValueError(f"there is no tensor {tensor!r}; there are {', '.join(rows)}")
        row = rows[tensor] if tensor else max(rows.values(), key=lambda row: float(row.excess.max()))
        return draw("plot_gradient_check", row, **{"tolerance": 10 * self.settings["rtol"], **options})

    def plot_steps(self, tensor=None, **options):
        """The error against the step: what central differences and the complex step can do here; a Figure."""
        return self.again(tensor=tensor).plot(**options)

    def headline(self):
        """The outcome in one line, with what was not checked."""
        bad, unclear = sum(row.differs for row in self.rows), sum(not (row.ok or row.differs) for row in self.rows)
        broken = sum(not line.ok for line in self.lines) if not self.problem else 0
        of = f" of {len(self.rows)} tensor{'s' * (len(self.rows) != 1)}"
        parts = [self.problem] * bool(self.problem) + [f"{bad}{of} differ{'s' * (len(self.rows) == 1)}"] * bool(bad)
        parts += [f"{unclear}{of} could not be measured"] * bool(unclear)
        parts += [f"{broken} further rule{'s' * (broken > 1)} broken"] * bool(broken)
        good = f"all {self.elements:,} numbers agree" if self.elements else "there were no numbers to compare"
        missing = f"; not checked: {_listed(self.unchecked)}" if self.unchecked else ""
        return f"Gradient check of {self.layer}: {'; '.join(parts) or good}{missing}"

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
        s, own = self.settings, [row.atol for row in self.rows if not row.empty]
        return [f"{self.method}, {s['step']} ({self.reason}); {s['dtype']}; upstream {s['upstream']}",
                f"a number passes if |analytic − numeric| <= {s['rtol']:.0e} |numeric| + its own rounding (at most "
                f"{max(own, default=0):.1e}); largest difference {self.largest:.1e}; measured in "
                f"{s['seconds'] * 1000:.0f} ms ({self.seconds * 1000:.0f} ms in all)"]

    def __str__(self):
        text = [line for part in (self.headline(), *self.details()) for line in wrap(part, further=2)]
        if self.rows:
            text += ["", *table([COLUMNS, *(row.cells() for row in self.rows)], SIDES)]
        for title, lines in self.sections():
            if lines:
                text += ["", title, *(line for part in lines for line in wrap(part, indent=2, further=7))]
        return "\n".join(text)

    __repr__ = __str__

    def to_dict(self):
        """The report as dictionaries, lists, strings and numbers, ready for json.dumps; NaN becomes the word."""
        return {
            "layer": self.layer, "ok": self.ok, "problem": self.problem, "elements": self.elements,
            "largest": _number(self.largest), "seconds": self.seconds, "method": self.method, "reason": self.reason,
            "settings": {name: _number(value) for name, value in self.settings.items()},
            "rows": [row.to_dict() for row in self.rows], "lines": [line._asdict() for line in self.lines],
            "warnings": list(self.warnings), "diagnosis": list(self.diagnosis), "unchecked": list(self.unchecked),
        }

    def _repr_html_(self):
        """A small table without scripts or outside styles; what failed is bold and marked by a word and a colour."""
        def line(cells, tag, failed=False):
            style = "background:#fbe3d6;color:#000;font-weight:bold" if failed else ""
            inside = [f'<{tag} style="{CELL.format("right" if side == ">" else "left")}">{html.escape(cell)}</{tag}>'
                      for cell, side in zip(cells, SIDES, strict=True)]
            return f'<tr style="{style}">{"".join(inside)}</tr>'

        parts = [f"<p><b>{html.escape(self.headline())}</b><br>{'<br>'.join(map(html.escape, self.details()))}</p>"]
        if self.rows:
            parts.append("<table><thead>" + line(COLUMNS, "th") + "</thead><tbody>"
                         + "".join(line(row.cells(), "td", not row.ok) for row in self.rows) + "</tbody></table>")
        for title, lines in self.sections():
            if lines:
                items = "".join(f"<li>{html.escape(text.removeprefix('- '))}</li>" for text in lines)
                parts.append(f"<p>{title}</p><ul>{items}</ul>")
        return f'<div class="gradient-report">{"".join(parts)}</div>'


def _listed(names, most=6):
    return ", ".join(names[:most]) + f" and {len(names) - most} more" * (len(names) > most)


def _number(value):
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
