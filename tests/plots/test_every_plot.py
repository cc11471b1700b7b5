"""What holds for each plot of the room, in each language."""
import functools
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.text import Text

import numpy_attention as na
from numpy_attention import plots
from numpy_attention.plots import fonts
from tests.plots.every import NAMES, SQUARE, every

rng = np.random.default_rng(0)
PUBLIC = [name for name in plots.__all__ if name.startswith("plot_")]


INSIDE = {"plot_cost", "plot_detection_matrix", "plot_step_curve"}       # drawn by what holds their numbers


def test_every_plot_is_tried_here_and_public():
    source = "\n".join(path.read_text(encoding="utf-8") for path in Path(plots.__file__).parent.glob("*.py"))
    written = set(re.findall(r"^def (plot_\w+)", source, re.MULTILINE))
    assert not written - set(NAMES), f"tests/plots/every.py, every: add {sorted(written - set(NAMES))}"
    hidden = written - INSIDE - set(PUBLIC)
    assert not hidden, f"numpy_attention/plots/__init__.py, __all__: add {sorted(hidden)}"


@functools.cache
def drawn(name, lang):
    return every(lang=lang)[name]()


def chinese(text):
    return any("\u4e00" <= c <= "\u9fff" for c in text.replace("我", "").replace("爱", ""))


@pytest.mark.parametrize("name", NAMES)
def test_words_and_fonts(name):
    figure = drawn(name, "both")
    assert isinstance(figure, plots.Picture)
    assert len(figure.alt_text) > 20
    assert len(figure.plain_text.splitlines()) >= 3
    for text in figure.findobj(Text):
        assert not text.get_parse_math()
        assert fonts.HAN in text.get_fontfamily()


@pytest.mark.parametrize("name", NAMES)
def test_english_keeps_chinese_out(name):
    english = drawn(name, "en")
    assert not chinese(english.alt_text + english.plain_text + "".join(t.get_text() for t in english.findobj(Text)))
    assert chinese(drawn(name, "both").alt_text)


@pytest.mark.parametrize("name", ["plot_masks", "plot_mnemonic"])
def test_same_svg_every_time(name, tmp_path):
    first, second = drawn(name, "en").save(tmp_path / "a.svg"), every(lang="en")[name]().save(tmp_path / "b.svg")
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_no_text_touches_another_or_leaves_the_page(name):
    figure = drawn(name, "both")
    figure.draw_without_rendering()
    # Slanted labels overlap by their boxes though not by their letters.
    texts = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip() and not t.get_rotation() % 90]
    boxes = [(t.get_text(), t.get_window_extent().shrunk(0.9, 0.7)) for t in texts]
    page = figure.bbox
    for i, (text, box) in enumerate(boxes):
        assert page.x0 <= box.x0, text
        assert box.x1 <= page.x1, text
        assert page.y0 <= box.y0, text
        assert box.y1 <= page.y1, text
        for other, another in boxes[:i]:
            assert not box.overlaps(another), (text, other)


def test_layers_and_traces_are_sources_too(layer):
    trace = na.trace(layer)
    for source in (layer, trace, {**layer.cache, **{f"d{k}": v for k, v in layer.grads.items()}}):
        figure = plots.plot_gradients(source, head=2, batch=1)
        shown = {axes.get_label(): axes.images[0].get_array() for axes in figure.axes if axes.images}
        assert np.array_equal(shown["dscores"], layer.grads["scores"][1, 2])
        plots.plot_mixing(source, head=1)
        plots.plot_query_key(source, query=3, key=4)
        plots.plot_cross_attention(source)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: plots.plot_gradients(SQUARE, SQUARE[:2], SQUARE), "must share"),
        (lambda: plots.plot_gradients(na.Linear(1, 1, rng=0)), "holds no 'weights'"),
        (lambda: plots.plot_masks(SQUARE, np.ones((2, 3), bool)), "mask must have shape"),
        (lambda: plots.plot_symmetry(SQUARE[:2]), "square"),
        (lambda: plots.plot_query_key(SQUARE, SQUARE[:, :2]), "share the width d_k"),
        (lambda: plots.plot_query_key(SQUARE, SQUARE, query=3), "query=3"),
        (lambda: plots.plot_mixing(SQUARE, SQUARE[:2]), "share the source length S"),
        (lambda: plots.plot_mixing(SQUARE, SQUARE, query=-4), "query=-4"),
        (lambda: plots.plot_cross_attention(SQUARE, gold=[0, 3, 1]), r"gold\[1\] = 3"),
        (lambda: plots.plot_cross_attention(SQUARE, gold=[0]), "gold has 1 entries"),
        (lambda: plots.plot_gradient_check(SQUARE, SQUARE[:2]), "share a shape"),
        (lambda: plots.plot_gradient_check(SQUARE, SQUARE, tolerance=0), "tolerance"),
        (lambda: plots.plot_film(SQUARE, [0], [1]), r"snapshots must be \(k, L, S\)"),
        (lambda: plots.plot_film([SQUARE], [0, 1], [1]), "steps has 2 entries"),
        (lambda: plots.plot_film([SQUARE], [0], [1, 2], curve_steps=[1]), "curve must be"),
        (lambda: plots.plot_lines(SQUARE, heads=[1]), "heads 1 is out of range"),
        (lambda: plots.plot_lines([SQUARE[None], SQUARE[None]]), "one layer"),
    ],
)
def test_mistakes_are_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: plots.plot_gradients(SQUARE), "dweights, dscores must be given"),
        (lambda: plots.plot_mixing(SQUARE), "V must be given"),
        (lambda: plots.plot_masks(SQUARE, None), "mask must be given"),
        (lambda: plots.plot_gradient_check(SQUARE), "numeric must be given"),
    ],
)
def test_missing_arrays_are_named(call, says):
    with pytest.raises(TypeError, match=says):
        call()


def test_mask_marks_queries_that_see_nothing():
    mask = np.array([[True, False, False], [False] * 3, [True] * 3])
    figure = plots.plot_masks(np.zeros((3, 3)), mask, query_tokens=list("abc"))
    assert "Sees no key: b." in figure.alt_text
    weights = figure.axes[2].images[0].get_array()
    assert weights.mask.tolist() == (~mask).tolist()
    assert sum(text.get_text() == "◂" for axes in figure.axes for text in axes.texts) == 2


def test_gradient_check_finds_the_worst_number():
    analytic = np.arange(1.0, 25).reshape(2, 3, 4)
    numeric = analytic.copy()
    numeric[1, 2, 3] *= 2
    figure = plots.plot_gradient_check(analytic, numeric)
    assert "WRONG: 1 of 24" in figure.alt_text
    assert "(1, 2, 3)" in figure.alt_text
    assert "agrees" in plots.plot_gradient_check(analytic, analytic).alt_text
    assert "WRONG" in plots.plot_gradient_check(np.array([np.nan]), np.array([1.0])).alt_text
    report = na.check_gradients(na.Softmax(), [[0.0, 1.0, 2.0]])
    assert "dscores agrees" in plots.plot_gradient_check(report.rows[0]).alt_text


def test_lines_carry_the_weight_as_opacity():
    figure = plots.plot_lines(np.array([[0.9, 0.1], [0.02, 0.98]]))
    lines = figure.axes[0].collections[0]
    assert np.allclose(sorted(lines.get_colors()[:, 3]), [0.1, 0.9, 0.98])
    assert "1% of its attention left out" in figure.plain_text
    right = figure.axes[0].child_axes[0].yaxis
    assert not any(tick.label1.get_visible() for tick in right.get_major_ticks())       # no label on the lines
    only = plots.plot_lines(np.full((3, 4, 5), 0.2), heads=[2, 0], query=1)
    assert [len(axes.collections[0].get_segments()) for axes in only.axes if axes.collections] == [5, 5]


def test_mixing_adds_up_to_the_output():
    weights, V = SQUARE, rng.standard_normal((3, 5))
    figure = plots.plot_mixing(weights, V, query=2)
    assert np.allclose(figure.axes[0].lines[-1].get_xdata(), weights[2] @ V)


def test_query_key_ends_in_the_score():
    q, k = rng.standard_normal((2, 1, 16))
    assert f"÷ √16 = {(q @ k.T / 4)[0, 0]:.2f}".replace("-", "−") in plots.plot_query_key(q, k).alt_text


def test_film_shows_first_and_last_of_many():
    figure = plots.plot_film(np.stack([SQUARE] * 30), range(30), np.ones(30))
    steps = [text.get_text() for text in figure.texts if text.get_text().startswith("step")]
    assert len(steps) == 8
    assert (steps[0], steps[-1]) == ("step 0", "step 29")


@pytest.mark.parametrize("size", [1e-100, 1e-9, 1e12, 1e100])
def test_numbers_of_any_size(size):
    numbers = size * np.array([[1.0, -2.0, 0.0], [-1.0, 3.0, 4.0], [5.0, 6.0, -7.0]])
    with np.errstate(over="ignore"):
        for figure in (plots.plot_symmetry(numbers), plots.plot_query_key(numbers, np.eye(3), query=1),
                       plots.plot_mixing(np.eye(3), numbers), plots.plot_gradients(np.eye(3), numbers, -numbers),
                       plots.plot_gradient_check(numbers, numbers)):
            figure.draw_without_rendering()
            written = [text.get_text() for axes in figure.axes if axes.images for text in axes.texts]
            assert all(len(text.removeprefix("Σ ")) < 9 for text in written), written


AWKWARD = np.array([[np.nan, np.inf, 0.0], [0.5, 0.25, 0.25]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: plots.plot_lines(np.abs(AWKWARD)),
        lambda: plots.plot_query_key(AWKWARD, AWKWARD),
        lambda: plots.plot_mixing(np.eye(2), AWKWARD),
        lambda: plots.plot_gradients(np.abs(AWKWARD), AWKWARD, AWKWARD),
        lambda: plots.plot_masks(AWKWARD, np.ones((2, 3), bool)),
        lambda: plots.plot_symmetry(AWKWARD[:, :2]),
        lambda: plots.plot_cross_attention(np.abs(AWKWARD)),
        lambda: plots.plot_gradient_check(AWKWARD, AWKWARD),
        lambda: plots.plot_film([np.abs(AWKWARD)], [0], [np.nan]),
        lambda: plots.plot_gradients(*np.zeros((3, 0, 4))),
        lambda: plots.plot_symmetry(np.zeros((0, 0))),
        lambda: plots.plot_lines(np.zeros((4, 0))),
    ],
)
def test_nan_infinite_and_empty_arrays_are_drawn_without_a_warning(call):
    call().draw_without_rendering()
