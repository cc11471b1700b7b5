"""Splitting and merging only move numbers: the wrong move has the right shape, so the numbers are what is tested."""
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

from ..standard import D, H, L, N, d_v, draw


def test_a_head_gets_its_own_columns():
    # Reshaping without the transpose would give head 0 the numbers 0 to 7: whole tokens instead of columns.
    heads = na.SplitHeads(3)(np.arange(24).reshape(1, 4, 6))
    assert_array_equal(heads[0, 0], [[0, 1], [6, 7], [12, 13], [18, 19]])
    assert_array_equal(heads[0, 2], [[4, 5], [10, 11], [16, 17], [22, 23]])


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6])
def test_merge_undoes_split(num_heads):
    x = np.arange(48).reshape(2, 4, 6)
    assert_array_equal(na.MergeHeads()(na.SplitHeads(num_heads)(x)), x)


def test_a_head_fills_its_own_columns():
    heads = np.arange(2)[:, None, None] * np.ones((1, 2, 5, 3))
    assert_array_equal(na.MergeHeads()(heads), np.broadcast_to([0, 0, 0, 1, 1, 1], (1, 5, 6)))


@pytest.mark.parametrize(("layer", "shape"), [(na.SplitHeads(H), (N, L, H * d_v)), (na.MergeHeads(), (N, H, L, d_v))])
def test_backward_is_the_adjoint(layer, shape):
    # <layer(x), y> = <x, backward(y)>: with the inverse above, this says each is the other's backward pass.
    x = draw(*shape)
    out = layer(x)
    y = draw(*out.shape, seed=1)
    assert_allclose((out * y).sum(), (x * layer.backward(y)).sum(), rtol=1e-13)


@pytest.mark.parametrize("lead", [(), (2,), (2, 3), (0,), (2, 0)])
def test_leading_axes_are_free(lead):
    x = draw(*lead, L, 6)
    heads = na.SplitHeads(2)(x)
    assert heads.shape == (*lead, 2, L, 3)
    assert_array_equal(na.MergeHeads()(heads), x)


def test_an_empty_sequence_has_empty_heads():
    layer = na.SplitHeads(2)
    assert layer(np.zeros((3, 0, 6))).shape == (3, 2, 0, 3)
    assert layer.backward(np.zeros((3, 2, 0, 3))).shape == (3, 0, 6)


@pytest.mark.parametrize("shape", [(L, D), (N, L, D), (D,), ()])
def test_a_width_that_cannot_be_cut(shape):
    with pytest.raises(ValueError, match=r"H·d\) with H = 3 heads") as raised:
        na.SplitHeads(3)(np.zeros(shape))
    assert str(shape) in str(raised.value)


@pytest.mark.parametrize("shape", [(L, D), (D,), ()])
def test_merging_wants_a_head_axis(shape):
    with pytest.raises(ValueError, match=r"heads must have shape \(\.\.\., H, L, d\)") as raised:
        na.MergeHeads()(np.zeros(shape))
    assert str(shape) in str(raised.value)


def test_every_reader_gets_a_copy_of_its_groups_head():
    # Side by side, 0 0 1 1: laid out as 0 1 0 1 every query would read another group's head.
    layer, x = na.RepeatHeads(2), draw(N, 3, L, 6)
    out = layer(x)
    assert out.shape == (N, 6, L, 6)
    for head in range(6):
        assert_array_equal(out[:, head], x[:, head // 2])
    dout = draw(N, 6, L, 6, seed=1)
    assert_allclose(layer.backward(dout), np.stack([dout[:, :2].sum(1), dout[:, 2:4].sum(1), dout[:, 4:].sum(1)], 1))
    assert_array_equal(layer(x[0]), out[0])            # a single sequence, without N


@pytest.mark.parametrize(("times", "shape", "says"), [(0, (3, 4, 6), "times must be at least 1"),
                                                      (2, (4, 6), r"\(\.\.\., H_kv, S, d\); got \(4, 6\)")])
def test_repeating_wants_heads(times, shape, says):
    with pytest.raises(ValueError, match=says):
        na.RepeatHeads(times)(np.zeros(shape))
