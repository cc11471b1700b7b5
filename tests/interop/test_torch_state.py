"""Parameters from and to PyTorch: its own numbers come out, forward and backward, and nothing is ever half loaded."""
import re

import numpy as np
import pytest

import numpy_attention as na

from ..golden.golden import cases
from ..standard import draw, randomise

DATA = {"src", "tgt", "memory", "mask", "src_mask", "tgt_mask", "memory_mask", "src_key_padding_mask",
        "tgt_key_padding_mask", "memory_key_padding_mask", "grad_out"}


def block(case):
    """One of our blocks for the case's attributes, loaded with its parameters."""
    attrs = case.attrs
    state = {name: array for name, array in case.inputs.items() if name not in DATA}
    options = {"activation": attrs["activation"], "norm_first": attrs["norm_first"], "eps": attrs["layer_norm_eps"],
               "bias": attrs.get("bias", True)}
    sizes = attrs["d_model"], attrs["nhead"], attrs["dim_feedforward"]
    if case.op == "TransformerEncoder":
        layer = na.TransformerEncoder(attrs["num_layers"], *sizes, final_norm="norm.weight" in state, **options)
    else:
        layer = getattr(na, case.op)(*sizes, **options)
    return na.interop.from_torch(layer, state)


def masks(case, attn, padding):
    return na.interop.masks_from_torch_true_hides(case.inputs.get(attn), case.inputs.get(padding),
                                                  num_heads=case.attrs["nhead"])


def batch_first(case, array):
    return array if case.attrs["batch_first"] else array.swapaxes(0, 1)


ENCODERS = [pytest.param(case, id=case.name) for op in ("TransformerEncoderLayer", "TransformerEncoder")
            for case in cases("torch", op)]
DECODERS = [pytest.param(case, id=case.name) for case in cases("torch", "TransformerDecoderLayer")]


@pytest.mark.parametrize("case", ENCODERS)
def test_encoders_are_pytorchs(case):
    layer = block(case)
    attn = "mask" if case.op == "TransformerEncoder" else "src_mask"
    out = layer(batch_first(case, case.inputs["src"]), **masks(case, attn, "src_key_padding_mask"))
    dx = layer.backward(batch_first(case, case.inputs["grad_out"]))
    ours = {"out": batch_first(case, out), "grad_src": batch_first(case, dx),
            **{f"grad_{name}": array for name, array in na.interop.grads_to_torch(layer).items()}}
    assert set(ours) == set(case.outputs)
    assert case.mismatches(ours) == []


@pytest.mark.parametrize("case", DECODERS)
def test_decoders_are_pytorchs(case):
    layer = block(case)
    over = masks(case, "memory_mask", "memory_key_padding_mask")
    out = layer(*(batch_first(case, case.inputs[name]) for name in ("tgt", "memory")),
                **masks(case, "tgt_mask", "tgt_key_padding_mask"), memory_mask=over["mask"], memory_bias=over["bias"])
    dx, dmemory = layer.backward(batch_first(case, case.inputs["grad_out"]))
    ours = {"out": batch_first(case, out), "grad_tgt": batch_first(case, dx), "grad_memory": batch_first(case, dmemory),
            **{f"grad_{name}": array for name, array in na.interop.grads_to_torch(layer).items()}}
    assert set(ours) == set(case.outputs)
    assert case.mismatches(ours) == []


def attention(case):
    attrs = case.attrs
    D, H = attrs["embed_dim"], attrs["num_heads"]
    extra = None
    if attrs["add_bias_kv"] or attrs["add_zero_attn"]:
        extra = na.ExtraKeyAttention(H, D // H, D // H, learned=attrs["add_bias_kv"], zero=attrs["add_zero_attn"])
    state = {name: array for name, array in case.inputs.items() if name.startswith(("in_", "out_", "bias_"))
             or name.endswith("_proj_weight")}
    dtype = case.inputs["query"].dtype
    layer = na.MultiHeadAttention(D, H, kdim=attrs["kdim"], vdim=attrs["vdim"], bias=attrs["bias"], attention=extra,
                                  dtype=dtype if dtype == np.float32 else np.float64)
    return na.interop.from_torch(layer, state), state


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases("torch", "MultiheadAttention")])
def test_attention_there_and_back_is_the_same_to_the_last_bit(case):
    layer, state = attention(case)
    again = na.interop.to_torch(layer)
    assert list(again) == [name for name in case.inputs if name in state]
    for name, array in state.items():
        np.testing.assert_array_equal(again[name], array)
        assert again[name].flags.c_contiguous
        assert again[name].flags.owndata or again[name].base is None


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases("torch", "MultiheadAttention")
                                  if case.attrs["mode"] == "cross" and "nonfinite" not in case.tags])
def test_cross_attention_is_pytorchs(case):
    layer, _ = attention(case)
    given = [case.inputs[name] for name in ("query", "key", "value", "grad_out")]
    if case.attrs["batched"] and not case.attrs["batch_first"]:
        given = [array.swapaxes(0, 1) for array in given]
    options = na.interop.masks_from_torch_true_hides(case.inputs.get("attn_mask"), case.inputs.get("key_padding_mask"),
                                                     num_heads=case.attrs["num_heads"])
    layer(*given[:3], **options)
    layer.backward(given[3])
    ours = {f"grad_{name}": array for name, array in na.interop.grads_to_torch(layer).items()}
    assert case.mismatches({name: array for name, array in ours.items() if name in case.outputs}) == []


class Language(na.Layer):
    """A layer of one's own: its sublayers go by the names it gives them."""

    def __init__(self):
        super().__init__()
        self.tokens = na.Embedding(11, 8, rng=0)
        self.places = na.LearnedPositions(5, 8, rng=1)
        self.first, self.second = (na.FeedForward(8, 6, rng=2), na.GatedFeedForward(8, 7, rng=3))
        self.blocks = [na.TransformerEncoderLayer(8, 2, 9, rng=4)]
        self.norm = na.RMSNorm(8)
        self.params["temperature"] = np.ones(1)


LAYERS = {
    "linear": lambda: na.Linear(8, 3, rng=0),
    "norm": lambda: na.LayerNorm((4, 8)),
    "kdim": lambda: na.MultiHeadAttention(8, 2, kdim=9, vdim=10, rng=0),
    "extra keys": lambda: na.MultiHeadAttention(8, 2, rng=0, attention=na.ExtraKeyAttention(2, 4, 4, zero=True)),
    "rotary": lambda: na.MultiHeadAttention(8, 2, rng=0, attention=na.RotaryAttention(4)),
    "encoder": lambda: na.TransformerEncoder(2, 8, 2, 9, norm_first=True, rng=0),
    "decoder": lambda: na.TransformerDecoder(2, 8, 2, 9, final_norm=True, rng=0),
    "one's own": Language,
}


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_round_trip_is_the_same_to_the_last_bit(make, dtype):
    layer, other = (randomise(make(), seed=seed, dtype=dtype) for seed in (1, 2))
    state = na.interop.to_torch(layer, prefix="model.")
    kept = {name: array.copy() for name, array in layer.named_params().items()}
    held = other.named_params()
    assert na.interop.from_torch(other, state, prefix="model.") is other
    for name, array in other.named_params().items():
        np.testing.assert_array_equal(array, kept[name])
        assert array is held[name]
        assert array.dtype == dtype
    for array in state.values():        # a state dict is a copy
        array[...] = 0
    for name, array in layer.named_params().items():
        np.testing.assert_array_equal(array, kept[name])


def test_names_of_a_layer_of_ones_own():
    names = list(na.interop.to_torch(Language()))
    assert names[:2] == ["temperature", "tokens.weight"]
    assert {"first.linear1.weight", "first.linear2.bias", "second.gate_proj.weight", "places.weight", "norm.weight",
            "blocks.0.self_attn.in_proj_weight", "blocks.0.linear1.weight", "blocks.0.norm2.bias"} <= set(names)


def test_float32_fits_float64_exactly():
    state = {name: array.astype(np.float32) for name, array in na.interop.to_torch(LAYERS["linear"]()).items()}
    layer = na.interop.from_torch(na.Linear(8, 3), state)
    np.testing.assert_array_equal(layer.params["W"], state["weight"].T)
    assert layer.params["W"].dtype == np.float64


class NoArray:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("can't convert a tensor on cuda:0")


BAD_STATES = {
    "a name missing": (lambda s: s.pop("out_proj.bias"), ValueError, r"missing out_proj\.bias"),
    "a name too many": (lambda s: s.update(bias_k=np.ones((1, 1, 8))), ValueError, "not known to this layer bias_k"),
    "another prefix": (lambda s: s.update({f"module.{n}": s.pop(n) for n in [*s]}), ValueError, r"missing in_proj"),
    "transposed": (lambda s: s.update(in_proj_weight=s["in_proj_weight"].T), ValueError, r"\(24, 8\).*\(8, 24\)"),
    "an axis too many": (lambda s: s.update(in_proj_bias=s["in_proj_bias"][None]), ValueError, r"\(24,\).*\(1, 24\)"),
    "whole numbers": (lambda s: s.update(in_proj_bias=np.ones(24, int)), TypeError, r"in_proj_bias must hold floats"),
    "complex numbers": (lambda s: s.update(in_proj_bias=np.ones(24, complex)), TypeError, r"must hold floats"),
    "text": (lambda s: s.update(in_proj_bias=np.array(["1"] * 24)), TypeError, r"must hold floats"),
    "too precise": (lambda s: s.update(in_proj_bias=np.ones(24)), TypeError, r"float64.*float32.*lose digits"),
    "no array": (lambda s: s.update({"out_proj.bias": NoArray()}), TypeError, r"out_proj\.bias.*cuda"),
    "None": (lambda s: s.update({"out_proj.bias": None}), (TypeError, ValueError), r"out_proj\.bias"),
}


@pytest.mark.parametrize(("spoil", "error", "message"), BAD_STATES.values(), ids=BAD_STATES)
def test_a_state_that_does_not_fit_changes_nothing(spoil, error, message):
    state = na.interop.to_torch(randomise(na.MultiHeadAttention(8, 2), seed=1, dtype=np.float32))
    spoil(state)
    layer = randomise(na.MultiHeadAttention(8, 2), seed=2, dtype=np.float32)
    before = {name: array.copy() for name, array in layer.named_params().items()}
    with pytest.raises(error, match=message):
        na.interop.from_torch(layer, state)
    for name, array in layer.named_params().items():
        np.testing.assert_array_equal(array, before[name])


def test_a_read_only_parameter_is_found_before_anything_is_written():
    layer = na.Linear(8, 3, rng=0)
    layer.params["b"].flags.writeable = False
    before = layer.params["W"].copy()
    with pytest.raises(ValueError, match="read-only"):
        na.interop.from_torch(layer, {"weight": np.ones((3, 8)), "bias": np.ones(3)})
    np.testing.assert_array_equal(layer.params["W"], before)


def test_what_is_no_state_dict():
    for wrong in (na.Linear(2, 2), [1, 2], "weights.pt", None):
        with pytest.raises(TypeError, match=r"state_dict must be a dict of arrays"):
            na.interop.from_torch(na.Linear(2, 2), wrong)


@pytest.mark.parametrize(("layer", "message"), [
    (na.MultiHeadAttention(8, 4, num_kv_heads=2), "num_kv_heads"),
    (na.MultiHeadAttention(8, 2, d_k=3), "d_k"),
    (na.MultiHeadAttention(8, 2, d_v=3), "d_v"),
])
def test_what_pytorch_has_no_place_for(layer, message):
    for use in (na.interop.to_torch, lambda layer: na.interop.from_torch(layer, {})):
        with pytest.raises(ValueError, match=message):
            use(layer)


def test_gradients_need_a_backward_pass():
    layer = na.MultiHeadAttention(8, 2, rng=0)
    with pytest.raises(RuntimeError, match="no gradient yet"):
        na.interop.grads_to_torch(layer)
    layer(draw(2, 4, 8))
    layer.backward(draw(2, 4, 8, seed=1))
    grads = na.interop.grads_to_torch(layer)
    np.testing.assert_array_equal(grads["in_proj_weight"][8:16], layer.key_proj.grads["W"].T)
    assert {name: g.shape for name, g in grads.items()} == {n: p.shape for n, p in na.interop.to_torch(layer).items()}


@pytest.mark.parametrize("prefix", ["module.", "_orig_mod.", "model.0."])
def test_names_under_a_prefix_are_found_and_the_error_says_so(prefix):
    given = na.Linear(3, 2, rng=0)
    state = {prefix + name: array for name, array in na.interop.to_torch(given).items()}
    with pytest.raises(ValueError, match=f"give prefix='{re.escape(prefix)}'$"):
        na.interop.from_torch(na.Linear(3, 2), state)
    read = na.interop.from_torch(na.Linear(3, 2), state, prefix=prefix)
    np.testing.assert_array_equal(read.params["W"], given.params["W"])
    with pytest.raises(ValueError, match="Several parts fit: give prefix='a.', or another of b.$"):
        na.interop.from_torch(na.Linear(3, 2), {start + name: array for start in ("a.", "b.")
                                                for name, array in na.interop.to_torch(given).items()})
    with pytest.raises(ValueError, match="missing weight, bias; not known to this layer W$"):
        na.interop.from_torch(na.Linear(3, 2), {"W": np.ones((3, 2))})


def test_a_masked_array_would_lose_its_mask():
    state = na.interop.to_torch(na.Linear(3, 2, rng=0))
    state["weight"] = np.ma.masked_array(state["weight"])
    for call in (lambda: na.interop.from_torch(na.Linear(3, 2), state),
                 lambda: na.padding_mask(np.ma.masked_array([1, 2]), 3),
                 lambda: na.interop.mask_to_torch_true_shows(np.ma.masked_array(np.ones((2, 2), bool)), shape=(2, 2)),
                 lambda: na.interop.masks_from_torch_true_hides(np.ma.masked_array(np.ones((2, 2), bool))),
                 lambda: na.check_gradients(na.Softmax(), np.ma.masked_array([1., 2.])).assert_ok()):
        with pytest.raises((TypeError, AssertionError), match="masked array, and its mask would be lost"):
            call()


@pytest.mark.parametrize("key", ["state_dict", "model"])
def test_a_checkpoint_with_the_state_dict_inside_of_it(key):
    state = na.interop.to_torch(na.Linear(3, 2, rng=0))
    with pytest.raises(ValueError, match=f"This looks like a whole checkpoint: give its entry '{key}'$"):
        na.interop.from_torch(na.Linear(3, 2), {"epoch": 3, key: state, "optimizer": {"lr": 0.1}})


@pytest.mark.parametrize("wrong", [None, {}, na.Linear, "layer"])
def test_only_layers_have_parameters(wrong, tmp_path):
    for call in (lambda: na.interop.to_torch(wrong), lambda: na.interop.from_torch(wrong, {}),
                 lambda: na.interop.grads_to_torch(wrong), lambda: na.interop.save(wrong, tmp_path / "x.npz"),
                 lambda: na.interop.load(wrong, tmp_path / "x.npz")):
        with pytest.raises(TypeError, match="^layer must be a layer"):
            call()
