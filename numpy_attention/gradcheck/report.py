"""The report of a gradient check: what was compared, what differs, and what that means."""
from dataclasses import dataclass, field

from .layout import paragraphs, table
from .row import COLUMNS


@dataclass
class GradientReport:
    """What `check_gradients` found: `.ok`, `.assert_ok()`; as text by `print`, as a table in a notebook.

    `.rows`: one for each tensor. `.lines`: what else was verified. `.warnings`, `.diagnosis`: sentences.
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
        return max((row.count for row in self.rows if row.kind == "all"),
                   default=sum(int(row.count - row.skipped.sum()) for row in self.rows))

    def assert_ok(self):
        """Raise AssertionError with the whole report unless all is well."""
        if not self.ok:
            raise AssertionError(f"\n{self}")

    def __getstate__(self):
        return {**vars(self), "again": None}        # a report can be kept without the layer that it is about

    def to_dict(self):
        """The report as dictionaries, lists, strings and numbers, ready for json.dumps."""
        from .machine import as_dictionary
        return as_dictionary(self)

    def plot(self, tensor=None, **options):
        """The error of every element of one tensor (the worst unless named) as a picture; a matplotlib Figure."""
        from .picture import plot_errors
        return plot_errors(self, tensor, **options)

    def plot_steps(self, tensor=None, **options):
        """The error against the step: what central differences and the complex step can do here; a Figure."""
        from .picture import plot_steps
        return plot_steps(self.again(tensor=tensor), **options)

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
