"""torch's attention: nn.MultiheadAttention, scaled_dot_product_attention and its variants."""
import numpy as np

import numpy_attention as na

from .reference import adapter
from .torch_layers import gradients, load

# Attention options that torch's names do not tell.
EXTRA = {"add_bias_kv": "learned", "add_zero_attn": "zero"}


@adapter("torch", "MultiheadAttention")
def multihead_attention(case):
    attrs, given = case.attrs, case.inputs
    D, H = attrs["embed_dim"], attrs["num_heads"]
    extra = {ours: attrs[theirs] for theirs, ours in EXTRA.items()}
    attention = na.ExtraKeyAttention(H, D // H, D // H, **extra) if any(extra.values()) else None
    mha = na.MultiHeadAttention(D, H, kdim=attrs["kdim"], vdim=attrs["vdim"], bias=attrs["bias"], attention=attention,
                                dtype=attrs["dtype"])
    load(mha, case)
    masks = na.interop.masks_from_torch_true_hides(given.get("attn_mask"), given.get("key_padding_mask"), num_heads=H)
    swap = attrs["batched"] and not attrs["batch_first"]
    roles = [name for name in ("query", "key", "value") if name in given]
    out = mha(*(batch_first(given[name], swap) for name in roles), **masks)
    grads = mha.backward(batch_first(given["grad_out"], swap))
    grads = grads if isinstance(grads, tuple) else (grads,)
    ours = {"out": batch_first(out, swap), **gradients(mha)}
    ours.update({f"grad_{name}": batch_first(grad, swap) for name, grad in zip(roles, grads, strict=True)})
    if attrs["need_weights"]:
        ours["attn"] = mha.weights.mean(axis=-3) if attrs["average_attn_weights"] else mha.weights
    for name, (rows, columns) in attrs.get("grad_slices", {}).items():
        ours[name] = ours[name][::rows, ::columns]
    return ours


def batch_first(array, swap=True):
    """torch's (L, N, D) as our (N, L, D), and back."""
    return array.swapaxes(0, 1) if swap else array


@adapter("torch", "SDPA")
def scaled_dot_product_attention(case):
    attrs, given = case.attrs, case.inputs
    L, S = given["query"].shape[-2], given["key"].shape[-2]
    options = {}
    if attrs["is_causal"] or attrs["causal_lower_right"]:
        options["mask"] = na.causal_mask(L, S, offset=S - L if attrs["causal_lower_right"] else 0)
    if "attn_mask" in given:
        masks = na.interop.masks_from_torch_true_shows(given["attn_mask"], rank=given["query"].ndim)
        options.update({name: array for name, array in masks.items() if array is not None})
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
