"""The detection matrix: which detector catches which bug.

No column is full, and no row is empty. A test suite with golden numbers only lets every bug of the way back through,
one with gradient checks only lets every wrong formula through whose derivative is right.
"""
import html

from ..words.pictures import draw
from ..words.terminal import table
from .collection import FAMILIES, card, names
from .detectors import DETECTORS, alarm, applies
from .rooms import ROOMS

CAUGHT, SILENT, NO_SAY = "●", "○", "–"
SHORT = {"golden numbers": "golden", "row sums": "rows", "causality probe": "causal", "permutation": "permute",
         "gradient check": "gradient"}


class Matrix:
    """`alarms`: {specimen: {detector: what it said, "" for nothing, None if it does not apply}}; print it.

    `caught(specimen, detector)` is True, False or None; `glyphs` the rows of ●, ○ and –.
    """

    def __init__(self, alarms):
        self.alarms = alarms

    @property
    def specimens(self):
        return list(self.alarms)

    @property
    def detectors(self):
        return list(DETECTORS)

    def caught(self, specimen, detector):
        said = self.alarms[specimen][detector]
        return None if said is None else bool(said)

    @property
    def glyphs(self):
        return [[{True: CAUGHT, False: SILENT, None: NO_SAY}[self.caught(s, d)] for d in self.detectors]
                for s in self.specimens]

    def survivors(self):
        """Specimens that no detector catches."""
        return [s for s in self.specimens if not any(self.caught(s, d) for d in self.detectors)]

    def __str__(self):
        rows = [[name, *glyphs] for name, glyphs in zip(self.specimens, self.glyphs, strict=True)]
        totals = [sum(bool(self.caught(s, d)) for s in self.specimens) for d in self.detectors]
        rows.append([f"caught, of {len(rows)}", *totals])
        lines = table([["specimen", *(SHORT[d] for d in self.detectors)], *rows])
        return "\n".join([*lines[:-1], "", lines[-1], "",
                          f"{CAUGHT} caught   {SILENT} not seen   {NO_SAY} does not apply"])

    __repr__ = __str__

    def _repr_html_(self):
        heads = "".join(f"<th>{html.escape(d)}</th>" for d in ["", *self.detectors])
        rows = "".join(
            f"<tr><th style='text-align:left'>{s}</th>" + "".join(
                f"<td title='{html.escape(self.alarms[s][d] or '', quote=True)}' style='text-align:center'>{g}</td>"
                for d, g in zip(self.detectors, glyphs, strict=True)) + "</tr>"
            for s, glyphs in zip(self.specimens, self.glyphs, strict=True))
        return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"

    def plot(self, **options):
        """The matrix as a picture; returns a matplotlib Figure."""
        caught = [[self.caught(s, d) for d in self.detectors] for s in self.specimens]
        groups = [FAMILIES[card(s).plant.__module__.rpartition(".")[2]] for s in self.specimens]
        return draw("plot_detection_matrix", self.specimens, self.detectors, caught, **{"groups": groups, **options})

    def to_dict(self):
        """{specimen: {detector: True, False or None}}."""
        return {s: {d: self.caught(s, d) for d in self.detectors} for s in self.specimens}


def matrix(which=None):
    """Let every detector look at every specimen, or at those named.

    Returns: Matrix.

    >>> from numpy_attention import museum
    >>> found = museum.matrix(["softmax-diagonal", "scale-missing"])
    >>> found.glyphs
    [['○', '○', '○', '○', '●'], ['●', '○', '○', '○', '○']]
    """
    alarms = {}
    for name in names() if which is None else which:
        specimen = card(name)
        room = ROOMS[specimen.room]
        alarms[name] = {d: alarm(d, specimen.layer(), room) if applies(d, room) else None for d in DETECTORS}
    return Matrix(alarms)


def false_alarms():
    """{room: {detector: alarm}} on the correct layers; every alarm should be empty."""
    return {name: {d: alarm(d, room.make(), room) for d in DETECTORS if applies(d, room)}
            for name, room in ROOMS.items()}
