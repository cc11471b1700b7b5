"""Extra keys: places to look at that belong to no token.

Attention has to spend its whole share somewhere. A learned extra key and value (the same for every sequence), or a
key and value of zeros, give it a place to go when no token deserves it. They stand behind the real keys and are never
hidden, so that no query is left without a key.
"""
import numpy as np

from ...engine.arguments import generator, precision, size, switch
from ...engine.layer import parts
from ...engine.mask_and_bias import take_mask_and_bias
from ...engine.options import needs_place
from ...engine.shapes import check_QKV
from .around_attention import AroundAttention


class ExtraKeyAttention(AroundAttention):
    """Attention with one more key and value behind the S real ones: learned, zero, or both (in this order).

    Args:
        num_heads: H, that of the keys. d_k, d_v: widths of one head's key and value.
        learned, zero: which extra rows there are.
        attention: what happens then; plain scaled dot-product attention unless given.
        rng, dtype: for the learned rows.
    Raises: ValueError for K and V of another shape than (..., H, S, d_k) and (..., H, S, d_v).

    attention(Q, K, V, *, mask=None, bias=None); mask and bias are for the S real keys. The weights have a column more
    for each extra row. Params: extra_key (H, 1, d_k), extra_value (H, 1, d_v).

    >>> zero = na.ExtraKeyAttention(2, 4, 4, learned=False, zero=True)
    >>> mha = na.MultiHeadAttention(8, 2, attention=zero, rng=0)
    >>> out = mha(np.ones((1, 3, 8)), mask=np.zeros((3, 3), bool))
    >>> mha.weights[0, 0]                       # every real key is hidden: all look at the key of zeros
    array([[0., 0., 0., 1.],
           [0., 0., 0., 1.],
           [0., 0., 0., 1.]])

    Source: add_bias_kv and add_zero_attn of torch.nn.MultiheadAttention.
    """

    def forward(self, Q, K, V, *, mask=None, bias=None):
        check_QKV(Q, K, V)
        self._check(K, V)
        S = K.shape[-2]
        mask, bias = take_mask_and_bias(mask, bias, (*Q.shape[:-1], S), Q.dtype)
        K_more, V_more = self._extend(K, "extra_key"), self._extend(V, "extra_value")
        extra = K_more.shape[-2] - S
        heads = self.attend(Q, K_more, V_more, mask=_widen(mask, S, extra, True), bias=_widen(bias, S, extra, 0))
        self.keep_around(Q=Q, K=K, V=V, mask=mask, bias=bias, K_more=K_more, V_more=V_more)
        return heads

    def backward(self, dheads):
        S = self.cache["K"].shape[-2]
        dQ, dK_more, dV_more = self.attention.backward(dheads)
        dK, dV = dK_more[..., :S, :], dV_more[..., :S, :]
        self.grads_around(K_more=dK_more, V_more=dV_more, Q=dQ, K=dK, V=dV)
        if "bias" in self.cache:
            dbias = self.attention.grads["bias"][..., :S]
            self.grads["bias"] = dbias if self.cache["bias"].shape[-1] == S else dbias.sum(axis=-1, keepdims=True)
        for name, gradient in (("extra_key", dK_more), ("extra_value", dV_more)):
            if name in self.params:
                row = gradient[..., S:S + 1, :]                              # (..., H, 1, d)
                self.grads[name] = row.reshape(-1, *row.shape[-3:]).sum(axis=0)
        return dQ, dK, dV

    def __init__(self, num_heads, d_k, d_v, *, learned=True, zero=False, attention=None, rng=None, dtype=np.float64):
        super().__init__()
        self.num_heads, self.d_k, self.d_v = size("num_heads", num_heads), size("d_k", d_k), size("d_v", d_v)
        learned, self.zero = switch("learned", learned), switch("zero", zero)
        self.attention = self.inner(attention)
        if any(isinstance(part, ExtraKeyAttention) for part in parts(self.attention)):
            raise ValueError("one ExtraKeyAttention holds both extra keys: give it learned=True and zero=True")
        if place := needs_place(self.attention):
            raise ValueError(f"an extra key has no place, but {place} asks for each key's place: hand the "
                             f"ExtraKeyAttention to {place} instead, attention=na.ExtraKeyAttention(...), or give a "
                             "mask= in place of causal=True")
        names = ("scores", "capped", "biased", "weights", "dropped", "dweights", "dscores")
        self.inner_shapes = {**dict.fromkeys(names, "N H L S_more"), "dK": "N H S_more d_k", "dV": "N H S_more d_v"}
        if learned:
            rng, dtype = generator(rng), precision(dtype)
            self.params["extra_key"] = rng.standard_normal((self.num_heads, 1, d_k)).astype(dtype)
            self.params["extra_value"] = rng.standard_normal((self.num_heads, 1, d_v)).astype(dtype)

    def _check(self, K, V):
        """K and V have the heads and widths that the extra rows were made for."""
        for name, array, d in (("K", K, self.d_k), ("V", V, self.d_v)):
            if array.ndim < 3 or array.shape[-3] != self.num_heads or array.shape[-1] != d:
                raise ValueError(f"{name} must have shape (..., H, S, d) with H = {self.num_heads} and d = {d}; "
                                 f"got {array.shape}")

    def _extend(self, rows, name):
        """(..., H, S, d) -> (..., H, S and the extra rows, d)."""
        more = [rows]
        if name in self.params:
            row = self.param(name, rows)
            more.append(np.broadcast_to(row, (*rows.shape[:-3], *row.shape)))
        if self.zero:
            more.append(np.zeros_like(rows, shape=(*rows.shape[:-2], 1, rows.shape[-1])))
        return np.concatenate(more, axis=-2)

    FORWARD = (
        ("K_more", "K, then the extra keys", "N H S_more d_k",
         "The real keys, and behind them the extra ones.", "真实的键，后面接上额外的键。"),
        ("V_more", "V, then the extra values", "N H S_more d_v",
         "The real values, and behind them the extra ones.", "真实的值，后面接上额外的值。"),
        "attention",
    )
    BACKWARD = (
        "attention",
        ("dK", "dK_more, the first S rows", "N H S d_k", "What the real keys get.", "真实的键得到的梯度。"),
        ("dV", "dV_more, the first S rows", "N H S d_v", "What the real values get.", "真实的值得到的梯度。"),
        ("dextra_key", "Σ_N dK_more, the row behind", "H 1 d_k",
         "One row served every sequence, so it hears from all.", "这一行为每个序列服务，所以把各序列的梯度加起来。"),
        ("dextra_value", "Σ_N dV_more, the row behind", "H 1 d_v",
         "The same for the value.", "额外的值也一样。"),
    )


def _widen(mask, S, extra, value):
    """Columns of `value` behind a mask's or bias's S own; a single column that stands for all keys becomes S first."""
    if mask is None:
        return None
    mask = np.broadcast_to(mask, (*mask.shape[:-1], S))
    return np.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, extra)], constant_values=value)
