"""Dropout: what it keeps on average, the same holes both ways, off when it should be, and its own random numbers."""
import numpy as np
import pytest

import numpy_attention as na

from ..standard import draw


def test_on_average_nothing_changes():
    out = na.Dropout(0.3, rng=0)(np.ones(200_000))
    assert np.unique(out).tolist() == [0, 1 / 0.7]
    assert (out == 0).mean() == pytest.approx(0.3, abs=0.005)
    assert out.mean() == pytest.approx(1, abs=0.01)


def test_backward_has_the_same_holes_and_the_same_scale():
    dropout = na.Dropout(0.5, rng=0)
    out = dropout(np.ones((50, 4)))
    np.testing.assert_array_equal(dropout.backward(np.ones((50, 4))), out)
    np.testing.assert_array_equal(dropout.backward(np.ones((50, 4))), out)      # and draws nothing


def test_every_forward_draws_anew_and_a_seed_repeats_it():
    first, second = na.Dropout(0.5, rng=7), na.Dropout(0.5, rng=7)
    x = np.ones(100)
    a, b = first(x), first(x)
    assert (a != b).any()
    np.testing.assert_array_equal([a, b], [second(x), second(x)])


def test_nobody_elses_random_numbers_are_used():
    before = np.random.get_state()[1].copy()                                    # noqa: NPY002
    na.Dropout(0.5)(np.ones(100))
    np.testing.assert_array_equal(np.random.get_state()[1], before)             # noqa: NPY002


@pytest.mark.parametrize("dropout", [na.Dropout(0.0), na.Dropout(0.9).eval(), na.Dropout(0.9).train(False)],
                         ids=["p = 0", "eval", "train(False)"])
def test_switched_off_it_is_the_identity_and_draws_nothing(dropout):
    state = dropout.rng.bit_generator.state
    x = draw(3, 4)
    np.testing.assert_array_equal(dropout(x), x)
    np.testing.assert_array_equal(dropout.backward(x), x)
    assert dropout.cache["keep"] is None
    assert dropout.rng.bit_generator.state == state


def test_switched_on_again():
    dropout = na.Dropout(0.5, rng=0).eval().train()
    assert (dropout(np.ones(50)) == 0).any()


def test_backward_belongs_to_its_forward_whatever_is_switched_since():
    dropout = na.Dropout(0.5, rng=0)
    out = dropout(np.ones(50))
    np.testing.assert_array_equal(dropout.eval().backward(np.ones(50)), out)


def test_what_falls_out_is_0_even_if_it_was_nan():
    dropout = na.Dropout(0.5, rng=0)
    out = dropout(np.full(50, np.nan))
    np.testing.assert_array_equal(out[~dropout.cache["keep"]], 0)
    dx = dropout.backward(np.full(50, np.inf))
    np.testing.assert_array_equal(dx[~dropout.cache["keep"]], 0)


@pytest.mark.parametrize("wrong", [1, 1.0, -0.1, np.nan, 2, "half", None, True, [0.5]])
def test_other_probabilities_are_refused(wrong):
    with pytest.raises(ValueError, match="0 <= p < 1"):
        na.Dropout(wrong)


def test_gradients_with_a_fixed_draw():
    class Fixed(na.Layer):
        """Dropout that draws the same holes each time, so that it is one function."""

        def __init__(self):
            super().__init__()
            self.dropout = na.Dropout(0.5)

        def forward(self, x):
            self.dropout.rng = np.random.default_rng(4)
            out = self.dropout(x)
            self.cache = {"x": x, "out": out}
            return out

        def backward(self, dout):
            self.grads = {"out": dout, "x": self.dropout.backward(dout)}
            return self.grads["x"]

    na.check_gradients(Fixed(), draw(3, 4)).assert_ok()
