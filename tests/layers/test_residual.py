"""Residual: the sum, the two places of the norm, what is handed to the layer, and what cannot be added."""
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

from ..standard import D, L, N, S, draw, randomise

X, MEMORY, DOUT = draw(N, L, D), draw(N, S, D, seed=1), draw(N, L, D, seed=2)


def made(norm=True, **options):
    norm = na.LayerNorm(D) if norm else None
    return randomise(na.Residual(na.FeedForward(D, 11, activation="gelu"), norm, **options))


def test_the_three_ways_written_out():
    plain, post, pre = made(norm=False), made(), made(norm_first=True)
    assert_allclose(plain(X), X + plain.layer(X), rtol=1e-14)
    assert_allclose(post(X), post.norm(X + post.layer(X)), rtol=1e-14)
    assert_allclose(pre(X), pre.layer(pre.norm(X)) + X, rtol=1e-14)


def test_norm_first_without_a_norm_is_a_plain_sum():
    assert_array_equal(made(norm=False, norm_first=True)(X), made(norm=False)(X))


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_layer_that_says_nothing_is_walked_around(norm_first):
    residual = made(norm_first=norm_first)
    residual.layer.down_proj.params["W"][...] = residual.layer.down_proj.params["b"][...] = 0
    out, dx = residual(X), residual.backward(DOUT)
    assert_array_equal(out, X if norm_first else residual.norm(X))
    assert_array_equal(dx, DOUT if norm_first else residual.norm.backward(DOUT))


def test_the_layer_gets_memory_mask_and_bias():
    mha = na.MultiHeadAttention(D, 2, rng=0)
    residual, options = na.Residual(mha), {"mask": na.padding_mask([3, 5], S), "bias": draw(N, 2, L, S)}
    out = residual(X, MEMORY, **options)
    assert_array_equal(out, X + mha(X, MEMORY, **options))
    residual(X, MEMORY, **options)
    dx, dmemory = residual.backward(DOUT)
    dquery, expected = mha.backward(DOUT)
    assert_array_equal(dx, DOUT + dquery)
    assert_array_equal(dmemory, expected)
    assert_array_equal(residual.grads["bias"], mha.grads["bias"])
    assert_array_equal(residual.cache["mask"], mha.cache["mask"])


def test_what_was_not_given_is_not_handed_on():
    residual = na.Residual(na.Linear(D, D, rng=0))      # a Linear knows no mask
    assert isinstance(residual.backward(residual(X)), np.ndarray)
    with pytest.raises(TypeError, match="mask"):
        residual(X, mask=na.causal_mask(L))


def test_dropout_falls_on_what_is_added_and_never_on_what_was_there():
    residual = made(norm=False, dropout=0.5, rng=3)
    out = residual(X)
    fell = residual.cache["added"] == 0
    assert 0.2 < fell.mean() < 0.8
    assert_array_equal(out[fell], X[fell])
    assert_allclose((out - X)[~fell], 2 * residual.layer.cache["out"][~fell], rtol=1e-12)
    residual.backward(DOUT)
    assert_array_equal(residual.layer.grads["out"], np.where(fell, 0, 2 * DOUT))
    assert_array_equal(residual.eval()(X), made(norm=False)(X))


def test_what_does_not_have_the_shape_of_x_cannot_be_added():
    with pytest.raises(ValueError, match=r"x is \(2, 4, 8\), what the layer makes of it is \(2, 4, 1\)"):
        na.Residual(na.Linear(D, 1, rng=0))(X)          # NumPy would stretch it without a word


@pytest.mark.parametrize("dropout", [0, 0.3])
@pytest.mark.parametrize(("options", "forward", "dx"), [
    ({"norm": False}, "added out", "dadded + THROUGH"),
    ({}, "added summed out", "dadded + THROUGH"),
    ({"norm_first": True}, "normed added out", "dadded + norm.backward(dnormed)"),
])
def test_the_statement_is_that_of_the_variant(options, forward, dx, dropout):
    residual = made(dropout=dropout, **options)
    residual.backward(residual(X))
    assert [stage.name for stage in residual.FORWARD if stage.name in residual.cache] == forward.split()
    formulas = {stage.name: stage.formula for stage in (*residual.FORWARD, *residual.BACKWARD)}
    inside, through = "layer(normed)" if "normed" in forward else "layer(x)", "layer.backward(dadded)"
    if dropout:
        inside, through = f"dropout({inside})", "layer.backward(dropout.backward(dadded))"
    assert formulas["added"] == inside
    assert formulas["out"] == ("norm(summed)" if "summed" in forward else "x + added")
    assert formulas["dadded"] == ("dsummed" if "summed" in forward else "dout")
    assert formulas["dx"] == dx.replace("THROUGH", through)


def test_a_trace_goes_into_the_layer_and_the_norm():
    residual = made(norm_first=True)
    residual.backward(residual(X))
    names = [step.name for step in na.trace(residual)]
    assert names[:5] == ["x", "norm.mean", "norm.std", "norm.normed", "normed"]
    assert names.index("normed") < names.index("layer.hidden") < names.index("added") < names.index("out")
    assert names.index("layer.dhidden") < names.index("dnormed") < names.index("norm.dnormed") < names.index("dx")


def test_a_trace_of_a_composite_has_one_name_for_each_part_and_knows_whose_keys_are_whose():
    layer = na.TransformerDecoderLayer(D, 2, 11, norm_first=True, rng=0)
    layer.backward(layer(X, MEMORY, mask=na.causal_mask(L)))
    trace = na.trace(layer, query_tokens=["a"] * L, key_tokens=["m"] * S)
    steps = {step.name: step for step in trace}
    for name, symbols in (("x", "N L D"), ("memory", "N S D"), ("self_attn.weights", "N H L L"),
                          ("cross_attn.weights", "N H L S"), ("cross_attn.dK", "N H S d_k"), ("heard", "N L D"),
                          ("attended", "N L D"), ("dfound", "N L D"), ("dmemory", "N S D"), ("dx", "N L D")):
        assert steps[name].symbols == symbols
    for name in layer.named_params():
        part, _, param = name.rpartition(".")
        assert f"{part}.d{param}" in steps
    assert not any(".layer." in name for name in steps)


@pytest.mark.parametrize("inputs", [(X,), (X[0],)], ids=["batch", "one sequence"])
def test_a_trace_of_an_encoder_layer_repeats_its_run(inputs):
    layer = randomise(na.TransformerEncoderLayer(D, 2, 11))
    out = layer(*inputs, mask=na.causal_mask(L), bias=draw(L, L))
    assert_array_equal(na.trace(layer).run.forward(), out)


def test_a_probability_that_is_none_is_refused():
    for p in (True, "0.1", 1.0, -0.1, None):
        with pytest.raises(ValueError, match="must lie in 0 <= p < 1"):
            na.Residual(na.Linear(D, D), dropout=p)
