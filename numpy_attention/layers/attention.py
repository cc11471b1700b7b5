"""Scaled dot-product attention: a dictionary look-up that answers with a mixture.

Every query is compared with every key by a dot product. Softmax turns a query's scores into shares, and the answer
is the values mixed in these shares. Q and K decide whom to look at; V is what is gathered there. The scores are
divided by √d_k because a sum of d_k products spreads like √d_k, and widely spread scores saturate the softmax:
one share near 1, the others near 0, and hardly any gradient left.
"""
import math

import numpy as np

from ..engine.layer import Layer
from ..engine.lazy import Later
from ..engine.mask_and_bias import take_mask_and_bias
from .softmax import Softmax
from .variants.adjust_scores import AdjustScores
from .variants.dropout import Dropout
from .variants.repeat_heads import add_group, group_size, repeat

LARGE = 1 << 22         # numbers: 16 MB of float32


class ScaledDotProductAttention(Layer):
    """softmax(Q Kᵀ / √d_k) V, for each sequence and head.

    Args, all optional:
        scale: a factor on Q Kᵀ instead of 1/√d_k. softcap: limit on the scores, see SoftCap.
        dropout: share of the weights that falls out in training. rng: seed or np.random.Generator for it.

    attention(Q, K, V, *, mask=None, bias=None) -> heads

    Shapes: Q (..., L, d_k), K (..., S, d_k), V (..., S, d_v), heads (..., L, d_v); mask (True = may attend) and bias
        (floats, added to the scores) as in numpy_attention.masks. K and V may have fewer heads than Q: see RepeatHeads.
        Order: scale, softcap, bias, mask, softmax, dropout.
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
        "adjust",
        ("weights", "softmax(scores)", "N H L S",
         "Each row becomes shares: how one query spends its attention.", "每一行变成份额：一个查询怎样分配注意力。"),
        ("dropped", "weights, a random part 0, the rest / (1 − p)", "N H L S",
         "In training some shares fall out.", "训练时随机丢掉一些份额。"),
        ("heads", "weights V", "N H L d_v",
         "Mix the values in these shares.", "按份额把各个值混合起来。"),
    )
    BACKWARD = (
        ("dV", "weightsᵀ dheads", "N H S d_v",
         "A value hears from every query, in the share that it gave.", "每个值按它给出的份额，收到每个查询的梯度。"),
        ("dweights", "dheads Vᵀ", "N H L S",
         "A share matters as much as its value agrees with the gradient.",
         "一个份额有多重要，看它的值和梯度有多合拍。"),
        ("dscores", "weights ∘ (dweights − Σ_S weights ∘ dweights)", "N H L S",
         "Shares compete, so each row of score gradients sums to 0.", "份额此消彼长，所以每一行分数的梯度加起来是 0。"),
        "adjust",
        ("dQ", "dscores K / √d_k", "N H L d_k",
         "Each query moves towards the keys it should have matched better.", "每个查询朝着它本该更匹配的键移动。"),
        ("dK", "dscoresᵀ Q / √d_k", "N H S d_k",
         "Each key moves towards the queries that should have found it.", "每个键朝着本该找到它的查询移动。"),
    )

    def __init__(self, *, scale=None, softcap=None, dropout=0.0, rng=None):
        super().__init__()
        if scale is not None and (isinstance(scale, bool | str) or not np.isscalar(scale) or not np.isfinite(scale)):
            raise ValueError(f"scale must be a finite number, or None for 1/√d_k; got {scale!r}")
        self.scale = scale
        self.adjust = AdjustScores(softcap=softcap)
        self.softmax = Softmax()
        self.dropout = Dropout(dropout, rng=rng)
        if scale is not None:
            self.restate(scores=f"Q Kᵀ · {scale:g}", dQ=f"dscores K · {scale:g}", dK=f"dscoresᵀ Q · {scale:g}")
        if softcap is not None:
            self.restate(weights="softmax(capped)",
                         dscores="weights ∘ (dweights − Σ_S weights ∘ dweights) ∘ (1 − (capped / c)²)")
        if dropout:
            self.restate(heads="dropped V", dV="droppedᵀ dheads", dweights="kept ∘ (dheads Vᵀ) / (1 − p)")

    @property
    def weights(self):
        """The weights of the last forward, (..., L, S), before any dropout; read-only."""
        if not self.cache:
            raise RuntimeError("there are no weights before a forward pass: call attention(Q, K, V) first")
        return self.cache["weights"]

    def forward(self, Q, K, V, *, mask=None, bias=None):
        check_shapes(Q, K, V)
        mask, bias = take_mask_and_bias(mask, bias, (*Q.shape[:-1], K.shape[-2]), Q.dtype)
        scale, group = self.scale_for(Q), group_size(Q, K)      # a group of query heads may share a key/value head
        # 1. How well does each query match each key?
        scores = (Q * scale) @ repeat(K, group).mT              # (N,H,L,d_k) (N,H,d_k,S) -> (N,H,L,S)
        adjusted = self.adjust(scores, bias=bias)               # softcap and bias, where asked for
        # 2. Each row becomes shares. The scores of a very large table are not kept, but computed again when asked for.
        once = scores.size > LARGE and adjusted is scores and mask is None and not self.dropout.drops
        self.softmax.reuse = once
        weights = self.softmax(adjusted, mask=mask)             # (N,H,L,S)
        dropped = self.dropout(weights)                         # the weights themselves, unless dropout is asked for
        # 3. Mix the values in these shares.
        heads = gather(dropped, repeat(V, group), mask)         # (N,H,L,S) (N,H,S,d_v) -> (N,H,L,d_v)
        self.keep(Q=Q, K=K, V=V, mask=mask, bias=bias,
                  scores=Later(lambda: (Q * scale) @ repeat(K, group).mT) if once else scores,
                  capped=self.adjust.cache.get("capped"), biased=None if bias is None else adjusted,
                  weights=weights, dropped=None if dropped is weights else dropped, heads=heads)
        return heads

    def backward(self, dheads):
        Q, K, V, weights, mask = map(self.cache.get, ("Q", "K", "V", "weights", "mask"))
        dropped = self.cache.get("dropped", weights)
        scale, group = self.scale_for(Q), group_size(Q, K)
        # 3. heads = dropped V: each factor gets dheads times the other.
        dV = add_group(dropped.mT @ dheads, group)              # (N,H,S,L) (N,H,L,d_v) -> (N,H,S,d_v)
        dweights = self.dropout.backward(dheads @ repeat(V, group).mT)      # (N,H,L,d_v) (N,H,d_v,S) -> (N,H,L,S)
        # 2. Through the softmax, row by row.
        dscores = self.adjust.backward(self.softmax.backward(dweights))     # (N,H,L,S)
        # 1. scores = Q Kᵀ / √d_k: again each factor gets the gradient times the other.
        dQ = gather(dscores, repeat(K, group), mask) * scale                # (N,H,L,S) (N,H,S,d_k) -> (N,H,L,d_k)
        dK = add_group(gather(dscores.mT, Q, mask) * scale, group)          # (N,H,S,L) (N,H,L,d_k) -> (N,H,S,d_k)
        grads = {"heads": dheads, "V": dV, "weights": dweights, **self.adjust.grads, "Q": dQ, "K": dK}
        if dscores is dweights:                                 # its memory was reused: computed again when asked for
            grads["weights"], self.dropout.grads = Later(lambda: dheads @ repeat(V, group).mT), {}
        self.grads = {name: gradient for name, gradient in grads.items() if name in self.cache}
        return dQ, dK, dV

    def scale_for(self, Q):
        """The factor on Q Kᵀ: 1/√d_k, unless another was asked for."""
        return 1 / math.sqrt(Q.shape[-1]) if self.scale is None else self.scale


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
    grouped = Q.ndim == K.ndim > 2 and Q.shape[:-3] == K.shape[:-3] and K.shape[-3] and Q.shape[-3] % K.shape[-3] == 0
    if K.shape[:-2] != V.shape[:-2] or not (Q.shape[:-2] == K.shape[:-2] or grouped):
        raise ValueError(f"Q, K and V must share their leading axes (N, H), but for K and V having a divisor of Q's H "
                         f"heads: {shapes}")
    if Q.shape[-1] == 0:
        raise ValueError(f"d_k must be at least 1: {shapes}")
