"""ONNX's operators, forward only."""
import numpy as np

import numpy_attention as na
from numpy_attention.layers.variants.rotary import turn

from .reference import adapter


@adapter("onnx", "Softmax")
def softmax(case):
    axis = case.attrs.get("axis", -1)
    return {"output": np.moveaxis(na.Softmax()(np.moveaxis(case.inputs["input"], axis, -1)), -1, axis)}


@adapter("onnx", "Attention")
def attention(case):
    attrs, given = case.attrs, case.inputs
    Q, K, V = (given[name] for name in ("Q", "K", "V"))
    if Q.ndim == 3:     # (N, L, H·d) with the numbers of heads beside it
        Q, K, V = (na.SplitHeads(attrs[f"{which}_num_heads"])(array)
                   for which, array in (("q", Q), ("kv", K), ("kv", V)))
    if "past_key" in given:
        K = np.concatenate([given["past_key"], K], axis=2)
        V = np.concatenate([given["past_value"], V], axis=2)
    mask, bias = _mask_and_bias(case, Q.shape, K.shape)
    attention = na.ScaledDotProductAttention(scale=attrs.get("scale"), softcap=attrs.get("softcap") or None)
    heads = attention(Q, K, V, mask=mask, bias=bias)
    ours = {"Y": na.MergeHeads()(heads) if given["Q"].ndim == 3 else heads}
    if "present_key" in case.outputs:
        ours.update(present_key=K, present_value=V)
    if "qk_matmul_output" in case.outputs:
        ours["qk_matmul_output"] = _stage(attention.cache, attrs.get("qk_matmul_output_mode", 0))
    return ours


def _stage(cache, mode):
    """ONNX's fourth output: 0 scaled scores, 1 after softcap, 2 after bias and mask, 3 weights."""
    scores = cache["scores"]
    capped = cache.get("capped", scores)
    biased = cache.get("biased", capped)
    hidden = biased if cache.get("mask") is None else np.where(cache["mask"], biased, -np.inf)
    return (scores, capped, hidden, cache["weights"])[mode]


def _mask_and_bias(case, query_shape, key_shape):
    """Causal, window, valid lengths and attn_mask as one boolean mask and one additive bias, either may be None."""
    attrs, given = case.attrs, case.inputs
    (N, _, L, _), S = query_shape, key_shape[2]
    lengths = given.get("nonpad_kv_seqlen")
    past = given["past_key"].shape[2] if "past_key" in given else 0
    masks, bias = [], None
    left, right = (None if attrs.get(f"{side}_window_size", -1) == -1 else attrs[f"{side}_window_size"]
                   for side in ("left", "right"))
    if attrs.get("is_causal"):
        right = 0 if right is None else min(0, right)
    if (left, right) != (None, None):
        offsets = [past] * N if lengths is None else lengths - L
        masks.append(np.stack([na.window_mask(L, S, left=left, right=right, offset=int(offset))
                               for offset in offsets])[:, None])
    if lengths is not None:
        masks.append(na.padding_mask(lengths, S))
    if (mask := given.get("attn_mask")) is not None:
        mask = mask.reshape((1,) * (4 - mask.ndim) + mask.shape)
        short = S - mask.shape[-1] if mask.shape[-1] != 1 else 0
        if mask.dtype == bool:
            masks.append(np.pad(mask, [(0, 0)] * 3 + [(0, short)]))
        else:
            bias = np.pad(mask, [(0, 0)] * 3 + [(0, short)], constant_values=-np.inf)
    combined = None
    for mask in masks:
        combined = mask if combined is None else combined & mask
    return combined, bias


@adapter("onnx", "Gelu")
def gelu(case):
    return {"Y": na.GELU(approximate=case.attrs.get("approximate", "none"))(case.inputs["X"])}


@adapter("onnx", "LayerNormalization")
def layer_normalization(case):
    layer = _norm(case, na.LayerNorm, {"gamma": "Scale", "beta": "B"})
    return {"Y": layer.cache["out"], "Mean": layer.cache["mean"], "InvStdDev": 1 / layer.cache["std"]}


@adapter("onnx", "RMSNormalization")
def rms_normalization(case):
    return {"Y": _norm(case, na.RMSNorm, {"gamma": "scale"}).cache["out"]}


def _norm(case, make, names):
    """A norm over the axes from `axis` on, with ONNX's parameters, after its forward pass."""
    x = case.inputs["X"]
    layer = make(x.shape[case.attrs.get("axis", -1):], eps=case.attrs.get("epsilon", 1e-5))
    layer.params.update({ours: case.inputs[theirs] for ours, theirs in names.items()})
    layer(x)
    return layer


@adapter("onnx", "RotaryEmbedding")
def rotary_embedding(case):
    # ONNX hands in tables of any numbers, not angles; what turns the pairs is the same.
    attrs, given = case.attrs, case.inputs
    x = given["X"]
    if x.ndim == 3:
        x = na.SplitHeads(attrs["num_heads"])(x)
    cos, sin = ((given[name][given["position_ids"]] if "position_ids" in given else given[name])[:, None]
                for name in ("cos_cache", "sin_cache"))
    out = turn(x, cos, sin, interleaved=bool(attrs.get("interleaved")))
    return {"Y": na.MergeHeads()(out) if given["X"].ndim == 3 else out}
