"""Embedding: repeated ids add up, and an id that is none is refused instead of counted from the end."""
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import numpy_attention as na

from ..standard import draw


def test_repeated_ids_add_up():
    # dW[ids] += dout would keep only the last of each.
    layer = na.Embedding(5, 3, rng=0)
    dout = np.round(64 * draw(2, 3, 3)) / 64           # so that their sums are exact in any order
    out = layer([[1, 4, 1], [1, 0, 4]])
    assert_array_equal(out[0, 1], layer.params["W"][4])
    assert layer.backward(dout) is None
    expected = [dout[1, 1], dout[0, 0] + dout[0, 2] + dout[1, 0], [0] * 3, [0] * 3, dout[0, 1] + dout[1, 2]]
    assert_array_equal(layer.grads["W"], expected)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64"])
def test_many_ids_in_any_order(dtype):
    layer, rng = na.Embedding(40, 3, rng=0), np.random.default_rng(1)
    ids = rng.integers(0, 30, (7, 2, 25)).astype(dtype)             # ids 30 to 39 do not occur
    layer(ids)
    dout = np.round(64 * draw(7, 2, 25, 3)) / 64
    layer.backward(dout)
    expected = np.zeros((40, 3))
    np.add.at(expected, ids, dout)
    assert_array_equal(layer.grads["W"], expected)


def test_padding_is_read_but_never_learns():
    layer = na.Embedding(4, 3, padding_idx=2, rng=0)
    assert_array_equal(layer([2, 1]), layer.params["W"][[2, 1]])
    layer.backward(np.ones((2, 3)))
    assert_array_equal(layer.grads["W"][:, 0], [0, 1, 0, 0])


@pytest.mark.parametrize("ids", [[], np.zeros((2, 0), int), 3, [[[1]]], np.uint8([4, 0])])
def test_any_shape_of_ids(ids):
    layer = na.Embedding(5, 3, rng=0)
    out = layer(ids)
    assert out.shape == (*np.shape(ids), 3)
    layer.backward(np.ones_like(out))
    assert layer.grads["W"].sum() == out.size


@pytest.mark.parametrize("ids", [[-1], [5], [0, 99], np.int64([[-3]])])
def test_ids_outside_the_table(ids):
    with pytest.raises(ValueError, match=r"ids must lie in 0\.\.4 \(num_embeddings = 5\); got ") as raised:
        na.Embedding(5, 3)(ids)
    assert str(np.max(np.abs(ids))) in str(raised.value)


@pytest.mark.parametrize("ids", [[0.0], [True], "0", None, np.zeros(0), np.array([None]), [1 + 0j]])
def test_ids_that_are_no_whole_numbers(ids):
    with pytest.raises(TypeError, match="ids must be whole numbers"):
        na.Embedding(5, 3)(ids)


def test_ragged_ids():
    with pytest.raises(ValueError, match="ids must be a rectangular array"):
        na.Embedding(5, 3)([[1, 2], [3]])


def test_a_padding_index_outside_the_table():
    with pytest.raises(ValueError, match="padding_idx must lie in"):
        na.Embedding(5, 3, padding_idx=5)


def test_changing_ids_afterwards_changes_nothing():
    ids = np.array([1, 2])
    layer = na.Embedding(5, 3, rng=0)
    layer(ids)
    ids[:] = 4
    layer.backward(np.ones((2, 3)))
    assert_array_equal(layer.grads["W"][:, 0], [0, 1, 1, 0, 0])
