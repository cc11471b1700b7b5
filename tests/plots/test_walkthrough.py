"""plot_walkthrough and plot_mnemonic: real numbers, in their places."""
import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.plots import plot_mnemonic, plot_walkthrough

FORWARD = ["Q", "K", "product", "scores", "weights", "V", "heads"]


def panels(figure):
    return {axes.get_label(): axes for axes in figure.axes if axes.get_label().removeprefix("d") in FORWARD}


@pytest.fixture(scope="module")
def strip(by_hand):
    return plot_walkthrough(by_hand)


def test_each_gradient_is_right_below_its_own_matrix(by_hand, strip):
    found = panels(strip)
    assert len(found) == 14
    for name in FORWARD:
        above, below = found[name].get_position(), found[f"d{name}"].get_position()
        assert above.x0 == below.x0
        assert above.width == below.width
        assert above.y0 > below.y1
        shown = by_hand[f"d{name}"].value
        assert np.array_equal(found[f"d{name}"].images[0].get_array(), shown.T if name == "K" else shown)


def test_each_matrix_has_its_own_scale_and_says_where_it_ends(by_hand, strip):
    found = panels(strip)
    texts = " ".join(text.get_text() for text in strip.texts)
    for name in {*FORWARD, *(f"d{name}" for name in FORWARD)} - {"weights"}:
        far = np.abs(by_hand[name].value).max()
        assert found[name].images[0].get_clim() == (-far, far)
        assert f"±{far:.2g}" in texts


def test_one_scale_per_role_where_it_is_asked_for(by_hand):
    found = panels(plot_walkthrough(by_hand, same_scale=True))
    limits = {name: axes.images[0].get_clim() for name, axes in found.items()}
    assert limits["weights"] == (0, 1)
    assert limits["Q"] == limits["K"] == (-2, 2)
    assert limits["scores"] == limits["product"] == (-8, 8)
    assert len({limits[f"d{name}"] for name in FORWARD}) == 1


def test_formulas_are_the_steps_own(by_hand, strip):
    texts = {text.get_text().replace("\n", " ") for text in strip.texts}
    for step in by_hand:
        formula = step.formula.replace("√d_k", "√dₖ")       # as it is set everywhere
        assert formula in texts or f"{step.name} = {formula}" in texts


def test_numbers_of_the_cells(strip):
    found = panels(strip)
    assert [text.get_text() for text in found["weights"].texts][:3] == ["0.09", "0.24", "0.67"]
    assert [text.get_text() for text in found["product"].texts][:3] == ["0", "2", "4"]
    assert [text.get_text() for text in found["weights"].texts][-1] == "Σ 1.00"


def test_forward_only(by_hand):
    assert list(panels(plot_walkthrough(by_hand.forward))) == FORWARD


def test_highlighted_cell_and_query(by_hand):
    found = panels(plot_walkthrough(by_hand.forward, highlight=(0, 2)))
    frame = found["weights"].patches[-1]
    assert (frame.get_x(), frame.get_y(), frame.get_width(), frame.get_height()) == (1.5, -0.5, 1, 1)
    assert found["K"].patches[-1].get_height() == 4
    assert "0.11·V[爱]" in plot_walkthrough(by_hand.forward, highlight=1).alt_text


@pytest.mark.parametrize(
    ("highlight", "error"), [(3, ValueError), ((0, 5), ValueError), ("我", TypeError), ((0, 1, 2), TypeError)]
)
def test_bad_highlights_are_named(by_hand, highlight, error):
    with pytest.raises(error, match="highlight"):
        plot_walkthrough(by_hand, highlight=highlight)


def test_any_layer_any_head(layer):
    found = panels(plot_walkthrough(na.trace(layer), head=2, batch=1))
    assert np.array_equal(found["weights"].images[0].get_array(), layer.weights[1, 2])
    assert found["weights"].images[0].get_array().shape == (4, 5)
    with pytest.raises(ValueError, match="head=3 is out of range"):
        plot_walkthrough(na.trace(layer), head=3)


def test_masked_cells_are_hatched(layer):
    found = panels(plot_walkthrough(na.trace(layer).forward, mask=na.causal_mask(4, 5, offset=0)))
    assert found["weights"].images[0].get_array().mask.sum() == 10
    assert found["weights"].patches[0].get_hatch()


def test_a_trace_of_something_else_is_refused():
    linear = na.Linear(2, 3, rng=0)
    linear(np.ones((1, 2)))
    with pytest.raises(ValueError, match="trace lacks the steps Q, K, V"):
        plot_walkthrough(na.trace(linear))


def test_mnemonic_shows_the_real_numbers(by_hand):
    figure = plot_mnemonic()
    texts = [text.get_text() for text in figure.texts]
    assert {"0.09", "0.24", "0.67"} <= set(texts)
    assert "AI 0.67" in figure.alt_text
    assert "0.04·V[我]" in plot_mnemonic(by_hand, query=-1).plain_text
    with pytest.raises(ValueError, match="query=3"):
        plot_mnemonic(query=3)


def test_mnemonic_with_many_keys_shows_the_largest():
    attention = na.ScaledDotProductAttention()
    rng = np.random.default_rng(0)
    attention(*rng.standard_normal((3, 20, 5)))
    figure = plot_mnemonic(na.trace(attention))
    assert "…" in figure.plain_text
