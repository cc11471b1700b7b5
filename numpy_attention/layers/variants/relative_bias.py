"""A relative position bias: one learned number for each distance and head, added to the scores.

A head learns directly how much it likes to look one place back, or far away. Every pair of places with the same
distance shares its number, so the table is small. Far distances share a number in buckets that grow with the distance:
whether a word stands 60 or 70 places back hardly matters.
"""
import math

import numpy as np

from ...engine.arguments import generator, place, precision, rectangular, size, switch
from ...engine.layer import Layer
from ...engine.mask_and_bias import fit_bias, sum_like
from ...engine.shapes import check_QKV
from .around_attention import AroundAttention
from .rotary import places


class RelativePositionBias(Layer):
    """One learned number for each bucket of distances and each head.

    Args:
        num_heads: H. num_buckets, max_distance, bidirectional: as for t5_buckets.
        rng: seed or np.random.Generator for the table (standard normal). dtype: of the table.

    layer(relative) -> bias (1, H, L, S), to be handed to an attention as bias=; relative (L, S) from relative_places.
        Where each sequence has places of its own, relative is (N, L, S) and the bias (N, H, L, S).
    Params: table (num_buckets, H). Raises: TypeError unless relative holds whole numbers, ValueError for other shapes.

    >>> layer = na.RelativePositionBias(2, rng=0)
    >>> bias = layer(na.relative_places(3, 4))
    >>> bias.shape, bool(bias[0, 0, 0, 1] == bias[0, 0, 1, 2])             # the same distance, the same number
    ((1, 2, 3, 4), True)

    Source: Raffel et al. 2020 (T5), section 2.1; Shaw et al. 2018.
    """

    integer_inputs = ("relative",)

    def __init__(self, num_heads, *, num_buckets=32, max_distance=128, bidirectional=True, rng=None, dtype=np.float64):
        super().__init__()
        H, self.max_distance = size("num_heads", num_heads), max_distance
        self.bidirectional = switch("bidirectional", bidirectional)
        t5_buckets(np.arange(1), num_buckets=num_buckets, max_distance=max_distance, bidirectional=bidirectional)
        self.params["table"] = generator(rng).standard_normal((num_buckets, H)).astype(precision(dtype))

    def forward(self, relative):
        table = self.params["table"]
        if relative.dtype.kind in "iu" and relative.ndim not in (2, 3):
            raise ValueError(f"relative must have shape (L, S) or (N, L, S); got {relative.shape}")
        # 1. Far distances share a bucket.
        buckets = t5_buckets(relative, num_buckets=len(table), max_distance=self.max_distance,
                             bidirectional=self.bidirectional)                  # (L, S) or (N, L, S)
        # 2. Look up every head's number.
        bias = np.moveaxis(table[buckets], -1, -3)                              # (N, L, S, H) -> (N, H, L, S)
        if bias.ndim == 3:
            bias = bias[None]                                                   # (1, H, L, S): all sequences share it
        self.cache = {"relative": relative, "buckets": buckets, "bias": bias}
        return bias

    def backward(self, dbias):
        # 2. bias = table[buckets]: a number that was looked up often gets the sum.
        buckets, dtable = self.cache["buckets"], np.zeros(self.params["table"].shape, dbias.dtype)      # (buckets, H)
        np.add.at(dtable, buckets.reshape(len(dbias), *buckets.shape[-2:]), np.moveaxis(dbias, 1, -1))
        self.grads = {"bias": dbias, "table": dtable}
        return np.zeros(self.cache["relative"].shape, dbias.dtype)              # 1. whole numbers have no gradient

    FORWARD = (
        ("buckets", "bucket(relative)", "L S",
         "Near distances have a bucket each, far ones share.", "近的距离各有一格，远的距离共用一格。"),
        ("bias", "table[buckets]", "1 H L S",
         "Each head looks up how much it likes that distance.", "每个头查表：它有多喜欢这个距离。"),
    )
    BACKWARD = (
        ("dtable", "Σ dbias over the pairs of a bucket", "num_buckets H",
         "Every pair that used a number adds to its gradient.", "用过同一个数的每一对，梯度都加到它上面。"),
    )


class RelativeBiasAttention(AroundAttention):
    """Attention that adds a relative position bias of its own to the scores.

    Args:
        num_heads: H. num_buckets, max_distance, bidirectional, rng, dtype: as for RelativePositionBias.
        attention: what happens then; plain scaled dot-product attention unless given. For a bias that is added before a
            softcap, hand in na.ScaledDotProductAttention(softcap=..., bias_first=True).

    attention(Q, K, V, *, mask=None, bias=None, query_offset=0, query_positions=None, key_positions=None): a given bias
    is added as well; the places, whole numbers, as for RotaryAttention.

    >>> mha = na.MultiHeadAttention(8, 2, attention=na.RelativeBiasAttention(2, rng=0), rng=0)
    >>> mha(np.ones((1, 3, 8))).shape
    (1, 3, 8)

    Source: Raffel et al. 2020 (T5), section 2.1.
    """

    asks_places = True

    def __init__(self, num_heads, *, num_buckets=32, max_distance=128, bidirectional=True, attention=None, rng=None,
                 dtype=np.float64):
        super().__init__()
        self.relative_bias = RelativePositionBias(num_heads, num_buckets=num_buckets, max_distance=max_distance,
                                                  bidirectional=bidirectional, rng=rng, dtype=dtype)
        self.attention = self.inner(attention)

    def forward(self, Q, K, V, *, mask=None, bias=None, query_offset=0, query_positions=None, key_positions=None):
        check_QKV(Q, K, V)
        H, scores = self.relative_bias.params["table"].shape[1], (*Q.shape[:-1], K.shape[-2])
        if Q.ndim < 3 or Q.shape[-3] != H:
            raise ValueError(f"Q must have shape (..., H, L, d_k) with H = {H}; got {Q.shape}")
        # 1. The number of each pair's distance.
        distance = _distances(Q, K, query_offset, query_positions, key_positions)                   # (L, S), (N, L, S)
        relative = self.relative_bias(distance).astype(                                             # (1 or N, H, L, S)
            Q.real.dtype if self.relative_bias.params["table"].dtype.kind == "f" else Q.dtype)
        total = relative if Q.ndim == 4 else relative.reshape((1,) * (Q.ndim - 3) + relative.shape[1:])
        # 2. Added to the bias that was given, if any.
        if bias is not None:
            total = total + fit_bias(bias, scores, Q.dtype)
            bias = np.array(bias)
        heads = self.attend(Q, K, V, mask=mask, bias=total, query_offset=query_offset,
                            query_positions=query_positions, key_positions=key_positions)
        self.keep_around(Q=Q, K=K, V=V, bias=bias, relative=relative, total=total)
        return heads

    def backward(self, dheads):
        # 2. The attention added `total` to its scores, so it knows the gradient.
        dQ, dK, dV = self.attention.backward(dheads)
        dtotal = self.attention.grads["bias"]
        # 1. Every sequence used the same numbers, unless each has places of its own.
        drelative = dtotal.reshape(math.prod(dtotal.shape[:-3]), *dtotal.shape[-3:])            # (N, H, L, S)
        if len(self.cache["relative"]) == 1:
            drelative = drelative.sum(axis=0, keepdims=True)                                    # (1, H, L, S)
        self.relative_bias.backward(drelative)
        dbias = sum_like(dtotal, self.cache["bias"]) if "bias" in self.cache else None
        self.grads_around(bias=dbias, total=dtotal, relative=drelative)
        return dQ, dK, dV

    FORWARD = (
        ("relative", "table[bucket(key place − query place)]", "1 H L S",
         "Each head looks up how much it likes each distance.", "每个头查表：它有多喜欢每个距离。"),
        ("total", "relative + bias", "N H L S",
         "A bias that was given is added as well.", "如果另外给了偏置，也加上去。"),
        "attention",
    )
    BACKWARD = (
        "attention",
        ("dtotal", "Σ dscores over the axes for which total stood in", "N H L S",
         "The bias was added to the scores, so it gets their gradient.", "偏置是加到分数上的，所以得到分数的梯度。"),
        ("drelative", "Σ dtotal over the sequences", "1 H L S",
         "All sequences used the same numbers.", "所有序列用的是同样的数。"),
        ("dbias", "Σ dtotal over the axes for which bias stood in", "N H L S",
         "The given bias gets the same.", "给定的偏置也一样。"),
    )


def _distances(Q, K, query_offset, query_positions, key_positions):
    """Key place minus query place of each pair, (L, S), or (N, L, S) where each sequence has places of its own."""
    queries, keys = places(Q, query_offset, query_positions), places(K, 0, key_positions)
    if queries.dtype.kind == "f" or keys.dtype.kind == "f":
        raise TypeError("query_positions and key_positions must be whole numbers, since each distance is looked up in "
                        f"a table; got {queries.dtype} and {keys.dtype}")
    distance = keys.astype(np.int64)[..., None, :] - queries.astype(np.int64)[..., :, None]     # (N, 1, L, S)
    if any(size > 1 for size in distance.shape[1:-2]) or (Q.ndim == 3 and distance.ndim == 3 and len(distance) > 1):
        raise ValueError("query_positions and key_positions must have shapes (L,) and (S,), or (N, L) and (N, S): all "
                         f"heads share them; got {queries.shape} and {keys.shape}")
    return distance if distance.ndim == 2 else distance.reshape(math.prod(distance.shape[:-2]), *distance.shape[-2:])


def relative_places(L, S=None, *, offset=0):
    """Place of each key minus place of each query, (L, S); the first query stands at `offset`, the first key at 0.

    >>> na.relative_places(2, 3)
    array([[ 0,  1,  2],
           [-1,  0,  1]])
    """
    L = size("L", L)
    return np.arange(L if S is None else size("S", S)) - (np.arange(L)[:, None] + place("offset", offset))


def t5_buckets(relative, *, num_buckets=32, max_distance=128, bidirectional=True):
    """The bucket of each distance (key minus query): near ones have their own, far ones share, in logarithmic steps.

    Args:
        relative: whole numbers of any shape. num_buckets: how many there are; when bidirectional, half of them for keys
            that come after the query. max_distance: from here on all distances share the last bucket.
        bidirectional: without it, keys after the query all fall into bucket 0 with the query's own place.

    >>> na.t5_buckets(np.arange(-9, 3), num_buckets=8, max_distance=20)
    array([3, 3, 3, 2, 2, 2, 2, 2, 1, 0, 5, 6])

    Source: Raffel et al. 2020 (T5), section 2.1, and the code published with it.
    """
    relative = rectangular("relative", relative)
    if relative.dtype.kind not in "iu":
        raise TypeError(f"relative must hold whole numbers, got dtype {relative.dtype}")
    num_buckets, max_distance = size("num_buckets", num_buckets), size("max_distance", max_distance)
    buckets = num_buckets // 2 if bidirectional else num_buckets
    exact = buckets // 2                                        # distances below this have a bucket each
    if exact < 1 or max_distance <= exact:
        raise ValueError(f"num_buckets = {num_buckets} must leave at least one exact distance each way, and "
                         f"max_distance = {max_distance} lie beyond them")
    relative = np.clip(relative.astype(float), -max_distance, max_distance).astype(np.int64)    # unsigned ones, too
    distance = np.abs(relative) if bidirectional else np.maximum(-relative, 0)
    steps = np.log(np.maximum(distance, 1) / exact) / math.log(max_distance / exact) * (buckets - exact)
    far = np.minimum(exact + steps.astype(np.int64), buckets - 1)
    side = np.where(relative > 0, buckets, 0) if bidirectional else 0
    return np.where(distance < exact, distance, far) + side
