"""Blocked attention: the same answer without ever holding the (L, S) table of weights.

A softmax needs the maximum and the sum of a whole row, but both can be found while the row passes by in blocks. Keep
three things for each query: the highest score so far, the sum of exp(score − highest), and the values mixed in these
shares. When a block brings a higher score, what was gathered before shrinks by exp(old − new highest). After the last
block, dividing by the sum gives the softmax's answer to the last digits. For the way back one number a query is kept,
the logarithm of its sum: exp(score − log_sum) is the weight, computed again block by block. So memory grows with L
and S, not with L × S, and a block stays in the processor's cache while it is worked on.
"""
import math

import numpy as np

from ...engine.arguments import check_QKV, size
from ...engine.layer import Layer
from ...engine.mask_and_bias import gather, take_mask_and_bias
from ...engine.row_blocks import at_once
from ...masks import causal_mask
from .dropout import Dropout
from .repeat_heads import group_size
from .scaled_dot_product import ScaledDotProductAttention
from .score_blocks import ScoreBlocks


class BlockedAttention(Layer):
    """softmax(Q Kᵀ / √d_k) V in blocks of queries and keys; otherwise as ScaledDotProductAttention.

    Args, all optional:
        query_block, key_block: how many queries and keys a block has; the last one may be smaller.
        causal: let query i see key j only when j <= i + offset, and skip the blocks in which nothing is seen. Unlike a
            mask this takes no memory. offset must be given when S differs from L, see causal_mask.
        scale, dropout, rng: as in ScaledDotProductAttention.

    attention(Q, K, V, *, mask=None, bias=None) -> heads; shapes and errors as in ScaledDotProductAttention.
    `.weights` computes the table (N, H, L, S) when it is asked for.

    >>> rng = np.random.default_rng(0)
    >>> Q, K, V = (rng.standard_normal((2, 3, 10, 4)) for _ in range(3))
    >>> blocked, direct = na.BlockedAttention(query_block=3, key_block=4), na.ScaledDotProductAttention()
    >>> bool(np.allclose(blocked(Q, K, V), direct(Q, K, V), rtol=0, atol=1e-15))
    True
    >>> mha = na.MultiHeadAttention(8, 2, attention=na.BlockedAttention(causal=True), rng=0)

    Source: Milakov & Gimelshein 2018 (online softmax), algorithm 3; Dao et al. 2022 (FlashAttention), algorithms 1, 4.
    """

    FORWARD = (
        ("running", "highest, Σ exp(scores − highest) after each block", "blocks 2",
         "What is kept of one row while it passes by in blocks (the last query of the first head).",
         "一行分块经过时保留的两个数（第一个头的最后一个查询）。"),
        ("log_sum", "log Σ_S exp(scores)", "N H L 1",
         "All that the way back needs of a row.", "反向时，一行只需要这一个数。"),
        ("heads", "Σ over blocks of exp(scores − log_sum) V", "N H L d_v",
         "Mix the values block by block.", "一块一块地混合各个值。"),
    )
    BACKWARD = (
        ("dV", "Σ over blocks of weightsᵀ dheads", "N H S d_v",
         "The weights of a block are computed again: exp(scores − log_sum).",
         "一块的权重重新算出来：exp(scores − log_sum)。"),
        ("dQ", "Σ over blocks of dscores K / √d_k", "N H L d_k",
         "dscores = weights ∘ (dheads Vᵀ − Σ dheads ∘ heads): the row term needs no second pass.",
         "dscores = weights ∘ (dheads Vᵀ − Σ dheads ∘ heads)：行的那一项不必再扫一遍。"),
        ("dK", "Σ over blocks of dscoresᵀ Q / √d_k", "N H S d_k",
         "Each block of keys gathers from all blocks of queries.", "每一块键收集所有查询块的梯度。"),
    )

    def __init__(self, *, query_block=512, key_block=512, causal=False, offset=None, scale=None, dropout=0.0, rng=None):
        super().__init__()
        self.query_block, self.key_block = size("query_block", query_block), size("key_block", key_block)
        self.causal, self.offset, self.scale = causal, offset, scale
        self.p, self.rng = Dropout(dropout).p, np.random.default_rng(rng)

    scale_for = ScaledDotProductAttention.scale_for

    @property
    def weights(self):
        """The weights of the last forward, (N, H, L, S), before any dropout: computed now, in the memory they take."""
        if not self.cache:
            raise RuntimeError("there are no weights before a forward pass: call attention(Q, K, V) first")
        Q, K, log_sum = (self.cache[name] for name in ("Q", "K", "log_sum"))
        weights = np.zeros((*Q.shape[:-1], K.shape[-2]), log_sum.dtype)
        with np.errstate(all="ignore"):
            for place in np.ndindex(*Q.shape[:-2]):
                for rows, columns, scores, _ in ScoreBlocks(self, place, weights.dtype).blocks():
                    weights[place][rows, columns] = np.exp(scores - log_sum[place][rows])
        weights.flags.writeable = False
        return weights

    def forward(self, Q, K, V, *, mask=None, bias=None):
        check_QKV(Q, K, V)
        L, S = Q.shape[-2], K.shape[-2]
        if self.causal and self.offset is None and L != S:
            causal_mask(L, S)                                   # the error says what the offset means
        mask, bias = take_mask_and_bias(mask, bias, (*Q.shape[:-1], S), Q.dtype)
        dtype = np.result_type(Q, K, V, *([] if bias is None else [bias]))
        seed = int(self.rng.integers(2 ** 62)) if self.p and self.training else None
        self.keep(Q=Q, K=K, V=V, mask=mask, bias=bias, seed=seed, running=np.zeros((-(-S // self.key_block), 2), dtype),
                  log_sum=np.full((*Q.shape[:-1], 1), np.inf, dtype),        # stays so where nothing is seen
                  heads=np.zeros((*Q.shape[:-1], V.shape[-1]), dtype))
        at_once(self._forward_head, [(place,) for place in np.ndindex(*Q.shape[:-2])], math.prod(Q.shape[:-1]) * S)
        return self.cache["heads"]

    def _forward_head(self, place):
        log_sum, heads = self.cache["log_sum"][place], self.cache["heads"][place]
        head = ScoreBlocks(self, place, heads.dtype)
        highest, total = np.full(log_sum.shape, -np.inf, log_sum.real.dtype), np.zeros_like(log_sum)
        for rows, columns, scores, seen in head.blocks():
            before = highest[rows].copy()
            highest[rows] = now = np.maximum(before, scores.real.max(axis=-1, keepdims=True))
            shift = np.where(now == -np.inf, 0, now)
            shares = np.exp(np.subtract(scores, shift, out=scores), out=scores)
            shrink = np.exp(before - shift)                     # what was gathered before, on the new scale
            total[rows] = total[rows] * shrink + shares.sum(axis=-1, keepdims=True)
            heads[rows] = heads[rows] * shrink + gather(head.drop(shares, rows, columns), head.V[columns], seen)
            if not any(place):
                self.cache["running"][columns.start // self.key_block] = now[-1, 0], total[rows][-1, 0]
        some = total[..., 0] != 0
        heads[some] /= total[some]
        log_sum[some] = highest[some] + np.log(total[some])

    def backward(self, dheads):
        Q, K, V, bias = map(self.cache.get, ("Q", "K", "V", "bias"))
        dQ, dK, dV = (np.zeros(array.shape, np.result_type(array, dheads)) for array in (Q, K, V))
        self.grads = {"heads": dheads, "V": dV, "Q": dQ, "K": dK}
        if bias is not None:
            self.grads["bias"] = np.zeros(bias.shape, np.result_type(bias, dheads))
        group = group_size(Q, K)                                # heads that share a key/value head add up in order
        jobs = [[(*place[:-1], place[-1] * group + i) if place else place for i in range(group)]
                for place in np.ndindex(*K.shape[:-2])]
        if bias is not None:                                    # all heads add to its gradient: one after the other
            jobs = [[place for places in jobs for place in places]]
        at_once(self._backward_heads, [(places,) for places in jobs], math.prod(Q.shape[:-1]) * K.shape[-2])
        return dQ, dK, dV

    def _backward_heads(self, places):
        for place in places:
            head = ScoreBlocks(self, place, np.result_type(self.cache["heads"], self.grads["heads"]))
            dQ, dK, dV = self.grads["Q"][place], self.grads["K"][head.shared], self.grads["V"][head.shared]
            dheads, log_sum = self.grads["heads"][place], self.cache["log_sum"][place]
            row_term = (dheads * self.cache["heads"][place]).sum(axis=-1, keepdims=True)
            for rows, columns, scores, seen in head.blocks():
                weights = np.exp(np.subtract(scores, log_sum[rows], out=scores), out=scores)
                dV[columns] += head.drop(weights, rows, columns).T @ dheads[rows]
                dweights = np.matmul(dheads[rows], head.V[columns].T, out=head.table("dweights", rows, columns))
                dweights = head.drop(dweights, rows, columns)
                if seen is not None:
                    dweights[~seen] = 0
                dscores = np.multiply(np.subtract(dweights, row_term[rows], out=dweights), weights, out=dweights)
                if "bias" in self.grads:
                    head.add_up(self.grads["bias"], dscores, rows, columns)
                dQ[rows] += gather(dscores, head.K[columns], seen) * head.scale
                dK[columns] += gather(dscores.T, head.Q[rows], seen) * head.scale
