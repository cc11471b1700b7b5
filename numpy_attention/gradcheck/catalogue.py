"""Every layer of the package at sizes that are all different, ready to be checked.

Different, because equal ones hide mistakes: with L = S a forgotten transpose has the right shape, and with N = 1 a mean
and a sum are the same.
"""
import numpy as np

from .. import masks
from ..layers.activations import GELU, ReLU, SiLU
from ..layers.cross_entropy import CrossEntropyLoss
from ..layers.embedding import Embedding
from ..layers.feed_forward import FeedForward
from ..layers.gated_feed_forward import GatedFeedForward
from ..layers.heads import MergeHeads, SplitHeads
from ..layers.layer_norm import LayerNorm
from ..layers.learned_positions import LearnedPositions
from ..layers.linear import Linear
from ..layers.log_softmax import LogSoftmax
from ..layers.mean_squared_error import MeanSquaredError
from ..layers.multi_head import MultiHeadAttention
from ..layers.rms_norm import RMSNorm
from ..layers.softmax import Softmax
from ..layers.transformer_decoder import TransformerDecoder
from ..layers.transformer_decoder_layer import TransformerDecoderLayer
from ..layers.transformer_encoder import TransformerEncoder
from ..layers.transformer_encoder_layer import TransformerEncoderLayer
from ..layers.variants.blocked_attention import BlockedAttention
from ..layers.variants.dropout import Dropout
from ..layers.variants.extra_keys import ExtraKeyAttention
from ..layers.variants.qk_norm import QKNormAttention
from ..layers.variants.repeat_heads import RepeatHeads
from ..layers.variants.rotary import Rotary, RotaryAttention
from ..layers.variants.rotary_scaling import ScaledRotary
from ..layers.variants.scaled_dot_product import ScaledDotProductAttention
from ..layers.variants.soft_cap import SoftCap

N, H, L, S, d_k, d_v, D, kdim, vdim = 2, 3, 4, 5, 6, 7, 8, 9, 10


def catalogue():
    """{title: (layer, inputs, options)}."""
    def draw(*shape):
        return np.random.default_rng(shape).standard_normal(shape)

    mask = np.random.default_rng(0).random((N, H, L, S)) < 0.6
    mask[0, 0, 1] = False                                       # a query that may see no key
    bias, x, memory = draw(H, L, S), draw(N, L, D), draw(N, S, D)
    qkv, ids = (draw(N, H, L, d_k), draw(N, H, S, d_k), draw(N, H, S, d_v)), np.array([[1, 4, 1, 0], [2, 2, 3, 1]])
    grouped = (draw(N, H, L, d_k), draw(N, 1, S, d_k), draw(N, 1, S, d_v))
    heads, causal = {"d_k": d_k, "d_v": d_v, "rng": 0}, {"mask": masks.causal_mask(L)}
    found = {
        "Linear": (Linear(D, 3, rng=0), x),
        "SplitHeads": (SplitHeads(H), draw(N, L, H * d_k)),
        "MergeHeads": (MergeHeads(), draw(N, H, L, d_v)),
        "RepeatHeads": (RepeatHeads(3), draw(N, 2, S, d_k)),
        "Softmax": (Softmax(), draw(N, H, L, S), {"mask": mask}),
        "LogSoftmax": (LogSoftmax(), draw(N, L, S)),
        "SoftCap": (SoftCap(1.5), draw(N, H, L, S)),
        "Attention": (ScaledDotProductAttention(), *qkv),
        "Attention, mask": (ScaledDotProductAttention(), *qkv, {"mask": mask}),
        "Attention, all options": (ScaledDotProductAttention(scale=0.7, softcap=1.5, dropout=0.3, rng=0), *qkv,
                                   {"mask": mask, "bias": bias[None]}),
        "Attention, grouped": (ScaledDotProductAttention(), *grouped),
        "BlockedAttention": (BlockedAttention(query_block=3, key_block=2), *qkv, {"mask": mask}),
        "RotaryAttention": (RotaryAttention(d_k), *qkv),
        "ExtraKeyAttention": (ExtraKeyAttention(H, d_k, d_v, zero=True, rng=0), *qkv),
        "MultiHead, self": (MultiHeadAttention(D, 2, rng=0), x),
        "MultiHead, memory": (MultiHeadAttention(D, H, **heads), x, memory, {"mask": mask}),
        "MultiHead, cross": (MultiHeadAttention(D, H, kdim=kdim, vdim=vdim, **heads), x, draw(N, S, kdim),
                             draw(N, S, vdim)),
        "MultiHead, grouped, bias": (MultiHeadAttention(D, H, num_kv_heads=1, **heads), x, memory,
                                     {"bias": bias[None]}),
        "Rotary": (Rotary(4), draw(N, H, L, d_k)),
        "ScaledRotary": (ScaledRotary([1.0, 0.25]), draw(N, H, L, d_k)),
        "QKNormAttention": (QKNormAttention(d_k), *qkv),
        "LearnedPositions": (LearnedPositions(9, D, rng=0), x),
        "Embedding": (Embedding(6, D, rng=0), ids),
        "Dropout": (Dropout(0.4, rng=0), x),
        "ReLU": (ReLU(), x),
        "GELU": (GELU(), x),
        "SiLU": (SiLU(), x),
        "LayerNorm": (LayerNorm(D), x),
        "RMSNorm": (RMSNorm(D), x),
        "FeedForward": (FeedForward(D, 11, activation="gelu", rng=0), x),
        "GatedFeedForward": (GatedFeedForward(D, 11, rng=0), x),
        "EncoderLayer": (TransformerEncoderLayer(D, 2, 11, dropout=0.2, rng=0), x, causal),
        "DecoderLayer": (TransformerDecoderLayer(D, 2, 11, norm_first=True, rng=0), x, memory, causal),
        "Encoder": (TransformerEncoder(2, D, 2, 11, rng=0), x),
        "Decoder": (TransformerDecoder(2, D, 2, 11, rng=0), x, memory, causal),
        "CrossEntropyLoss": (CrossEntropyLoss(label_smoothing=0.1), draw(N, L, S), ids % S),
        "MeanSquaredError": (MeanSquaredError(), x, draw(L, N, D).reshape(N, L, D)),
    }
    return {title: (layer, inputs[:-1], inputs[-1]) if isinstance(inputs[-1], dict) else (layer, inputs, {})
            for title, (layer, *inputs) in found.items()}
