"""The examples computed by hand, to the digits printed there: 我 爱 AI, and the cycle 我→AI, 爱→我, AI→爱."""
import numpy as np
import pytest
from numpy.testing import assert_allclose

import numpy_attention as na

V = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]]      # so that the first three columns of heads repeat the weights
DOUT = [[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]]

BY_HAND = {
    "Q": [[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]],
    "K": [[0, 1, 0, 1], [1, 1, 1, 1], [2, 2, 2, 2]],
    "scores": [[0, 1, 2], [2, 2, 4], [1, 2, 4]],
    "weights": [[.090031, .244728, .665241], [.106507, .106507, .786986], [.042010, .114195, .843795]],
    "heads": [[.090031, .244728, .665241, .665241], [.106507, .106507, .786986, .786986],
              [.042010, .114195, .843795, .843795]],
    "dV": [[.106507, .042010, .090031, 0], [.106507, .114195, .244728, 0], [.786986, .843795, .665241, 0]],
    "dweights": [[0, 0, 1], [1, 0, 0], [0, 1, 0]],
    "dscores": [[-.059892, -.162803, .222695], [.095163, -.011344, -.083820], [-.004797, .101155, -.096357]],
    "dQ": [[.141294, .111348, .141294, .111348], [-.089491, -.041910, -.089491, -.041910],
           [-.045780, -.048179, -.045780, -.048179]],
    "dK": [[-.032345, .092765, -.032345, .092765], [-.030824, .039234, -.030824, .039234],
           [.063169, -.131998, .063169, -.131998]],
}
CYCLE = {
    "Q": [[0, 0, 2, 2], [2, 2, 0, 0], [0, 2, 0, 1]],
    "K": [[2, 1, 1, 0], [0, 2, 0, 0], [0, 0, 2, 0]],
    "scores": [[1, 0, 2], [3, 2, 0], [1, 2, 0]],
    "weights": [[.2447, .0900, .6652], [.7054, .2595, .0351], [.2447, .6652, .0900]],
    "dscores": [[-.1628, -.0599, .2227], [.2078, -.1830, -.0248], [-.1628, .2227, -.0599]],
}


@pytest.fixture(params=[(BY_HAND, 1e-6), (CYCLE, 1e-4)], ids=["by-hand", "cycle"])
def told(request):
    example, last_digit = request.param
    attention = na.ScaledDotProductAttention()
    attention(example["Q"], example["K"], V)
    dQ, dK, dV = attention.backward(DOUT)
    found = {**attention.cache, **{f"d{name}": grad for name, grad in attention.grads.items()}}
    return example, last_digit, found, {"dQ": dQ, "dK": dK, "dV": dV}


def test_every_printed_number(told):
    example, last_digit, found, returned = told
    for name, numbers in example.items():
        assert_allclose(found[name], numbers, rtol=0, atol=0.51 * last_digit, err_msg=name)
    for name, grad in returned.items():
        assert grad is found[name]


def test_the_values_show_the_weights_and_the_gradients_sum_to_zero(told):
    _, _, found, _ = told
    assert_allclose(found["heads"][:, :3], found["weights"], rtol=1e-15)
    assert_allclose(found["dscores"].sum(axis=-1), 0, atol=1e-16)


def test_the_rows_of_the_cycle_that_were_worked_out():
    attention = na.ScaledDotProductAttention()
    attention(CYCLE["Q"], CYCLE["K"], V)
    dQ, dK, _ = attention.backward(DOUT)
    assert_allclose(dQ[0], [-.1628, -.1413, .1413, 0], atol=0.51e-4)
    assert_allclose(dK[0], [.2078, .0450, -.1628, -.2442], atol=0.51e-4)
    assert_allclose(np.exp(CYCLE["scores"]).sum(axis=1), [11.1073, 28.4746, 11.1073], atol=0.51e-4)
