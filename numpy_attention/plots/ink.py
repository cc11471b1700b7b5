"""Marks between panels: text, arrows and operators at places given in inches from the top left of the page."""

from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path

from .colours import GREY


def write(figure, size, x, y, text, *, va="top", ha="center", fontsize=10, **style):
    """Text at (x, y) inches on a page of ``size`` inches."""
    return figure.text(x / size[0], 1 - y / size[1], text, va=va, ha=ha, fontsize=fontsize, **style)


def arrow(figure, size, points, *, colour=GREY, width=1.2, style="-|>", **options):
    """An arrow along ``points``, [(x, y), ...] in inches, with its head at the last."""
    path = Path([(x / size[0], 1 - y / size[1]) for x, y in points])
    figure.add_artist(FancyArrowPatch(
        path=path, arrowstyle=style, mutation_scale=11, color=colour, linewidth=width, shrinkA=0, shrinkB=0,
        joinstyle="round", transform=figure.transSubfigure, **options,
    ))
