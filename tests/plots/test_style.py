"""What a matrix shows does not depend on the user's settings: the same pixels under every style sheet."""
import contextlib
import warnings

import matplotlib
import matplotlib.style
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from numpy_attention import plots
from tests.plots.every import NAMES, SQUARE, every

STYLES = ["ggplot", "bmh", "classic", "dark_background", "fivethirtyeight", "grayscale", "Solarize_Light2",
          "seaborn-v0_8-darkgrid", "seaborn-v0_8-poster", "tableau-colorblind10"]
# Whatever else imshow, axes, ticks and savefig read.
HOSTILE = {
    "image.origin": "lower", "image.cmap": "jet", "image.interpolation": "bicubic", "image.aspect": "auto",
    "axes.grid": True, "grid.color": "red", "grid.linewidth": 3, "axes.grid.which": "both", "axes.axisbelow": False,
    "xtick.minor.visible": True, "xtick.direction": "in", "xtick.major.size": 9, "ytick.right": True,
    "figure.constrained_layout.use": True, "font.size": 23, "axes.titlesize": 40, "axes.labelsize": 30,
    "text.color": "yellow", "axes.labelcolor": "yellow", "xtick.color": "yellow", "axes.edgecolor": "red",
    "hatch.color": "red", "hatch.linewidth": 4, "patch.force_edgecolor": True, "patch.edgecolor": "red",
    "lines.linewidth": 6, "lines.linestyle": ":", "lines.marker": "x", "axes.linewidth": 5, "path.sketch": (3, 60, 2),
    "axes.spines.left": False, "axes.titlelocation": "left", "axes.titlecolor": "red", "savefig.bbox": "tight",
    "savefig.transparent": True, "axes.xmargin": 0.4, "figure.autolayout": False, "axes.unicode_minus": False,
    "image.lut": 7, "legend.frameon": True, "legend.loc": "center", "figure.subplot.left": 0.4, "axes.titley": 0.5,
}


@contextlib.contextmanager
def sheet(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")             # style sheets may name fonts that are not there
        if name == "seaborn":
            seaborn = pytest.importorskip("seaborn", reason="seaborn's theme is tried where seaborn is installed")
            with matplotlib.rc_context():
                seaborn.set_theme()
                yield
        elif name == "hostile":
            with matplotlib.rc_context(HOSTILE):
                yield
        else:
            with matplotlib.style.context(name):
                yield


def cells(figure):
    """The pixels inside all matrices, numbers included."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())
    height = len(pixels)
    found = []
    for axes in figure.axes:
        if axes.images:
            box = axes.get_window_extent()
            low, high = height - int(box.y1), height - int(box.y0)
            found.append(pixels[low + 2 : high - 2, int(box.x0) + 2 : int(box.x1) - 2])
    return found


@pytest.fixture(scope="module")
def plain():
    """Every figure as matplotlib's own settings draw it."""
    with matplotlib.rc_context(matplotlib.rcParamsDefault):
        return {name: cells(draw()) for name, draw in every(lang="both").items()}


@pytest.mark.parametrize("style", [*STYLES, "seaborn", "hostile"])
def test_cells_have_the_same_pixels_under_every_style_sheet(plain, style):
    # Fonts may follow the style; with the same font, not a pixel differs.
    with sheet(style), matplotlib.rc_context({"font.family": ["DejaVu Sans"]}):
        figures = {name: cells(draw()) for name, draw in every(lang="both").items()}
    assert sum(map(len, plain.values())) > 20
    for name in NAMES:
        assert [image.shape for image in plain[name]] == [image.shape for image in figures[name]], name
        for before, after in zip(plain[name], figures[name], strict=True):
            assert np.array_equal(before, after), name


def luminance(colour):
    rgb = np.array(matplotlib.colors.to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ (0.2126, 0.7152, 0.0722)


@pytest.mark.parametrize("name", NAMES)
def test_words_can_be_read_on_a_dark_background(name):
    with sheet("dark_background"):
        figure = every(lang="en")[name]()
    assert matplotlib.colors.to_hex(figure.get_facecolor()) == "#000000"
    inside = {id(text) for axes in figure.axes if axes.images for text in axes.texts}
    for text in figure.findobj(Text):
        if text.get_text().strip() and id(text) not in inside:
            assert (luminance(text.get_color()) + 0.05) / 0.05 >= 3, text.get_text()


def test_fonts_follow_the_style_and_settings_stay_as_they_are():
    with matplotlib.rc_context({"font.family": ["DejaVu Serif"], "axes.grid": True}):
        before = dict(matplotlib.rcParams)
        figure = plots.plot_heads(SQUARE)
        assert dict(matplotlib.rcParams) == before
        assert figure.axes[0].title.get_fontfamily()[0] == "DejaVu Serif"


def test_background_of_a_given_figure_decides_the_ink():
    figure = Figure(facecolor="black")
    plots.plot_heads(SQUARE, fig=figure)
    assert {text.get_color() for text in figure.texts} == {"white", plots.figure.GREY_ON_DARK}
