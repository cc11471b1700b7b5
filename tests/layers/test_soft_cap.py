"""Softcap: the limit, the curve in between, and what cannot be a limit."""
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

from ..standard import H, L, N, S, draw


def test_small_scores_stay_and_large_ones_approach_the_cap():
    cap = na.SoftCap(2.0)
    assert_allclose(cap([1e-4, -1e-4]), [1e-4, -1e-4], rtol=1e-8)
    assert_array_equal(cap([1e3, -1e3, np.inf, -np.inf]), [2, -2, 2, -2])
    scores = 5 * draw(N, H, L, S)
    assert_allclose(cap(scores), 2 * np.tanh(scores / 2), rtol=1e-15)
    assert (np.abs(cap(scores)) < 2).all()


def test_the_gradient_fades_where_the_curve_is_flat():
    cap = na.SoftCap(2.0)
    cap([0.0, 2.0, 1e3])
    assert_allclose(cap.backward([1.0, 3.0, 1.0]), [1, 3 * (1 - np.tanh(1) ** 2), 0], rtol=1e-14)


def test_where_nothing_comes_back_nan_does_not_spread():
    cap = na.SoftCap(2.0)
    cap([np.nan, 1.0])
    assert_array_equal(cap.backward([0.0, 0.0]), [0, 0])


@pytest.mark.parametrize("cap", [0, -1.0, np.nan, np.inf, True, "2", [1.0]], ids=str)
def test_caps_that_are_none(cap):
    with pytest.raises(ValueError, match="softcap must be a positive finite number, or None for no cap; got "):
        na.SoftCap(cap)
