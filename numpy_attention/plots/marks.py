"""Marks between panels: text, arrows and operators at places given in inches from the top left of the page."""

from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, PathPatch
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


def band(figure, size, start, end, thickness, colour):
    """A ribbon of that many inches from point ``start`` to point ``end``, level at both ends."""
    (x0, y0), (x1, y1), half, middle = start, end, thickness / 2, (start[0] + end[0]) / 2
    points = [(x0, y0 - half), (middle, y0 - half), (middle, y1 - half), (x1, y1 - half),
              (x1, y1 + half), (middle, y1 + half), (middle, y0 + half), (x0, y0 + half), (x0, y0 - half)]
    curve = [Path.CURVE4] * 3
    path = Path([(x / size[0], 1 - y / size[1]) for x, y in points],
                [Path.MOVETO, *curve, Path.LINETO, *curve, Path.CLOSEPOLY])
    figure.add_artist(PathPatch(path, facecolor=colour, alpha=0.55, linewidth=0, transform=figure.transSubfigure))


def zone(figure, size, left, top, width, height, colour):
    """A tinted field behind things that belong together."""
    figure.add_artist(FancyBboxPatch(
        (left / size[0], 1 - (top + height) / size[1]), width / size[0], height / size[1], zorder=-1,
        boxstyle="round,pad=0,rounding_size=0.01", facecolor=colour, alpha=0.1, linewidth=0,
        transform=figure.transSubfigure,
    ))
