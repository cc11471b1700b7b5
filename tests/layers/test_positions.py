"""Sinusoidal positions: the exponent, odd widths, and what a cache needs to go on."""
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na


@pytest.mark.parametrize(("width", "position", "row"), [
    (5, 1, [0.841471, 0.540302, 0.025116, 0.999685, 0.000631]),      # an odd width ends with a sine
    (4, 3, [0.141120, -0.989992, 0.029996, 0.999550]),
    (1, 2, [0.909297]),
])
def test_known_rows(width, position, row):
    assert_allclose(na.sinusoidal_positions(position + 1, width)[position], row, atol=1e-6)


def test_an_offset_goes_on_where_an_earlier_chunk_ended():
    whole = na.sinusoidal_positions(9, 6)
    assert_array_equal(np.concatenate([na.sinusoidal_positions(4, 6), na.sinusoidal_positions(5, 6, offset=4)]), whole)


def test_equal_distances_differ_by_one_rotation():
    code = na.sinusoidal_positions(30, 8)
    dots = code @ code.T
    for distance in (1, 5):
        assert_allclose(np.diagonal(dots, distance), dots[0, distance], rtol=1e-12)


@pytest.mark.parametrize("offset", [1.5, "1", None, True])
def test_places_are_whole_numbers(offset):
    with pytest.raises(TypeError, match="offset must be a whole number, got "):
        na.sinusoidal_positions(2, 4, offset=offset)


@pytest.mark.parametrize("base", [0, -1.0, np.nan, np.inf])
def test_a_base_is_positive(base):
    with pytest.raises(ValueError, match="base must be a positive finite number, got "):
        na.sinusoidal_positions(2, 4, base=base)


def test_precision_and_size():
    code = na.sinusoidal_positions(3, 4, dtype=np.float32)
    assert (code.dtype, code.shape) == (np.float32, (3, 4))


# ---- ALiBi

@pytest.mark.parametrize(("heads", "slopes"), [
    (1, [2**-8]), (2, [2**-4, 2**-8]), (8, [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625]),
    (6, [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]), (3, [0.0625, 0.00390625, 0.25]),
])
def test_slopes_for_any_number_of_heads(heads, slopes):
    assert_allclose(na.alibi_slopes(heads), slopes, rtol=1e-15)


@pytest.mark.parametrize("heads", [12, 16, 31, 32])
def test_slopes_are_shares_between_nothing_and_one(heads):
    slopes = na.alibi_slopes(heads)
    assert slopes.shape == (heads,)
    assert len(set(slopes)) == heads
    assert ((slopes > 0) & (slopes < 1)).all()


def test_the_penalty_is_slope_times_distance_from_the_querys_place():
    bias = na.alibi_bias(6, 3, 7, offset=4)
    expected = [[[-slope * abs(i + 4 - j) for j in range(7)] for i in range(3)] for slope in na.alibi_slopes(6)]
    assert_allclose(bias, [expected], rtol=1e-15)
    assert na.alibi_bias(2, 3, dtype=np.float32).dtype == np.float32


# ---- learned

def test_learned_positions_go_on_from_an_offset_and_end_somewhere():
    positions = na.LearnedPositions(10, 4, rng=0)
    whole = positions(np.zeros((2, 10, 4)))
    assert_array_equal(positions(np.zeros((2, 3, 4)), offset=7), whole[:, 7:])
    positions.backward(np.ones((2, 3, 4)))
    assert_array_equal(positions.grads["W"][:, 0], [0] * 7 + [2] * 3)
    for L, offset in ((11, 0), (3, 8), (1, 10), (2, -1)):
        with pytest.raises(ValueError, match="max_length = 10"):
            positions(np.zeros((2, L, 4)), offset=offset)


def test_the_layer_adds_the_code_to_every_sequence():
    layer, x = na.SinusoidalPositions(), np.random.default_rng(0).standard_normal((2, 3, 4, 6))
    assert_array_equal(layer(x), x + na.sinusoidal_positions(4, 6))
    assert_array_equal(layer(x, offset=3), x + na.sinusoidal_positions(4, 6, offset=3))
    assert_array_equal(layer.backward(2 * x), 2 * x)
    assert not layer.named_params()
    assert layer(x.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("shape", [(6,), (), (0, 6), (4, 0)])
def test_the_layer_wants_tokens(shape):
    with pytest.raises(ValueError, match=r"x must have shape \(\.\.\., L, D\), with at least one token; got"):
        na.SinusoidalPositions()(np.zeros(shape))
