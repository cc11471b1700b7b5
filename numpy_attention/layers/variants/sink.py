"""A sink for each head: one learned logit that takes part in the softmax, but belongs to no key.

Softmax must spend its whole share somewhere. The sink is a place to spend it on nothing: it takes its part of the row,
and nobody's value is mixed in for it. So the weights of the real keys sum to less than 1, and a head that finds nothing
can stay silent.
"""
import numpy as np

from ...engine.arguments import precision, size
from ...engine.layer import Layer
from ...engine.mask_and_bias import fit_mask
from .scaled_dot_product import ScaledDotProductAttention


class SinkSoftmax(Layer):
    """softmax over the keys and one learned logit a head; the logit's own share is left out of the weights.

    Args: num_heads: H. dtype: of the logits.
    Params: sink (H,), 0 at first.

    softmax(scores, *, mask=None) -> weights, both (..., H, L, S); mask as in numpy_attention.masks.
    Raises: ValueError for scores with another number of heads.

    >>> softmax = na.SinkSoftmax(1)
    >>> softmax(np.zeros((1, 1, 3)))                # three keys and the sink share alike
    array([[[0.25, 0.25, 0.25]]])

    Source: OpenAI 2025 (gpt-oss model card), section 2.3; Xiao et al. 2023 for why heads want a sink.
    """

    def __init__(self, num_heads, *, dtype=np.float64):
        super().__init__()
        self.params["sink"] = np.zeros(size("num_heads", num_heads), precision(dtype))

    def forward(self, scores, *, mask=None):
        sink = self.param("sink", scores)[:, None, None]                        # (H, 1, 1)
        if scores.ndim < 3 or scores.shape[-3] != len(sink):
            raise ValueError(f"scores must have shape (..., H, L, S) with H = {len(sink)}; got {scores.shape}")
        mask = None if mask is None else fit_mask(mask, scores.shape)
        visible = scores if mask is None else np.where(mask, scores, -np.inf)
        highest = np.maximum(visible.real.max(axis=-1, keepdims=True, initial=-np.inf), sink.real)
        exponentials = np.exp(visible - highest)                                # (..., H, L, S)
        spared = np.exp(sink - highest)                                         # (..., H, L, 1)
        total = exponentials.sum(axis=-1, keepdims=True) + spared
        weights, unspent = exponentials / total, spared / total
        self.keep(scores=scores, mask=mask, unspent=unspent, weights=weights)
        return weights

    def backward(self, dweights):
        # In the forward pass: weights, unspent = softmax(scores and sink), of which only weights are used.
        mask, weights, unspent = map(self.cache.get, ("mask", "weights", "unspent"))
        visible = dweights if mask is None else np.where(mask, dweights, 0)
        row_term = (weights * visible).sum(axis=-1, keepdims=True)              # (..., H, L, 1)
        dscores = weights * (visible - row_term)                                # (..., H, L, S)
        dunspent = -unspent * row_term                                          # the same with a gradient of 0
        dsink = dunspent[..., 0].sum(axis=-1).reshape(-1, weights.shape[-3]).sum(axis=0)        # (H,)
        self.grads = {"weights": dweights, "scores": dscores, "sink": dsink}
        return dscores

    FORWARD = (
        ("unspent", "exp(sink − max) / (exp(sink − max) + Σ exp(scores − max))", "... H L 1",
         "What each query spends on nobody.", "每个查询没有花在任何人身上的那一份。"),
        ("weights", "exp(scores − max) / (exp(sink − max) + Σ exp(scores − max))", "... H L S",
         "The rest is shared out among the keys.", "剩下的分给各个键。"),
    )
    BACKWARD = (
        ("dscores", "weights ∘ (dweights − Σ weights ∘ dweights)", "... H L S",
         "As without a sink, but a row may now grow or shrink as a whole.",
         "和没有汇时一样，只是整行可以一起变大或变小。"),
        ("dsink", "− Σ unspent ∘ Σ weights ∘ dweights", "H",
         "The sink grows at the keys' cost.", "汇变大，各个键就变小。"),
    )


class SinkAttention(ScaledDotProductAttention):
    """ScaledDotProductAttention with a learned sink for each head.

    Args: num_heads: H. scale, softcap, dropout, rng: as for ScaledDotProductAttention. dtype: of the sinks.

    attention(Q, K, V, *, mask=None, bias=None) -> heads. `.weights` (N, H, L, S) sum to less than 1 in each row.
    A softcap bends the scores, not the sink.

    >>> attention = na.SinkAttention(2)
    >>> mha = na.MultiHeadAttention(8, 2, attention=attention, rng=0)
    >>> out = mha(np.ones((1, 3, 8)))
    >>> mha.weights.sum(axis=-1)[0, 0].round(4), list(attention.named_params())
    (array([0.7693, 0.7693, 0.7693]), ['softmax.sink'])

    Source: OpenAI 2025 (gpt-oss model card), section 2.3.
    """

    def __init__(self, num_heads, *, scale=None, softcap=None, dropout=0.0, rng=None, dtype=np.float64):
        super().__init__(scale=scale, softcap=softcap, dropout=dropout, rng=rng)
        self.softmax = SinkSoftmax(num_heads, dtype=dtype)

    def forward(self, Q, K, V, *, mask=None, bias=None):
        return super().forward(Q, K, V, mask=mask, bias=bias)

    def backward(self, dheads):
        return super().backward(dheads)

    FORWARD = (
        *ScaledDotProductAttention.FORWARD[:2],
        ("weights", "softmax(scores and sink), without the sink's share", "N H L S",
         "Each row becomes shares of at most 1: the sink keeps the rest.",
         "每一行变成份额，总和不超过 1：剩下的归汇。"),
        *ScaledDotProductAttention.FORWARD[3:],
    )
    BACKWARD = ScaledDotProductAttention.BACKWARD
