"""A sink takes its part of every row, and with a logit of -∞ it is not there."""
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

from ..standard import MASK, QKV, H, L, N, S, d_k, d_v, draw


def test_without_a_logit_it_is_the_softmax():
    sink, plain, scores = na.SinkSoftmax(H), na.Softmax(), draw(N, H, L, S)
    sink.params["sink"] = np.full(H, -np.inf)
    assert_allclose(sink(scores, mask=MASK | True), plain(scores), rtol=0, atol=1e-15)
    assert_allclose(sink.backward(scores), plain.backward(scores), rtol=0, atol=1e-15)
    assert_array_equal(sink.grads["sink"], 0)


def test_a_query_that_sees_no_key_spends_everything_on_the_sink():
    attention = na.SinkAttention(H)
    heads = attention(*QKV, mask=MASK)
    assert_array_equal(heads[0, 0, 1], 0)
    assert_array_equal(attention.softmax.cache["unspent"][0, 0, 1], 1)
    assert_allclose(attention.weights.sum(axis=-1) + attention.softmax.cache["unspent"][..., 0], 1, rtol=0, atol=1e-15)


def test_huge_scores_and_logits_do_not_overflow():
    softmax = na.SinkSoftmax(1)
    for logit, score, share in ((1e5, 0.0, 0.0), (0.0, 1e5, 0.5), (-1e5, -1e5, 1 / 3)):
        softmax.params["sink"][:] = logit
        assert_allclose(softmax(np.full((1, 1, 2), score)), share, rtol=0, atol=1e-15)


def test_grouped_heads_and_hidden_nan():
    Q, K, V = draw(N, H, L, d_k), draw(N, 1, S, d_k), draw(N, 1, S, d_v)
    V[:, :, -1] = np.nan
    mask = np.arange(S) < S - 1
    assert np.isfinite(na.SinkAttention(H)(Q, K, V, mask=mask[None])).all()


def test_another_number_of_heads_is_refused():
    with pytest.raises(ValueError, match=r"scores must have shape \(\.\.\., H, L, S\) with H = 2; got"):
        na.SinkAttention(2)(*QKV)
