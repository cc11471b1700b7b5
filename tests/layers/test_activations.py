"""Activations: exact to the last digits, far out in both directions, and settled at the corner."""
import math
from decimal import Decimal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

FAR = [-1e308, -1e5, -800.0, -40.0, 40.0, 800.0, 1e5, 1e308]


def erfc_of_minus(v):
    """erfc(−v / √2): v / √2 is rounded, which far out would move the result by v² times as much."""
    rounded = -v / math.sqrt(2)
    missing = float(Decimal(-v) / Decimal(2).sqrt() - Decimal(rounded))
    return math.erfc(rounded) * math.exp(-2 * rounded * missing if v < 0 else 0)


def test_gelu_is_exact_in_the_tail_too():
    # 1 + erf(x) loses all digits where the two cancel; erfc does not.
    x = np.concatenate([np.linspace(-37, 8, 400), [0.0, -0.0, 1e-300]])
    with np.errstate(under="ignore"):       # the comparison's own
        expected = [v * erfc_of_minus(v) / 2 for v in x.tolist()]
        assert_allclose(na.GELU()(x), expected, rtol=1e-14)
    assert_allclose(na.GELU()([-10.0]), [-7.619853024160527e-23], rtol=1e-12)


def test_the_tanh_formula_is_close_but_not_the_same():
    x = np.linspace(-5, 5, 101)
    difference = np.abs(na.GELU()(x) - na.GELU(approximate="tanh")(x)).max()
    assert 1e-4 < difference < 5e-4


@pytest.mark.parametrize("make", [na.ReLU, na.SiLU, na.GELU, lambda: na.GELU(approximate="tanh")])
def test_far_out_nothing_overflows(make):
    layer = make()
    out = layer(FAR)
    assert_allclose(out, np.maximum(FAR, 0), atol=1e-15)
    assert_allclose(layer.backward(np.ones(8)), [0] * 4 + [1] * 4, atol=1e-15)


@pytest.mark.parametrize("make", [na.ReLU, na.SiLU, na.GELU])
def test_nan_stays_nan_and_shapes_are_free(make):
    layer = make()
    assert_array_equal(np.isnan(layer([np.nan, 1.0])), [True, False])
    for shape in ((), (0,), (2, 0, 3), (1, 2, 3)):
        assert layer(np.ones(shape)).shape == shape
        assert np.shape(layer.backward(np.ones(shape))) == shape


def test_the_corner_of_relu_has_slope_0():
    layer = na.ReLU()
    assert_array_equal(layer([-1, -0.0, 0.0, 1]), [0, 0, 0, 1])
    assert_array_equal(layer.backward([1, 1, 1, 1]), [0, 0, 0, 1])


@pytest.mark.parametrize("word", ["erf", "Tanh", None, 1])
def test_there_are_two_gelus(word):
    with pytest.raises(ValueError, match='approximate must be "none" or "tanh", got ') as raised:
        na.GELU(approximate=word)
    assert repr(word) in str(raised.value)


@pytest.mark.parametrize("make", [na.FeedForward, na.GatedFeedForward])
def test_activations_by_name_or_class(make):
    x = np.ones((2, 4))
    for name, cls in (("relu", na.ReLU), ("gelu", na.GELU), ("silu", na.SiLU)):
        assert_array_equal(make(4, 5, activation=name, rng=0)(x), make(4, 5, activation=cls, rng=0)(x))
    for bad in ("swish", None, 1, na.ReLU()):
        with pytest.raises(ValueError, match="activation must be one of relu, gelu, silu"):
            make(4, 5, activation=bad)


def test_feed_forward_written_out():
    layer = na.FeedForward(4, 5, rng=0)
    p, x = layer.named_params(), np.random.default_rng(1).standard_normal((2, 3, 4))
    hidden = np.maximum(x @ p["up_proj.W"] + p["up_proj.b"], 0)
    assert_allclose(layer(x), hidden @ p["down_proj.W"] + p["down_proj.b"], rtol=1e-13)
    gated = na.GatedFeedForward(4, 5, rng=0)
    p = gated.named_params()
    gate = x @ p["gate_proj.W"]
    expected = (gate / (1 + np.exp(-gate)) * (x @ p["up_proj.W"])) @ p["down_proj.W"]
    assert_allclose(gated(x), expected, rtol=1e-13)
    assert na.FeedForward(4).named_params()["up_proj.W"].shape == (4, 16)
