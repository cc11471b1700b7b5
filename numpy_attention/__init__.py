"""Multi-head attention in plain NumPy, forward and backward by hand.

>>> import numpy_attention as na
>>> mha = na.MultiHeadAttention(d_model=8, num_heads=2, rng=0)
>>> x = np.random.default_rng(1).standard_normal((1, 3, 8))     # N = 1 sequence, L = 3 tokens, D = 8
>>> out = mha(x)                                                # forward
>>> dx = mha.backward(np.ones_like(out))                        # backward
>>> mha.weights.shape                                           # every head's weights: (N, H, L, S)
(1, 2, 3, 3)
"""
import importlib

from .gradcheck import GradientReport, check_gradients
from .layers.activations import GELU, ReLU, SiLU
from .layers.alibi import alibi_bias, alibi_slopes
from .layers.attention import ScaledDotProductAttention
from .layers.blocked_attention import BlockedAttention
from .layers.cross_entropy import CrossEntropyLoss
from .layers.dropout import Dropout
from .layers.embedding import Embedding
from .layers.extra_keys import ExtraKeyAttention
from .layers.feed_forward import FeedForward
from .layers.gated_feed_forward import GatedFeedForward
from .layers.heads import MergeHeads, SplitHeads
from .layers.kv_cache import KVCache
from .layers.layer import Layer
from .layers.layer_norm import LayerNorm
from .layers.learned_positions import LearnedPositions
from .layers.linear import Linear
from .layers.log_softmax import LogSoftmax
from .layers.mean_squared_error import MeanSquaredError
from .layers.multi_head import MultiHeadAttention
from .layers.positions import sinusoidal_positions
from .layers.repeat_heads import RepeatHeads
from .layers.rms_norm import RMSNorm
from .layers.rotary import Rotary, RotaryAttention
from .layers.soft_cap import SoftCap
from .layers.softmax import Softmax
from .layers.transformer_decoder import TransformerDecoder
from .layers.transformer_decoder_layer import TransformerDecoderLayer
from .layers.transformer_encoder import TransformerEncoder
from .layers.transformer_encoder_layer import TransformerEncoderLayer
from .masks import causal_mask, padding_mask, window_mask
from .training import SGD, Adam, AdamW, clip_grad_norm, warmup_cosine, warmup_inverse_sqrt
from .walkthrough import Step, Stepper, Trace, trace, worked_example

__version__ = "0.1.0"

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
    "RMSNorm",
    "ReLU",
    "RepeatHeads",
    "Rotary",
    "RotaryAttention",
    "ScaledDotProductAttention",
    "SiLU",
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
    "padding_mask",
    "plot_heads",
    "plot_walkthrough",
    "sinusoidal_positions",
    "trace",
    "warmup_cosine",
    "warmup_inverse_sqrt",
    "window_mask",
    "worked_example",
]

# The plots need matplotlib, which is slow to import: they come when they are first asked for.
_PLOTS = {"plot_heads", "plot_walkthrough"}


def __getattr__(name):
    if name in _PLOTS:
        from . import plots
        return getattr(plots, name)
    if name == "interop":
        return importlib.import_module(".interop", __name__)
    raise AttributeError(f"module 'numpy_attention' has no attribute {name!r}")


def __dir__():
    return sorted(globals() | dict.fromkeys({*_PLOTS, "interop"}))
