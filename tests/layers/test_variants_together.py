"""Every attention inside every other, where that makes sense: decoding, gradients, traces, files, pictures."""
import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

import numpy_attention as na

from ..standard import draw, randomise

H, d, T = 2, 4, 5
INNERMOST = {
    "plain": lambda: na.ScaledDotProductAttention(),
    "softcap": lambda: na.ScaledDotProductAttention(softcap=1.5, scale=0.7),
    "bias first": lambda: na.ScaledDotProductAttention(softcap=1.5, bias_first=True),
    "sink": lambda: na.SinkAttention(H),
    "blocked": lambda: na.BlockedAttention(query_block=3, key_block=2),
}
WRAPPERS = {
    "rotary": lambda inner: na.RotaryAttention(d, attention=inner),
    "part rotary": lambda inner: na.RotaryAttention(d, rotary_dim=2, interleaved=True, attention=inner),
    "qk-norm": lambda inner: na.QKNormAttention(d, attention=inner),
    "extra key": lambda inner: na.ExtraKeyAttention(H, d, d, zero=True, rng=1, attention=inner),
    "relative bias": lambda inner: na.RelativeBiasAttention(H, num_buckets=8, max_distance=4, rng=2, attention=inner),
}
# An extra key has no place, one layer holds both extra keys, and a rotation is not done twice.
REFUSED = {("extra key", "extra key"), ("extra key", "rotary"), ("extra key", "part rotary"),
           ("extra key", "relative bias"),
           ("rotary", "rotary"), ("rotary", "part rotary"), ("part rotary", "rotary"), ("part rotary", "part rotary")}
PAIRS = [*itertools.product(["", *WRAPPERS], INNERMOST), *itertools.product(WRAPPERS, WRAPPERS)]


def build(outer, inner):
    """An MHA whose attention is `inner`, wrapped in `outer`."""
    made = INNERMOST[inner]() if inner in INNERMOST else WRAPPERS[inner](na.ScaledDotProductAttention())
    return na.MultiHeadAttention(H * d, H, rng=0, attention=WRAPPERS[outer](made) if outer else made)


@pytest.mark.parametrize(("outer", "inner"), PAIRS)
def test_all_pairs(outer, inner, tmp_path):
    if (outer, inner) in REFUSED:
        with pytest.raises(ValueError, match="has no place|both extra keys|turned twice"):
            build(outer, inner)
        return
    mha, x = randomise(build(outer, inner)), draw(2, T, H * d)
    full = mha(x, mask=na.causal_mask(T))
    # Token by token is the full causal run.
    cache = na.KVCache(mha, T, batch=2)
    assert_allclose(np.concatenate([cache.step(x[:, t:t + 1]) for t in range(T)], axis=1), full, rtol=0, atol=1e-13)
    # A single sequence is a batch of one, masks and biases included.
    bias = draw(1, H, T, T, seed=3)
    assert_allclose(mha(x[0], mask=na.causal_mask(T), bias=bias), mha(x[:1], mask=na.causal_mask(T), bias=bias)[0],
                    rtol=0, atol=1e-13)
    na.check_gradients(mha, x, mask=na.causal_mask(T), bias=bias).assert_ok()
    # Traced, drawn, saved and loaded.
    mha.backward(draw(*mha(x, mask=na.causal_mask(T)).shape, seed=4))
    steps = [step.name for step in na.trace(mha)]
    assert {"heads", "out", "dx"} <= set(steps)
    assert len(set(steps)) == len(steps)
    assert mha.weights.shape[:3] == (2, H, T)
    twin = build(outer, inner)
    na.interop.save(mha, tmp_path / "parameters.npz")
    na.interop.load(twin, tmp_path / "parameters.npz")
    assert_allclose(twin(x, mask=na.causal_mask(T)), full, rtol=0, atol=1e-13)


@pytest.mark.parametrize("outer", ["", *WRAPPERS])
def test_pictures_of_each(outer):
    mha = build(outer, "plain")
    mha(draw(T, H * d), mask=na.causal_mask(T))
    assert na.plot_heads(mha).alt_text
