"""Scaled dot-product attention: what its weights mean, what hidden things may not do, and what it costs."""
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

from ..standard import MASK, QKV, H, L, N, S, d_k, d_v, draw, run

DHEADS = draw(N, H, L, d_v, seed=5)


def attend(Q, K, V, dheads=DHEADS, settings=None, **options):
    """heads, weights and the three gradients."""
    attention = na.ScaledDotProductAttention(**settings or {})
    heads = attention(Q, K, V, **options)
    return heads, attention.weights, *attention.backward(dheads)


def assert_same(found, expected, **tolerance):
    for mine, theirs in zip(found, expected, strict=True):
        (assert_allclose if tolerance else assert_array_equal)(mine, theirs, **tolerance)


# ---- what the weights mean

def test_each_row_of_weights_is_one_whole_spent():
    _, weights, *_ = attend(*QKV)
    assert_allclose(weights.sum(axis=-1), np.ones((N, H, L)), rtol=1e-14)
    assert ((weights > 0) & (weights < 1)).all()


def test_the_scale_is_the_heads_width():
    # 0.804430 is √8, the model's width; 0.982014 no scale at all; 0.999665 a product instead of a quotient.
    attention = na.ScaledDotProductAttention()
    attention(np.ones((1, 4)), np.array([np.ones(4), np.zeros(4)]), np.zeros((2, 7)))
    assert_allclose(attention.weights, [[0.880797, 0.119203]], atol=1e-6)


def test_a_single_key_takes_it_all():
    heads, weights, dQ, dK, dV = attend(QKV[0], QKV[1][..., :1, :], QKV[2][..., :1, :])
    assert_array_equal(weights, np.ones((N, H, L, 1)))
    assert_array_equal(heads, np.broadcast_to(QKV[2][..., :1, :], heads.shape))
    assert not dQ.any()
    assert not dK.any()
    assert_allclose(dV[..., 0, :], DHEADS.sum(axis=2), rtol=1e-12)


def test_when_all_values_say_the_same_there_is_nothing_to_learn_about_where_to_look():
    V = np.broadcast_to(QKV[2][:, :, :1], QKV[2].shape)
    _, _, dQ, dK, _ = attend(QKV[0], QKV[1], V)
    assert_allclose(dQ, np.zeros_like(dQ), atol=1e-15)
    assert_allclose(dK, np.zeros_like(dK), atol=1e-15)


def test_permuting_queries_permutes_the_answers():
    order = [2, 0, 3, 1]
    heads, weights, dQ, dK, dV = attend(*QKV, mask=MASK)
    found = attend(QKV[0][:, :, order], *QKV[1:], DHEADS[:, :, order], mask=MASK[:, :, order])
    assert_same(found, (heads[:, :, order], weights[:, :, order], dQ[:, :, order], dK, dV), rtol=1e-12, atol=1e-14)


def test_permuting_keys_and_values_together_changes_nothing():
    order = [4, 0, 3, 1, 2]
    heads, weights, dQ, dK, dV = attend(*QKV, mask=MASK)
    found = attend(QKV[0], QKV[1][:, :, order], QKV[2][:, :, order], mask=MASK[..., order])
    expected = heads, weights[..., order], dQ, dK[:, :, order], dV[:, :, order]
    assert_same(found, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3), (2, 3, 2)])
def test_leading_axes_are_independent(lead):
    # Whatever stands in front is a loop over separate attentions, forward and backward.
    Q, K, V, dheads = draw(*lead, L, d_k), draw(*lead, S, d_k), draw(*lead, S, d_v), draw(*lead, L, d_v)
    together = attend(Q, K, V, dheads)
    for index in np.ndindex(lead):
        assert_same([array[index] for array in together], attend(Q[index], K[index], V[index], dheads[index]),
                    rtol=1e-12, atol=1e-15)


# ---- what is hidden

def test_a_query_that_sees_nothing():
    # Minus infinity minus itself is NaN: every parameter of a model used to be lost to one such row.
    with np.errstate(all="raise"):
        found = attend(np.eye(2), np.eye(2), [[1, 2], [3, 4]], np.ones((2, 2)), mask=[[True, True], [False, False]])
    expected = ([[1.660477, 2.660477], [0, 0]], [[0.669762, 0.330238], [0, 0]], [[-0.625594, 0.625594], [0, 0]],
                [[-0.625594, 0], [0.625594, 0]], [[0.669762, 0.669762], [0.330238, 0.330238]])
    assert_same(found, expected, atol=1e-6)
    for array in found[:3]:
        assert not array[1].any()


def test_hidden_cells_are_exactly_zero_forward_and_backward():
    attention = na.ScaledDotProductAttention()
    attention(*QKV, mask=MASK)
    attention.backward(DHEADS)
    assert not attention.weights[~MASK].any()
    assert not attention.grads["scores"][~MASK].any()
    assert np.isfinite(attention.cache["scores"]).all()     # as computed, before the mask
    assert_allclose(attention.weights.sum(axis=-1), MASK.any(axis=-1), rtol=1e-14)


@pytest.mark.parametrize("content", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("where", ["key", "value", "both"])
@pytest.mark.parametrize("settings", [{}, {"softcap": 1.5}, {"scale": 0.0}, {"scale": -2.0}], ids=str)
@pytest.mark.parametrize("how", ["mask", "bias"])
def test_what_a_hidden_key_or_value_holds_changes_nothing(where, content, settings, how):
    mask = MASK.copy()
    mask[..., 3] = False
    options = {"mask": mask} if how == "mask" else {"bias": np.where(mask, 0.5, -np.inf)}
    expected = attend(*QKV, settings=settings, **options)
    Q, K, V = (array.copy() for array in QKV)
    if where != "value":
        K[:, :, 3] = content
    if where != "key":
        V[:, :, 3, ::2] = content
    found = attend(Q, K, V, settings=settings, **options)
    assert_same(found, expected)
    assert not found[3][:, :, 3].any()
    assert not found[4][:, :, 3].any()


def test_hidden_for_some_queries_only():
    # Key 4 may be seen by the last query alone: its NaN is that query's affair.
    mask = na.causal_mask(S)
    Q, K, V = draw(S, d_k), draw(S, d_k), draw(S, d_v)
    expected = na.ScaledDotProductAttention()(Q, K, V, mask=mask)
    V[4, 0] = np.nan
    heads = na.ScaledDotProductAttention()(Q, K, V, mask=mask)
    assert_array_equal(heads[:4], expected[:4])
    assert_array_equal(np.isnan(heads[4]), np.arange(d_v) == 0)


@pytest.mark.parametrize("content", [np.nan, np.inf, 1e200])
def test_what_a_query_that_sees_nothing_holds_changes_nothing(content):
    expected = attend(*QKV, mask=MASK)
    Q = QKV[0].copy()
    Q[0, 0, 1] = content
    assert_same(attend(Q, *QKV[1:], mask=MASK), expected)


def test_nan_in_the_open_shows_itself():
    V = QKV[2].copy()
    V[0, 0, 2, 1] = np.nan
    heads, *_ = attend(*QKV[:2], V)
    assert np.isnan(heads[0, 0, :, 1]).all()
    assert np.isnan(heads).sum() == L


def test_the_future_cannot_leak():
    mask = na.causal_mask(S)
    Q, K, V, dheads = draw(S, d_k), draw(S, d_k), draw(S, d_v), draw(S, d_v, seed=1)
    before = attend(Q, K, V, dheads, mask=mask)
    for t in range(S):
        Q2, K2, V2 = Q.copy(), K.copy(), V.copy()
        Q2[t], K2[t], V2[t] = draw(d_k, seed=2), draw(d_k, seed=3), draw(d_v, seed=4)
        after = attend(Q2, K2, V2, dheads, mask=mask)
        assert_array_equal(after[0][:t], before[0][:t])
        assert_array_equal(after[1][:t], before[1][:t])
        assert not np.allclose(after[0][t:], before[0][t:])


@pytest.mark.parametrize(("alignment", "offset"), [("top left", 0), ("bottom right", S - L)])
def test_causal_with_more_keys_than_queries(alignment, offset):
    _, weights, *_ = attend(*QKV, mask=na.causal_mask(L, S, offset=offset))
    seen = np.arange(S) <= np.arange(L)[:, None] + offset
    assert_array_equal(weights > 0, np.broadcast_to(seen, weights.shape))


def test_more_queries_than_keys_aligned_at_the_end_leave_rows_without_keys():
    heads, weights, dQ, dK, dV = attend(draw(4, 3), draw(2, 3), draw(2, 5), draw(4, 5),
                                        mask=na.causal_mask(4, 2, offset=-2))
    for array in (heads, weights, dQ):
        assert not array[:2].any()
        assert array[2:].any()
    assert all(np.isfinite(array).all() for array in (dQ, dK, dV))


# ---- large scores

@pytest.mark.parametrize("size", [1e3, 1e150])
def test_large_scores_stay_finite(size):
    found = attend(size * QKV[0], size * QKV[1], QKV[2])
    assert all(np.isfinite(array).all() for array in found)
    assert_allclose(found[1].sum(axis=-1), np.ones((N, H, L)), rtol=1e-14)


def test_scores_near_the_largest_number():
    # Products of ±1e308; their differences overflow to an infinity that must not become NaN.
    Q, K = np.array([[1e154], [-1e154]]), np.array([[1e154], [-1e154], [0.0]])
    heads, weights, dQ, dK, dV = attend(Q, K, np.eye(3), draw(2, 3))
    assert_array_equal(weights, [[1, 0, 0], [0, 1, 0]])
    assert all(np.isfinite(array).all() for array in (heads, dQ, dK, dV))


# ---- dropout

def test_weights_are_the_ones_before_dropout():
    # A student who sees rows that sum to 2 or 0 thinks that the softmax is broken.
    attention, plain = na.ScaledDotProductAttention(dropout=0.5, rng=3), na.ScaledDotProductAttention()
    heads = attention(*QKV)
    plain(*QKV)
    assert_array_equal(attention.weights, plain.weights)
    dropped = attention.cache["dropped"]
    assert_array_equal(np.unique(dropped / attention.weights), [0, 2])
    assert_allclose(heads, dropped @ QKV[2], rtol=1e-13)


def test_backward_goes_through_the_saved_holes():
    attention = na.ScaledDotProductAttention(dropout=0.5, rng=3)
    attention(*QKV, mask=MASK)
    dropped, weights = attention.cache["dropped"], attention.weights
    _, _, dV = attention.backward(DHEADS)
    assert_allclose(dV, dropped.mT @ DHEADS, rtol=1e-13)
    felt = weights * np.where(dropped > 0, 2 * (DHEADS @ QKV[2].mT), 0)
    assert_allclose(attention.grads["scores"], felt - weights * felt.sum(axis=-1, keepdims=True), atol=1e-13)


def test_eval_is_bit_identical_to_no_dropout_and_train_switches_back():
    attention, plain = na.ScaledDotProductAttention(dropout=0.5, rng=3).eval(), na.ScaledDotProductAttention()
    assert_array_equal(attention(*QKV), plain(*QKV))
    for mine, theirs in zip(attention.backward(DHEADS), plain.backward(DHEADS), strict=True):
        assert_array_equal(mine, theirs)
    assert not np.allclose(attention.train()(*QKV), plain(*QKV))


def test_looking_draws_nothing():
    looked, blind = (na.ScaledDotProductAttention(dropout=0.5, rng=3) for _ in range(2))
    looked(*QKV)
    _ = looked.weights, looked.cache["dropped"], repr(looked)
    blind(*QKV)
    assert_array_equal(looked(*QKV), blind(*QKV))


# ---- costs

def test_memory_is_a_small_multiple_of_the_weights():
    # The Jacobians of all rows would take 8.6 GB here; the vector-Jacobian product needs none of them.
    H, L, d = 8, 512, 16
    Q, K, V, dheads = (draw(H, L, d, seed=seed) for seed in range(4))
    attention = na.ScaledDotProductAttention()
    tracemalloc.start()
    try:
        attention(Q, K, V, mask=na.causal_mask(L))
        attention.backward(dheads)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * attention.weights.nbytes


# ---- empty axes

@pytest.mark.parametrize(("N", "L", "S"), [(0, 4, 5), (2, 0, 5), (2, 4, 0), (0, 0, 0), (2, 0, 0)])
def test_empty_batches_and_sequences(N, L, S):
    found = attend(draw(N, H, L, d_k), draw(N, H, S, d_k), draw(N, H, S, d_v), draw(N, H, L, d_v))
    assert [array.shape for array in found] == [(N, H, L, d_v), (N, H, L, S), (N, H, L, d_k), (N, H, S, d_k),
                                                (N, H, S, d_v)]
    assert not any(array.any() for array in (found[0], *found[2:]))


# ---- refusals

@pytest.mark.parametrize(("Q", "K", "V", "message"), [
    ((L, d_k), (S, d_k), (L, d_v), r"share the source length S"),
    ((L, d_k), (S, d_k + 1), (S, d_v), r"share the width d_k"),
    ((L, d_k), (d_k, S), (S, d_v), r"share the width d_k.*was K transposed already\?"),
    ((2, L, d_k), (3, S, d_k), (3, S, d_v), r"leading axes"),
    ((2, L, d_k), (S, d_k), (S, d_v), r"leading axes"),
    ((d_k,), (S, d_k), (S, d_v), r"must have shapes \(\.\.\., L, d_k\)"),
    ((L, d_k), (), (S, d_v), r"must have shapes"),
    ((L, 0), (S, 0), (S, d_v), "d_k must be at least 1"),
])
def test_shapes_that_do_not_fit_are_all_told(Q, K, V, message):
    with pytest.raises(ValueError, match=message) as raised:
        na.ScaledDotProductAttention()(np.zeros(Q), np.zeros(K), np.zeros(V))
    for name, shape in (("Q", Q), ("K", K), ("V", V)):
        assert f"{name} is {shape}" in str(raised.value)


@pytest.mark.parametrize("scale", ["0.5", True, np.nan, np.inf, [1.0], np.ones(2)])
def test_scales_that_are_no_numbers(scale):
    with pytest.raises(ValueError, match="scale must be a finite number, or None for 1/√d_k; got "):
        na.ScaledDotProductAttention(scale=scale)


@pytest.mark.parametrize("softcap", [0, -1.0, np.nan, np.inf])
def test_caps_that_are_none(softcap):
    with pytest.raises(ValueError, match="softcap must be a positive finite number, or None for no cap; got "):
        na.ScaledDotProductAttention(softcap=softcap)


def test_weights_before_a_forward_pass():
    with pytest.raises(RuntimeError, match="call attention"):
        _ = na.ScaledDotProductAttention().weights


def test_looking_at_the_weights_changes_nothing():
    first, second = na.ScaledDotProductAttention(), na.ScaledDotProductAttention()
    looked = run(first, QKV, {"mask": MASK})
    with pytest.raises(ValueError, match="read-only"):
        first.weights[...] = 0
    second(*QKV, mask=MASK)
    assert np.array_equal(second.weights, first.weights)
    assert_same(second.backward(draw(*looked[0].shape, seed=9)), looked[1])
