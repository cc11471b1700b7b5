"""LogSoftmax: large and infinite scores, and what softmax says of the same."""
import numpy as np
import pytest

import numpy_attention as na

from ..standard import draw


def test_it_is_the_logarithm_of_softmax():
    x = draw(3, 4, 5)
    np.testing.assert_allclose(na.LogSoftmax()(x), np.log(na.Softmax()(x)))
    np.testing.assert_allclose(np.exp(na.LogSoftmax()(x)).sum(axis=-1), 1)


def test_adding_to_a_whole_row_changes_nothing():
    x, layer = draw(3, 5), na.LogSoftmax()
    np.testing.assert_allclose(layer(x + 1000), layer(x), rtol=1e-11)
    np.testing.assert_allclose(layer.backward(draw(3, 5, seed=1)).sum(axis=-1), 0, atol=1e-12)


def test_shares_too_small_for_a_number_keep_their_logarithm():
    np.testing.assert_array_equal(na.LogSoftmax()([[0.0, 5000.0], [-1e308, 1e308]])[:, 1], [0, 0])
    assert na.LogSoftmax()([0.0, 5000.0])[0] == -5000


def test_each_row_has_its_own_maximum():
    np.testing.assert_allclose(na.LogSoftmax()([[1000.0, 1001.0], [0.0, 1.0]]), [[-1.3132616875, -0.3132616875]] * 2)


def test_hidden_classes():
    layer = na.LogSoftmax()
    out = layer([[0.0, -np.inf, 0.0], [-np.inf] * 3])
    np.testing.assert_allclose(out, [[-np.log(2), -np.inf, -np.log(2)], [-np.inf] * 3])
    dout = draw(2, 3)
    dout[0, 1] = 0
    assert layer.backward(dout)[0, 1] == 0
    assert np.isfinite(layer.backward(dout)).all()


def test_shapes():
    layer = na.LogSoftmax()
    for shape in [(1,), (0, 3), (3, 0), (2, 3, 4)]:
        assert layer(np.ones(shape)).shape == layer.backward(np.ones(shape)).shape == shape
    with pytest.raises(ValueError, match=r"logits must have shape \(\.\.\., C\)"):
        layer(1.0)
