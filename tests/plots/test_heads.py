"""plot_heads: honest scales, labels on the right axes, every form of weights."""
import numpy as np
import pytest

from numpy_attention.plots import plot_heads


def images(figure):
    return [axes.images[0] for axes in figure.axes if axes.images]


def test_every_head_has_the_same_scale():
    flat, sharp = np.full((3, 3), 1 / 3), np.eye(3)
    figure = plot_heads(np.stack([flat, sharp]))
    assert {image.get_clim() for image in images(figure)} == {(0, 1)}
    assert len(figure.axes) == 3        # two heads and one bar


def test_rows_are_queries_and_columns_are_keys():
    weights = np.array([[1.0, 0, 0], [0, 0, 1.0]])
    axes = plot_heads(weights, ["q0", "q1"], ["k0", "k1", "k2"]).axes[0]
    assert axes.images[0].get_array().tolist() == weights.tolist()
    assert "query" in axes.get_ylabel()
    assert "key" in axes.get_xlabel()
    assert axes.yaxis_inverted()
    assert [t.get_text() for t in axes.get_xticklabels()] == ["k0", "k1", "k2"]


def test_repeated_tokens_stay_apart(maps):
    axes = plot_heads(maps(3, 3), ["the", "the", "the"]).axes[0]
    assert axes.get_xticks().tolist() == [0, 1, 2]


@pytest.mark.parametrize("heads", [1, 5, 200])
def test_any_number_of_heads(maps, heads):
    figure = plot_heads(maps(heads, 3, 4))
    assert len(images(figure)) == heads
    assert max(figure.get_size_inches()) < 15


def test_title_says_entropy_against_its_maximum_and_the_largest_weight():
    weights = np.array([[0.5, 0.5], [1.0, 0.0]])
    assert plot_heads(weights).axes[0].get_title() .split("\n")[1] == "entropy 0.35 of 0.69 nats · max 1.00"
    hidden = plot_heads(weights, mask=np.array([[True, True], [True, False]])).axes[0].get_title()
    assert "0.35 of 0.35 nats" in hidden        # the second query has no choice


def test_forms(maps):
    four = maps(2, 2, 3, 4)
    assert np.allclose(images(plot_heads(four, batch=1))[1].get_array(), four[1, 1])
    assert len(images(plot_heads([four, four, four]))) == 6
    assert len(images(plot_heads((four[0], four[1])))) == 4
    averaged = images(plot_heads(four.mean(axis=1), averaged=True, batch=1))
    assert np.allclose(averaged[0].get_array(), four[1].mean(axis=0))
    assert len(images(plot_heads([four.mean(axis=1)] * 3, averaged=True))) == 3
    assert len(images(plot_heads([[0.5, 0.5], [0.1, 0.9]]))) == 1
    assert len(images(plot_heads(four.astype(np.float16)))) == 2


def test_layer_and_trace(layer, by_hand):
    assert np.allclose(images(plot_heads(layer, batch=1))[2].get_array(), layer.weights[1, 2])
    assert plot_heads(by_hand).axes[0].get_yticklabels()[2].get_text() == "AI"


@pytest.mark.parametrize(
    ("shape", "says"), [((3,), r"S = 3"), ((), "single number"), ((1, 2, 3, 4, 5), r"N = 2, H = 3.*list\(weights\)")]
)
def test_wrong_rank_says_what_each_axis_was_taken_for(shape, says):
    with pytest.raises(ValueError, match=says):
        plot_heads(np.zeros(shape))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"query_tokens": list("abcde")}, "query_tokens has 5 tokens, but there are L = 2 queries"),
        ({"query_tokens": list("ab")}, "key_tokens is missing"),
        ({"query_tokens": list("ab"), "key_tokens": list("abcd")}, "key_tokens has 4 tokens.*S = 5 keys"),
        ({"mask": np.ones((5, 2), bool)}, "mask must have shape"),
        ({"batch": 3}, "batch=3 is out of range"),
        ({"averaged": True}, "leave averaged=True away"),
    ],
)
def test_mistakes_are_named(maps, options, says):
    with pytest.raises(ValueError, match=says):
        plot_heads(maps(2, 1, 2, 5), **options)


def test_wrong_kinds_are_named(maps):
    with pytest.raises(TypeError, match="not one string"):
        plot_heads(maps(3, 3), "我爱AI")
    with pytest.raises(TypeError, match=r"mask must be boolean.*astype"):
        plot_heads(maps(3, 3), mask=np.ones((3, 3)))
    with pytest.raises(ValueError, match="softmax"):
        plot_heads(np.array([[-1.0, 2.0]]))
    with pytest.raises(TypeError, match="real"):
        plot_heads(np.eye(2) * 1j)
    with pytest.raises(ValueError, match="no heads"):
        plot_heads(np.zeros((0, 2, 2)))


def test_hidden_cells_are_hatched_not_coloured():
    weights = np.array([[1.0, 0.0], [1.0 - 1e-9, 1e-9]])
    axes = plot_heads(weights, mask=np.array([[True, False], [True, True]])).axes[0]
    assert axes.images[0].get_array().mask.tolist() == [[False, True], [False, False]]
    assert [patch.get_hatch() for patch in axes.patches] == ["////"]


def test_what_a_reader_must_know_is_in_the_title(maps, tmp_path):
    dropped = np.array([[0.0, 1.25], [0.6, 0.6]])
    assert "some rows sum to 1.20…1.25, not 1" in plot_heads(dropped).alt_text
    nan = np.array([[np.nan, 1.0], [0.5, 0.5]])
    figure = plot_heads(nan)
    assert "1 cells not finite" in figure.alt_text
    figure.save(tmp_path / "nan.png")
    assert "item 1 of a batch of 2" in plot_heads(maps(2, 1, 3, 3), batch=1).alt_text


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (2, 0, 0)])
def test_empty_maps_say_so(shape, tmp_path):
    figure = plot_heads(np.zeros(shape))
    figure.save(tmp_path / "a.png")
    assert any("empty" in text.get_text() for text in figure.axes[0].texts)


def test_many_long_tokens_thin_out_and_shorten(maps):
    tokens = [f"internationalisation{i}" for i in range(200)]
    axes = plot_heads(maps(1, 200, 200), tokens).axes[0]
    labels = [t.get_text() for t in axes.get_yticklabels()]
    assert len(labels) < 60
    assert max(map(len, labels)) <= 10
    assert labels[1] == "internati…"


def test_text_twin_has_the_numbers(maps):
    text = plot_heads(maps(2, 2, 2), ["我", "爱"]).plain_text
    assert text.count("Σ") == 2
    assert "Head 1 · no single pattern · entropy" in text


def test_long_titles_are_folded_and_remarks_are_not_cut(maps):
    figure = plot_heads(maps(200, 200), title="很长的中文标题，" * 6, scale="uniform")
    words = [text.get_text() for text in figure.texts]
    title = next(text for text in words if "标题" in text)
    assert len(title.split("\n")) == 2
    assert any("white is what no preference gives" in text.replace("\n", " ") for text in words)
