"""Pictures of attention. Only this part needs matplotlib; it is imported when a plot is first asked for.

Every plot takes arrays, a layer or a trace, and returns a figure that pyplot does not know: it shows itself once in a
notebook, ``figure.save(path)`` writes .png, .svg, .pdf or .pgf, ``figure.alt_text`` says it in a sentence or two, and
``figure.plain_text`` holds its numbers. ``fig=`` and ``ax=`` put it into a figure of the user's at any size, and
``size="column"``, ``"page"`` or ``"slide"`` makes one for a paper or a talk. The user's style sheet changes fonts and
background, never what a matrix shows.
"""
try:
    import matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError("the plots need matplotlib: pip install matplotlib") from error

from .cross import plot_cross_attention
from .curves import plot_step_curve as plot_step_curve
from .detection_matrix import plot_detection_matrix as plot_detection_matrix
from .figure import Picture, save
from .film import plot_film, save_film
from .gradients import plot_gradient_check, plot_gradients
from .heads import plot_heads
from .lines import plot_lines
from .mixing import plot_mixing
from .mnemonic import plot_mnemonic
from .model import plot_model, save_overview
from .multi_head import plot_multi_head
from .scores import plot_masks, plot_query_key, plot_symmetry
from .walkthrough import plot_walkthrough

__all__ = [
    "Picture",
    "plot_cross_attention",
    "plot_film",
    "plot_gradient_check",
    "plot_gradients",
    "plot_heads",
    "plot_lines",
    "plot_masks",
    "plot_mixing",
    "plot_mnemonic",
    "plot_model",
    "plot_multi_head",
    "plot_query_key",
    "plot_symmetry",
    "plot_walkthrough",
    "save",
    "save_film",
    "save_overview",
]
