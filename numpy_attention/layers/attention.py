"""Scaled dot-product attention: a dictionary look-up that answers with a mixture.

Every query is compared with every key by a dot product. Softmax turns a query's scores into shares, and the answer
is the values mixed in these shares. Q and K decide whom to look at; V is what is gathered there. The scores are
divided by √d_k because a sum of d_k products spreads like √d_k, and widely spread scores saturate the softmax:
one share near 1, the others near 0, and hardly any gradient left.
"""
import math

from ..engine.layer import Layer
from .softmax import Softmax


class Attention(Layer):
    """softmax(Q Kᵀ / √d_k) V, for each sequence and head: Q (..., L, d_k), K (..., S, d_k), V (..., S, d_v).

    This is the lecture. What else may be asked for (another scale, a bias, grouped heads, dropout, ...) is added by
    na.ScaledDotProductAttention in variants/scaled_dot_product.py, which runs these very lines unless it is asked.

    Source: Vaswani et al. 2017, equation (1).
    """

    def __init__(self):
        super().__init__()
        self.softmax = Softmax()

    def forward(self, Q, K, V, *, mask=None):
        scale = 1 / math.sqrt(Q.shape[-1])
        # 1. How well does each query match each key?
        scores = (Q * scale) @ K.mT                     # (N,H,L,d_k) (N,H,d_k,S) -> (N,H,L,S)
        # 2. Turn each row of scores into shares.
        weights = self.softmax(scores, mask=mask)       # (N,H,L,S)
        # 3. Mix the values in these shares.
        heads = weights @ V                             # (N,H,L,S) (N,H,S,d_v) -> (N,H,L,d_v)
        self.keep(Q=Q, K=K, V=V, mask=mask, scores=scores, weights=weights, heads=heads)
        return heads

    def backward(self, dheads):
        Q, K, V, weights = (self.cache[name] for name in ("Q", "K", "V", "weights"))
        scale = 1 / math.sqrt(Q.shape[-1])
        # 3. heads = weights V, so each factor gets dheads times the other.
        dV = weights.mT @ dheads                        # (N,H,S,L) (N,H,L,d_v) -> (N,H,S,d_v)
        dweights = dheads @ V.mT                        # (N,H,L,d_v) (N,H,d_v,S) -> (N,H,L,S)
        # 2. weights = softmax(scores), row by row.
        dscores = self.softmax.backward(dweights)       # (N,H,L,S)
        # 1. scores = Q Kᵀ / √d_k: again each factor gets the gradient times the other.
        dQ = dscores @ K * scale                        # (N,H,L,S) (N,H,S,d_k) -> (N,H,L,d_k)
        dK = dscores.mT @ Q * scale                     # (N,H,S,L) (N,H,L,d_k) -> (N,H,S,d_k)
        self.grads = {"heads": dheads, "V": dV, "weights": dweights, "scores": dscores, "Q": dQ, "K": dK}
        return dQ, dK, dV

    FORWARD = (
        ("scores", "Q Kᵀ / √d_k", "N H L S", "How well does each query match each key?", "每个查询和每个键有多匹配？"),
        ("weights", "softmax(scores)", "N H L S",
         "Each row becomes shares: how one query spends its attention.", "每一行变成份额：一个查询怎样分配注意力。"),
        ("heads", "weights V", "N H L d_v", "Mix the values in these shares.", "按份额把各个值混合起来。"),
    )
    BACKWARD = (
        ("dV", "weightsᵀ dheads", "N H S d_v",
         "A value hears from every query, in the share that it gave.", "每个值按它给出的份额，收到每个查询的梯度。"),
        ("dweights", "dheads Vᵀ", "N H L S",
         "A share matters as much as its value agrees with the gradient.",
         "一个份额有多重要，看它的值和梯度有多合拍。"),
        ("dscores", "weights ∘ (dweights − Σ_S weights ∘ dweights)", "N H L S",
         "Shares compete, so each row of score gradients sums to 0.", "份额此消彼长，所以每一行分数的梯度加起来是 0。"),
        ("dQ", "dscores K / √d_k", "N H L d_k",
         "Against this gradient, each query moves towards the keys it should have matched better.",
         "逆着这个梯度走，每个查询就靠近它本该更匹配的键。"),
        ("dK", "dscoresᵀ Q / √d_k", "N H S d_k",
         "Against this gradient, each key moves towards the queries that should have found it.",
         "逆着这个梯度走，每个键就靠近本该找到它的查询。"),
    )
