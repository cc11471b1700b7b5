"""QK-norm: bring every query and key to one size before they are compared.

A dot product grows with both its factors, so a head can win all attention by making its numbers large. Normed first,
row by row, queries and keys can only differ in direction; two learned vectors set the scale that the scores need.
"""
from ..rms_norm import RMSNorm
from .around_attention import AroundAttention


class QKNormAttention(AroundAttention):
    """Attention whose queries and keys go through an RMSNorm of their own first, head by head.

    Args:
        d_k: width of one head's query and key. eps, dtype: of the norms.
        attention: what happens then; plain scaled dot-product attention unless given.

    attention(Q, K, V, *, mask=None, bias=None, ...) -> heads; places, as for RotaryAttention, are handed on.

    >>> attention = na.QKNormAttention(4)
    >>> mha = na.MultiHeadAttention(8, 2, attention=attention, rng=0)
    >>> mha(np.ones((1, 3, 8))).shape, sorted(attention.named_params())
    ((1, 3, 8), ['k_norm.gamma', 'q_norm.gamma'])

    Source: Henry et al. 2020, "Query-Key Normalization"; with RMSNorm: Dehghani et al. 2023, section 2.1, Qwen3.
    """

    FORWARD = (
        ("Q_normed", "q_norm(Q)", "N H L d_k",
         "Bring each query to one size.", "把每个查询缩放到同样的大小。"),
        ("K_normed", "k_norm(K)", "N H S d_k",
         "Each key as well, so that only directions are compared.", "键也一样，于是只比较方向。"),
        "attention",
    )
    BACKWARD = (
        "attention",
        ("dQ", "q_norm.backward(dQ_normed)", "N H L d_k",
         "Stretching a query changes nothing, so that part of the gradient is taken out.",
         "拉伸查询不会改变结果，所以梯度里去掉这一部分。"),
        ("dK", "k_norm.backward(dK_normed)", "N H S d_k",
         "The same for the keys.", "键也一样。"),
    )

    def __init__(self, d_k, *, eps=1e-6, attention=None, dtype=float):
        super().__init__()
        self.q_norm, self.k_norm = RMSNorm(d_k, eps=eps, dtype=dtype), RMSNorm(d_k, eps=eps, dtype=dtype)
        self.attention = self.inner(attention)

    def forward(self, Q, K, V, *, mask=None, bias=None, query_offset=None, query_positions=None, key_positions=None):
        Q_normed, K_normed = self.q_norm(Q), self.k_norm(K)
        heads = self.attend(Q_normed, K_normed, V, mask=mask, bias=bias, query_offset=query_offset,
                            query_positions=query_positions, key_positions=key_positions)
        self.keep_around(Q=Q, K=K, V=V, Q_normed=Q_normed, K_normed=K_normed)
        return heads

    def backward(self, dheads):
        dQ_normed, dK_normed, dV = self.attention.backward(dheads)
        dQ, dK = self.q_norm.backward(dQ_normed), self.k_norm.backward(dK_normed)
        self.grads_around(Q_normed=dQ_normed, K_normed=dK_normed, Q=dQ, K=dK)
        return dQ, dK, dV
