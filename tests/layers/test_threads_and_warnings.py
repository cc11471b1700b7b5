"""One layer in six threads gives right outputs or refuses; a user's strict error state changes nothing."""
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ..standard import EXAMPLES


@pytest.mark.parametrize("name", EXAMPLES)
def test_six_threads_share_a_layer(name):
    example = EXAMPLES[name]
    layer = example.layer().eval()                      # dropout draws from one generator; switched off, runs are equal
    inputs = [[array if array.dtype.kind != "f" else array * (1 + i) for array in example.inputs] for i in range(6)]
    expected = [layer(*given, **example.options) for given in inputs]

    def run(i):
        return [layer(*inputs[i], **example.options) for _ in range(4)]
    with ThreadPoolExecutor(6) as pool:
        for i, outs in enumerate(pool.map(run, range(6))):
            for out in outs:
                assert_array_equal(out, expected[i])


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_strict_error_state_changes_nothing(name):
    example = EXAMPLES[name]
    layer = example.layer().eval()
    out = layer(*example.inputs, **example.options)
    with np.errstate(all="raise"):
        strict = layer(*example.inputs, **example.options)
        layer.backward(np.full(out.shape, 1e-300))
    assert_array_equal(strict, out)
