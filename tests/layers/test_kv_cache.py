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


def steps(cache, x, **options):
    return np.concatenate([cache.step(x[:, t:t + 1], **options) for t in range(x.shape[1])], axis=1)


@pytest.mark.parametrize("name", ["plain", "rotary", "rotary, grouped"])
def test_sequences_that_begin_later_decode_as_if_alone(name):
    # Padded on the left: the second text has 4 tokens, the first one 7.
    mha, x, lengths = randomise(LAYERS[name]()), draw(2, 7, D), (7, 4)
    cache = na.KVCache(mha, 9, batch=2)
    places = np.arange(7) - (7 - np.array(lengths)[:, None])
    outs = np.concatenate([cache.step(x[:, :5], positions=places[:, :5]), steps(cache, x[:, 5:])], axis=1)
    for n, length in enumerate(lengths):
        alone = mha(x[n:n + 1, 7 - length:], mask=na.causal_mask(length))
        assert_allclose(outs[n:n + 1, 7 - length:], alone, rtol=0, atol=1e-13)
    assert_array_equal(cache.weights[1, :, :, :3], 0)            # padding is seen by nobody


def test_crop_goes_back_and_reorder_follows_beams():
    mha, x = randomise(LAYERS["rotary"]()), draw(3, 6, D)
    cache = na.KVCache(mha, 8, batch=3)
    cache.step(x[:, :5])
    cache.crop(3)
    assert len(cache) == 3
    cache.reorder([2, 0, 0, 1])
    beams = x[[2, 0, 0, 1]]
    full = mha(beams, mask=na.causal_mask(6))
    assert_allclose(steps(cache, beams[:, 3:]), full[:, 3:], rtol=0, atol=1e-13)
    with pytest.raises(ValueError, match=r"length must lie in 0\.\.6, what can be gone back to; got 7"):
        cache.crop(7)
    with pytest.raises(ValueError, match=r"rows must be whole numbers in 0\.\.3, one for each sequence; got \[4\]"):
        cache.reorder([4])


def test_one_prefix_serves_many():
    mha, x = randomise(LAYERS["plain"]()), draw(1, 4, D)
    cache = na.KVCache(mha, 8, batch=1)
    cache.step(x)
    cache.reorder([0, 0, 0])
    more = draw(3, 2, D, seed=5)
    whole = np.concatenate([np.repeat(x, 3, axis=0), more], axis=1)
    assert_allclose(cache.step(more), mha(whole, mask=na.causal_mask(6))[:, 4:], rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["plain", "rotary", "grouped"])
@pytest.mark.parametrize("capacity", [3, 4, 7])
def test_a_window_forgets_what_is_out_of_sight(name, capacity):
    mha, x, window = randomise(LAYERS[name]()), draw(N, 20, D), 3
    full = mha(x, mask=na.window_mask(20, left=window - 1, right=0))
    cache = na.KVCache(mha, capacity, batch=N, window=window)
    assert_allclose(steps(cache, x), full, rtol=0, atol=1e-13)
    assert len(cache) == 20
    assert cache.forgotten >= 20 - capacity
    with pytest.raises(ValueError, match="the cache is full"):
        cache.step(draw(N, capacity + 1, D))
    with pytest.raises(ValueError, match=f"length must lie in {cache.forgotten + window - 1}..20"):
        cache.crop(0)


def test_going_back_with_a_window_is_right_or_refused():
    mha, x, window = randomise(LAYERS["rotary"]()), draw(N, 9, D), 3
    full = mha(x, mask=na.window_mask(9, left=window - 1, right=0))
    for length in range(9):
        cache = na.KVCache(mha, 5, batch=N, window=window)
        steps(cache, x[:, :8])
        assert cache.forgotten == 3
        if length < 5:                                      # token 5 sees token 3, token 4 would miss token 2
            with pytest.raises(ValueError, match=r"length must lie in 5\.\.8, .* \(its first 3 tokens are forgotten\)"):
                cache.crop(length)
            assert len(cache) == 8
        else:
            cache.crop(length)
            assert_allclose(steps(cache, x[:, length:]), full[:, length:], rtol=0, atol=1e-13)


def test_a_step_that_fails_forgets_nothing():
    mha, x = randomise(LAYERS["plain"]()), draw(N, 5, D)
    cache = na.KVCache(mha, 4, batch=N, window=2)
    steps(cache, x[:, :4])
    with pytest.raises(TypeError, match="mask must be boolean"):
        cache.step(x[:, 4:], mask=np.ones((1, 2)))
    assert (len(cache), cache.forgotten) == (4, 0)
    cache.crop(1)


def test_what_append_has_returned_stays_when_the_window_moves_on():
    cache = na.KVCache(LAYERS["plain"](), 2, batch=N, window=1)
    first, _ = cache.append(np.full((N, 2, 2, 4), 1.0), np.ones((N, 2, 2, 4)))
    cache.append(np.full((N, 2, 1, 4), 2.0), np.ones((N, 2, 1, 4)))
    assert (first == 1).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_precision_is_that_of_x_as_in_the_layer(dtype):
    mha, x = randomise(LAYERS["rotary"]()), draw(N, 4, D).astype(dtype)
    full, cache = mha(x, mask=na.causal_mask(4)), na.KVCache(mha, 4, batch=N)
    out = steps(cache, x)
    assert out.dtype == full.dtype == dtype
    assert_allclose(out, full, rtol=0, atol=2 * np.finfo(dtype).eps * np.abs(full).max())


@pytest.mark.parametrize(("x", "error", "says"), [
    (np.ma.ones((N, 1, D)), TypeError, "x is a masked array"), ([[["1"] * D]] * N, TypeError, "x must be an array of"),
    (np.ones((N, 1, D)) * 1j, TypeError, "K is complex128, and this cache keeps float64: make it with dtype=np.compl"),
])
def test_what_cannot_be_kept_is_refused(x, error, says):
    cache = na.KVCache(LAYERS["plain"](), 4, batch=N)
    with pytest.raises(error, match=says):
        cache.step(x)
    assert len(cache) == 0


def test_a_layer_whose_keys_have_another_width_has_no_cache():
    for widths in ({"kdim": 5}, {"vdim": 5}):
        with pytest.raises(ValueError, match="a KV cache is for self-attention"):
            na.KVCache(na.MultiHeadAttention(D, 2, **widths), 4)


def test_a_step_that_fails_keeps_nothing_and_says_why():
    mha, x = randomise(LAYERS["rotary"]()), draw(N, 4, D)
    cache = na.KVCache(mha, 8, batch=N)
    cache.step(x[:, :2])
    for positions, message in (([0.5, 1.5], "positions must be whole numbers"), ([1], r"shape \(T,\) or \(N, T\)")):
        with pytest.raises(ValueError, match=message):
            cache.step(x[:, 2:], positions=positions)
    with pytest.raises(TypeError, match="mask must be boolean"):
        cache.step(x[:, 2:], mask=np.ones((2, 4)), positions=[2, 3])
    assert len(cache) == 2
    assert_allclose(cache.step(x[:, 2:]), mha(x, mask=na.causal_mask(4))[:, 2:], rtol=0, atol=1e-13)


def test_a_single_sequence_takes_the_biases_of_a_batch():
    mha, x = randomise(LAYERS["plain"]()), draw(5, D)
    full = mha(x, mask=na.causal_mask(5), bias=na.alibi_bias(2, 5))
    cache = na.KVCache(mha, 8)
    outs = [cache.step(x[t:t + 1], bias=na.alibi_bias(2, 1, t + 1, offset=t)) for t in range(5)]
    assert_allclose(np.concatenate(outs), full, rtol=0, atol=1e-13)


class Wrapper(na.Layer):
    """A wrapper of one's own that does not hand on where the queries stand."""

    def __init__(self):
        super().__init__()
        self.inner = na.RotaryAttention(4)

    def forward(self, Q, K, V, *, mask=None, bias=None):
        heads = self.inner(Q, K, V, mask=mask, bias=bias)
        self.cache = dict(self.inner.cache)
        return heads


def test_what_cannot_decode_is_refused():
    with pytest.raises(TypeError, match="Wrapper cannot decode in steps: the RotaryAttention inside of it must know"):
        na.KVCache(na.MultiHeadAttention(D, 2, attention=Wrapper()), 8)
