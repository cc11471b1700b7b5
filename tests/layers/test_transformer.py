"""Encoder and decoder: where the norms stand, what adds up, and what cannot be seen."""
import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

from ..standard import D, L, N, S, as_tuple, draw, randomise, run

X, MEMORY = draw(N, L, D), draw(N, S, D, seed=1)
MAKE = {
    "encoder layer": na.TransformerEncoderLayer,
    "decoder layer": na.TransformerDecoderLayer,
    "encoder": lambda *sizes, **options: na.TransformerEncoder(2, *sizes, **options),
    "decoder": lambda *sizes, **options: na.TransformerDecoder(2, *sizes, **options),
}


def made(name, **options):
    layer = randomise(MAKE[name](D, 2, 11, rng=0, **options))
    return layer, (X, MEMORY) if "decoder" in name else (X,)


def test_an_encoder_layer_written_out():
    layer, _ = made("encoder layer")
    summed = layer.norm1(X + layer.self_attn(X))
    assert_allclose(layer(X), layer.norm2(summed + layer.feed_forward(summed)), rtol=1e-13)
    layer, _ = made("encoder layer", norm_first=True)
    summed = X + layer.self_attn(layer.norm1(X))
    assert_allclose(layer(X), summed + layer.feed_forward(layer.norm2(summed)), rtol=1e-13)


def test_a_decoder_layer_written_out():
    layer, _ = made("decoder layer")
    first = layer.norm1(X + layer.self_attn(X))
    second = layer.norm2(first + layer.cross_attn(first, MEMORY))
    assert_allclose(layer(X, MEMORY), layer.norm3(second + layer.feed_forward(second)), rtol=1e-13)
    layer, _ = made("decoder layer", norm_first=True)
    first = X + layer.self_attn(layer.norm1(X))
    second = first + layer.cross_attn(layer.norm2(first), MEMORY)
    assert_allclose(layer(X, MEMORY), second + layer.feed_forward(layer.norm3(second)), rtol=1e-13)


@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_a_stack_is_its_layers_in_turn(name):
    stack, inputs = made(name, norm_first=True)
    expected = X
    for layer in stack.layers:
        expected = layer(expected, *inputs[1:])
    assert_allclose(stack(*inputs), stack.norm(expected), rtol=1e-13)
    plain, _ = made(name)
    assert plain.norm is None       # after a post-norm layer there is nothing left to bring to size
    assert len({id(array) for array in stack.named_params().values()}) == len(stack.named_params())


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("name", MAKE)
def test_the_future_cannot_leak(name, norm_first):
    layer, inputs = made(name, norm_first=norm_first)
    mask = na.causal_mask(L)
    before = layer(*inputs, mask=mask)
    changed = X.copy()
    changed[:, 2] = draw(N, D, seed=2)        # not a shift, to which a norm is blind
    after = layer(changed, *inputs[1:], mask=mask)
    assert_array_equal(after[:, :2], before[:, :2])
    assert not np.allclose(after[:, 2:], before[:, 2:])
    layer(*inputs, mask=mask)
    dout = np.zeros((N, L, D))
    dout[:, 1] = draw(N, D)
    dx = layer.backward(dout)
    dx = dx[0] if isinstance(dx, tuple) else dx
    assert not dx[:, 2:].any()


@pytest.mark.parametrize("name", MAKE)
def test_a_single_sequence_needs_no_batch_axis(name):
    layer, inputs = made(name)
    out, grads, _ = run(layer, [array[:1] for array in inputs], {"mask": na.causal_mask(L)})
    assert_allclose(layer(*(array[0] for array in inputs), mask=na.causal_mask(L)), out[0], rtol=1e-12)
    alone = layer.backward(draw(1, L, D, seed=9)[0])
    for mine, theirs in zip(alone if isinstance(alone, tuple) else (alone,), grads, strict=True):
        assert_allclose(mine, theirs[0], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", ["decoder layer", "decoder"])
@pytest.mark.parametrize("content", [np.nan, np.inf])
def test_hidden_memory_changes_nothing(name, content):
    layer, _ = made(name)
    options = {"memory_mask": na.padding_mask([3, 4], S)}
    expected = run(layer, (X, MEMORY), options)
    memory = MEMORY.copy()
    memory[0, 3:] = memory[1, 4:] = content
    found = run(layer, (X, memory), options)
    assert_array_equal(found[0], expected[0])
    for mine, theirs in zip([*found[1], *found[2].values()], [*expected[1], *expected[2].values()], strict=True):
        assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", MAKE)
def test_dropout_is_off_in_eval_and_seeded_in_training(name):
    layer, inputs = made(name, dropout=0.5)
    plain, _ = made(name)
    assert not np.allclose(layer(*inputs), plain(*inputs))
    assert_array_equal(layer.eval()(*inputs), plain(*inputs))
    first, second = (MAKE[name](D, 2, 11, dropout=0.5, rng=4) for _ in range(2))
    assert_array_equal(first(*inputs), second(*inputs))


@pytest.mark.parametrize("name", MAKE)
@pytest.mark.parametrize("shape", [(N, L, D + 1), (D,), (1, N, L, D), ()])
def test_tokens_of_the_wrong_shape(name, shape):
    layer, inputs = made(name)
    for place, argument in enumerate(("x", "memory")[:len(inputs)]):
        bad = [*inputs]
        bad[place] = np.zeros(shape)
        with pytest.raises(ValueError, match=rf"{argument} must have shape .*D = {D}; got ") as raised:
            layer(*bad)
        assert str(shape) in str(raised.value)


def test_settings_that_make_no_sense():
    with pytest.raises(ValueError, match="cannot be cut into"):
        na.TransformerEncoderLayer(8, 3)
    with pytest.raises(ValueError, match="num_layers must be at least 1"):
        na.TransformerEncoder(0, 8, 2)
    with pytest.raises(ValueError, match="activation must be one of"):
        na.TransformerDecoderLayer(8, 2, activation="swish")
    with pytest.raises(ValueError, match="must lie in 0 <= p < 1"):
        na.TransformerEncoderLayer(8, 2, dropout=1.0)
    with pytest.raises(ValueError, match="share the batch size N"):
        na.TransformerDecoderLayer(D, 2)(X, MEMORY[:1])


@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_a_stack_may_have_one_layer(name):
    make = {"encoder": na.TransformerEncoder, "decoder": na.TransformerDecoder}[name]
    stack = randomise(make(1, D, 2, 11, norm_first=True, rng=0))
    inputs, options = (X, MEMORY)[:1 + (name == "decoder")], {"mask": na.causal_mask(L), "bias": draw(N, 2, L, L)}
    if name == "decoder":
        options |= {"memory_mask": na.padding_mask([3, 5], S), "memory_bias": draw(N, 2, L, S)}
    out, grads, _ = run(stack, inputs, options)
    layer, norm = copy.deepcopy(stack.layers[0]), copy.deepcopy(stack.norm)
    assert_array_equal(out, norm(layer(*inputs, **options)))
    for mine, theirs in zip(grads, as_tuple(layer.backward(norm.backward(draw(N, L, D, seed=9)))), strict=True):
        assert_array_equal(mine, theirs)
    for key in options:
        assert_array_equal(stack.cache[key], layer.cache[key])
        if key.endswith("bias"):
            assert_array_equal(stack.grads[key], layer.grads[key])


@pytest.mark.parametrize("name", MAKE)
def test_there_are_biases_unless_they_are_switched_off(name):
    # Written down, not read off the code: 4 in each attention, 2 in the feed-forward layer, and one in each norm.
    layers, attentions = (2 if name in ("encoder", "decoder") else 1), (2 if "decoder" in name else 1)

    def biases(**options):
        layer = MAKE[name](D, 2, 11, **options)
        return sum(key.endswith((".b", ".beta")) for key in layer.named_params())

    assert biases() == layers * (4 * attentions + 2 + attentions + 1)
    assert biases(bias=False) == 0


@pytest.mark.parametrize("name", MAKE)
def test_what_the_defaults_are(name):
    layer = MAKE[name](D, 2)
    part = getattr(layer, "layers", [layer])[0]
    assert part.feed_forward.up_proj.params["W"].shape == (D, 4 * D)
    assert isinstance(part.feed_forward.activation, na.ReLU)
    assert (part.dropout1.p, part.norm1.eps, part.attend.pre, part.attend.post) == (0, 1e-5, False, True)
    assert {array.dtype for array in layer.named_params().values()} == {np.dtype(np.float64)}


def test_a_part_may_be_replaced():
    layer, plain = na.TransformerEncoderLayer(D, 2, 11, rng=0), na.TransformerEncoderLayer(D, 2, 11, rng=0)
    layer.norm1 = na.RMSNorm(D)
    assert layer.norm1 is layer.attend.norm
    assert "norm1.beta" not in layer.named_params()
    summed = X + plain.self_attn(X)
    layer(X)
    assert_allclose(layer.cache["heard"], na.RMSNorm(D)(summed), rtol=1e-13)
