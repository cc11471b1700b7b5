"""FeedForward and its gated form: tokens are alone, two layers without a bend are one, bad settings."""
import numpy as np
import pytest

import numpy_attention as na

from ..standard import D, L, N, draw, randomise

BOTH = {"plain": na.FeedForward, "gated": na.GatedFeedForward}


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_no_token_sees_another(make):
    layer, x = randomise(make(D, 11)), draw(N, L, D)
    out = layer(x)
    x[1, 2] += 1
    changed = (layer(x) != out).any(axis=-1)
    assert changed.sum() == 1
    assert changed[1, 2]


def test_by_its_formula():
    layer, x = randomise(na.FeedForward(D, 11)), draw(N, L, D)
    p = layer.named_params()
    expected = np.maximum(x @ p["up_proj.W"] + p["up_proj.b"], 0) @ p["down_proj.W"] + p["down_proj.b"]
    np.testing.assert_allclose(layer(x), expected)


def test_the_gate_by_its_formula():
    layer, x = randomise(na.GatedFeedForward(D, 11)), draw(N, L, D)
    p = layer.named_params()
    gate = x @ p["gate_proj.W"]
    np.testing.assert_allclose(layer(x), (gate / (1 + np.exp(-gate)) * (x @ p["up_proj.W"])) @ p["down_proj.W"])


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_four_times_as_wide_unless_told(make):
    assert make(D).up_proj.params["W"].shape == (D, 4 * D)


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_the_same_seed_gives_the_same_layer(make):
    first, second = make(D, 11, rng=3, dropout=0.5), make(D, 11, rng=3, dropout=0.5)
    x = draw(N, L, D)
    np.testing.assert_array_equal(first(x), second(x))
    assert (first(x) != second.eval()(x)).any()


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_backward_meets_the_holes_of_its_forward(make):
    layer, x = make(D, 200, rng=0, dropout=0.5), draw(1, D)
    layer(x)
    keep = layer.dropout.cache["keep"]
    layer.backward(draw(1, D, seed=1))
    inner = layer.grads["active" if make is na.FeedForward else "gated"]
    assert ((inner == 0) == ~keep).all()


@pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)
def test_bad_settings_are_named(make):
    for call, error, message in (
            (lambda: make(0), ValueError, "d_model"), (lambda: make(D, 0), ValueError, "d_hidden"),
            (lambda: make(D, 2.5), TypeError, "d_hidden"), (lambda: make(D, activation="swish"), ValueError, "silu"),
            (lambda: make(D, dropout=1.0), ValueError, "0 <= p < 1"),
            (lambda: make(D)(np.zeros((N, D + 1))), ValueError, rf"{D}; got \({N}, {D + 1}\)")):
        with pytest.raises(error, match=message):
            call()
