"""The parts a language model is made of, chosen by its architecture: norms and blocks."""
import functools

from ..layers.activations import GELU, ReLU, SiLU
from ..layers.feed_forward import FeedForward
from ..layers.gated_feed_forward import GatedFeedForward
from ..layers.layer_norm import LayerNorm
from ..layers.linear import Linear
from ..layers.multi_head import MultiHeadAttention
from ..layers.rms_norm import RMSNorm
from ..layers.variants.qk_norm import QKNormAttention
from ..layers.variants.rotary import RotaryAttention
from ..layers.variants.rotary_scaling import ScaledRotary
from ..layers.variants.scaled_dot_product import ScaledDotProductAttention
from .block import StreamBlock

ACTIVATIONS = {"gelu": GELU, "gelu_tanh": functools.partial(GELU, approximate="tanh"), "relu": ReLU, "silu": SiLU}


def make_norm(a, dtype):
    """One norm as the architecture has them."""
    return (RMSNorm if a.norm == "rms" else LayerNorm)(a.width, eps=a.eps, dtype=dtype)


def make_block(a, layer, rng, dtype):
    """The block of one layer."""
    attention = ScaledDotProductAttention(scale=a.scales[layer])
    if a.rope is not None:
        attention = RotaryAttention(a.d_k, attention=attention)
        attention.turn_queries, attention.turn_keys = (ScaledRotary(a.speeds, interleaved=a.interleaved,
                                                                    attention_factor=a.stretch) for _ in range(2))
    if a.qk_norm:
        attention = QKNormAttention(a.d_k, eps=a.eps, attention=attention, dtype=dtype)
    mha = MultiHeadAttention(a.width, a.heads, d_k=a.d_k, d_v=a.d_k, num_kv_heads=a.kv_heads,
                             bias=a.qkv_bias or a.out_bias, attention=attention, rng=rng, dtype=dtype)
    if a.qkv_bias and not a.out_bias:
        mha.output_proj = Linear(a.heads * a.d_k, a.width, bias=False, rng=rng, dtype=dtype)
    think = (GatedFeedForward if a.gated else FeedForward)(a.width, a.hidden, activation=ACTIVATIONS[a.activation],
                                                           bias=a.mlp_bias, rng=rng, dtype=dtype)
    return StreamBlock(make_norm(a, dtype), mha, make_norm(a, dtype), think, norm_first=a.norm_first)


