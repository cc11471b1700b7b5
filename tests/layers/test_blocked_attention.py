"""BlockedAttention gives the direct layer's numbers, whatever the blocks and threads, in memory that grows with L."""
import threading
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na
from numpy_attention.engine import row_blocks
from numpy_attention.layers.variants.score_blocks import ScoreBlocks, are_small

from ..standard import MASK, QKV, D, H, L, N, S, d_k, d_v, draw

BIAS = {"LS": draw(L, S), "NLS": draw(N, L, S), "NHLS": draw(N, H, L, S), "H": draw(1, H, 1, 1), "S": draw(N, 1, 1, S)}


def both(blocked, direct, inputs, blocked_options=None, direct_options=None):
    """Largest differences of out, weights and all gradients."""
    out, expected = blocked(*inputs, **(blocked_options or {})), direct(*inputs, **(direct_options or {}))
    upstream = draw(*out.shape, seed=4)
    grads, wanted = blocked.backward(upstream), direct.backward(upstream)
    assert_allclose(out, expected, rtol=0, atol=2e-15)
    assert_allclose(blocked.weights, direct.weights, rtol=0, atol=2e-15)
    for grad, want in zip(grads, wanted, strict=True):
        assert_allclose(grad, want, rtol=0, atol=5e-15)
    if "bias" in direct.grads:
        assert blocked.grads["bias"].shape == direct.grads["bias"].shape
        assert_allclose(blocked.grads["bias"], direct.grads["bias"], rtol=0, atol=5e-15)


@pytest.mark.parametrize(("query_block", "key_block"), [(1, 1), (2, 3), (4, 5), (3, 2), (100, 100)])
@pytest.mark.parametrize("options", [{}, {"mask": MASK}, {"bias": BIAS["LS"]}, {"mask": MASK, "bias": BIAS["NLS"]}],
                         ids=["plain", "mask", "bias", "both"])
def test_any_block_size_agrees_with_the_direct_layer(query_block, key_block, options):
    both(na.BlockedAttention(query_block=query_block, key_block=key_block), na.ScaledDotProductAttention(),
         QKV, options, options)


@pytest.mark.parametrize(("query_block", "key_block"), [(1, 1), (2, 3), (3, 2), (100, 100)])
@pytest.mark.parametrize("options", [{}, {"mask": MASK}, {"bias": BIAS["LS"]}], ids=["plain", "mask", "bias"])
@pytest.mark.parametrize("factor", [1, 1e2, 1e4, 1e150])
def test_scores_of_any_size_agree_with_the_direct_layer(query_block, key_block, options, factor):
    Q, K, V = QKV
    blocked, direct = na.BlockedAttention(query_block=query_block, key_block=key_block), na.ScaledDotProductAttention()
    assert_allclose(blocked(Q * factor, K, V, **options), direct(Q * factor, K, V, **options), rtol=1e-11, atol=1e-12)
    upstream = draw(N, H, L, d_v, seed=4)
    for grad, want in zip(blocked.backward(upstream), direct.backward(upstream), strict=True):
        assert_allclose(grad, want, rtol=1e-8, atol=1e-10 * factor if factor < 1e5 else 1e140)
    assert_allclose(blocked.weights.sum(-1), direct.weights.sum(-1), rtol=1e-12)


def test_scores_are_called_small_when_no_exponential_can_leave_the_range():
    Q, K, _ = (array[0, 0].astype(np.float32) for array in QKV)
    with np.errstate(invalid="ignore"):
        assert [are_small(Q * np.float32(f), K, 1.0) for f in (1, -1, 1e-4, 1e4)] == [True, True, True, False]
        assert [are_small(Q, K, scale) for scale in (-1e4, 0.0)] == [False, True]
        assert not any(are_small(Q, np.where(K.max() == K, bad, K), 0.0) for bad in (np.nan, np.inf, -np.inf, 1e30))
    assert not are_small(Q.astype(complex), K, 1.0)
    for dtype in (np.float32, np.float64):                      # at the limit, in the worst row: no digit is lost
        edge = np.sqrt(np.log(np.finfo(dtype).max) / 3) * (1 - 1e-6)
        row, keys = np.array([[edge]], dtype), np.array([[edge], [-edge], [edge]], dtype)
        assert are_small(row, keys, 1.0)
        for columns, wanted in ((keys, [[0.5, 0.5]]), (-keys, [[0, 1]])):
            values = np.array([[1, 0], [0, 1], [0, 1]], dtype)
            heads = na.BlockedAttention(scale=1.0)(row, columns, values)
            assert_allclose(heads, wanted, rtol=1e-6, atol=1e-20)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("place", ["Q", "K", "V"])
@pytest.mark.parametrize("hidden", [True, False])
def test_numbers_that_are_none_are_seen_or_hidden_as_in_the_direct_layer(bad, place, hidden):
    arrays = {name: array.copy() for name, array in zip("QKV", QKV, strict=True)}
    arrays[place][0, 0, 2, 1] = bad
    mask = np.ones((L, S), bool)
    mask[2 if place == "Q" else slice(None), slice(None) if place == "Q" else 2] = not hidden
    blocked, direct = na.BlockedAttention(query_block=3, key_block=2), na.ScaledDotProductAttention()
    heads = blocked(*arrays.values(), mask=mask)
    assert_allclose(heads, direct(*arrays.values(), mask=mask), rtol=1e-12, atol=1e-14)
    assert np.isfinite(heads).all() or not hidden
    grads, wanted = blocked.backward(draw(*heads.shape)), direct.backward(draw(*heads.shape))
    for grad, want in zip(grads, wanted, strict=True):
        if hidden:
            assert_allclose(grad, want, rtol=1e-9, atol=1e-12)
            assert np.isfinite(grad).all()
        else:                       # elsewhere the numbers stay right; what the bad one touches may be NaN in either
            untouched = np.isfinite(want) & (np.abs(want) < 1e100)
            assert_allclose(grad[1:][untouched[1:]], want[1:][untouched[1:]], rtol=1e-9, atol=1e-12)


def test_float32_is_as_right_as_float32_can_be():
    for factor in (1, 30, 1e4):
        Q, K, V, dheads = (draw(1, 2, 70, 16, seed=seed).astype(np.float32) for seed in range(4))
        exact = na.ScaledDotProductAttention()
        expected = exact((Q * np.float32(factor)).astype(float), K.astype(float), V.astype(float))
        attention = na.BlockedAttention(query_block=16, key_block=32)
        heads = attention(Q * np.float32(factor), K, V)
        assert heads.dtype == np.float32
        assert_allclose(heads, expected, rtol=0, atol=2e-6 * max(1, factor))
        assert_allclose(attention.weights.sum(-1), 1, rtol=1e-7 * max(100, factor))   # log_sum has 24 bits, too
        for grad in attention.backward(dheads):
            assert grad.dtype == np.float32


def test_complex_scores_are_the_direct_layer_s():
    Q, K, V = (array + 0.1j * draw(*array.shape, seed=9) for array in QKV)
    both(na.BlockedAttention(query_block=3, key_block=2), na.ScaledDotProductAttention(), (Q, K, V))


def test_two_threads_with_one_layer_get_their_own_answers(monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK", 0)
    attention = na.BlockedAttention(query_block=16, key_block=16)
    inputs = [[draw(1, 2, 96, 8, seed=3 * i + j) for j in range(3)] for i in range(2)]
    expected = [na.ScaledDotProductAttention()(*QKV) for QKV in inputs]
    worst = [0.0, 0.0]

    def work(i):
        for _ in range(40):
            worst[i] = max(worst[i], np.abs(attention(*inputs[i]) - expected[i]).max())

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(worst) < 1e-14


def test_an_error_in_one_head_leaves_the_layer_as_it_was(monkeypatch):
    attention = na.BlockedAttention()
    attention(*QKV)
    before = attention.cache

    def fails(*_):
        raise MemoryError
    monkeypatch.setattr(ScoreBlocks, "mix", fails)
    with pytest.raises(MemoryError):
        attention(*QKV)
    assert attention.cache is before


@pytest.mark.parametrize("name", BIAS)
def test_a_bias_of_every_rank_gets_its_gradient(name):
    both(na.BlockedAttention(query_block=3, key_block=2), na.ScaledDotProductAttention(), QKV,
         {"bias": BIAS[name]}, {"bias": BIAS[name]})


@pytest.mark.parametrize("offset", [0, 1, -2, 9, -9])
def test_causal_without_a_mask_is_the_causal_mask(offset):
    both(na.BlockedAttention(query_block=2, key_block=2, causal=True, offset=offset), na.ScaledDotProductAttention(),
         QKV, {}, {"mask": na.causal_mask(L, S, offset=offset)})


def test_grouped_heads_and_scale():
    inputs = draw(N, 6, L, d_k), draw(N, 2, S, d_k), draw(N, 2, S, d_v)
    both(na.BlockedAttention(query_block=3, key_block=2, scale=0.3), na.ScaledDotProductAttention(scale=0.3), inputs)


@pytest.mark.parametrize("options", [{}, {"causal": True, "offset": 1}])
def test_gradients_are_right(options):
    inputs = [array[:1, :2] for array in QKV]       # a block costs its overhead each time: two heads are enough
    attention = na.BlockedAttention(query_block=3, key_block=3, **options)
    na.check_gradients(attention, *inputs, mask=MASK[:1, :2], bias=BIAS["LS"]).assert_ok()


def test_inside_multi_head_attention():
    x = draw(N, L, D)
    blocked, direct = (na.MultiHeadAttention(D, 2, rng=0, attention=attention)
                       for attention in (na.BlockedAttention(query_block=3, key_block=2, causal=True), None))
    assert_allclose(blocked(x), direct(x, mask=na.causal_mask(L)), rtol=0, atol=2e-15)
    assert_allclose(blocked.backward(x), direct.backward(x), rtol=0, atol=5e-15)
    assert [step.name for step in na.trace(blocked)][4:7] == ["running", "log_sum", "heads"]


@pytest.mark.parametrize("factor", [1, 1e3])
def test_the_running_table_ends_at_the_row_s_log_sum(factor):
    Q, K, V = QKV
    attention = na.BlockedAttention(query_block=3, key_block=2)
    attention(Q * factor, K, V)
    shift, total = attention.cache["running"].T
    scores = (Q[0, 0, -1] * factor) @ K[0, 0].T / np.sqrt(d_k)
    if factor == 1:
        assert (shift == 0).all()
    else:
        assert_allclose(shift, [scores[:2].max(), scores[:4].max(), scores.max()])
    with np.errstate(under="ignore"):
        assert_allclose(total, [np.exp(scores[:end] - at).sum() for end, at in zip((2, 4, 5), shift, strict=True)])
    assert_allclose(shift[-1] + np.log(total[-1]), attention.cache["log_sum"][0, 0, -1, 0])


def test_dropout_meets_the_same_holes_in_backward_whatever_the_threads(monkeypatch):
    results = []
    for threads in (1, 2, 7):
        monkeypatch.setattr(row_blocks, "THREADS", threads)
        monkeypatch.setattr(row_blocks, "BLOCK", 0)
        attention = na.BlockedAttention(query_block=3, key_block=2, dropout=0.4, rng=1)
        heads = attention(*QKV)
        results.append([heads, *attention.backward(draw(*heads.shape))])
    for result in results[1:]:
        for one, other in zip(result, results[0], strict=True):
            assert_array_equal(one, other)
    # Along any direction the loss changes as the gradients say: the holes are the same ones.
    attention, step = na.BlockedAttention(dropout=0.4), 1e-6
    for change in range(3):
        losses = []
        for sign in (1, -1):
            moved = [a + sign * step * draw(*a.shape, seed=7) * (i == change) for i, a in enumerate(QKV)]
            attention.rng = np.random.default_rng(5)
            losses.append((attention(*moved) * draw(N, H, L, d_v, seed=2)).sum())
        attention.rng = np.random.default_rng(5)
        attention(*QKV)
        grads = attention.backward(draw(N, H, L, d_v, seed=2))
        assert_allclose((losses[0] - losses[1]) / (2 * step), (grads[change] * draw(*QKV[change].shape, seed=7)).sum(),
                        rtol=1e-7)


def test_hidden_nan_and_rows_that_see_nothing():
    Q, K, V = (a.copy() for a in QKV)
    mask = np.ones((N, H, L, S), bool)
    mask[..., 3], mask[:, :, 1] = False, False
    K[..., 3, :], V[..., 3, :] = np.nan, np.inf
    attention = na.BlockedAttention(query_block=3, key_block=2)
    with np.errstate(all="raise"):
        heads = attention(Q, K, V, mask=mask)
        grads = attention.backward(draw(*heads.shape))
    assert np.isfinite(heads).all()
    assert (heads[:, :, 1] == 0).all()
    assert all(np.isfinite(grad).all() for grad in grads)
    assert (grads[0][:, :, 1] == 0).all()
    assert (grads[1][..., 3, :] == 0).all()


def test_huge_scores_and_empty_arrays():
    Q, K, V = np.array([[1e200], [1.]]), np.array([[1e100], [-1e100], [0.]]), np.eye(3)
    assert_array_equal(na.BlockedAttention(key_block=1, scale=1.)(Q, K, V), [[1, 0, 0], [1, 0, 0]])
    for lengths in ((0, 3), (3, 0), (1, 1), (0, 0)):
        Q, K, V = np.ones((2, lengths[0], 4)), np.ones((2, lengths[1], 4)), np.ones((2, lengths[1], 5))
        attention = na.BlockedAttention()
        assert attention(Q, K, V).shape == (2, lengths[0], 5)
        assert [g.shape for g in attention.backward(np.ones((2, lengths[0], 5)))] == [a.shape for a in (Q, K, V)]


@pytest.mark.parametrize("options", [{"query_block": 0}, {"key_block": -1}, {"query_block": 2.0}, {"key_block": True},
                                     {"dropout": 1.0}])
def test_impossible_blocks_are_refused(options):
    with pytest.raises((ValueError, TypeError), match=r"_block must be|p is the probability"):
        na.BlockedAttention(**options)


def test_causal_with_other_lengths_wants_an_offset():
    with pytest.raises(ValueError, match="offset must be given when S differs from L"):
        na.BlockedAttention(causal=True)(*QKV)


def test_memory_grows_with_the_length_not_with_its_square():
    peaks = []
    for length in (512, 1024, 2048):
        x = np.ones((length, 8), np.float32)
        attention = na.BlockedAttention(query_block=64, key_block=64)
        tracemalloc.start()
        attention(x, x, x)
        attention.backward(x)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 5 * peaks[0]              # a table would take 16 times as much
    assert peaks[2] < 2048 * 2048 * 4 / 10


@pytest.mark.parametrize(("options", "message"), [
    ({"scale": np.nan}, "scale must be a finite number"), ({"scale": True}, "scale must be a finite number"),
    ({"scale": np.ones(3)}, "scale must be a finite number"), ({"scale": "2"}, "scale must be a finite number"),
    ({"causal": True, "offset": 1.5}, "offset must be a whole number"), ({"offset": 3}, "offset is the place of the")])
def test_what_its_twin_refuses_it_refuses(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        na.BlockedAttention(**options)


def test_a_causal_one_decodes_in_steps():
    mha = na.MultiHeadAttention(8, 2, rng=0, attention=na.BlockedAttention(query_block=2, key_block=2, causal=True))
    x = draw(2, 5, 8)
    cache = na.KVCache(mha, 5, batch=2)
    steps = np.concatenate([cache.step(x[:, :2]), cache.step(x[:, 2:3]), cache.step(x[:, 3:])], axis=1)
    assert_allclose(steps, mha(x), rtol=0, atol=1e-14)
