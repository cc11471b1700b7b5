"""torch's encoder and decoder layers and stacks."""
import numpy_attention as na

from .reference import adapter
from .torch_attention import batch_first
from .torch_layers import gradients, load


def settings(case):
    """Constructor arguments under our names."""
    attrs = case.attrs
    found = {"activation": attrs["activation"], "norm_first": attrs["norm_first"], "eps": attrs["layer_norm_eps"],
             "bias": attrs.get("bias", True)}
    return (attrs["d_model"], attrs["nhead"], attrs["dim_feedforward"]), found


def run(case, layer, inputs, options):
    """Loads the parameters, goes forward and backward; torch's names, sequence first where the case has it so."""
    swap = not case.attrs["batch_first"]
    load(layer, case)
    out = layer(*(batch_first(case.inputs[name], swap) for name in inputs), **options)
    grads = layer.backward(batch_first(case.inputs["grad_out"], swap))
    grads = grads if isinstance(grads, tuple) else (grads,)
    return {"out": batch_first(out, swap), **gradients(layer),
            **{f"grad_{name}": batch_first(grad, swap) for name, grad in zip(inputs, grads, strict=True)}}


def masks(case, attn_mask, key_padding_mask):
    return na.interop.masks_from_torch_true_hides(case.inputs.get(attn_mask), case.inputs.get(key_padding_mask),
                                                  num_heads=case.attrs["nhead"])


@adapter("torch", "TransformerEncoderLayer")
def encoder_layer(case):
    sizes, options = settings(case)
    layer = na.TransformerEncoderLayer(*sizes, **options)
    return run(case, layer, ["src"], masks(case, "src_mask", "src_key_padding_mask"))


@adapter("torch", "TransformerEncoder")
def encoder(case):
    sizes, options = settings(case)
    layer = na.TransformerEncoder(case.attrs["num_layers"], *sizes, final_norm="norm.weight" in case.inputs, **options)
    return run(case, layer, ["src"], masks(case, "mask", "src_key_padding_mask"))


@adapter("torch", "TransformerDecoderLayer")
def decoder_layer(case):
    sizes, options = settings(case)
    own = masks(case, "tgt_mask", "tgt_key_padding_mask")
    memory = masks(case, "memory_mask", "memory_key_padding_mask")
    return run(case, na.TransformerDecoderLayer(*sizes, **options), ["tgt", "memory"],
               {**own, **{f"memory_{name}": array for name, array in memory.items()}})
