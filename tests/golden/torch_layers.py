"""torch's small layers: linear, heads, softmax, embedding."""
import numpy as np

import numpy_attention as na

from .reference import adapter


def set_linear(layer, weight, bias=None):
    """torch's (out, in) weight into our (in, out) W."""
    layer.params["W"] = weight.T.copy()
    if bias is not None:
        layer.params["b"] = bias.copy()


@adapter("torch", "Linear")
def linear(case):
    weight, bias = case.inputs["weight"], case.inputs.get("bias")
    layer = na.Linear(*weight.T.shape, bias=bias is not None)
    set_linear(layer, weight, bias)
    ours = {"out": layer(case.inputs["input"]), "grad_input": layer.backward(case.inputs["grad_out"]),
            "grad_weight": layer.grads["W"].T}
    return ours if bias is None else {**ours, "grad_bias": layer.grads["b"]}


@adapter("torch", "SplitHeads")
def split_heads(case):
    return _elementwise(case, na.SplitHeads(case.attrs["num_heads"]))


@adapter("torch", "MergeHeads")
def merge_heads(case):
    return _elementwise(case, na.MergeHeads())


@adapter("torch", "Softmax")
def softmax(case):
    return along(case, na.Softmax())


@adapter("torch", "Embedding")
def embedding(case):
    layer = na.Embedding(*case.inputs["weight"].shape, padding_idx=case.attrs["padding_idx"])
    layer.params["W"] = case.inputs["weight"].copy()
    out = layer(case.inputs["ids"])
    layer.backward(case.inputs["grad_out"])
    return {"out": out, "grad_weight": layer.grads["W"]}


def _elementwise(case, layer):
    return {"out": layer(case.inputs["input"]), "grad_input": layer.backward(case.inputs["grad_out"])}


def along(case, layer):
    """Ours work along the last axis, torch's along `dim`."""
    last = {name: np.moveaxis(case.inputs[name], case.attrs["dim"], -1) for name in ("input", "grad_out")}
    ours = {"out": layer(last["input"]), "grad_input": layer.backward(last["grad_out"])}
    return {name: np.moveaxis(array, -1, case.attrs["dim"]) for name, array in ours.items()}


@adapter("torch", "GELU")
def gelu(case):
    return _elementwise(case, na.GELU(approximate=case.attrs["approximate"]))


@adapter("torch", "SiLU")
def silu(case):
    return _elementwise(case, na.SiLU())


@adapter("torch", "ReLU")
def relu(case):
    return _elementwise(case, na.ReLU())


@adapter("torch", "LayerNorm")
def layer_norm(case):
    attrs = case.attrs
    return _norm(case, na.LayerNorm(attrs["normalized_shape"], eps=attrs["eps"], affine=attrs["weight"],
                                    bias=attrs["bias"]))


@adapter("torch", "RMSNorm")
def rms_norm(case):
    attrs = case.attrs
    eps = attrs["eps_effective"] if attrs["eps"] is None else attrs["eps"]
    return _norm(case, na.RMSNorm(attrs["normalized_shape"], eps=eps, affine=attrs["weight"]))


def _norm(case, layer):
    names = {"gamma": "weight", "beta": "bias"}
    for ours in layer.params:
        layer.params[ours] = case.inputs[names[ours]].copy()
    found = _elementwise(case, layer)
    return {**found, **{f"grad_{names[ours]}": layer.grads[ours] for ours in layer.params}}
