"""Tables too large to be kept are computed when somebody asks for them, and then no different from the others."""
import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na
from numpy_attention.engine.lazy import Later, Tensors, like
from numpy_attention.layers.variants import large_table

from ..standard import GROUPED, QKV, D, L, N, draw


def passes(layer, inputs):
    """The layer after forward and backward."""
    layer.backward(draw(*layer(*inputs).shape, seed=3))
    return layer


@pytest.mark.parametrize(("make", "inputs"), [
    (na.ScaledDotProductAttention, QKV), (na.ScaledDotProductAttention, GROUPED),
    (lambda: na.MultiHeadAttention(D, 2, rng=0), (draw(N, L, D),)),
    (lambda: na.MultiHeadAttention(D, 2, rng=0, attention=na.RotaryAttention(4)), (draw(N, L, D),)),
], ids=["attention", "grouped", "multi-head", "rotary"])
def test_a_very_large_table_gives_the_same_tensors_by_the_same_names(monkeypatch, make, inputs):
    kept = passes(make(), inputs)
    monkeypatch.setattr(large_table, "LARGE", 0)
    later = passes(make(), inputs)
    for which in ("cache", "grads"):
        mine, theirs = getattr(later, which), getattr(kept, which)
        assert list(mine) == list(theirs)
        for name in theirs:
            assert_allclose(mine[name], theirs[name], rtol=0, atol=1e-15, err_msg=name)
            assert mine[name] is mine.get(name)
        assert not later.cache["scores"].flags.writeable
    assert [step.name for step in na.trace(later)] == [step.name for step in na.trace(kept)]
    na.check_gradients(make(), *inputs).assert_ok()
    for twin in (copy.deepcopy(later), pickle.loads(pickle.dumps(later))):
        assert_array_equal(twin.cache["scores"], later.cache["scores"])
        assert_array_equal(twin.backward(np.ones_like(later.cache[list(later.cache)[-1]]))[0].shape,
                           later.backward(np.ones_like(later.cache[list(later.cache)[-1]]))[0].shape)


def test_later_is_computed_once_and_read_only():
    calls = []
    tensors = Tensors({"a": np.zeros(2), "b": Later(lambda: calls.append(1) or np.ones(2))})
    assert type(tensors) is Tensors
    assert calls == []
    assert tensors["b"] is tensors["b"] is dict(tensors.items())["b"] is tensors.copy()["b"]
    assert calls == [1]
    assert tensors.get("c", 5) == 5
    with pytest.raises(ValueError, match="read-only"):
        tensors["b"][0] = 2
    assert type(like(tensors, {"a": 1})) is Tensors
    assert type(like({}, {"a": 1})) is dict
