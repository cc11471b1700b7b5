"""Blocked attention: the same answer without ever holding the (L, S) table of weights.

A softmax needs the maximum and the sum of a whole row, but both can be found while the row passes by in blocks. Keep
three things for each query: the highest score so far, the sum of exp(score − highest), and the values mixed in these
shares. When a block brings a higher score, what was gathered before shrinks by exp(old − new highest). After the last
block, dividing by the sum gives the softmax's answer to the last digits. For the way back one number a query is kept,
the logarithm of its sum: exp(score − log_sum) is the weight, computed again block by block. So memory grows with L
and S, not with L × S, and a block stays in the processor's cache while it is worked on.
Where the lengths of the queries and keys show that no score can be large, 0 stands in for the highest score.
"""
import math

import numpy as np

from ...engine.arguments import generator, scale_factor, size, switch, whole
from ...engine.layer import Layer
from ...engine.mask_and_bias import gather, take_mask_and_bias
from ...engine.row_blocks import at_once
from ...engine.shapes import check_QKV
from ...masks import causal_mask
from .dropout import Dropout
from .repeat_heads import group_size
from .scaled_dot_product import ScaledDotProductAttention
from .score_blocks import ScoreBlocks, beside


class BlockedAttention(Layer):
    """softmax(Q Kᵀ / √d_k) V in blocks of queries and keys; otherwise as ScaledDotProductAttention.

    Args, all optional:
        query_block, key_block: how many queries and keys a block has; the last one may be smaller.
        causal: let query i see key j only when j <= i + offset, and skip the blocks in which nothing is seen. Unlike a
            mask this takes no memory. offset must be given when S differs from L, see causal_mask.
        scale, dropout, rng: as in ScaledDotProductAttention.

    attention(Q, K, V, *, mask=None, bias=None, query_offset=None) -> heads; shapes and errors as in
    ScaledDotProductAttention. query_offset, where it is given, stands in for offset.
    `.weights` computes the table (N, H, L, S) when it is asked for.

    >>> rng = np.random.default_rng(0)
    >>> Q, K, V = (rng.standard_normal((2, 3, 10, 4)) for _ in range(3))
    >>> blocked, direct = na.BlockedAttention(query_block=3, key_block=4), na.ScaledDotProductAttention()
    >>> bool(np.allclose(blocked(Q, K, V), direct(Q, K, V), rtol=0, atol=1e-15))
    True
    >>> mha = na.MultiHeadAttention(8, 2, attention=na.BlockedAttention(causal=True), rng=0)

    Source: Milakov & Gimelshein 2018 (online softmax), algorithm 3; Dao et al. 2022 (FlashAttention), algorithms 1, 4.
    """

    def __init__(self, *, query_block=512, key_block=512, causal=False, offset=None, scale=None, dropout=0.0, rng=None):
        super().__init__()
        self.query_block, self.key_block = size("query_block", query_block), size("key_block", key_block)
        if offset is not None and not causal:
            raise ValueError(f"offset is the place of the first query when causal=True; got offset={offset!r} without")
        self.causal = self.asks_places = switch("causal", causal)
        self.scale = scale_factor(scale)
        self.offset = None if offset is None else whole("offset", offset)
        self.p, self.rng = Dropout(dropout).p, generator(rng)

    def forward(self, Q, K, V, *, mask=None, bias=None, query_offset=None):
        given, dtype = self._take(Q, K, V, mask, bias, query_offset)
        heads = np.zeros((*Q.shape[:-1], V.shape[-1]), dtype)
        log_sum = np.full((*Q.shape[:-1], 1), np.inf, dtype)            # stays so where nothing is seen
        running = np.zeros((-(-K.shape[-2] // self.key_block), 2), dtype)

        def one_head(place):
            head = ScoreBlocks(self, given, place, dtype)
            for rows in head.query_blocks():
                # A 1 stands beside every value, so that the last column of `mixed` is the sum of the shares.
                mixed = np.zeros((rows.stop - rows.start, V.shape[-1] + 1), dtype)
                highest = np.full((len(mixed), 1), 0 if head.scores_are_small else -np.inf, heads.real.dtype)
                for columns, scores, seen in head.blocks(rows):
                    if not head.scores_are_small:                       # if they are, 0 does as well as the highest
                        before, highest = highest, np.maximum(highest, scores.real.max(axis=-1, keepdims=True))
                        shift = np.where(highest == -np.inf, 0, highest)
                        scores -= shift
                        mixed *= np.exp(before - shift)                 # what was gathered before, on the new scale
                    shares = np.exp(scores, out=scores)
                    mixed += head.mix(shares, rows, columns, seen)
                    if not any(place):
                        running[columns.start // self.key_block:] = highest[-1, 0], mixed[-1, -1]
                total, some = mixed[:, -1:], mixed[:, -1:] != 0
                np.divide(mixed[:, :-1], total, out=heads[place][rows], where=some)
                np.add(highest, np.log(total), out=log_sum[place][rows], where=some)

        at_once(one_head, [(place,) for place in np.ndindex(*Q.shape[:-2])], math.prod(Q.shape[:-1]) * K.shape[-2])
        self.keep(**given, running=running, log_sum=log_sum, heads=heads)
        return heads

    def backward(self, dheads):
        given, heads, log_sum = self.cache, self.cache["heads"], self.cache["log_sum"]
        Q, K, V, bias = map(given.get, ("Q", "K", "V", "bias"))
        dQ, dK, dV = (np.zeros(array.shape, np.result_type(array, dheads)) for array in (Q, K, V))
        dbias = None if bias is None else np.zeros(bias.shape, np.result_type(bias, dheads))

        def some_heads(places):
            for place in places:
                head = ScoreBlocks(self, given, place, np.result_type(heads, dheads))
                for rows in head.query_blocks():
                    dhead, queries = dheads[place][rows], head.queries(rows)
                    row_term = (dhead * heads[place][rows]).sum(axis=-1, keepdims=True)     # Σ weights ∘ dweights
                    dhead_less = beside(dhead, -row_term)
                    for columns, scores, seen in head.blocks(rows, less=log_sum[place][rows]):
                        weights = np.exp(scores, out=scores)                                # scores − log_sum
                        dV[head.shared][columns] += head.drop(weights, rows, columns).T @ dhead
                        dscores = head.table("dscores", rows, columns)
                        np.matmul(dhead_less, head.values(columns).T, out=dscores)          # dweights − row_term
                        if head.seed is not None:                       # the holes are in dweights, not in the row term
                            dscores = head.drop(dscores + row_term, rows, columns) - row_term
                        dscores *= weights
                        if seen is not None:
                            np.copyto(dscores, 0, where=~seen)          # not even NaN crosses a hidden cell
                        if dbias is not None:
                            head.add_up(dbias, dscores, rows, columns)
                        dQ[place][rows] += gather(dscores, head.K[columns], seen) * head.scale
                        dK[head.shared][columns] += gather(dscores.T, queries, seen)

        at_once(some_heads, self._jobs(Q, K, in_order=bias is not None), math.prod(Q.shape[:-1]) * K.shape[-2])
        grads = {"heads": dheads, "V": dV, "Q": dQ, "K": dK, "bias": dbias}
        self.grads = {name: gradient for name, gradient in grads.items() if gradient is not None}
        return dQ, dK, dV

    @property
    def weights(self):
        """The weights of the last forward, (N, H, L, S), before any dropout: computed now, in the memory they take."""
        if not self.cache:
            raise RuntimeError("there are no weights before a forward pass: call attention(Q, K, V) first")
        given = self.cache
        Q, K, log_sum = (given[name] for name in ("Q", "K", "log_sum"))
        weights = np.zeros((*Q.shape[:-1], K.shape[-2]), log_sum.dtype)
        with np.errstate(all="ignore"):
            for place in np.ndindex(*Q.shape[:-2]):
                head = ScoreBlocks(self, given, place, weights.dtype)
                for rows in head.query_blocks():
                    for columns, scores, _ in head.blocks(rows, less=log_sum[place][rows]):
                        np.exp(scores, out=weights[place][rows, columns])
        weights.flags.writeable = False
        return weights

    scale_for = ScaledDotProductAttention.scale_for

    def _take(self, Q, K, V, mask, bias, query_offset):
        """What a pass is about, checked, and the dtype of what it gives."""
        check_QKV(Q, K, V)
        L, S = Q.shape[-2], K.shape[-2]
        offset = self.offset if query_offset is None else whole("query_offset", query_offset)
        if self.causal and offset is None and L != S:
            causal_mask(L, S)                                   # the error says what the offset means
        mask, bias = take_mask_and_bias(mask, bias, (*Q.shape[:-1], S), Q.dtype)
        seed = int(self.rng.integers(2 ** 62)) if self.p and self.training else None
        given = {"Q": Q, "K": K, "V": V, "mask": mask, "bias": bias, "seed": seed,
                 "offset": (offset or 0) if self.causal else None}
        return given, np.result_type(Q, K, V, Q if bias is None else bias)

    def _jobs(self, Q, K, in_order):
        """The heads in groups: those that add to the same gradient run one after the other (to a bias, all may)."""
        group = group_size(Q, K)                                # heads that share a key/value head
        jobs = [[(*place[:-1], place[-1] * group + i) if place else place for i in range(group)]
                for place in np.ndindex(*K.shape[:-2])]
        if in_order:
            jobs = [[place for places in jobs for place in places]]
        return [(places,) for places in jobs]

    FORWARD = (
        ("running", "shift, Σ exp(scores − shift) after each block", "blocks 2",
         "What is kept of one row while it passes by in blocks (the last query of the first head). The shift is the "
         "highest score so far, or 0 where no score can be large.",
         "一行分块经过时保留的两个数（第一个头的最后一个查询）。减去的是到目前为止最大的分数；"
         "分数不可能很大时，减 0 就行。"),
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
