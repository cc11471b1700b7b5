"""Attention with all that may be asked for: another scale, a softcap, a bias, dropout, fewer key and value heads.

Where nothing is asked for, the lecture's own lines run, those of layers/attention.py. Otherwise the same three steps
stand here, with what was asked for in its place: grouped heads before the scores; scale, softcap and bias on the
scores; dropout on the weights. A very large table of scores goes through large_table.py.
"""
import math

from ...engine.arguments import scale_factor
from ...engine.call_rules import left_out
from ...engine.layer import Stage
from ...engine.lazy import Tensors
from ...engine.mask_and_bias import gather, take_mask_and_bias
from ...engine.shapes import check_QKV
from ..attention import Attention
from ..softmax import Softmax
from . import large_table
from .adjust_scores import AdjustScores
from .dropout import Dropout
from .repeat_heads import add_group, group_size, repeat


class ScaledDotProductAttention(Attention):
    """softmax(Q Kᵀ / √d_k) V, for each sequence and head.

    Args, all optional:
        scale: a factor on Q Kᵀ instead of 1/√d_k. softcap: limit on the scores, see SoftCap.
        bias_first: add a bias before the softcap, not behind it.
        dropout: share of the weights that falls out in training. rng: seed or np.random.Generator for it.

    attention(Q, K, V, *, mask=None, bias=None) -> heads

    Shapes: Q (..., L, d_k), K (..., S, d_k), V (..., S, d_v), heads (..., L, d_v); mask (True = may attend) and bias
        (floats, added to the scores) as in numpy_attention.masks. K and V may have fewer heads than Q: see RepeatHeads.
        Order: scale, softcap, bias (or bias, softcap), mask, softmax, dropout.
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

    def forward(self, Q, K, V, *, mask=None, bias=None):
        check_QKV(Q, K, V)
        if mask is not None or bias is not None:
            mask, bias = take_mask_and_bias(mask, bias, (*Q.shape[:-1], K.shape[-2]), Q.dtype)
        if not (self.adjust.is_asked(bias) or self.dropout.drops):
            if mask is None and type(self.softmax) is Softmax and large_table.is_large(Q, K):
                left_out(self.adjust, self.dropout)
                return large_table.forward(self, Q, K, V)
            if self._is_the_lecture(Q, K, V, mask):
                left_out(self.adjust, self.dropout)
                return super().forward(Q, K, V, mask=mask)
        scale, group = self.scale_for(Q), group_size(Q, K)      # a group of query heads may share a key/value head
        # 1. How well does each query match each key?
        scores = (Q * scale) @ repeat(K, group).mT              # (N,H,L,d_k) (N,H,d_k,S) -> (N,H,L,S)
        adjusted = self.adjust(scores, bias=bias)               # softcap and bias, where asked for
        # 2. Turn each row of scores into shares.
        weights = self.softmax(adjusted, mask=mask)             # (N,H,L,S)
        dropped = self.dropout(weights)                         # the weights themselves, unless dropout is asked for
        # 3. Mix the values in these shares.
        heads = gather(dropped, repeat(V, group), mask)         # (N,H,L,S) (N,H,S,d_v) -> (N,H,L,d_v)
        adjustments = {name: step for name, step in self.adjust.cache.items() if name in ("capped", "biased")}
        self.keep(Q=Q, K=K, V=V, mask=mask, bias=bias, scores=scores, **adjustments, weights=weights,
                  dropped=None if dropped is weights else dropped, heads=heads)
        return heads

    def backward(self, dheads):
        Q, K, V, mask, weights = map(self.cache.get, ("Q", "K", "V", "mask", "weights"))
        dropped = self.cache.get("dropped", weights)
        if not (self.adjust.cache or self.dropout.cache):       # neither ran
            self.adjust.grads, self.dropout.grads = {}, {}
            return large_table.backward(self, dheads) if type(self.cache) is Tensors else super().backward(dheads)
        scale, group = self.scale_for(Q), group_size(Q, K)
        # 3. heads = dropped V: each factor gets dheads times the other.
        dV = add_group(dropped.mT @ dheads, group)              # (N,H,S,L) (N,H,L,d_v) -> (N,H,S,d_v)
        dweights = self.dropout.backward(dheads @ repeat(V, group).mT)      # (N,H,L,d_v) (N,H,d_v,S) -> (N,H,L,S)
        # 2. weights = softmax(adjusted), row by row, and adjusted = softcap(scores) + bias.
        dbiased = self.softmax.backward(dweights)                           # (N,H,L,S)
        dscores = self.adjust.backward(dbiased)                             # (N,H,L,S)
        # 1. scores = Q Kᵀ · scale: again each factor gets the gradient times the other.
        dQ = gather(dscores, repeat(K, group), mask) * scale                # (N,H,L,S) (N,H,S,d_k) -> (N,H,L,d_k)
        dK = add_group(gather(dscores.mT, Q, mask) * scale, group)          # (N,H,S,L) (N,H,L,d_k) -> (N,H,S,d_k)
        grads = {"heads": dheads, "V": dV, "weights": dweights, **self.adjust.grads, "Q": dQ, "K": dK}
        self.grads = {name: gradient for name, gradient in grads.items() if name in self.cache}
        return dQ, dK, dV

    def __init__(self, *, scale=None, softcap=None, bias_first=False, dropout=0.0, rng=None):
        super().__init__()
        self.scale = scale_factor(scale)
        self.adjust = AdjustScores(softcap=softcap, bias_first=bias_first)
        self.dropout = Dropout(dropout, rng=rng)
        if scale is not None:
            self.restate(scores=f"Q Kᵀ · {scale:g}", dQ=f"dscores K · {scale:g}", dK=f"dscoresᵀ Q · {scale:g}")
        if softcap is not None:
            self.restate(weights="softmax(capped)",
                         dscores="weights ∘ (dweights − Σ_S weights ∘ dweights) ∘ (1 − (capped / c)²)")
            if not bias_first:                                  # the bias's gradient did not pass the softcap
                self.BACKWARD = (*self.BACKWARD[:2], self.DBIASED, *self.BACKWARD[2:])
        if dropout:
            self.restate(heads="dropped V", dV="droppedᵀ dheads", dweights="kept ∘ (dheads Vᵀ) / (1 − p)")

    @property
    def weights(self):
        """The weights of the last forward, (..., L, S), before any dropout; read-only."""
        if not self.cache:
            raise RuntimeError("there are no weights before a forward pass: call attention(Q, K, V) first")
        return self.cache["weights"]

    def scale_for(self, Q):
        """The factor on Q Kᵀ: 1/√d_k, unless another was asked for."""
        return 1 / math.sqrt(Q.shape[-1]) if self.scale is None else self.scale

    def _is_the_lecture(self, Q, K, V, mask):
        """One key and value head for each query head, and nothing behind a mask that only `gather` keeps there?"""
        return (self.scale is None and Q.shape[:-2] == K.shape[:-2]
                and (mask is None or math.isfinite(Q.real.sum() + K.real.sum() + V.real.sum())))

    FORWARD = (
        Attention.FORWARD[0],
        "adjust",
        Attention.FORWARD[1],
        ("dropped", "weights, a random part 0, the rest / (1 − p)", "N H L S",
         "In training some shares fall out.", "训练时随机丢掉一些份额。"),
        Attention.FORWARD[2],
    )
    BACKWARD = (*Attention.BACKWARD[:3], "adjust", *Attention.BACKWARD[3:])
    DBIASED = Stage("dbiased", "weights ∘ (dweights − Σ_S weights ∘ dweights)", "N H L S",
                    "Back through the softmax, as far as the sum with the bias.",
                    "沿 softmax 传回去，到加偏置的地方为止。")
