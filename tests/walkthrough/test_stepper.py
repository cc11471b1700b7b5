"""The stepper goes where it is told, and what it says about a cell is true: every cell again, from its origins."""
import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.walkthrough.checking import gradient_of
from numpy_attention.walkthrough.formula import names
from numpy_attention.walkthrough.made import fitted, made, reads
from numpy_attention.walkthrough.why import why

from ..standard import MASK, D, H, L, N, S, d_k, d_v, draw, kdim, randomise, vdim

# Which steps of a run may have no origins; all others must.
UNSTATED = {"given", "upstream gradient", "embedding[ids]", "sin | cos (position / 10000^(2i/D))",
            "Σ dout over the places of each id"}


def by_hand():
    return na.Stepper(na.worked_example("by-hand").trace(), lang="en")


def traced(*inputs, options=None, mask=None, **shape):
    layer = randomise(na.MultiHeadAttention(D, H, d_k=d_k, d_v=d_v, rng=0, **shape), seed=1)
    out = layer(*inputs, mask=mask, **(options or {}))
    layer.backward(draw(*out.shape, seed=9))
    return na.trace(layer)


TRACES = {
    "by-hand": lambda: na.worked_example("by-hand").trace(),
    "full-size": lambda: na.worked_example("full-size").trace(),
    "self": lambda: traced(draw(N, L, D)),
    "memory, mask": lambda: traced(draw(N, L, D), draw(N, S, D), mask=MASK),
    "cross, mask": lambda: traced(draw(N, L, D), draw(N, S, kdim), draw(N, S, vdim), mask=MASK, kdim=kdim, vdim=vdim),
    "no bias": lambda: traced(draw(N, L, D), draw(N, S, D), bias=False),
    "single sequence, causal": lambda: traced(draw(L, D), mask=na.causal_mask(L)),
    "additive bias": lambda: traced(draw(N, L, D), options={"bias": draw(N, H, L, L)}),
}


@pytest.mark.parametrize("name", TRACES)
def test_every_cell_is_what_its_formula_gives(name):
    trace = TRACES[name]()
    for step in trace:
        found = made(trace, step.name)
        if found is None:
            assert step.formula in UNSTATED, f"{step.name} = {step.formula} cannot be executed"
            continue
        np.testing.assert_allclose(found.value, step.value, atol=1e-11, err_msg=step.name)


@pytest.mark.parametrize("name", ["by-hand", "memory, mask", "cross, mask"])
def test_only_the_cells_that_are_named_matter(name):
    # Change everything but the cells that a cell reads: it stays. Change one of those: it moves.
    trace, rng = TRACES[name](), np.random.default_rng(0)
    for step in trace:
        found = made(trace, step.name)
        if found is None:
            continue
        index = tuple(n // 2 for n in step.shape)
        cells = reads(found, [[place] for place in index])
        arrays = {key: np.array(trace.run.constants.get(key, trace[key].value if key in trace else None), float)
                  for key in names(step.tree)}
        moved = {key: a if key == "mask" else a + rng.standard_normal(a.shape) for key, a in arrays.items()}
        for key, places in cells.items():
            moved[key][np.ix_(*places)] = arrays[key][np.ix_(*places)]
        moved = {key: a.astype(bool) if key == "mask" else a for key, a in moved.items()}
        again = fitted(step.tree, moved, step.shape).value
        np.testing.assert_allclose(again[index], step.value[index], atol=1e-11, err_msg=step.name)
        assert not np.allclose(again, step.value), step.name


@pytest.mark.parametrize("options", [{"softcap": 2.0}, {"scale": 0.3}, {"dropout": 0.5, "rng": 0}])
def test_a_variant_is_written_out_as_it_was_computed(options):
    attention = na.ScaledDotProductAttention(**options)
    attention.backward(attention(draw(L, d_k), draw(S, d_k), draw(S, d_v)))
    trace = na.trace(attention)
    for step in trace:
        assert made(trace, step.name) is not None or step.formula in UNSTATED, f"{step.name} = {step.formula}"
        assert why(trace, step.name, (0,) * step.value.ndim)


WHY = {
    ("Q", 0, 2): "Q[我, 2] = 1\nQ given: nothing comes before it",
    ("product", 0, 2): "product[我, AI] = 1·2 + 0·2 + 1·2 + 0·2 = 4",
    ("scores", 0, 2): "scores[我, AI] = 4 / √4 = 2",
    ("weights", 0, 2): "weights[我, AI] = e^2 / (e^0 + e^1 + e^2)\n= 7.3891 / 11.1073 = 0.6652",
    ("heads", 0, 3): "heads[我, 3] = 我 0.0900·0 + 爱 0.2447·0 + AI 0.6652·1 = 0.6652",
    ("dV", 2, 0): "dV[AI, 0] = 我 0.6652·0 + 爱 0.7870·1 + AI 0.8438·0 = 0.7870",
    ("dweights", 0, 2): "dweights[我, AI] = 0·0 + 0·0 + 1·1 + 0·1 = 1",
    ("dscores", 0, 2): "Σ weights[我, :] ∘ dweights[我, :] = 0.0900·0 + 0.2447·0 + 0.6652·1 = 0.6652\n"
                       "dscores[我, AI] = 0.6652 · (1 − 0.6652) = 0.2227",
    ("dQ", 0, 2): "dQ[我, 2] = (我 (-0.0599)·0 + 爱 (-0.1628)·1 + AI 0.2227·2) / √4 = 0.1413",
}


@pytest.mark.parametrize("cell", WHY, ids=lambda cell: cell[0])
def test_why_writes_the_sum_out(cell):
    stepper = by_hand()
    stepper.goto(cell[0])
    assert stepper.why(*cell[1:]) == WHY[cell]


def test_why_says_what_a_mask_hides_and_what_large_scores_need():
    attention = na.ScaledDotProductAttention()
    attention.backward(attention([[30., 0.]], [[30., 0.], [29., 0.], [0., 1.]], np.eye(3), mask=[[True, True, False]]))
    trace = na.trace(attention, query_tokens=["q"], key_tokens=list("abc"))
    assert why(trace, "weights", (0, 2), lang="en") == "weights[q, c] = 0: the mask hides it, so it is exactly 0"
    text = why(trace, "weights", (0, 0), lang="en")
    assert "e^0.0000 / (e^0.0000 + e^(-21.2132))" in text and "minus the largest" in text


def test_walking():
    stepper = by_hand()
    assert [stepper.next().name, stepper.next().name, stepper.prev().name] == ["K", "V", "K"]
    assert stepper.goto(4).name == stepper.goto("4").name == stepper.goto("product").name == "product"
    assert stepper.backward_of().name == "dproduct" and stepper.backward_of("Q").name == "dQ"
    assert stepper.where().startswith("我 爱 AI · step 4/14 · product") and stepper.where().endswith("[forward]")
    stepper.goto(14)
    for wrong, error in ((stepper.next, "last step"), (lambda: stepper.goto(15), "from 1 to 14"),
                         (lambda: stepper.goto(0), "from 1 to 14"),
                         (lambda: stepper.goto("P"), "no step is called 'P'")):
        with pytest.raises(LookupError, match=error):
            wrong()
    assert stepper.number == 14
    with pytest.raises(TypeError, match="wants a Trace"):
        na.Stepper(na.Softmax())


def test_cells_by_token_number_and_head():
    layer = na.MultiHeadAttention(4, 2, rng=0)
    layer(draw(3, 4))
    stepper = na.Stepper(na.trace(layer, tokens=["a", "b", "a"]), lang="en")
    stepper.goto("weights")
    assert stepper.why("b", 0).startswith("weights[head 0, b, a]")
    assert stepper.why(1, "b", 0).startswith("weights[head 1, b, a]")
    with pytest.raises(KeyError, match="'a' occurs 2 times"):
        stepper.why("a", 0)
    with pytest.raises(KeyError, match="no place along axis 2: give a number or one of a, b, a"):
        stepper.why(0, "c")
    with pytest.raises(IndexError, match="3 places"):
        stepper.why(0, 3)
    with pytest.raises(IndexError, match="got 1"):
        stepper.why(0)


def small():
    layer = randomise(na.MultiHeadAttention(4, 2, rng=0), seed=1)
    layer.backward(layer(draw(2, 4), draw(3, 4), mask=np.array([[True, False, True], [True, True, True]])) ** 2)
    return na.trace(layer)


@pytest.mark.parametrize("trace", [TRACES["by-hand"], small], ids=["by-hand", "multi-head, mask"])
def test_every_gradient_checks(trace):
    stepper = na.Stepper(trace())
    for step in stepper.trace.backward[1:]:
        report = stepper.check(step.name)
        assert report.ok, f"{step.name}\n{report}"
        assert [row.name for row in report.rows] == [step.name]


def test_a_wrong_gradient_is_found_at_its_step():
    attention = na.ScaledDotProductAttention()
    attention.backward(attention(draw(L, d_k), draw(S, d_k), draw(S, d_v)) ** 2)
    for name in ("scores", "K"):
        attention.grads[name] = attention.grads[name] * 1.001
    stepper = na.Stepper(na.trace(attention))
    assert {step.name: stepper.check(step.name).ok for step in stepper.trace.backward[1:]} == {
        "dV": True, "dweights": True, "dscores": False, "dproduct": False, "dQ": True, "dK": False}


def test_check_says_why_it_cannot():
    stepper = by_hand()
    with pytest.raises(LookupError, match="upstream gradient: it is given"):
        stepper.check("heads")
    forward = na.Stepper(na.worked_example("by-hand").trace(backward=False))
    with pytest.raises(LookupError, match=r"call layer.backward\(dout\) before"):
        forward.check("Q")
    dropping = na.MultiHeadAttention(4, 2, dropout=0.5, rng=0)
    dropping.backward(dropping(draw(3, 4)))
    with pytest.raises(ValueError, match="dropout draws anew"):
        na.Stepper(na.trace(dropping)).check("x")


def test_a_trace_keeps_its_run_when_the_layer_goes_on():
    layer = na.MultiHeadAttention(4, 2, rng=0)
    layer.backward(layer(draw(3, 4)))
    stepper = na.Stepper(na.trace(layer))
    before = stepper.goto("Q") and stepper.why(0, 0)
    layer.query_proj.params["W"] += 1
    layer(draw(5, 4))
    assert stepper.why(0, 0) == before and stepper.check("x").ok and stepper.check("query_proj.dW").ok


def test_diff_finds_where_two_runs_part():
    example = na.worked_example("by-hand")
    first = na.Stepper(example.trace())
    assert first.diff(na.Stepper(example.trace())) is None
    Q, K, V = (array.copy() for array in example.inputs)
    V[1, 2] += 0.5
    example.layer.backward(example.layer(Q, K, V))
    found = first.diff(na.trace(example.layer))
    assert (found.number, found.name, found.index) == (3, "V", (1, 2))
    assert str(found) == "step 3 V[爱, 2]: 0 against 0.5; 1 of 12 numbers differ"
    assert first.diff(na.worked_example("full-size").trace()).text.endswith("against (1, 8, 3, 64)")
    assert "only one" in str(first.diff(example.trace(backward=False)))


def test_bad_numbers_are_shouted_where_they_first_appear():
    attention = na.ScaledDotProductAttention()
    attention([[np.nan, 1.]], [[1., 1.]], [[1., 2.]])
    assert "!! NaN first appears at step 1, Q" in na.Stepper(na.trace(attention)).explain()
    assert "!!" not in by_hand().explain()


def test_gradients_of_steps_are_found_both_ways():
    trace = na.worked_example("by-hand").trace()
    assert [gradient_of(trace, step).name for step in trace.forward] == [
        "dQ", "dK", "dV", "dproduct", "dscores", "dweights", "dheads"]
    assert gradient_of(trace, trace["dQ"]) is trace["dQ"]
