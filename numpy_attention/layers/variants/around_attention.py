"""Around attention: a layer that prepares Q, K or V and lets another attention do the rest.

Rotary positions, QK-norm, extra keys and a relative bias all work like this. What each of them prepares is its lesson;
that the inner attention is told what it can take, and that its steps are shown as the layer's own, stands here.
"""
from ...engine.layer import Layer
from ...engine.lazy import like
from ...engine.options import options_given, options_known, those_given
from .scaled_dot_product import ScaledDotProductAttention


class AroundAttention(Layer):
    """The base of layers around `self.attention`; a subclass prepares, calls `attend`, and keeps with these two."""

    @property
    def weights(self):
        """The weights of the last forward, (N, H, L, S and any extra keys), before any dropout; read-only."""
        return self.attention.weights

    def inner(self, attention):
        """The attention that a caller hands in, or plain scaled dot-product attention."""
        return ScaledDotProductAttention() if attention is None else self.adopt(attention)

    def attend(self, Q, K, V, *, mask=None, bias=None, **places):
        """The inner attention's heads. It has to take a mask and a bias; places it is told if it asks for them."""
        return self.attention(Q, K, V, **options_given(self.attention, mask=mask, bias=bias),
                              **options_known(self.attention, **places))

    def keep_around(self, **own):
        """The cache: the layer's own tensors, then those of the inner attention that have other names."""
        inner = {name: array for name, array in dict.items(self.attention.cache) if name not in own}
        self.cache = like(self.attention.cache, {**those_given(**own), **inner})

    def grads_around(self, **own):
        """The grads: those of the inner attention, and the layer's own instead of or behind them."""
        self.grads = like(self.attention.grads, those_given(**{**self.attention.grads, **own}))
