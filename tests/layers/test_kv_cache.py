"""Decoding in chunks is the full causal run, to the last digits; a cache that is full or misused says so."""
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

from ..standard import D, N, draw, randomise

T = 64
LAYERS = {
    "plain": lambda: na.MultiHeadAttention(D, 2, rng=0),
    "widths of its own": lambda: na.MultiHeadAttention(D, 3, d_k=4, d_v=5, rng=0),
    "grouped": lambda: na.MultiHeadAttention(D, 4, num_kv_heads=2, rng=0),
    "one key/value head": lambda: na.MultiHeadAttention(D, 4, num_kv_heads=1, rng=0),
    "rotary": lambda: na.MultiHeadAttention(D, 2, attention=na.RotaryAttention(4), rng=0),
    "rotary, grouped": lambda: na.MultiHeadAttention(D, 4, num_kv_heads=2, attention=na.RotaryAttention(2), rng=0),
    "softcap": lambda: na.MultiHeadAttention(D, 2, attention=na.ScaledDotProductAttention(softcap=1.0), rng=0),
}


@pytest.mark.parametrize("chunks", [[1] * T, [T], [10, 1, 1, 30, 22], [0, 63, 0, 1]], ids=["tokens", "all", "mixed",
                                                                                          "empty ones"])
@pytest.mark.parametrize("name", LAYERS)
def test_chunks_equal_the_full_causal_run(name, chunks):
    mha, x = randomise(LAYERS[name]()), draw(N, T, D)
    full = mha(x, mask=na.causal_mask(T))
    weights = mha.weights
    cache = na.KVCache(mha, T, batch=N)
    start, outs = 0, []
    for size in chunks:
        outs.append(cache.step(x[:, start:start + size]))
        assert len(cache) == start + size
        assert_allclose(cache.weights, weights[:, :, start:start + size, :start + size], rtol=1e-11, atol=1e-14)
        start += size
    assert_allclose(np.concatenate(outs, axis=1), full, rtol=0, atol=1e-13)


def test_a_single_sequence_needs_no_batch_axis():
    mha, x = randomise(LAYERS["rotary"]()), draw(9, D)
    cache = na.KVCache(mha, 9)
    outs = [cache.step(x[:4]), cache.step(x[4:])]
    assert_allclose(np.concatenate(outs), mha(x, mask=na.causal_mask(9)), rtol=0, atol=1e-13)


def test_masks_and_biases_reach_the_kept_keys():
    mha, x = randomise(LAYERS["plain"]()), draw(N, 6, D)
    mask, bias = na.padding_mask([6, 3], 6), na.alibi_bias(2, 6)
    full = mha(x, mask=mask & na.causal_mask(6), bias=bias)
    cache = na.KVCache(mha, 6, batch=N)
    outs = [cache.step(x[:, t:t + 1], mask=mask[..., :t + 1], bias=bias[:, :, t:t + 1, :t + 1]) for t in range(6)]
    assert_allclose(np.concatenate(outs, axis=1), full, rtol=0, atol=1e-13)


def test_the_layer_itself_is_left_alone():
    mha, x = randomise(na.MultiHeadAttention(D, 2, dropout=0.5, rng=0)), draw(N, 3, D)
    out = mha(x)
    cached, dx = dict(mha.cache), mha.backward(np.ones_like(out))
    cache = na.KVCache(mha, 8, batch=N)
    first = cache.step(x)
    cache.clear()
    assert_array_equal(cache.step(x), first)        # no dropout while decoding
    assert all(mha.cache[name] is array for name, array in cached.items())
    assert mha.training
    assert_array_equal(mha.backward(np.ones_like(out)), dx)


def test_clear_starts_again():
    mha, x = randomise(LAYERS["rotary"]()), draw(N, 5, D)
    cache = na.KVCache(mha, 5, batch=N)
    first = cache.step(x)
    cache.clear()
    assert len(cache) == 0
    assert_array_equal(cache.step(x), first)


def test_a_full_cache_says_so_and_keeps_nothing():
    mha, x = randomise(LAYERS["plain"]()), draw(N, 5, D)
    cache, twin = na.KVCache(mha, 4, batch=N), na.KVCache(mha, 4, batch=N)
    cache.step(x[:, :3])
    twin.step(x[:, :3])
    with pytest.raises(ValueError, match="the cache is full: it holds 3 of 4 tokens and cannot take 2 more"):
        cache.step(x[:, 3:])
    assert len(cache) == 3
    assert_array_equal(cache.step(x[:, 3:4]), twin.step(x[:, 3:4]))


@pytest.mark.parametrize("x", [np.zeros((N + 1, 1, D)), np.zeros((N, 1, D + 1)), np.zeros((1, D)), np.zeros(D)])
def test_a_step_of_the_wrong_shape(x):
    cache = na.KVCache(LAYERS["plain"](), 4, batch=N)
    with pytest.raises(ValueError, match=rf"x must have shape \(N, T, D\) = \({N}, T, {D}\); got ") as raised:
        cache.step(x)
    assert str(x.shape) in str(raised.value)
    assert len(cache) == 0


def test_a_step_that_fails_keeps_nothing():
    cache = na.KVCache(LAYERS["plain"](), 4, batch=N)
    cache.step(np.zeros((N, 1, D)))
    with pytest.raises(ValueError, match="bias must have shape"):
        cache.step(np.zeros((N, 1, D)), bias=np.zeros((7, 7)))
    assert len(cache) == 1


def test_kept_keys_cannot_be_edited_through_what_append_returns():
    cache = na.KVCache(LAYERS["plain"](), 4, batch=N)
    K, V = cache.append(np.ones((N, 2, 1, 4)), np.ones((N, 2, 1, 4)))
    for array in (K, V):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(ValueError, match="V must have shape"):
        cache.append(np.ones((N, 2, 1, 4)), np.ones((N, 2, 2, 4)))
    assert len(cache) == 1


@pytest.mark.parametrize(("capacity", "batch"), [(0, 1), (-1, None), (2.0, 1), (2, 0), (2, True)])
def test_sizes(capacity, batch):
    with pytest.raises((TypeError, ValueError), match=r"(capacity|batch) must be"):
        na.KVCache(LAYERS["plain"](), capacity, batch=batch)


def test_a_place_is_told_to_whatever_asks_for_it():
    class Wrapped(na.Layer):
        def __init__(self):
            super().__init__()
            self.inner = na.RotaryAttention(4)

        def forward(self, Q, K, V, *, mask=None, query_offset=0):
            heads = self.inner(Q, K, V, mask=mask, query_offset=query_offset)
            self.cache = dict(self.inner.cache)
            return heads

    for attention in (Wrapped(), na.QKNormAttention(4, attention=na.RotaryAttention(4)), na.QKNormAttention(4)):
        mha = na.MultiHeadAttention(8, 2, attention=attention, rng=0)
        x = np.random.default_rng(1).standard_normal((1, 5, 8))
        cache = na.KVCache(mha, 8, batch=1)
        steps = np.concatenate([cache.step(x[:, i:i + 1]) for i in range(5)], axis=1)
        assert np.allclose(steps, mha(x, mask=na.causal_mask(5)), rtol=0, atol=1e-14)
