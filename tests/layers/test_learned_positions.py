"""Learned positions: offsets, the end of the table, and who learns."""
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import numpy_attention as na

from ..standard import D, L, N, draw


def test_each_place_adds_its_row():
    layer, x = na.LearnedPositions(9, D, rng=0), draw(N, L, D)
    np.testing.assert_array_equal(layer(x), x + layer.params["W"][:L])
    np.testing.assert_array_equal(layer(x, offset=3), x + layer.params["W"][3:3 + L])
    np.testing.assert_array_equal(layer(x[0]), x[0] + layer.params["W"][:L])


def test_chunks_are_the_whole():
    layer, x = na.LearnedPositions(L, D, rng=0), draw(N, L, D)
    chunks = [layer(x[:, start:start + 1], offset=start) for start in range(L)]
    np.testing.assert_array_equal(np.concatenate(chunks, axis=1), layer(x))


def test_only_the_places_that_were_used_learn():
    layer = na.LearnedPositions(9, D, rng=0)
    layer(draw(N, L, D), offset=2)
    dout = draw(N, L, D, seed=1)
    np.testing.assert_array_equal(layer.backward(dout), dout)
    np.testing.assert_array_equal(layer.grads["W"][2:2 + L], dout.sum(axis=0))
    assert not layer.grads["W"][:2].any()
    assert not layer.grads["W"][2 + L:].any()


def test_an_empty_sequence():
    layer = na.LearnedPositions(3, D, rng=0)
    assert layer(np.zeros((N, 0, D)), offset=3).shape == (N, 0, D)
    assert not layer.backward(np.zeros((N, 0, D))) .size


@pytest.mark.parametrize(("length", "offset"), [(10, 0), (4, 6), (1, 9), (1, -1), (4, -2), (0, 10)])
def test_beyond_the_table(length, offset):
    layer = na.LearnedPositions(9, D, rng=0)
    with pytest.raises(ValueError, match=rf"offset = {offset}, L = {length}.*max_length = 9"):
        layer(np.zeros((N, length, D)), offset=offset)


@pytest.mark.parametrize("shape", [(D,), (N, L, D + 1), ()])
def test_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=rf"\(\.\.\., L, D\) with D = {D}"):
        na.LearnedPositions(9, D)(np.zeros(shape))


def test_sizes_and_offsets_are_whole_numbers():
    for make in (lambda: na.LearnedPositions(0, D), lambda: na.LearnedPositions(9, 2.0),
                 lambda: na.LearnedPositions(9, D)(np.zeros((L, D)), offset=0.5)):
        with pytest.raises((TypeError, ValueError)):
            make()


def test_sequences_may_have_places_of_their_own():
    layer, x = na.LearnedPositions(9, D, rng=0), draw(2, 4, D)
    places = np.array([[0, 1, 2, 3], [-1, -1, 0, 1]])               # the second one is padded on the left
    out, W = layer(x, places=places), layer.params["W"]
    assert_array_equal(out[0], x[0] + W[:4])
    assert_array_equal(out[1], np.concatenate([x[1, :2], x[1, 2:] + W[:2]]))
    na.check_gradients(layer, x, places=places).assert_ok()
    for wrong, message in (([[0, 1]], r"shape \(L,\) or \(N, L\)"), ([0, 1, 2, 9], r"must lie in 0\.\.8"),
                           ([0.0, 1, 2, 3], "whole numbers")):
        with pytest.raises(ValueError, match=message):
            layer(x, places=wrong)
