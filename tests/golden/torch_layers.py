"""torch's small layers: linear, heads, softmax, embedding."""
import numpy as np

import numpy_attention as na

from .reference import adapter


def load(layer, case):
    """The case's parameters, which are all its inputs under names of the layer's, into the layer."""
    names = na.interop.to_torch(layer)
    na.interop.from_torch(layer, {name: case.inputs[name] for name in names})
    return layer


def gradients(layer):
    """The gradients of all parameters under the reference's names."""
    return {f"grad_{name}": grad for name, grad in na.interop.grads_to_torch(layer).items()}


@adapter("torch", "Linear")
def linear(case):
    weight = case.inputs["weight"]
    return simple(case, load(na.Linear(*weight.T.shape, bias="bias" in case.inputs), case))


@adapter("torch", "SplitHeads")
def split_heads(case):
    return simple(case, na.SplitHeads(case.attrs["num_heads"]))


@adapter("torch", "MergeHeads")
def merge_heads(case):
    return simple(case, na.MergeHeads())


@adapter("torch", "Softmax")
def softmax(case):
    return along(case, na.Softmax())


@adapter("torch", "Embedding")
def embedding(case):
    layer = load(na.Embedding(*case.inputs["weight"].shape, padding_idx=case.attrs["padding_idx"]), case)
    out = layer(case.inputs["ids"])
    layer.backward(case.inputs["grad_out"])
    return {"out": out, **gradients(layer)}


def simple(case, layer):
    """One array in, one array out, and all gradients."""
    return {"out": layer(case.inputs["input"]), "grad_input": layer.backward(case.inputs["grad_out"]),
            **gradients(layer)}


def along(case, layer):
    """Ours work along the last axis, torch's along `dim`."""
    last = {name: np.moveaxis(case.inputs[name], case.attrs["dim"], -1) for name in ("input", "grad_out")}
    ours = {"out": layer(last["input"]), "grad_input": layer.backward(last["grad_out"])}
    return {name: np.moveaxis(array, -1, case.attrs["dim"]) for name, array in ours.items()}


@adapter("torch", "GELU")
def gelu(case):
    return simple(case, na.GELU(approximate=case.attrs["approximate"]))


@adapter("torch", "SiLU")
def silu(case):
    return simple(case, na.SiLU())


@adapter("torch", "ReLU")
def relu(case):
    return simple(case, na.ReLU())


@adapter("torch", "LayerNorm")
def layer_norm(case):
    attrs = case.attrs
    layer = na.LayerNorm(attrs["normalized_shape"], eps=attrs["eps"], affine=attrs["weight"], bias=attrs["bias"])
    return simple(case, load(layer, case))


@adapter("torch", "RMSNorm")
def rms_norm(case):
    attrs = case.attrs
    eps = attrs["eps_effective"] if attrs["eps"] is None else attrs["eps"]
    return simple(case, load(na.RMSNorm(attrs["normalized_shape"], eps=eps, affine=attrs["weight"]), case))
