"""Positions of each kind: five ways to tell a model about order, one of which is not to tell it.

    learned      a table with a row for each place, added to the embeddings; it ends where the table ends
    sinusoidal   a fixed code of slow and fast waves, added to the embeddings
    rotary       queries and keys are turned by their places, in every layer
    alibi        a penalty on far-away keys, in every layer
    none         nothing; a causal model can still tell, because its first token sees one key and its last sees all
"""

from ..layers.learned_positions import LearnedPositions
from ..layers.positions import SinusoidalPositions
from ..layers.variants.alibi import alibi_bias
from ..layers.variants.rotary import RotaryAttention
from ..layers.variants.scaled_dot_product import ScaledDotProductAttention

POSITIONS = ("learned", "sinusoidal", "rotary", "alibi", "none")


def placing_layer(kind, length, d_model, *, rng, dtype):
    """The layer that adds positions to the embeddings, or None for the kinds that work elsewhere."""
    if kind not in POSITIONS:
        raise ValueError(f"positions must be one of {', '.join(POSITIONS)}; got {kind!r}")
    if kind == "learned":
        return LearnedPositions(length, d_model, rng=rng, dtype=dtype)
    return SinusoidalPositions() if kind == "sinusoidal" else None


def attention_for(kind, d_k, scale):
    """What the heads of one layer do with Q, K, V when positions are of this kind; scale None means 1/√d_k."""
    plain = ScaledDotProductAttention(scale=scale)
    return RotaryAttention(d_k, attention=plain) if kind == "rotary" else plain


def position_bias(kind, heads, L, dtype):
    """What is added to the scores, (1, H, L, L); None for all kinds but alibi."""
    return alibi_bias(heads, L, dtype=dtype) if kind == "alibi" else None
