"""Multi-head attention in plain NumPy, forward and backward by hand.

>>> import numpy_attention as na
>>> mha = na.MultiHeadAttention(d_model=8, num_heads=2, rng=0)
>>> x = np.random.default_rng(1).standard_normal((1, 3, 8))     # N = 1 sequence, L = 3 tokens, D = 8
>>> out = mha(x)                                                # forward
>>> dx = mha.backward(np.ones_like(out))                        # backward
>>> mha.weights.shape                                           # every head's weights: (N, H, L, S)
(1, 2, 3, 3)
"""
from importlib import import_module
from typing import TYPE_CHECKING

from .engine.layer import Layer
from .layers.activations import GELU, ReLU, SiLU
from .layers.cross_entropy import CrossEntropyLoss
from .layers.embedding import Embedding
from .layers.feed_forward import FeedForward
from .layers.gated_feed_forward import GatedFeedForward
from .layers.heads import MergeHeads, SplitHeads
from .layers.layer_norm import LayerNorm
from .layers.learned_positions import LearnedPositions
from .layers.linear import Linear
from .layers.log_softmax import LogSoftmax
from .layers.mean_squared_error import MeanSquaredError
from .layers.multi_head import MultiHeadAttention
from .layers.positions import SinusoidalPositions, sinusoidal_positions
from .layers.residual import Residual
from .layers.rms_norm import RMSNorm
from .layers.softmax import Softmax
from .layers.transformer_decoder import TransformerDecoder
from .layers.transformer_decoder_layer import TransformerDecoderLayer
from .layers.transformer_encoder import TransformerEncoder
from .layers.transformer_encoder_layer import TransformerEncoderLayer
from .layers.variants.alibi import alibi_bias, alibi_slopes
from .layers.variants.blocked_attention import BlockedAttention
from .layers.variants.dropout import Dropout
from .layers.variants.extra_keys import ExtraKeyAttention
from .layers.variants.kv_cache import KVCache
from .layers.variants.qk_norm import QKNormAttention
from .layers.variants.relative_bias import RelativeBiasAttention, RelativePositionBias, relative_places, t5_buckets
from .layers.variants.repeat_heads import RepeatHeads
from .layers.variants.rotary import Rotary, RotaryAttention
from .layers.variants.rotary_scaling import ScaledRotary, rotary_speeds, yarn_attention_factor
from .layers.variants.scaled_dot_product import ScaledDotProductAttention
from .layers.variants.sink import SinkAttention, SinkSoftmax
from .layers.variants.soft_cap import SoftCap
from .masks import causal_mask, padding_mask, window_mask
from .words import pictures as _pictures

if TYPE_CHECKING:       # so that editors know what comes later
    from .gradcheck import GradientReport, check_gradients
    from .plots import (
        plot_cross_attention,
        plot_film,
        plot_gradient_check,
        plot_gradients,
        plot_heads,
        plot_lines,
        plot_masks,
        plot_mixing,
        plot_mnemonic,
        plot_model,
        plot_multi_head,
        plot_query_key,
        plot_symmetry,
        plot_walkthrough,
    )
    from .training import SGD, Adam, AdamW, clip_grad_norm, warmup_cosine, warmup_inverse_sqrt
    from .walkthrough import Step, Stepper, Trace, trace, worked_example

__version__ = "0.1.0"

# The layers are here at once. The other packages, and what is named here of them, come when they are first asked for.
_PACKAGES = {
    "course": (),
    "gradcheck": ("GradientReport", "check_gradients"),
    "interop": (),
    "models": (),
    "museum": (),
    "plots": ("plot_cross_attention", "plot_film", "plot_gradient_check", "plot_gradients", "plot_heads", "plot_lines",
              "plot_masks", "plot_mixing", "plot_mnemonic", "plot_model", "plot_multi_head", "plot_query_key",
              "plot_symmetry", "plot_walkthrough"),
    "training": ("SGD", "Adam", "AdamW", "clip_grad_norm", "warmup_cosine", "warmup_inverse_sqrt"),
    "walkthrough": ("Step", "Stepper", "Trace", "trace", "worked_example"),
}
_pictures.plots = lambda: import_module(".plots", __name__)      # reports and runs draw through it
_LATER = {name: package for package, names in _PACKAGES.items() for name in names}

__all__ = [
    "GELU",
    "SGD",
    "Adam",
    "AdamW",
    "BlockedAttention",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "ExtraKeyAttention",
    "FeedForward",
    "GatedFeedForward",
    "GradientReport",
    "KVCache",
    "Layer",
    "LayerNorm",
    "LearnedPositions",
    "Linear",
    "LogSoftmax",
    "MeanSquaredError",
    "MergeHeads",
    "MultiHeadAttention",
    "QKNormAttention",
    "RMSNorm",
    "ReLU",
    "RelativeBiasAttention",
    "RelativePositionBias",
    "RepeatHeads",
    "Residual",
    "Rotary",
    "RotaryAttention",
    "ScaledDotProductAttention",
    "ScaledRotary",
    "SiLU",
    "SinkAttention",
    "SinkSoftmax",
    "SinusoidalPositions",
    "SoftCap",
    "Softmax",
    "SplitHeads",
    "Step",
    "Stepper",
    "Trace",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
    "alibi_bias",
    "alibi_slopes",
    "causal_mask",
    "check_gradients",
    "clip_grad_norm",
    "interop",
    "models",
    "museum",
    "padding_mask",
    "plot_cross_attention",
    "plot_film",
    "plot_gradient_check",
    "plot_gradients",
    "plot_heads",
    "plot_lines",
    "plot_masks",
    "plot_mixing",
    "plot_mnemonic",
    "plot_model",
    "plot_multi_head",
    "plot_query_key",
    "plot_symmetry",
    "plot_walkthrough",
    "relative_places",
    "rotary_speeds",
    "sinusoidal_positions",
    "t5_buckets",
    "trace",
    "warmup_cosine",
    "warmup_inverse_sqrt",
    "window_mask",
    "worked_example",
    "yarn_attention_factor",
]


def __getattr__(name):
    if name in _PACKAGES:
        return import_module(f".{name}", __name__)
    if name in _LATER:
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_PACKAGES, *_LATER})
