"""The function that NumPy lacks: held against its power series with 60 digits, and asked for its slope."""
from decimal import Decimal, getcontext

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.layers.activations import normal_share, sigmoid

SMOOTH = {"gelu": na.GELU, "tanh": lambda: na.GELU(approximate="tanh"), "silu": na.SiLU}


def exact_share(x):
    """Φ(x) by the power series of erf, with 60 digits."""
    getcontext().prec = 60
    term = total = Decimal(x)
    n = 0
    while abs(term) > Decimal(10) ** -55:
        n += 1
        term *= -Decimal(x) * Decimal(x) / (2 * n)
        total += term / (2 * n + 1)
    pi = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
    return float((1 + 2 * total / (2 * pi).sqrt()) / 2)


@pytest.mark.parametrize("x", [-8.0, -5.5, -3.25, -1.0, -0.001, 0.0, 0.5, 1.75, 4.0, 7.5])
def test_all_digits_in_the_tail_too(x):
    # x / √2 is rounded, which far out moves the result by x² times as much.
    assert normal_share(np.array([x]))[0] == pytest.approx(exact_share(x), rel=(2 + x * x) * 2.3e-16, abs=0)


@pytest.mark.parametrize("make", SMOOTH.values(), ids=SMOOTH)
def test_a_complex_step_sees_the_slope(make):
    x = np.linspace(-6, 6, 41)
    layer = make()
    layer(x)
    slope = layer.backward(np.ones(len(x)))
    np.testing.assert_allclose(layer(x + 1e-40j).imag / 1e-40, slope, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("make", SMOOTH.values(), ids=SMOOTH)
def test_float32_is_as_exact_as_float32_can_be(make):
    x = np.linspace(-5, 5, 101, dtype=np.float32)
    out = make()(x)
    assert out.dtype == np.float32
    np.testing.assert_allclose(out, make()(x.astype(np.float64)), rtol=2e-5)


@pytest.mark.parametrize("make", SMOOTH.values(), ids=SMOOTH)
def test_slopes_stay_finite_however_far_out(make):
    layer = make()
    layer([-1e308, -1e160, 1e160, 1e308])
    np.testing.assert_array_equal(layer.backward(np.ones(4)), [0, 0, 1, 1])


def test_two_shares_make_a_whole():
    x = np.linspace(-30, 30, 61)
    np.testing.assert_allclose(normal_share(x) + normal_share(-x), 1, rtol=1e-15)
    np.testing.assert_allclose(sigmoid(x) + sigmoid(-x), 1, rtol=1e-15)
