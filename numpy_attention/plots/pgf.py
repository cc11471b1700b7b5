"""A figure as LaTeX reads it, for .pgf: every token literal, Chinese in a font that has it, matrices as cells.

A .pgf can hold no pixels, only point to files beside it, which get lost: so the cells are drawn one by one.
"""

import contextlib
import re

import matplotlib
import numpy as np
from matplotlib.axis import Axis
from matplotlib.collections import QuadMesh
from matplotlib.image import AxesImage
from matplotlib.text import Text
from matplotlib.ticker import Formatter

from .fonts import HERE

LETTERS = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "_": r"\_", "&": r"\&", "#": r"\#",
           "~": r"\textasciitilde{}"}           # ^ and % are matplotlib's own care
WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]+")
# A document may have Chinese of its own (ctex, xeCJK): then it is left to that.
FONT = rf"\usepackage{{fontspec}}\newfontfamily\attentionhan{{han.ttf}}[Path={HERE.as_posix()}/]"


def literal(text):
    """What LaTeX prints as ``text``.

    >>> literal("$x_$ 我")
    '\\\\$x\\\\_\\\\$ {\\\\ifdefined\\\\attentionhan\\\\attentionhan\\\\fi 我}'
    """
    text = "".join(LETTERS.get(letter, letter) for letter in text)
    return WIDE.sub(lambda found: rf"{{\ifdefined\attentionhan\attentionhan\fi {found[0]}}}", text)


class Literal(Formatter):
    """The labels of an axis, literal."""

    def __init__(self, inner):
        self.inner = inner

    def __call__(self, value, place=None):
        return literal(self.inner(value, place))

    def format_ticks(self, values):
        return list(map(literal, self.inner.format_ticks(values)))


@contextlib.contextmanager
def for_latex(figure):
    """Within it, ``figure`` is as LaTeX can have it; after it, as it was."""
    before = [(text, text.get_text()) for text in figure.findobj(Text)]
    ticks = [(one, one.formatter) for axis in figure.findobj(Axis) for one in (axis.major, axis.minor)]
    preamble = matplotlib.rcParams["pgf.preamble"]
    images = [image for image in figure.findobj(AxesImage) if image.get_visible()]
    pixels = [mesh for mesh in figure.findobj(QuadMesh) if mesh.get_rasterized()]
    cells = []
    own = "" if "attentionhan" in preamble or matplotlib.rcParams["pgf.texsystem"] == "pdflatex" else "\n" + FONT
    try:
        for text, words in before:
            text.set_text(literal(words))
        for one, inner in ticks:
            one.formatter = Literal(inner)
        for mesh in pixels:
            mesh.set_rasterized(False)
        for image in images:
            cells.append(_cells(image))
            image.set_visible(False)
        with matplotlib.rc_context({"pgf.preamble": preamble + own}):
            yield
    finally:
        for mesh in pixels:
            mesh.set_rasterized(True)
        for image, mesh in zip(images, cells, strict=False):
            image.set_visible(True)
            mesh.remove()
        for one, inner in ticks:
            one.formatter = inner
        for text, words in before:
            text.set_text(words)


def _cells(image):
    """What an image shows, as a mesh of cells in its place."""
    shown, (left, right, bottom, top) = image.get_array(), image.get_extent()
    across, down = np.linspace(left, right, shown.shape[1] + 1), np.linspace(top, bottom, shown.shape[0] + 1)
    limits = image.axes.get_xlim(), image.axes.get_ylim()
    mesh = image.axes.pcolormesh(across, down, shown, cmap=image.cmap, norm=image.norm, zorder=image.get_zorder())
    image.axes.set(xlim=limits[0], ylim=limits[1])
    return mesh
