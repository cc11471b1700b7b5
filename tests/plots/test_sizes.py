"""Figures at any size: nothing overlaps, nothing leaves the page, cells are square, type is 5 points or absent."""
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from numpy_attention import plots
from tests.plots.every import NAMES, SQUARE, every

SIZES = ["column", "page", "slide", 3.3, 5.0]
FIGURES = [(3.3, 2.5), (13.3, 7.5), (7, 3.2), (5, 8)]


def check(figure, least=5.0):
    """No text touches another or leaves the page; no type is too small to be read; cells are square."""
    figure.draw_without_rendering()
    # Slanted labels overlap by their boxes though not by their letters.
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and not t.get_rotation() % 90]
    boxes = [(t, t.get_window_extent().shrunk(0.9, 0.7)) for t in texts]
    page = figure.bbox
    for i, (text, box) in enumerate(boxes):
        assert text.get_fontsize() >= least - 1e-6, text.get_text()
        assert page.x0 - 1 <= box.x0, text.get_text()
        assert box.x1 <= page.x1 + 1, text.get_text()
        assert page.y0 - 1 <= box.y0, text.get_text()
        assert box.y1 <= page.y1 + 1, text.get_text()
        for other, another in boxes[:i]:
            assert not box.overlaps(another), (text.get_text(), other.get_text())
    for axes in figure.findobj(lambda artist: bool(getattr(artist, "images", None))):
        box, (left, right), (bottom, top) = axes.get_window_extent(), axes.get_xlim(), axes.get_ylim()
        assert box.width / abs(right - left) == pytest.approx(box.height / abs(top - bottom), rel=0.06)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_sizes_for_papers_and_slides(name, size):
    figure = every(lang="en", size=size)[name]()
    check(figure)
    wide = figure.get_size_inches()[0]
    assert wide == pytest.approx({"column": 3.4, "page": 7.0, "slide": 13.33}.get(size, size))
    assert figure.get_size_inches()[1] <= max(wide * 1.3, 9.01)


@pytest.mark.parametrize("inches", FIGURES)
@pytest.mark.parametrize("name", NAMES)
def test_a_figure_of_any_size(name, inches):
    figure = Figure(figsize=inches)
    assert every(lang="zh", fig=figure)[name]() is figure
    assert figure.get_size_inches().tolist() == list(inches)
    check(figure)


@pytest.mark.parametrize("name", NAMES)
def test_half_a_figure(name):
    figure = Figure(figsize=(12, 5))
    left, right = figure.subfigures(1, 2)
    mine = right.add_subplot()
    every(lang="en", fig=left)[name]()
    figure.draw_without_rendering()
    for text in left.findobj(Text):
        if text.get_text().strip() and text.get_visible():
            assert text.get_window_extent().x1 <= left.bbox.x1 + 1, text.get_text()
    assert mine.get_title() == ""


@pytest.mark.parametrize("name", NAMES)
def test_axes_of_the_caller(name):
    figure = Figure(figsize=(10, 5))
    axes = figure.subplots(1, 2)
    assert every(lang="en", ax=axes[0])[name]() is figure
    figure.draw_without_rendering()
    for text in axes[0].findobj(Text):
        if text.get_text().strip() and text.get_visible():
            box = text.get_window_extent()
            assert -1 <= box.x0 <= box.x1 <= axes[1].bbox.x0, text.get_text()
    assert len(figure.alt_text) > 20


def test_one_map_is_drawn_into_the_axes_themselves():
    figure = Figure(figsize=(7, 3))
    axes = figure.subplots(1, 2)
    plots.plot_heads(SQUARE, ax=axes[0])
    plots.plot_heads(SQUARE.T / SQUARE.T.sum(axis=1, keepdims=True), ax=axes[1], bar=True)
    assert [len(each.images) for each in axes] == [1, 1]
    assert len(figure.axes) == 3        # the bar of the second only
    assert figure.alt_text.count("looks mostly at") == 6


def test_bar_scale_and_map_may_be_chosen():
    figure = plots.plot_heads(SQUARE, bar=False, vmax=0.5, cmap="Blues", title="Mine")
    assert len(figure.axes) == 1
    assert figure.axes[0].images[0].get_clim() == (0, 0.5)
    assert figure.axes[0].images[0].get_cmap().name == "Blues"
    dropped = plots.plot_heads(np.array([[0.0, 1.25], [0.6, 0.6]]), title="Mine")
    words = [text.get_text() for text in dropped.texts]
    assert "Mine" in words
    assert any("some rows sum to 1.20…1.25" in text for text in words)     # remarks survive an own title


@pytest.mark.parametrize(("options", "says"), [
    ({"size": "poster"}, "size must be"), ({"size": 0.2}, "size must be"), ({"size": True, "fig": Figure()}, "one of"),
    ({"fig": Figure(), "ax": Figure().add_subplot()}, "one of fig, ax and size"), ({"ax": Figure()}, "ax must be"),
    ({"fig": Figure().add_subplot()}, "ax="), ({"vmax": -1}, "vmax"), ({"vmax": 1, "norm": "log"}, "not both"),
    ({"cmap": "nobody"}, "cmap"), ({"scale": "log"}, "scale must be"), ({"norm": "log"}, "norm"),
])
def test_mistakes_are_named(options, says):
    with pytest.raises((TypeError, ValueError), match=says):
        plots.plot_heads(SQUARE, **options)
