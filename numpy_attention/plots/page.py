"""A page: everything on a plot is placed in inches from its top left corner, and fits wherever it is put.

A plot is laid out once, in *design inches* and with the type that looks right at that size (numbers 9 pt). Put into
a column, a slide, a figure or axes of the user's, the whole page is scaled: cells stay square, and nothing that did
not overlap before overlaps after. Type that would fall below 5 points is left out; what must stay is cut with "…".
"""

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import FigureBase
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, PathPatch
from matplotlib.path import Path

from ..engine.arguments import is_number
from ..words.colours import GREY
from ..words.terminal import shorten, wrap
from .figure import Picture

NATURAL = 13.0                  # design inches across, where nothing else is asked for
LEAST = 5.0                     # points
DESIGN = 9.0                    # points of the numbers at scale 1
# Width and greatest height in inches, and points of the numbers.
SIZES = {"column": (3.4, 9.0, 7.0), "page": (7.0, 9.0, 8.0), "slide": (13.33, 7.5, 14.0)}
# Pages of a chosen width grow no higher than this many times it where they have a choice.
SQUAT = {"column": 2.2, "page": 1.3}
LINE = 0.235                    # inches from one line of a title to the next, room for Chinese included
EM = 0.57                       # the width of a letter, in font sizes


class Page:
    """``figure`` or ``ax``, and the design page of ``size`` inches that is scaled onto it.

    Attributes: figure, ax (None unless axes were given), size, scale, layout (what the plot made of the room).
    """

    def __init__(self, figure, ax, room, size, scale, layout):
        self.figure, self.ax, self.room, self.size, self.scale, self.layout = figure, ax, room, size, scale, layout
        self.left = (room[0] - size[0] * scale) / 2
        self.top = max(0.0, (room[1] - size[1] * scale) / 2) if ax is None else 0.0
        self.transform = figure.transSubfigure if ax is None else ax.transAxes

    @property
    def owner(self):
        """What the texts belong to: the axes that were given, or else the figure."""
        return self.ax or self.figure

    @property
    def root(self):
        """The figure that is returned."""
        return self.figure

    def at(self, x, y):
        """A place in design inches as fractions of the figure or axes."""
        return (self.left + x * self.scale) / self.room[0], 1 - (self.top + y * self.scale) / self.room[1]

    def axes(self, left, top, wide, high, **options):
        """Axes with their top left corner at (left, top), so many design inches wide and high."""
        x, y = self.at(left, top + high)
        rectangle = x, y, wide * self.scale / self.room[0], high * self.scale / self.room[1]
        if self.ax is not None:
            return self.ax.inset_axes(rectangle, **options)
        return self.figure.add_axes(rectangle, **options)

    def points(self, size):
        """A type size on this page; 0 where it could not be read."""
        return size * self.scale if size * self.scale >= LEAST - 1e-6 else 0

    def write(self, x, y, text, *, va="top", ha="center", fontsize=10, room=None, keep=False, **style):
        """Text at (x, y). Longer than ``room`` design inches it is cut; ``keep`` writes it although it is small."""
        size = self.points(fontsize) or (min(fontsize, max(LEAST + 0.5, fontsize * self.scale)) if keep else 0)
        if not size or not text:
            return None
        if size > fontsize * self.scale + 1e-6:       # kept larger than planned: one line, then
            text = text.replace("\n", " ")
        if room is not None:
            text = cut(text, room * self.scale, size)
        x, y = self.at(x, y)
        put = self.figure.text if self.ax is None else self.ax.text
        place = {} if self.ax is None else {"transform": self.ax.transAxes}
        return put(x, y, text, va=va, ha=ha, fontsize=size, **place, **style)

    def add(self, artist):
        """An artist drawn on the page itself."""
        artist.set_clip_on(False)
        return self.owner.add_artist(artist)

    def arrow(self, points, *, colour=GREY, width=1.2, style="-|>", **options):
        """An arrow along ``points`` with its head at the last."""
        self.add(FancyArrowPatch(
            path=Path([self.at(*point) for point in points]), arrowstyle=style, mutation_scale=11 * self.scale,
            color=colour, linewidth=width * min(1, self.scale), shrinkA=0, shrinkB=0, joinstyle="round",
            transform=self.transform, **options))

    def band(self, start, end, thickness, colour, alpha=0.55):
        """A ribbon of that many design inches from point ``start`` to point ``end``, level at both ends."""
        (x0, y0), (x1, y1), half, middle = start, end, thickness / 2, (start[0] + end[0]) / 2
        points = [(x0, y0 - half), (middle, y0 - half), (middle, y1 - half), (x1, y1 - half),
                  (x1, y1 + half), (middle, y1 + half), (middle, y0 + half), (x0, y0 + half), (x0, y0 - half)]
        curve = [Path.CURVE4] * 3
        path = Path([self.at(*point) for point in points], [Path.MOVETO, *curve, Path.LINETO, *curve, Path.CLOSEPOLY])
        self.add(PathPatch(path, facecolor=colour, alpha=alpha, linewidth=0, transform=self.transform))

    def zone(self, left, top, wide, high, colour, alpha=0.1):
        """A tinted field behind things that belong together."""
        x, y = self.at(left, top + high)
        self.add(FancyBboxPatch(
            (x, y), wide * self.scale / self.room[0], high * self.scale / self.room[1], zorder=-1,
            boxstyle="round,pad=0,rounding_size=0.01", facecolor=colour, alpha=alpha, linewidth=0,
            transform=self.transform))


def open_page(layout, *, fig=None, ax=None, size=None):
    """The page for a plot.

    Args:
        layout: (wide, high) in design inches; or a function of the width and height there is (None: any) and of the
            scale, that returns an object with ``size``, for plots that can use more or less of it.
        fig, ax: a Figure, SubFigure or Axes to fill. size: "column", "page", "slide", or inches of width.

    >>> open_page((6, 3), size="column").figure.get_size_inches()
    array([3.4, 1.7])
    """
    check_place(fig, ax, size)
    plan = layout if callable(layout) else lambda wide, high, scale: Fixed(layout)
    if fig is None and ax is None and size is None:
        found = plan(NATURAL, None, 1.0)
        return Page(Picture(figsize=found.size), None, found.size, found.size, 1.0, found)
    if size is not None:
        wide, high, points = read_size(size)
        wished = high if size == "slide" else min(high, SQUAT.get(size, 1.6) * wide)
        scale, found = _fit(plan, wide, high, points / DESIGN, wished)
        high = high if size == "slide" else found.size[1] * scale
        figure = Picture(figsize=(wide, high))
        figure.whole_page = True
        return Page(figure, None, (wide, high), found.size, scale, found)
    figure = fig if ax is None else ax.figure
    room = inches(fig if ax is None else ax)
    scale, found = _fit(plan, *room, SIZES["slide"][2] / DESIGN)
    if ax is not None:
        ax.set_axis_off()
    return Page(figure, ax, room, found.size, scale, found)


def check_place(fig, ax, size):
    """Refuse more than one place, and what is no place."""
    if sum(given is not None for given in (fig, ax, size)) > 1:
        raise TypeError("give one of fig, ax and size: each says how much room there is")
    if fig is not None and not isinstance(fig, FigureBase):
        raise TypeError(f"fig must be a matplotlib Figure or SubFigure, not {type(fig).__name__}"
                        + "; axes are given as ax=" * isinstance(fig, Axes))
    if ax is not None and not isinstance(ax, Axes):
        raise TypeError(f"ax must be matplotlib Axes, not {type(ax).__name__}")
    if size is not None:
        read_size(size)


class Fixed:
    """A layout that cannot use more or less room."""

    def __init__(self, size):
        self.size = size


def read_size(size):
    """(width, greatest height, points) of a named size or of inches of width.

    >>> read_size(5.0)
    (5.0, 9.0, 8.0)
    """
    if isinstance(size, str):
        if size not in SIZES:
            raise ValueError(f'size must be "column", "page", "slide" or inches of width, not {size!r}')
        return SIZES[size]
    if not is_number(size) or not 1 <= size <= 100:
        raise ValueError(f'size must be "column", "page", "slide" or inches of width from 1 to 100, not {size!r}')
    return float(size), max(9.0, 1.3 * size), 8.0 if size <= 7 else DESIGN


def inches(place):
    """Width and height of a figure or axes."""
    box = place.get_window_extent() if isinstance(place, Axes) else place.bbox
    dpi = (place.figure if isinstance(place, Axes) else place).dpi
    return box.width / dpi, box.height / dpi


def _fit(plan, wide, high, largest, wished=None):
    """The largest scale, at most ``largest``, at which the layout fits; smaller type gives it more room."""
    best, scale = (0.0, None), largest
    while scale > 0.3:
        found = plan(wide / scale, (wished or high) / scale, scale)
        fits = min(scale, wide / found.size[0], high / found.size[1])
        if fits > best[0] + 1e-9:
            best = fits, found
        if fits > 0.999 * scale:
            break
        scale *= 0.92
    return best


def cut(text, room, size):
    """Every line of ``text`` shortened to ``room`` inches at a type of ``size`` points.

    >>> cut("a title that is too long", 1.0, 12)
    'a title t…'
    """
    columns = max(2, int(room * 72 / (EM * size)))
    return "\n".join(shorten(line, columns) for line in text.split("\n"))


def fold(text, room, size, most=2):
    """Every line of ``text`` in at most ``most`` lines of ``room`` inches at a type of ``size`` points.

    >>> fold("a title that is rather long", 1.2, 12)
    'a title that\\nis rather l…'
    """
    columns = max(4, int(room * 72 / (EM * size)))
    found = []
    for line in text.split("\n"):
        lines = wrap(line, columns)
        found += lines[:most - 1] + ([shorten(" ".join(lines[most - 1:]), columns)] if len(lines) >= most else [])
    return "\n".join(found)


def title_room(title):
    """Inches down that the lines of a title take; none where there is no title."""
    return LINE * (title.count("\n") + 1) if title else 0.0


def foreground():
    """The colour of lines and words on the page that is being drawn."""
    return matplotlib.rcParams["text.color"]
