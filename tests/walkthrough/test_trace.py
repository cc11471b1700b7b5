"""The trace says what the layer stated and computed, and the worked examples have their known numbers."""
import numpy as np
import pytest

import numpy_attention as na

from ..by_hand import BY_HAND, CYCLE

BY_HAND = BY_HAND | {"product": [[0, 2, 4], [4, 4, 8], [2, 4, 8]]}     # the trace shows Q Kᵀ before the division, too
CYCLE = CYCLE | {"product": [[2, 0, 4], [6, 4, 0], [2, 4, 0]]}


@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand_to_six_decimals(name):
    np.testing.assert_allclose(na.worked_example("by-hand").trace()[name].value, BY_HAND[name], atol=6e-7)


@pytest.mark.parametrize("name", CYCLE)
def test_cycle_to_four_decimals(name):
    np.testing.assert_allclose(na.worked_example("cycle").trace()[name].value, CYCLE[name], atol=6e-5)


def test_full_size_shapes():
    shapes = {step.name: step.shape for step in na.worked_example("full-size").trace()}
    assert shapes["embedded"] == shapes["positions"] == (3, 512)
    assert shapes["x"] == shapes["concat"] == shapes["out"] == shapes["dx"] == (1, 3, 512)
    assert shapes["Q"] == shapes["K"] == shapes["V"] == shapes["heads"] == shapes["dQ"] == (1, 8, 3, 64)
    assert shapes["product"] == shapes["scores"] == shapes["weights"] == (1, 8, 3, 3)
    assert shapes["mha.query_proj.dW"] == (512, 512)


def test_every_computed_step_points_at_its_line():
    for name in ("by-hand", "full-size"):
        for step in na.worked_example(name).trace():
            if step.formula in ("given", "upstream gradient"):
                continue
            path, line = step.where.split(":")
            with open(f"{na.__path__[0]}/../{path}", encoding="utf-8") as file:
                assert step.code in file.read().split("\n")[int(line) - 1]


def test_self_memory_and_cross_name_the_arrays_that_were_given():
    mha, rng = na.MultiHeadAttention(8, 2, rng=0), np.random.default_rng(0)
    x, memory, value = rng.standard_normal((2, 4, 8)), rng.standard_normal((2, 5, 8)), rng.standard_normal((2, 5, 8))
    for inputs, given, sums in (((x,), ["x"], ["dx"]), ((x, memory), ["memory", "query"], ["dmemory"]),
                                ((x, memory, value), ["query", "key", "value"], [])):
        mha.backward(mha(*inputs))
        steps = list(na.trace(mha))
        assert [s.name for s in steps if s.formula == "given"] == given
        assert [s.name for s in steps if s.name in ("dx", "dmemory")] == sums


def test_a_trace_is_immutable_and_indexed_by_number_and_name():
    trace = na.worked_example("by-hand").trace()
    assert trace["weights"] is trace[trace.index("weights")] is trace[5]
    assert [s.name for s in trace[3:6]] == ["product", "scores", "weights"]
    assert "dQ" in trace and "dX" not in trace
    with pytest.raises(TypeError):
        trace[0] = trace[1]
    with pytest.raises(ValueError, match="read-only"):
        trace["weights"].value[0, 0] = 1
    with pytest.raises(AttributeError):
        trace[0].name = "P"
    with pytest.raises(KeyError, match="weights"):
        trace["wieghts"]


def test_names_of_inner_layers_are_found_by_their_last_part_when_unique():
    trace = na.worked_example("full-size").trace()
    assert trace["query_proj.dW" if "query_proj.dW" in trace else "mha.query_proj.dW"].shape == (512, 512)
    with pytest.raises(KeyError, match="several steps are called 'dW'.*mha.key_proj.dW"):
        trace["dW"]


def test_what_cannot_be_traced_says_why():
    with pytest.raises(RuntimeError, match="has not run yet"):
        na.trace(na.Softmax())
    with pytest.raises(ValueError, match="there is no example 'by hand'; there are: by-hand"):
        na.worked_example("by hand")
    attention = na.ScaledDotProductAttention()
    attention(np.ones((2, 3)), np.ones((4, 3)), np.ones((4, 3)))
    with pytest.raises(ValueError, match="key_tokens must hold S = 4 labels, got 2"):
        na.trace(attention, tokens=["a", "b"])
