"""Scaled dot-product attention: a dictionary look-up that answers with a mixture.

Every query is compared with every key by a dot product. Softmax turns a query's scores into shares, and the answer
is the values mixed in these shares. Q and K decide whom to look at; V is what is gathered there. The scores are
divided by √d_k because a sum of d_k products spreads like √d_k, and widely spread scores saturate the softmax:
one share near 1, the others near 0, and hardly any gradient left.
"""
import math

import numpy as np

from ..masks import fit_mask
from .layer import Layer
from .softmax import Softmax


class ScaledDotProductAttention(Layer):
    """softmax(Q Kᵀ / √d_k) V, for each sequence and head.

    attention(Q, K, V, *, mask=None) -> heads

    Shapes: Q (..., L, d_k), K (..., S, d_k), V (..., S, d_v), heads (..., L, d_v); mask as in numpy_attention.masks.
    Raises: ValueError if d_k, S or the leading axes do not agree.

    A query that may see no key gets weights 0, heads 0 and gradients 0: its row of weights sums to 0, not to 1.
    What a hidden key or value holds, NaN included, changes nothing. Per-head weights are always in `.weights`.

    >>> Q, K, V = np.eye(2), np.eye(2), np.array([[1., 2.], [3., 4.]])
    >>> attention = na.ScaledDotProductAttention()
    >>> attention(Q, K, V, mask=np.array([[True, True], [False, False]])).round(6)
    array([[1.660477, 2.660477],
           [0.      , 0.      ]])
    >>> dQ, dK, dV = attention.backward(np.ones((2, 2)))
    >>> dQ.round(6)
    array([[-0.625594,  0.625594],
           [ 0.      ,  0.      ]])

    Source: Vaswani et al. 2017, equation (1).
    """

    FORWARD = (
        ("scores", "Q Kᵀ / √d_k", "N H L S",
         "How well does each query match each key?", "每个查询和每个键有多匹配？"),
        ("weights", "softmax(scores)", "N H L S",
         "Each row becomes shares: how one query spends its attention.", "每一行变成份额：一个查询如何分配它的注意力。"),
        ("heads", "weights V", "N H L d_v",
         "Mix the values in these shares.", "按份额把各个值混合起来。"),
    )
    BACKWARD = (
        ("dV", "weightsᵀ dheads", "N H S d_v",
         "A value hears from every query, in the share that it gave.", "每个值按它给出的份额，收到每个查询的梯度。"),
        ("dweights", "dheads Vᵀ", "N H L S",
         "A share matters as much as its value agrees with the gradient.", "一个份额有多重要，看它的值与梯度有多一致。"),
        ("dscores", "weights ∘ (dweights − Σ_S weights ∘ dweights)", "N H L S",
         "Shares compete, so each row of score gradients sums to 0.", "份额此消彼长，所以每一行分数的梯度加起来是 0。"),
        ("dQ", "dscores K / √d_k", "N H L d_k",
         "Each query moves towards the keys it should have matched better.", "每个查询朝着它本该更匹配的键移动。"),
        ("dK", "dscoresᵀ Q / √d_k", "N H S d_k",
         "Each key moves towards the queries that should have found it.", "每个键朝着本该找到它的查询移动。"),
    )

    def __init__(self):
        super().__init__()
        self.softmax = Softmax()

    @property
    def weights(self):
        """The weights of the last forward, (..., L, S), before any dropout; read-only."""
        if not self.cache:
            raise RuntimeError("there are no weights before a forward pass: call attention(Q, K, V) first")
        return self.cache["weights"]

    def forward(self, Q, K, V, *, mask=None):
        check_shapes(Q, K, V)
        mask = fit_mask(mask, (*Q.shape[:-1], K.shape[-2]))
        scale = 1 / math.sqrt(Q.shape[-1])
        # 1. How well does each query match each key?
        scores = Q @ K.mT * scale                       # (N,H,L,d_k) (N,H,d_k,S) -> (N,H,L,S)
        # 2. Each row becomes shares.
        weights = self.softmax(scores, mask=mask)       # (N,H,L,S)
        # 3. Mix the values in these shares.
        heads = gather(weights, V, mask)                # (N,H,L,S) (N,H,S,d_v) -> (N,H,L,d_v)
        self.cache = {"Q": Q, "K": K, "V": V, "scores": scores, "weights": weights, "heads": heads}
        return heads

    def backward(self, dheads):
        Q, K, V, weights = (self.cache[name] for name in ("Q", "K", "V", "weights"))
        mask = self.softmax.cache["mask"]
        scale = 1 / math.sqrt(Q.shape[-1])
        # 3. heads = weights V: each factor gets dheads times the other.
        dV = weights.mT @ dheads                        # (N,H,S,L) (N,H,L,d_v) -> (N,H,S,d_v)
        dweights = dheads @ V.mT                        # (N,H,L,d_v) (N,H,d_v,S) -> (N,H,L,S)
        # 2. Through the softmax, row by row.
        dscores = self.softmax.backward(dweights)       # (N,H,L,S)
        # 1. scores = Q Kᵀ / √d_k: again each factor gets the gradient times the other.
        dQ = gather(dscores, K, mask) * scale           # (N,H,L,S) (N,H,S,d_k) -> (N,H,L,d_k)
        dK = gather(dscores.mT, Q, mask) * scale        # (N,H,S,L) (N,H,L,d_k) -> (N,H,S,d_k)
        self.grads = {"heads": dheads, "V": dV, "weights": dweights, "scores": dscores, "Q": dQ, "K": dK}
        return dQ, dK, dV


def gather(shares, rows, mask):
    """shares @ rows, in which a share of exactly 0 takes nothing: 0 · NaN is 0 when the NaN is hidden."""
    if mask is None or np.isfinite(rows).all():
        return shares @ rows
    finite = np.isfinite(rows)
    clean = shares @ np.where(finite, rows, 0)
    touched = (shares != 0).astype(float) @ (~finite).astype(float) > 0
    return np.where(touched, np.nan, clean)


def check_shapes(Q, K, V):
    """Q (..., L, d_k), K (..., S, d_k) and V (..., S, d_v) must agree; the error says where they do not."""
    shapes = f"Q is {Q.shape}, K is {K.shape}, V is {V.shape}"
    if min(Q.ndim, K.ndim, V.ndim) < 2:
        raise ValueError(f"Q, K and V must have shapes (..., L, d_k), (..., S, d_k), (..., S, d_v): {shapes}")
    if Q.shape[-1] != K.shape[-1]:
        hint = "; was K transposed already?" if Q.shape[-1] == K.shape[-2] else ""
        raise ValueError(f"Q and K must share the width d_k (last axis): {shapes}{hint}")
    if K.shape[-2] != V.shape[-2]:
        raise ValueError(f"K and V must share the source length S (last axis but one): {shapes}")
    if not Q.shape[:-2] == K.shape[:-2] == V.shape[:-2]:
        raise ValueError(f"Q, K and V must share their leading axes (N, H): {shapes}")
    if Q.shape[-1] == 0:
        raise ValueError(f"d_k must be at least 1: {shapes}")
