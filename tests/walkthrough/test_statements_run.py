"""A layer states each step once, and that statement runs: of every layer, every formula is executed and compared.

What a new layer has to do for its page, its highlighting and its `why`: state its steps (FORWARD, BACKWARD) in the
signs of walkthrough/formula.py and keep the tensors it names in its cache and grads. Where that is not enough, these
tests say which step of which layer, and what is missing.
"""
import numpy as np
import pytest

from numpy_attention.engine.layer import Layer
from numpy_attention.walkthrough.formula import NotAFormula, parse
from numpy_attention.walkthrough.made import execute, made
from numpy_attention.walkthrough.reading import read_trace
from numpy_attention.walkthrough.why import why

from ..standard import EXAMPLES, draw, randomise

# Formulas that are sentences: these steps are shown and not explained. Each with its reason.
SENTENCES = {
    "BlockedAttention": {
        "running": "a loop over blocks, of which the cache keeps one row",
        "log_sum": "scores is never held whole: that is what the layer is for",
        "heads": "as log_sum", "dV": "as log_sum", "dQ": "as log_sum", "dK": "as log_sum"},
    "SinusoidalPositions": {"positions": "it depends on the place alone, on no tensor"},
    "RelativePositionBias": {
        "buckets": "a rule with cases, for whole numbers",
        "bias": "a table whose heads stand last is looked up, and they come to the front",
        "dtable": "as bias, backwards"},
    "RelativeBiasAttention": {"relative": "as bias of RelativePositionBias", "dtable": "as relative, backwards"},
    "Sink": {
        "unspent": "its max is taken over scores and sink together, and no tensor holds both",
        "weights": "as unspent", "dsink": "the softmax inside keeps unspent, and no step shows it"},
    "ExtraKeyAttention": {"biased": "the bias was made wider by the extra columns, and no step shows that one"},
    "TransformerDecoder,": {"dmemory": "the layers inside keep a gradient each, and no step shows them"},
}


def traced(example, seed):
    layer = randomise(example.make(), seed=seed)
    inputs = [array if array.dtype.kind in "iu" else draw(*array.shape, seed=seed) for array in example.inputs]
    out = layer(*inputs, **example.options)
    layer.backward(draw(*out.shape, seed=seed + 1) if np.ndim(out) else None)
    return read_trace(layer)


def may_be_a_sentence(name, step):
    return any(name.startswith(key) and step.short_name in steps for key, steps in SENTENCES.items())


@pytest.mark.parametrize("key", SENTENCES)
def test_every_listed_sentence_is_one(key):
    found = {step.short_name for name in EXAMPLES if name.startswith(key)
             for trace in [traced(EXAMPLES[name], 1)] for step in trace
             if step.formula not in ("given", "upstream gradient") and made(trace, step.name) is None}
    assert found == set(SENTENCES[key]), f"{key}: what can be executed now needs no line in SENTENCES"


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_formula_gives_the_layers_numbers(name):
    trace = traced(EXAMPLES[name], 1)
    for step in trace:
        if step.formula in ("given", "upstream gradient") or may_be_a_sentence(name, step):
            continue
        try:
            parse(step.formula)
        except NotAFormula as error:
            pytest.fail(f"{name}: {step.name}: {error}: state it in the signs of walkthrough/formula.py")
        assert step.tree is not None, (f"{name}: {step.name} = {step.formula} names something that is in neither "
                                       "cache, grads nor params, or that is another array than the trace's")
        assert made(trace, step.name) is not None, f"{name}: {step.name} = {step.formula} gives other numbers"
        assert why(trace, step.name, (0,) * step.value.ndim) and step.lesson


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_formula_follows_other_inputs_and_parameters(name):
    # One statement, two runs: what the first run states, fed with the givens of the second, gives the second.
    first, second = traced(EXAMPLES[name], 1), traced(EXAMPLES[name], 2)
    roots = {step.name: step.value for step in second if made(first, step.name) is None} | second.run.constants
    again = execute(first, roots)
    for step in second:
        np.testing.assert_allclose(again[step.name], step.value, rtol=1e-11, atol=1e-11, err_msg=step.name)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_computed_step_has_its_line_of_code(name):
    lacking = [step.name for step in traced(EXAMPLES[name], 1)
               if step.formula not in ("given", "upstream gradient") and not step.code]
    assert not lacking, (f"{name}: no line of forward or backward makes {', '.join(lacking)}: assign it to its name, "
                         'or store it as self.grads["..."], "...": or ...=')


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_tensor_that_two_layers_name_is_one_array(name):
    # A step's name is that of the outermost layer that holds the same array; a copy would split it in two.
    layer = randomise(EXAMPLES[name].make())
    layer(*EXAMPLES[name].inputs, **EXAMPLES[name].options)

    def check(layer):
        for stage in layer.FORWARD:
            inner = layer.sublayers().get(stage) if isinstance(stage, str) else None
            if inner is None:
                continue
            for key in inner.cache.keys() & layer.cache.keys():
                a, b = inner.cache[key], layer.cache[key]
                if isinstance(a, np.ndarray) and a.shape == b.shape and np.array_equal(a, b):
                    assert a is b, f"{type(layer).__name__}.cache[{key!r}] is a copy of {stage}.cache[{key!r}]"
            check(inner)

    check(layer)


def test_a_layer_of_ones_own_gets_its_why_for_nothing():
    class Gate(Layer):
        FORWARD = (("opened", "σ(x)", "... D", "How far?", "开多大？"),
                   ("out", "opened ∘ x", "... D", "Pass.", "通过。"))
        BACKWARD = (("dx", "dout ∘ (opened + x ∘ opened ∘ (1 − opened))", "... D", "Both.", "两条路。"),)

        def forward(self, x):
            opened = 1 / (1 + np.exp(-x))
            self.cache = {"x": x, "opened": opened, "out": opened * x}
            return self.cache["out"]

        def backward(self, dout):
            x, opened, _ = self.cache.values()
            self.grads = {"out": dout, "x": dout * (opened + x * opened * (1 - opened))}
            return self.grads["x"]

    gate = Gate()
    gate.backward(gate([[1., 2.]]) * 0 + 1)
    trace = read_trace(gate)
    assert why(trace, "dx", (0, 1)) == "dx[0, 1] = 1 · (0.8808 + 2 · 0.8808 · (1 − 0.8808)) = 1.0908"
    assert trace["dx"].lesson == "dx = dout * (opened + x * opened * (1 - opened))"
    assert "self.grads = " in trace["dx"].code


@pytest.mark.parametrize(("text", "message"), [
    ("Q Kᵀ ! 2", "'!' is not known"), ("softmax(scores", r"'\)' is missing"), ("x + ", "ends too early"),
    ("K, then more", "cannot be read from ',' on"), ("∘ x", "'∘' stands where"),
])
def test_what_is_no_formula_says_where_it_stops(text, message):
    with pytest.raises(NotAFormula, match=message):
        parse(text)
