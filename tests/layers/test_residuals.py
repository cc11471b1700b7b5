"""Blocks: the main road past both parts, biases on the scores, and errors found half way."""
import numpy as np
import pytest

import numpy_attention as na

from ..standard import D, L, N, S, draw, randomise

X, MEMORY = draw(N, L, D), draw(N, S, D, seed=1)
BLOCKS = {
    "encoder layer": (lambda **o: na.TransformerEncoderLayer(D, 2, 11, **o), (X,)),
    "encoder": (lambda **o: na.TransformerEncoder(2, D, 2, 11, **o), (X,)),
    "decoder layer": (lambda **o: na.TransformerDecoderLayer(D, 2, 11, **o), (X, MEMORY)),
    "decoder": (lambda **o: na.TransformerDecoder(2, D, 2, 11, **o), (X, MEMORY)),
}
ORDERS = pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])


def walk(layer):
    yield layer
    for inner in layer.sublayers().values():
        yield from walk(inner)


@ORDERS
def test_if_both_parts_say_nothing_x_passes(norm_first):
    layer = na.TransformerEncoderLayer(D, 2, 11, norm_first=norm_first, rng=0)
    for part in (layer.self_attn.output_proj, layer.feed_forward.down_proj):
        part.params["W"][...] = 0
    expected = X if norm_first else layer.norm2(layer.norm1(X))
    np.testing.assert_allclose(layer(X), expected, rtol=1e-12)
    if norm_first:      # the main road of pre-norm is a sum and nothing else
        np.testing.assert_array_equal(layer.backward(X), X)


@ORDERS
def test_a_query_that_sees_nothing_keeps_what_it_was(norm_first):
    layer = randomise(na.TransformerEncoderLayer(D, 2, 11, norm_first=norm_first))
    layer(X, mask=np.zeros((L, L), bool))
    b_O = layer.self_attn.output_proj.params["b"]
    np.testing.assert_allclose(layer.cache["attended"], np.broadcast_to(b_O, X.shape))
    assert np.isfinite(layer.backward(X)).all()


@ORDERS
@pytest.mark.parametrize("name", BLOCKS)
def test_biases_on_the_scores_have_gradients(name, norm_first):
    make, given = BLOCKS[name]
    options = {"bias": draw(L, L), "mask": na.causal_mask(L)}
    if len(given) == 2:
        options["memory_bias"] = draw(N, 2, L, S)
    layer = randomise(make(norm_first=norm_first, activation="gelu"))
    out = layer(*given, **options)
    dout = draw(*out.shape, seed=2)
    layer.backward(dout)
    for bias in {"bias", "memory_bias"} & set(options):
        step = np.zeros_like(options[bias])
        assert layer.grads[bias].shape == step.shape
        for cell in ((..., 0, 0), (..., 2, 1)):
            step[cell] = 1e-6
            up, down = (layer(*given, **{**options, bias: options[bias] + s}) for s in (step, -step))
            assert ((up - down) * dout).sum() / 2e-6 == pytest.approx(layer.grads[bias][cell].sum(), rel=1e-6, abs=1e-8)
            step[cell] = 0


@pytest.mark.parametrize("name", BLOCKS)
def test_every_part_has_its_dropout(name):
    make, given = BLOCKS[name]
    layer = make(dropout=0.25)
    drops = [inner for inner in walk(layer) if isinstance(inner, na.Dropout)]
    assert len(drops) == len(getattr(layer, "layers", [layer])) * (4 if len(given) == 1 else 6)
    assert {drop.p for drop in drops} == {0.25}
    assert not any(drop.training for drop in map(na.Layer.eval, drops))


@pytest.mark.parametrize("name", BLOCKS)
def test_float32_stays_float32_all_the_way(name):
    make, given = BLOCKS[name]
    layer = make(dtype=np.float32, dropout=0.2, norm_first=True, rng=0)
    layer(*(array.astype(np.float32) for array in given))
    layer.backward(X.astype(np.float32))
    arrays = [a for inner in walk(layer) for held in (inner.params, inner.cache, inner.grads) for a in held.values()
              if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    assert {a.dtype for a in arrays} == {np.dtype(np.float32)}


def test_an_error_half_way_leaves_every_cache_as_it_was():
    layer = na.TransformerDecoder(2, D, 2, 11, rng=0)
    layer(X, MEMORY)
    before = {id(inner): inner.cache for inner in walk(layer)}
    layer.layers[1].self_attn.query_proj.params["W"] = np.ones((D + 1, D))
    with pytest.raises(ValueError, match="query must have shape"):      # the first layer has run by then
        layer(X + 1, MEMORY)
    assert all(inner.cache is before[id(inner)] for inner in walk(layer))


@pytest.mark.parametrize(("options", "error", "message"), [
    ({"memory_mask": np.ones((L, L), bool)}, ValueError, r"^memory_mask must have shape \(L, S\) = \(4, 5\)"),
    ({"memory_mask": np.ones((L, S))}, TypeError, r"^memory_mask must be boolean"),
    ({"memory_bias": np.ones((L, L))}, ValueError, r"^memory_bias must have shape"),
    ({"mask": np.ones((L, S), bool)}, ValueError, r"^mask must have shape \(L, S\) = \(4, 4\)"),
])
def test_masks_are_told_apart(options, error, message):
    for name in ("decoder layer", "decoder"):
        make, given = BLOCKS[name]
        with pytest.raises(error, match=message):
            make()(*given, **options)
