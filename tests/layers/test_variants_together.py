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
    "causal blocks": lambda: na.BlockedAttention(causal=True, query_block=3, key_block=2),
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
           ("extra key", "relative bias"), ("extra key", "causal blocks"),
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


@pytest.mark.parametrize(("outer", "inner"), [pair for pair in PAIRS if pair not in REFUSED])
def test_padding_on_the_left_changes_nothing_in_any_pair(outer, inner):
    mha, x = randomise(build(outer, inner)), draw(2, T, H * d)
    padded, alone = na.KVCache(mha, T, batch=2), na.KVCache(mha, T, batch=1)
    positions = np.arange(T) - [[0], [2]]                       # the second sequence begins two tokens later
    out = np.concatenate([padded.step(x[:, t:t + 1], positions=positions[:, t:t + 1]) for t in range(T)], axis=1)
    short = np.concatenate([alone.step(x[1:, t:t + 1]) for t in range(2, T)], axis=1)
    assert_allclose(out[1:, 2:], short, rtol=0, atol=1e-13)
    assert_allclose(out[:1], mha(x[:1], mask=na.causal_mask(T)), rtol=0, atol=1e-13)


def test_a_wrapper_that_hands_no_places_on_is_named():
    class Deaf(na.Layer):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, Q, K, V, *, mask=None, query_offset=0):
            out = self.inner(Q, K, V, mask=mask, query_offset=query_offset)
            self.cache = dict(self.inner.cache)
            return out

    mha = na.MultiHeadAttention(H * d, H, rng=0, attention=Deaf(na.RotaryAttention(d)))
    cache = na.KVCache(mha, T, batch=2)
    cache.step(draw(2, 1, H * d))
    with pytest.raises(TypeError, match="Deaf takes no (query|key)_positions, which the RotaryAttention inside"):
        cache.step(draw(2, 1, H * d), positions=[1])
    assert len(cache) == 1


def test_relative_bias_of_each_sequences_own_places():
    attention = na.RelativeBiasAttention(H, num_buckets=8, max_distance=4, rng=2)
    Q, K, V = draw(3, H, 4, d), draw(3, H, 5, d, seed=1), draw(3, H, 5, 3, seed=2)
    queries, keys = np.array([[3, 4, 5, 6], [0, 1, 2, 3], [1, 2, 7, 8]]), np.arange(5) + [[0], [1], [2]]
    here = {"query_positions": queries, "key_positions": keys}
    heads = attention(Q, K, V, **here)
    for n in range(3):
        one = attention(Q[n:n + 1], K[n:n + 1], V[n:n + 1], query_positions=queries[n], key_positions=keys[n])
        assert_allclose(heads[n], one[0], rtol=0, atol=1e-14)
    na.check_gradients(attention, Q, K, V, **here).assert_ok()
    with pytest.raises(TypeError, match="must be whole numbers"):
        attention(Q, K, V, query_positions=[0.5, 1, 2, 3])
    with pytest.raises(ValueError, match="all heads share them"):
        attention(Q, K, V, query_positions=np.zeros((3, H, 4), int))


@pytest.mark.parametrize("outer", ["", *WRAPPERS])
def test_pictures_of_each(outer):
    mha = build(outer, "plain")
    mha(draw(T, H * d), mask=na.causal_mask(T))
    assert na.plot_heads(mha).alt_text
