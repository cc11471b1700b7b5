"""torch's attention: nn.MultiheadAttention, scaled_dot_product_attention and its variants."""
import numpy as np

import numpy_attention as na

from .reference import adapter
from .torch_layers import set_linear

PROJECTIONS = ("query_proj", "key_proj", "value_proj")
EXTRA = {"extra_key": "bias_k", "extra_value": "bias_v"}


@adapter("torch", "MultiheadAttention")
def multihead_attention(case):
    attrs, given = case.attrs, case.inputs
    D, H = attrs["embed_dim"], attrs["num_heads"]
    extra = attrs["add_bias_kv"] or attrs["add_zero_attn"]
    attention = na.ExtraKeyAttention(H, D // H, D // H, learned=attrs["add_bias_kv"],
                                     zero=attrs["add_zero_attn"]) if extra else None
    mha = na.MultiHeadAttention(D, H, kdim=attrs["kdim"], vdim=attrs["vdim"], bias=attrs["bias"], attention=attention)
    set_attention(mha, given)
    swap = attrs["batched"] and not attrs["batch_first"]
    arrays = [given[name] for name in ("query", "key", "value") if name in given]
    N = 1 if not attrs["batched"] else given["query"].shape[1 if swap else 0]
    out = mha(*(_batch_first(array, swap) for array in arrays), **_masks(given, N, attrs["num_heads"]))
    grads = mha.backward(_batch_first(given["grad_out"], swap))
    grads = grads if isinstance(grads, tuple) else (grads,)
    ours = {"out": _batch_first(out, swap)}
    if attrs["need_weights"]:
        ours["attn"] = mha.weights.mean(axis=-3) if attrs["average_attn_weights"] else mha.weights
    ours.update({f"grad_{name}": _batch_first(grad, swap)
                 for name, grad in zip(("query", "key", "value"), grads, strict=False)})
    ours.update(attention_grads(mha, given))
    for name, (rows, columns) in attrs.get("grad_slices", {}).items():
        ours[name] = ours[name][::rows, ::columns]
    return ours


def set_attention(mha, state, prefix=""):
    """torch's parameters into ours; torch stacks the three projections unless their widths differ."""
    D = len(state[f"{prefix}out_proj.weight"])
    stacked = state.get(f"{prefix}in_proj_weight")
    weights = (np.split(stacked, 3) if stacked is not None
               else [state[f"{prefix}{which}_proj_weight"] for which in "qkv"])
    biases = np.split(state.get(f"{prefix}in_proj_bias", np.zeros(3 * D)), 3)
    for name, weight, bias in zip(PROJECTIONS, weights, biases, strict=True):
        layer = getattr(mha, name)
        set_linear(layer, weight, bias if "b" in layer.params else None)
    set_linear(mha.output_proj, state[f"{prefix}out_proj.weight"], state.get(f"{prefix}out_proj.bias"))
    for ours, theirs in EXTRA.items():
        if theirs in state:     # (1, 1, H·d) -> (H, 1, d)
            mha.attention.params[ours] = state[theirs].reshape(mha.split.num_heads, 1, -1).copy()


def attention_grads(mha, state, prefix=""):
    """Our gradients under torch's names, for the parameters in `state`."""
    projections = [getattr(mha, name).grads for name in PROJECTIONS]
    found = {"out_proj.weight": mha.output_proj.grads["W"].T, "out_proj.bias": mha.output_proj.grads.get("b")}
    found.update({f"{which}_proj_weight": grads["W"].T for which, grads in zip("qkv", projections, strict=True)})
    if f"{prefix}in_proj_weight" in state:
        found["in_proj_weight"] = np.concatenate([grads["W"].T for grads in projections])
    if f"{prefix}in_proj_bias" in state:
        found["in_proj_bias"] = np.concatenate([grads["b"] for grads in projections])
    found.update({theirs: mha.attention.grads[ours].reshape(1, 1, -1) for ours, theirs in EXTRA.items()
                  if theirs in state})
    return {f"grad_{prefix}{name}": grad for name, grad in found.items() if f"{prefix}{name}" in state}


def _masks(given, N, H):
    """torch's masks say True = blocked: ours as mask=, and the float ones as bias=."""
    found = []
    if (mask := given.get("attn_mask")) is not None:
        found.append(mask if mask.ndim == 2 else mask.reshape(N, H, *mask.shape[1:]))
    if (mask := given.get("key_padding_mask")) is not None:
        found.append(mask[:, None, None, :])
    options = {}
    for mask in found:
        if mask.dtype == bool:
            options["mask"] = ~mask & options.get("mask", True)
        else:
            options["bias"] = mask + options.get("bias", 0)
    return options


def _batch_first(array, swap):
    return array.swapaxes(0, 1) if swap else array


@adapter("torch", "SDPA")
def scaled_dot_product_attention(case):
    attrs, given = case.attrs, case.inputs
    L, S = given["query"].shape[-2], given["key"].shape[-2]
    options = {}
    if attrs["is_causal"] or attrs["causal_lower_right"]:
        options["mask"] = na.causal_mask(L, S, offset=S - L if attrs["causal_lower_right"] else 0)
    if (mask := given.get("attn_mask")) is not None:
        options["mask" if mask.dtype == bool else "bias"] = mask
    attention = na.ScaledDotProductAttention(scale=attrs["scale"])
    ours = _attend(case, attention, options)
    if "grad_attn_mask" in case.outputs:
        ours["grad_attn_mask"] = attention.grads["bias"]
    return ours


@adapter("torch", "AttentionVariant")
def attention_variant(case):
    attrs, given = case.attrs, case.inputs
    L, S, offset = given["query"].shape[-2], given["key"].shape[-2], attrs["query_offset"]
    options = {}
    if attrs["is_causal"]:
        options["mask"] = na.causal_mask(L, S, offset=offset)
    if attrs["window"]:
        left, right = (None if reach == -1 else reach for reach in attrs["window"])
        options["mask"] = na.window_mask(L, S, left=left, right=right, offset=offset) & options.get("mask", True)
    if attrs["alibi"]:
        H = given["query"].shape[1]
        np.testing.assert_allclose(na.alibi_slopes(H), given["alibi_slopes"], rtol=1e-15)
        options["bias"] = na.alibi_bias(H, L, S, offset=offset)
    return _attend(case, na.ScaledDotProductAttention(softcap=attrs["softcap"]), options)


def _attend(case, attention, options):
    ours = {"out": attention(*(case.inputs[name] for name in ("query", "key", "value")), **options),
            "attn": attention.weights}
    if "attn" not in case.outputs:
        del ours["attn"]
    grads = attention.backward(case.inputs["grad_out"])
    return {**ours, **{f"grad_{name}": grad for name, grad in zip(("query", "key", "value"), grads, strict=True)}}


@adapter("torch", "RoPE")
def rope(case):
    rotary = na.Rotary(case.attrs["rotary_dim"], base=case.attrs["base"], interleaved=case.attrs["interleaved"])
    return {"out": rotary(case.inputs["input"], positions=case.inputs["positions"]),
            "grad_input": rotary.backward(case.inputs["grad_out"])}


@adapter("torch", "RoPEAttention")
def rope_attention(case):
    *_, L, d_k = case.inputs["query"].shape
    attention = na.RotaryAttention(d_k, base=case.attrs["base"], interleaved=case.attrs["interleaved"])
    return _attend(case, attention, {"mask": na.causal_mask(L)} if case.attrs["is_causal"] else {})
