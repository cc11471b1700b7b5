"""The function that NumPy lacks: held against its power series with hundreds of digits, and asked for its slope."""
import math
from decimal import Decimal, getcontext

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.engine.normal import PIECE, bell, normal_share
from numpy_attention.layers.activations import sigmoid

SMOOTH = {"gelu": na.GELU, "tanh": lambda: na.GELU(approximate="tanh"), "silu": na.SiLU}
TINY = Decimal("1e-15")
FAR = np.random.default_rng(0).uniform(-37.4, 8, 60).tolist()
NEAR = np.random.default_rng(1).standard_normal(60).tolist()


def exact(x):
    """Φ(x) and φ(x) to 50 digits; erf's power series loses x² / 2 · log₁₀ e digits, and 1 + erf as many again."""
    getcontext().prec = 60 + int(0.9 * x * x)
    x = Decimal(x)
    term = total = x
    n = 0
    while abs(term) > Decimal(10) ** -(55 + int(x * x / 2)):
        n += 1
        term *= -x * x / (2 * n)
        total += term / (2 * n + 1)
    pi = pi_now()
    return (1 + 2 * total / (2 * pi).sqrt()) / 2, (-x * x / 2).exp() / (2 * pi).sqrt()


def pi_now():
    """π in the present precision: Machin's formula."""
    def arctan_of_one_over(n):
        total, power, k = Decimal(0), Decimal(1) / n, 0
        while power > Decimal(10) ** -getcontext().prec:
            total += (-1) ** k * power / (2 * k + 1)
            power /= n * n
            k += 1
        return total
    return 4 * (4 * arctan_of_one_over(5) - arctan_of_one_over(239))


def off(got, wanted):
    """How far a number is off, as a part of the right one."""
    return float(abs(Decimal(float(got)) / wanted - 1))


@pytest.mark.parametrize("x", [-37.5, -30.015625, -20.0078125, -8.0, -3.25, -1.0, -1e-3, -1e-300, 0.0, 0.5, 4.0, 37.8,
                               *FAR, *NEAR])
def test_every_number_is_right_to_1e_15_of_itself(x):
    share, curve = exact(x)
    with np.errstate(under="ignore"):
        assert off(normal_share(np.array([x]))[0], share) < 1e-15
        assert off(bell(np.array([x]))[0], curve) < (1e-15 if abs(x) < 37.5 else 1e-4)      # 37.8: denormal
    gelu = na.GELU()
    out = gelu([x])[0]
    assert abs(Decimal(float(out)) - Decimal(x) * share) <= TINY * abs(Decimal(x) * share)
    slope = share + Decimal(x) * curve              # passes through 0 at -0.75, where only the terms' own digits count
    assert abs(Decimal(float(gelu.backward([1.0])[0])) - slope) <= TINY * max(share, abs(Decimal(x) * curve))


@pytest.mark.parametrize("x", [-1.25, -0.3, 0.2, 0.9, 2.5, *NEAR[:20]])
def test_python_s_own_erfc_agrees(x):
    theirs = math.erfc(-x / math.sqrt(2)) / 2
    assert normal_share(np.array(x)) == pytest.approx(theirs, rel=(2 + x * x) * 2.3e-16, abs=0)


def test_float32_and_what_is_none():
    x = np.concatenate([np.array(NEAR), np.linspace(-12.9, 6, 80)]).astype(np.float32)
    got = normal_share(x)
    assert got.dtype == bell(x).dtype == np.float32
    assert max(off(g, exact(float(v))[0]) for g, v in zip(got, x, strict=True)) < 4e-7
    with np.errstate(under="ignore"):
        assert normal_share(np.array([-np.inf, np.inf, -50, 50, -0.0])).tolist() == [0, 1, 0, 1, 0.5]
    assert np.isnan(normal_share(np.array([np.nan]))).all()
    x = np.arange(-37, 8, 45 / (2 * PIECE + 3))             # more than two pieces: the same as number by number
    assert normal_share(x)[[0, PIECE - 1, PIECE, 2 * PIECE, -1]].tolist() == [
        normal_share(x[i:i + 1])[0] for i in (0, PIECE - 1, PIECE, 2 * PIECE, len(x) - 1)]


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
