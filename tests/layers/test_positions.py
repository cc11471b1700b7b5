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


def test_precision_and_size():
    code = na.sinusoidal_positions(3, 4, dtype=np.float32)
    assert (code.dtype, code.shape) == (np.float32, (3, 4))
