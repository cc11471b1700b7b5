"""The figure that every plot returns: drawn under settings of its own, said in words, saved alike every time.

What a matrix shows must not depend on the user's style sheet, so every plot runs inside ``own_settings``. Two things
follow the style: the fonts, and the background, against which all lines and words are then written.
"""

import base64
import contextlib
import functools
import io
import shutil

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, FigureBase
from matplotlib.patheffects import Normal
from matplotlib.text import Text

from ..words.colours import ink
from ..words.files import path_of, write_whole
from ..words.labels import safe
from .fonts import dress
from .options import checked
from .pgf import for_latex

# Where each file format keeps a title, a description and its dates.
METADATA = {
    ".png": lambda title, alt: {"metadata": {"Title": title, "Description": alt}},
    ".svg": lambda title, alt: {"metadata": {"Title": title, "Description": alt, "Date": None}},
    ".pdf": lambda title, alt: {"metadata": {"Title": title, "Subject": alt, "CreationDate": None}},
    ".pgf": lambda title, alt: {},
}
SETTINGS = ("agg.", "axes.", "errorbar.", "figure.", "font.", "grid.", "hatch.", "image.", "legend.", "lines.",
            "markers.", "patch.", "path.", "text.", "xaxis.", "xtick.", "yaxis.", "ytick.")
FOLLOWED = {"figure.facecolor", "figure.edgecolor", "figure.max_open_warning", "figure.hooks", "font.family",
            "font.serif", "font.sans-serif", "font.monospace", "font.cursive", "font.fantasy"}
GREY_ON_DARK = "0.72"


@functools.cache
def _defaults():
    return {key: value for key, value in matplotlib.rcParamsDefault.items()
            if key.startswith(SETTINGS) and key not in FOLLOWED}


def own_settings(background=None):
    """A context with matplotlib's own settings instead of the user's; words and lines can be read on ``background``."""
    ink_here = ink(background or (1, 1, 1))
    return matplotlib.rc_context(_defaults() | {"axes.facecolor": "none", "axes.unicode_minus": True} | dict.fromkeys(
        ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), ink_here))


def background_of(figure):
    """What a figure is painted on: its own colour, or that of the figure it is part of; white where there is none.

    >>> background_of(Picture(facecolor="black"))
    (0.0, 0.0, 0.0, 1.0)
    """
    while figure is not None:
        colour = matplotlib.colors.to_rgba(figure.get_facecolor())
        if colour[3] > 0:
            return colour
        parent = getattr(figure, "_parent", None)
        figure = parent if parent is not figure else None
    return (1.0, 1.0, 1.0, 1.0)


def styled(plot):
    """A plot whose options are checked, and that draws under ``own_settings``, whatever style the user has chosen."""
    plot = checked(plot)

    @functools.wraps(plot)
    def draw(*args, **options):
        place = options.get("fig")
        place = getattr(options.get("ax"), "figure", None) if place is None else place
        ground = background_of(place) if isinstance(place, FigureBase) else matplotlib.colors.to_rgba(
            matplotlib.rcParams["figure.facecolor"])
        with own_settings(ground if ground[3] else None):
            return plot(*args, **options)
    return draw


class Picture(Figure):
    """A matplotlib Figure that pyplot does not know, so it needs no closing and is shown once.

    ``alt_text`` says in a sentence or two what there is to see; ``plain_text`` holds the same content as text, with
    every number that can be read off the picture.

    >>> Picture().alt_text
    ''
    """

    alt_text = ""
    plain_text = ""
    whole_page = False      # a page of a size that was asked for is saved as it is, without cutting its margins

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        FigureCanvasAgg(self)

    def draw(self, renderer):
        """Draw under our own settings too: some are read only now."""
        with own_settings(background_of(self)):
            super().draw(renderer)

    def save(self, path, *, dpi=150, text="outlines"):
        """Write the figure to ``path``; see :func:`save`."""
        return save(self, path, dpi=dpi, text=text)

    def _repr_mimebundle_(self, include=None, exclude=None):
        # A bundle comes before the formatter that pyplot registers for every Figure, so nothing is shown twice.
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110, bbox_inches="tight", transparent=False)
        png = base64.b64encode(buffer.getvalue()).decode("ascii")
        return {"image/png": png, "text/plain": self.alt_text}, {"image/png": {"alt": self.alt_text}}


def finish(place, alt_text, plain_text):
    """Last step of every plot: fonts for all its texts, and the picture in words on the figure itself.

    ``place`` is a figure or a Page. Of several plots in one figure, each adds its words.
    """
    owner = getattr(place, "owner", place)
    figure = getattr(place, "figure", place)
    dark = ink(background_of(figure)) == "white"
    dress(owner, grey=GREY_ON_DARK if dark else None)
    root = getattr(place, "root", figure)
    before = [] if root is figure and owner is figure else [getattr(root, "alt_text", "")]
    root.alt_text = "\n".join([*filter(None, before), safe(alt_text, keep="\n")])
    before = before and [getattr(root, "plain_text", "")]
    root.plain_text = "\n\n".join([*filter(None, before), safe(plain_text, keep="\n")])
    return root if owner is not figure else figure


def save(figure, path, *, dpi=150, text="outlines"):
    """Write a figure to a .png, .svg, .pdf or .pgf file; the same figure gives the same bytes every time.

    The alt text is stored as the file's description. The file is written whole or not at all.

    Args:
        figure: any matplotlib Figure.
        path: where to write; the ending chooses the format. A .pgf needs LaTeX on this machine
            and takes the fonts of the document that it is put into.
        dpi: pixels per inch of a .png.
        text: "outlines" makes letters shapes, so that Chinese survives on a machine without Chinese fonts; "live"
            keeps text in an .svg or .pdf that can be searched, copied and edited.

    Returns: the path, as a Path.
    Raises: ValueError for another ending or another kind of text; RuntimeError for a .pgf without LaTeX.
    """
    path = path_of("path", path)
    if path.suffix not in METADATA:
        raise ValueError(f"path must end in .png, .svg, .pdf or .pgf, not {path.name!r}")
    if text not in ("outlines", "live"):
        raise ValueError(f'text must be "outlines" or "live", not {text!r}')
    latex = matplotlib.rcParams["pgf.texsystem"]
    if path.suffix == ".pgf" and not shutil.which(latex):
        raise RuntimeError(f"a .pgf needs LaTeX on this machine, and {latex} was not found: save a .pdf with "
                           'text="live" instead')
    alt = getattr(figure, "alt_text", "")
    metadata = METADATA[path.suffix](alt.split(". ")[0][:120] or "numpy_attention", alt)
    buffer = io.BytesIO()
    margins = {} if getattr(figure, "whole_page", False) else {"bbox_inches": "tight", "pad_inches": 0.12}
    settings = {"svg.fonttype": "none" if text == "live" else "path", "svg.hashsalt": "numpy_attention",
                "pdf.fonttype": 42 if text == "live" else 3, "savefig.bbox": None}
    outlined = figure.findobj(Text) if path.suffix == ".pdf" and text == "outlines" else []
    before = [label.get_path_effects() for label in outlined]
    try:
        for label, effects in zip(outlined, before, strict=True):
            label.set_path_effects(effects or [Normal()])       # a text with an effect is drawn as a shape
        ready = for_latex(figure) if path.suffix == ".pgf" else contextlib.nullcontext()
        with matplotlib.rc_context(settings), ready:
            figure.savefig(buffer, format=path.suffix[1:], dpi=dpi, **metadata, **margins)
    finally:
        for label, effects in zip(outlined, before, strict=True):
            label.set_path_effects(effects)
    return write_whole(path, buffer.getvalue())
