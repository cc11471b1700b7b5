"""The figure that every plot returns: shown once in a notebook, said in words, saved with the same bytes every time."""

import base64
import io
from pathlib import Path

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure, FigureBase

from ..words.files import write_whole
from .fonts import dress

# Where each file format keeps a title, a description and its dates.
METADATA = {
    ".png": lambda alt: {"Title": "numpy_attention", "Description": alt},
    ".svg": lambda alt: {"Title": "numpy_attention", "Description": alt, "Date": None},
    ".pdf": lambda alt: {"Title": "numpy_attention", "Subject": alt, "CreationDate": None},
}


class Picture(Figure):
    """A matplotlib Figure that pyplot does not know, so it needs no closing and is shown once.

    ``alt_text`` says in a sentence or two what there is to see; ``plain_text`` holds the same content as text, with
    every number that can be read off the picture.

    >>> Picture().alt_text
    ''
    """

    alt_text = ""
    plain_text = ""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        FigureCanvasAgg(self)

    def save(self, path, *, dpi=150):
        """Write the figure to ``path``; see :func:`save`."""
        return save(self, path, dpi=dpi)

    def _repr_mimebundle_(self, include=None, exclude=None):
        # A bundle comes before the formatter that pyplot registers for every Figure, so nothing is shown twice.
        buffer = io.BytesIO()
        self.savefig(buffer, format="png", dpi=110, bbox_inches="tight")
        png = base64.b64encode(buffer.getvalue()).decode("ascii")
        return {"image/png": png, "text/plain": self.alt_text}, {"image/png": {"alt": self.alt_text}}


def picture(fig, width, height):
    """``fig`` if the caller gave one (a Figure or SubFigure), else a new Picture of that many inches."""
    if fig is None:
        return Picture(figsize=(width, height))
    if not isinstance(fig, FigureBase):
        raise TypeError(f"fig must be a matplotlib Figure or SubFigure, not {type(fig).__name__}")
    return fig


def finish(figure, alt_text, plain_text):
    """Last step of every plot: fonts for all its texts, and the picture in words on the figure itself."""
    dress(figure)
    figure.alt_text = alt_text
    figure.plain_text = plain_text
    return figure


def axes_at(figure, size, left, top, width, height):
    """Axes placed in inches from the top left corner of a page of ``size`` = (width, height) inches."""
    page_width, page_height = size
    bottom = page_height - top - height
    return figure.add_axes((left / page_width, bottom / page_height, width / page_width, height / page_height))


def save(figure, path, *, dpi=150):
    """Write a figure to a .png, .svg or .pdf file; the same figure gives the same bytes every time.

    Letters become outlines, so that Chinese survives on a machine without Chinese fonts, and the alt text is stored
    as the file's description.

    Args:
        figure: any matplotlib Figure.
        path: where to write; the ending chooses the format.
        dpi: pixels per inch of a .png.

    Returns:
        the path, as a Path.
    """
    path = Path(path)
    if path.suffix not in METADATA:
        raise ValueError(f"path must end in .png, .svg or .pdf, not {path.name!r}")
    metadata = METADATA[path.suffix](getattr(figure, "alt_text", ""))
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "numpy_attention"}):
        content = io.BytesIO()
        figure.savefig(content, format=path.suffix[1:], dpi=dpi, metadata=metadata, bbox_inches="tight",
                       pad_inches=0.12)
    return write_whole(path, content.getbuffer())
