"""A whole model: the sheet, the page to look around in, the multi-head picture, the film."""
import base64
import io
import json
import re

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention import plots
from numpy_attention.plots.inputs import attentions
from numpy_attention.plots.statistics import pattern

rng = np.random.default_rng(0)


def softmax(scores):
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def sharp(L, offset):
    """A causal head that looks `offset` places back."""
    scores = np.where(np.tri(L, dtype=bool), 8 * np.eye(L, k=-offset), -np.inf)
    return softmax(scores)


def test_patterns_are_told_apart():
    L = 12
    mask = ~na.causal_mask(L)
    assert pattern(sharp(L, 1), mask).kind == "previous"
    assert pattern(sharp(L, 0), mask).kind == "itself"
    first = softmax(np.where(np.tri(L, dtype=bool), 8 * (np.arange(L) == 0), -np.inf))
    assert pattern(first, mask).kind == "first"
    even = softmax(np.where(np.tri(L, dtype=bool), 0.0, -np.inf))
    assert pattern(even, mask).kind == "uniform"
    # Six tokens twice: what followed the same token last time stands five places back.
    assert pattern(sharp(L, 5), mask, list("abcdef") * 2).kind == "induction"
    assert pattern(sharp(L, 5), mask) == ("back", pytest.approx(1, abs=0.01), 5)
    assert pattern(np.eye(L)[[7] * L]) == ("sink", 1.0, 7)
    assert pattern(softmax(rng.standard_normal((L, L)))).kind == "mixed"
    assert pattern(softmax(rng.standard_normal((2, 2)))).kind == "mixed"        # too few rows to tell


@pytest.mark.parametrize(("layers", "heads"), [(12, 12), (30, 9)])
def test_a_sheet_of_many_heads(layers, heads):
    kinds = [sharp(16, offset) for offset in (0, 1, 12)]
    weights = [np.stack([kinds[(layer + head) % 3] for head in range(heads)]) for layer in range(layers)]
    figure = plots.plot_model(weights, mask=na.causal_mask(16))
    assert sum(bool(axes.images) for axes in figure.axes if axes.get_label() != "bar") == layers * heads
    assert max(figure.get_size_inches()) < 16
    assert figure.axes[0].get_window_extent().width / figure.dpi > 0.3      # large enough to be looked at
    assert f"{layers * heads} heads" in figure.alt_text
    marks = "\n".join(figure.plain_text.splitlines()[1:])
    assert marks.count("before") == sum((a + b) % 3 == 1 for a in range(layers) for b in range(heads))


def test_layers_models_and_traces_are_drawn_with_their_own_masks():
    x, memory = rng.standard_normal((2, 6, 8)), rng.standard_normal((2, 5, 8))
    encoder = na.TransformerEncoder(2, 8, 2, rng=0)
    encoder(x, mask=na.causal_mask(6))
    for source in (encoder, encoder.layers[1], encoder.layers[0].self_attn, na.trace(encoder.layers[0])):
        figure = plots.plot_heads(source)
        images = [axes.images[0] for axes in figure.axes if axes.images]
        assert all(image.get_array().mask.sum() == 15 for image in images), source
        assert "hidden by the mask" in figure.alt_text
    assert len(plots.plot_heads(encoder, layers=1, heads=[1]).axes) == 2        # one head and the bar
    decoder = na.TransformerDecoder(2, 8, 2, rng=0)
    decoder(x, memory)
    assert [path for path, _ in attentions(decoder)][1] == "layers.0.cross_attn"
    assert len(plots.plot_heads(decoder).axes) == 9
    assert "layer 1 cross" in {text.get_text() for text in plots.plot_heads(decoder).texts}
    with pytest.raises(ValueError, match="hand in one of them"):
        plots.plot_cross_attention(encoder)
    with pytest.raises(ValueError, match="call its forward first"):
        plots.plot_heads(na.MultiHeadAttention(8, 2, rng=0))


def test_entropy_counts_only_what_a_query_may_see():
    mha = na.MultiHeadAttention(6, 2, rng=0)
    for projection in (mha.query_proj, mha.key_proj):
        projection.params["W"][:] = 0
    mha(rng.standard_normal((1, 6, 6)), mask=na.causal_mask(6))
    title = plots.plot_heads(mha).axes[0].get_title()
    assert "1.10 of 1.10 nats" in title
    assert "all tokens alike" in title


def test_blocked_attention_is_drawn_too():
    mha = na.MultiHeadAttention(8, 2, attention=na.BlockedAttention(causal=True), rng=0)
    mha(rng.standard_normal((1, 6, 8)))
    assert plots.plot_heads(mha).axes[0].images[0].get_array().mask.sum() == 15


@pytest.mark.parametrize("L", [40, 200, 2048])
def test_a_previous_token_head_can_be_seen_at_any_length(L):
    weights = np.full((L, L), 1e-9)
    weights[np.arange(1, L), np.arange(L - 1)] = 1
    weights[0, 0] = 1
    figure = plots.plot_heads(weights)
    image = figure.axes[0].images[0]
    rows, columns = image.pooled
    assert rows == columns
    inches = figure.axes[0].get_window_extent().width / 100
    assert inches / (L / rows) >= 0.0199            # no dot below two pixels
    shown = image.get_array()
    lit = [shown[i, max(0, i - (rows == 1))] for i in range(1, len(shown))]
    assert min(lit) == 1
    assert ("largest of" in figure.alt_text) == (rows > 1)
    ticks = [int(text.get_text()) for text in figure.axes[0].get_yticklabels()]
    assert all(tick % (ticks[1] - ticks[0]) == 0 for tick in ticks)
    if L == 2048:
        assert ticks[1] & (ticks[1] - 1) == 0       # a power of two


def test_soft_heads_show_on_the_uniform_scale():
    L = 64
    wave = softmax(0.5 * np.sin(np.arange(L) / 5)[None] + np.zeros((L, 1)))
    figure = plots.plot_heads(wave, scale="uniform")
    image = figure.axes[0].images[0]
    assert image.get_clim() == (1 / 16, 16)
    assert np.allclose(image.get_array().mean(), 1)
    hidden = plots.plot_heads(np.tri(3) / np.tri(3).sum(axis=1, keepdims=True), mask=na.causal_mask(3), scale="uniform")
    assert np.allclose(hidden.axes[0].images[0].get_array().compressed(), 1)


def test_the_overview_is_one_page_with_every_weight(tmp_path):
    weights = [softmax(2 * rng.standard_normal((3, 4, 4))) for _ in range(2)]
    path = plots.save_overview(weights, tmp_path / "a.html", ["</script>", "爱", "\ud83d", " the"], lang="both")
    page = path.read_text(encoding="utf-8")
    assert page == plots.save_overview(weights, tmp_path / "b.html", ["</script>", "爱", "\ud83d", " the"],
                                       lang="both").read_text(encoding="utf-8")
    assert not re.search(r"https?://|%%", page)
    data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    assert [(head["layer"], head["head"]) for head in data["heads"]] == [(l, h) for l in range(2) for h in range(3)]
    for head in data["heads"]:
        read = (np.frombuffer(base64.b64decode(head["data"]), np.uint8) / 254) ** 2
        assert np.allclose(read.reshape(4, 4), weights[head["layer"]][head["head"]], atol=0.005)
    assert data["heads"][0]["queries"][3] == "␣the"


def test_the_multi_head_picture_adds_up():
    mha = na.MultiHeadAttention(8, 3, d_k=6, d_v=7, rng=0)
    out = mha(rng.standard_normal((2, 4, 8)), rng.standard_normal((2, 5, 8)))
    figure = plots.plot_multi_head(mha, batch=1)
    images = [axes.images[0].get_array() for axes in figure.axes if axes.images]
    assert [image.shape for image in images] == [(4, 5), (4, 7)] * 3 + [(4, 21), (21, 8), (4, 8)]
    assert np.array_equal(images[-1], out[1])
    assert np.array_equal(np.hstack(images[1:6:2]), images[-3])
    assert np.array_equal(plots.plot_multi_head(na.trace(mha), batch=1).axes[-3].images[0].get_array(), out[1])
    attention = na.ScaledDotProductAttention()
    attention(*rng.standard_normal((3, 4, 5)))
    with pytest.raises(ValueError, match="no 'concat'"):
        plots.plot_multi_head(attention)


def test_a_film_moves(tmp_path):
    maps = softmax(rng.standard_normal((3, 2, 4, 4)))
    page = plots.save_film(maps, [0, 5, 10], tmp_path / "film.html", curve=[3, 2, 1], curve_steps=[0, 5, 10])
    text = page.read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script id="data"[^>]*>(.*?)</script>', text, re.DOTALL)[1])
    assert [len(head["frames"]) for head in data["heads"]] == [3, 3]
    assert not re.search(r"https?://|%%", text)
    image = pytest.importorskip("PIL.Image")
    films = [plots.save_film(maps, [0, 5, 10], tmp_path / f"{n}.gif").read_bytes() for n in "ab"]
    assert films[0] == films[1]
    assert image.open(io.BytesIO(films[0])).n_frames == 3
    page, other = tmp_path / "a.html", tmp_path / "a.mp4"
    for wrong, says in (((maps, [0], page), "steps has 1"), ((maps, [0, 1, 2], other), "path must end"),
                        ((maps[0, 0], [0], page), "snapshots must be")):
        with pytest.raises(ValueError, match=says):
            plots.save_film(*wrong)
