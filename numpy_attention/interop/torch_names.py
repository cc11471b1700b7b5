"""Where each parameter lives in a PyTorch state dict.

PyTorch keeps the same numbers under other names and in other layouts: a Linear's weight is (out, in) where our W is
(in, out), and MultiheadAttention stacks three projections into one in_proj_weight. Both sides of the table are here:
for each of PyTorch's names, the pieces of ours that it is made of, as *views*. Reading the views gives a state dict,
writing to them loads one, and one table serves both ways.
"""
from typing import NamedTuple

import numpy as np

from ..engine.layer import known_layer
from ..layers.embedding import Embedding
from ..layers.feed_forward import FeedForward
from ..layers.layer_norm import LayerNorm
from ..layers.learned_positions import LearnedPositions
from ..layers.linear import Linear
from ..layers.multi_head import MultiHeadAttention
from ..layers.rms_norm import RMSNorm
from ..layers.transformer_decoder_layer import TransformerDecoderLayer
from ..layers.transformer_encoder_layer import TransformerEncoderLayer
from ..layers.variants.extra_keys import ExtraKeyAttention

OWN_NAMES = {
    Linear: {"W": "weight", "b": "bias"},
    LayerNorm: {"gamma": "weight", "beta": "bias"},
    RMSNorm: {"gamma": "weight"},
    Embedding: {"W": "weight"},
    LearnedPositions: {"W": "weight"},
}
SUBLAYER_NAMES = {
    FeedForward: {"up_proj": "linear1", "down_proj": "linear2"},
    # PyTorch's blocks hold linear1 and linear2 themselves, without a feed-forward layer around them.
    TransformerDecoderLayer: {"feed_forward": "", "cross_attn": "multihead_attn"},
    TransformerEncoderLayer: {"feed_forward": ""},
}


class Pieces(NamedTuple):
    """One array of PyTorch's: views of ours, laid side by side along `axis`."""

    views: list
    axis: int = 0

    def read(self):
        """The whole array, a copy."""
        return np.array(self.views[0] if len(self.views) == 1 else np.concatenate(self.views, self.axis), order="C")

    def write(self, array):
        """Put the whole array back into its pieces."""
        ends = np.cumsum([view.shape[self.axis] for view in self.views[:-1]], dtype=int)
        parts = np.split(array, ends, self.axis) if len(self.views) > 1 else [array]
        for view, part in zip(self.views, parts, strict=True):
            view[...] = part


def torch_pieces(layer, which="params", prefix=""):
    """{PyTorch's name: Pieces} for all parameters of a layer and its sublayers, or for their gradients ("grads")."""
    if isinstance(known_layer(layer), MultiHeadAttention):
        return _attention(layer, which, prefix)
    own = next((names for kind, names in OWN_NAMES.items() if isinstance(layer, kind)), {})
    renamed = next((names for kind, names in SUBLAYER_NAMES.items() if isinstance(layer, kind)), {})
    found = {}
    for name in layer.params:
        array = _array(layer, which, name)
        found[prefix + own.get(name, name)] = Pieces([array.T if isinstance(layer, Linear) else array])
    for name, inner in layer.sublayers().items():
        dotted = f"{renamed.get(name, name)}.".removeprefix(".")
        found.update(torch_pieces(inner, which, prefix + dotted))
    return found


def _attention(mha, which, prefix):
    """The names of torch.nn.MultiheadAttention, in its order."""
    projections = [mha.query_proj, mha.key_proj, mha.value_proj]
    D = projections[0].params["W"].shape[0]
    widths = {proj.params["W"].shape[1] for proj in projections}
    if widths != {D}:
        raise ValueError(f"torch.nn.MultiheadAttention projects to d_model = {D} for queries, keys and values alike; "
                         f"this layer projects to {sorted(widths)} (d_k, d_v or num_kv_heads differ)")
    W = [_array(proj, which, "W").T for proj in projections]
    if {piece.shape for piece in W} == {(D, D)}:
        found = {"in_proj_weight": Pieces(W)}
    else:
        found = {f"{letter}_proj_weight": Pieces([piece]) for letter, piece in zip("qkv", W, strict=True)}
    if "b" in projections[0].params:
        found["in_proj_bias"] = Pieces([_array(proj, which, "b") for proj in projections])
    extra = mha.attention
    if isinstance(extra, ExtraKeyAttention) and extra.params:
        for theirs, ours in (("bias_k", "extra_key"), ("bias_v", "extra_value")):
            heads = _array(extra, which, ours)                              # (H, 1, d): side by side, (1, 1, H·d)
            found[theirs] = Pieces([head[None] for head in heads], axis=2)
    elif extra.named_params():
        raise ValueError(f"torch.nn.MultiheadAttention has no place for {', '.join(extra.named_params())}")
    found = {prefix + name: pieces for name, pieces in found.items()}
    return {**found, **torch_pieces(mha.output_proj, which, f"{prefix}out_proj.")}


def _array(layer, which, name):
    if which == "grads" and name not in layer.grads:
        raise RuntimeError(f"{type(layer).__name__}'s {name} has no gradient yet: run forward and backward first")
    return getattr(layer, which)[name]
