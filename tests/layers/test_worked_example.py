"""The examples computed by hand, to the digits printed there: 我 爱 AI, and the cycle 我→AI, 爱→我, AI→爱."""
import numpy as np
import pytest
from numpy.testing import assert_allclose

import numpy_attention as na

from ..by_hand import BY_HAND, CYCLE, DOUT, V


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
