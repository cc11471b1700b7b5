"""Every layer of the package, ready to run: how to make it, what to call it with, what its stated shapes mean.

One list for all who go through all layers: the gradient checker's table, the tests that hold every layer to the same
rules, and the documents. All sizes differ, because equal ones hide mistakes: with L = S a forgotten transpose has the
right shape, and with N = 1 a mean and a sum are the same. Parameters are random, biases and gains too, so that no zero
hides a term.
"""
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .engine.layer import Layer
from .layers.activations import GELU, ReLU, SiLU
from .layers.cross_entropy import CrossEntropyLoss
from .layers.embedding import Embedding
from .layers.feed_forward import FeedForward
from .layers.gated_feed_forward import GatedFeedForward
from .layers.heads import MergeHeads, SplitHeads
from .layers.layer_norm import LayerNorm
from .layers.learned_positions import LearnedPositions
from .layers.linear import Linear
from .layers.log_softmax import LogSoftmax
from .layers.mean_squared_error import MeanSquaredError
from .layers.multi_head import MultiHeadAttention
from .layers.positions import SinusoidalPositions
from .layers.residual import Residual
from .layers.rms_norm import RMSNorm
from .layers.softmax import Softmax
from .layers.transformer_decoder import TransformerDecoder
from .layers.transformer_decoder_layer import TransformerDecoderLayer
from .layers.transformer_encoder import TransformerEncoder
from .layers.transformer_encoder_layer import TransformerEncoderLayer
from .layers.variants.blocked_attention import BlockedAttention
from .layers.variants.dropout import Dropout
from .layers.variants.extra_keys import ExtraKeyAttention
from .layers.variants.qk_norm import QKNormAttention
from .layers.variants.relative_bias import RelativeBiasAttention, RelativePositionBias, relative_places
from .layers.variants.repeat_heads import RepeatHeads
from .layers.variants.rotary import Rotary, RotaryAttention
from .layers.variants.rotary_scaling import ScaledRotary
from .layers.variants.scaled_dot_product import ScaledDotProductAttention
from .layers.variants.sink import SinkAttention, SinkSoftmax
from .layers.variants.soft_cap import SoftCap
from .masks import causal_mask, padding_mask

N, H, L, S, d_k, d_v, D = 2, 3, 4, 5, 6, 7, 8
kdim, vdim = 9, 10
SYMBOLS = {"N": N, "H": H, "L": L, "S": S, "d_k": d_k, "d_v": d_v, "D": D, "kdim": kdim, "vdim": vdim, "H_kv": 1,
           "...": (N, L)}


class Example(NamedTuple):
    """One way to make a layer and to call it; `symbols` are those of its stated shapes that SYMBOLS does not have.

    >>> from numpy_attention.catalogue import EXAMPLES
    >>> example = EXAMPLES["SplitHeads"]
    >>> example.layer()(*example.inputs, **example.options).shape, example.size_of("... H L d")
    ((2, 3, 4, 6), (2, 3, 4, 6))
    """

    make: Callable[[], Layer]
    inputs: tuple
    options: dict[str, Any] = {}
    symbols: dict[str, Any] = {}

    def layer(self, **options):
        """The layer with random parameters; options: of randomise."""
        return randomise(self.make(), **options)

    def cast(self, change):
        """The inputs with `change`, a dtype or a function, applied to those that hold floats (ids stay ids)."""
        def to_dtype(array):
            return array.astype(change)
        changed = to_dtype if isinstance(change, type) else change
        return [changed(array) if array.dtype.kind == "f" else array for array in self.inputs]

    def size_of(self, shape):
        """The sizes that a stated shape such as "... L H·d" has here."""
        known = {**SYMBOLS, **self.symbols}
        sizes = []
        for symbol in shape.split():
            if symbol == "...":
                sizes += known["..."]
            else:
                sizes.append(int(np.prod([known.get(factor) or int(factor) for factor in symbol.split("·")])))
        return tuple(sizes)


def draw(*shape, seed=0):
    """Standard normal numbers, the same ones for the same shape and seed."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def randomise(layer, *, seed=0, dtype=np.float64):
    """Every parameter of the layer and its sublayers replaced by random numbers of a useful size; the layer."""
    rng = np.random.default_rng(seed)
    for part in (layer, *layer.sublayers().values()):
        if part is not layer:
            randomise(part, seed=rng.integers(2**32), dtype=dtype)
            continue
        for name, old in part.params.items():
            size = np.sqrt(old.shape[0]) if old.ndim > 1 else 1
            part.params[name] = (rng.standard_normal(old.shape) / size).astype(dtype)
    return layer


MASK = np.random.default_rng(3).random((N, H, L, S)) < 0.6
MASK[0, 0, 1] = False       # a query that may see nothing
MASK[:, :, 2] = True        # one that sees everything
MASK[1, :, :, 4] = False    # a key that no query of this sequence may see
MASK[1, :, 0] = [True, False, True, False, False]
BIAS = draw(N, H, L, S, seed=4)

TOKENS, MEMORY = (draw(N, L, D),), (draw(N, S, D),)
QKV = (draw(N, H, L, d_k), draw(N, H, S, d_k), draw(N, H, S, d_v))
GROUPED = (draw(N, H, L, d_k), draw(N, 1, S, d_k), draw(N, 1, S, d_v))
TARGET = np.arange(N * L).reshape(N, L) * 5 % 3

TWO_HEADS = {"H": 2}
ALL_AXES = {"...": (N, H, L, S)}        # for layers that work on each score alone


def _mha(**options):
    return lambda: MultiHeadAttention(D, H, d_k=d_k, d_v=d_v, rng=0, **options)


def _memory(make, **options):
    return Example(make, TOKENS + MEMORY, options, {"kdim": D, "vdim": D, **ALL_AXES})


EXAMPLES = {
    "Linear": Example(lambda: Linear(D, 3, rng=0), TOKENS, {}, {"in_features": D, "out_features": 3}),
    "Linear, no bias": Example(lambda: Linear(D, 3, bias=False, rng=0), TOKENS, {},
                               {"in_features": D, "out_features": 3}),
    "SplitHeads": Example(lambda: SplitHeads(H), (draw(N, L, H * d_k),), {}, {"...": (N,), "d": d_k}),
    "MergeHeads": Example(lambda: MergeHeads(), (draw(N, H, L, d_v),), {}, {"...": (N,), "d": d_v}),
    "RepeatHeads": Example(lambda: RepeatHeads(3), (draw(N, 2, S, d_k),), {},
                           {"...": (N,), "H": 6, "H_kv": 2, "d": d_k}),

    "Softmax": Example(lambda: Softmax(), (draw(N, H, L, S),), {}, {"...": (N, H, L)}),
    "Softmax, mask": Example(lambda: Softmax(), (draw(N, H, L, S),), {"mask": MASK}, {"...": (N, H, L)}),
    "LogSoftmax": Example(lambda: LogSoftmax(), (draw(N, L, 11),), {}, {"C": 11}),
    "SoftCap": Example(lambda: SoftCap(1.5), (draw(N, H, L, S),), {}, ALL_AXES),

    "ScaledDotProductAttention": Example(lambda: ScaledDotProductAttention(), QKV),
    "ScaledDotProductAttention, mask": Example(lambda: ScaledDotProductAttention(), QKV, {"mask": MASK}),
    "ScaledDotProductAttention, options": Example(
        lambda: ScaledDotProductAttention(scale=0.7, softcap=1.5, dropout=0.3, rng=0), QKV,
        {"mask": MASK, "bias": BIAS}, ALL_AXES),
    "ScaledDotProductAttention, grouped": Example(
        lambda: ScaledDotProductAttention(), GROUPED, {"mask": MASK[:, 0], "bias": BIAS[0, 0]}),
    "BlockedAttention": Example(lambda: BlockedAttention(query_block=3, key_block=2), QKV,
                                {"mask": MASK, "bias": BIAS}, {"blocks": 3}),
    "BlockedAttention, causal": Example(
        lambda: BlockedAttention(query_block=3, key_block=2, causal=True, offset=1, scale=0.7), QKV, {},
        {"blocks": 3}),
    "RelativePositionBias": Example(lambda: RelativePositionBias(H, num_buckets=8, max_distance=20, rng=0),
                                    (relative_places(L, S),), {}, {"1": 1, "num_buckets": 8}),
    "RelativeBiasAttention": Example(
        lambda: RelativeBiasAttention(H, num_buckets=8, max_distance=20, rng=0,
                                      attention=ScaledDotProductAttention(softcap=1.5, bias_first=True)),
        QKV, {"mask": MASK, "bias": BIAS, "query_offset": 1}, {"1": 1, "...": (N, H, L, S)}),
    "SinkSoftmax": Example(lambda: SinkSoftmax(H), (draw(N, H, L, S),), {"mask": MASK}, {"...": (N,), "1": 1}),
    "SinkAttention": Example(lambda: SinkAttention(H, softcap=1.5, dropout=0.3, rng=0), QKV,
                             {"mask": MASK, "bias": BIAS}, {"...": (N, H, L, S)}),
    "QKNormAttention": Example(lambda: QKNormAttention(d_k), QKV, {"mask": MASK, "bias": BIAS}),
    "RotaryAttention": Example(lambda: RotaryAttention(d_k), QKV, {"mask": MASK, "bias": BIAS, "query_offset": 1}),
    "ExtraKeyAttention": Example(lambda: ExtraKeyAttention(H, d_k, d_v, zero=True, rng=0), QKV,
                                 {"mask": MASK, "bias": BIAS}, {"S_more": S + 2}),

    "MultiHeadAttention, self": Example(_mha(), TOKENS, {}, {"S": L, "kdim": D, "vdim": D}),
    "MultiHeadAttention, memory": _memory(_mha(), mask=MASK),
    "MultiHeadAttention, cross": Example(_mha(kdim=kdim, vdim=vdim),
                                         TOKENS + (draw(N, S, kdim), draw(N, S, vdim)), {"mask": MASK}),
    "MultiHeadAttention, no bias": _memory(_mha(bias=False)),
    "MultiHeadAttention, grouped": _memory(_mha(num_kv_heads=1, dropout=0.3), mask=MASK, bias=BIAS),
    "MultiHeadAttention, handed-in attention": _memory(
        lambda: MultiHeadAttention(D, H, d_k=d_k, d_v=d_v, rng=0, attention=RotaryAttention(
            d_k, attention=ScaledDotProductAttention(softcap=2.0)))),

    "Embedding": Example(lambda: Embedding(11, D, rng=0), (np.arange(N * L).reshape(N, L) * 5 % 7,), {},
                         {"num_embeddings": 11}),
    "LearnedPositions": Example(lambda: LearnedPositions(11, D, rng=0), TOKENS, {"offset": 3},
                                {"...": (N,), "max_length": 11}),
    "SinusoidalPositions": Example(lambda: SinusoidalPositions(), TOKENS, {"offset": 3}, {"...": (N,)}),
    "Rotary": Example(lambda: Rotary(4), (draw(N, H, L, d_k),), {"offset": 2}, {"...": (N, H), "d": d_k}),
    "Rotary, interleaved": Example(lambda: Rotary(d_k, interleaved=True), (draw(N, H, L, d_k),), {},
                                   {"...": (N, H), "d": d_k}),
    "ScaledRotary": Example(lambda: ScaledRotary([1.0, 0.25]), (draw(N, H, L, d_k),), {"offset": 2},
                            {"...": (N, H), "d": d_k}),

    "ReLU": Example(lambda: ReLU(), TOKENS, {}, {"...": (N, L, D)}),
    "SiLU": Example(lambda: SiLU(), TOKENS, {}, {"...": (N, L, D)}),
    "GELU": Example(lambda: GELU(), TOKENS, {}, {"...": (N, L, D)}),
    "GELU, tanh": Example(lambda: GELU(approximate="tanh"), TOKENS, {}, {"...": (N, L, D)}),
    "Dropout": Example(lambda: Dropout(0.4, rng=0), TOKENS, {}, {"...": (N, L, D)}),
    "LayerNorm": Example(lambda: LayerNorm(D), TOKENS),
    "LayerNorm, plain": Example(lambda: LayerNorm(D, affine=False), TOKENS),
    "RMSNorm": Example(lambda: RMSNorm(D), TOKENS),
    "FeedForward": Example(lambda: FeedForward(D, 11, activation="gelu", rng=0), TOKENS, {}, {"d_hidden": 11}),
    "FeedForward, dropout": Example(lambda: FeedForward(D, 11, dropout=0.4, rng=0), TOKENS, {}, {"d_hidden": 11}),
    "GatedFeedForward": Example(lambda: GatedFeedForward(D, 11, bias=True, rng=0), TOKENS, {}, {"d_hidden": 11}),

    "Residual": Example(lambda: Residual(FeedForward(D, 11, activation="silu", rng=0)), TOKENS),
    "Residual, post-norm": Example(
        lambda: Residual(MultiHeadAttention(D, 2, rng=0), LayerNorm(D), dropout=0.3, rng=0), TOKENS + MEMORY,
        {"mask": causal_mask(L, S, offset=1), "bias": draw(N, 2, L, S)}, TWO_HEADS),
    "Residual, pre-norm": Example(
        lambda: Residual(MultiHeadAttention(D, 2, rng=0), RMSNorm(D), norm_first=True, dropout=0.2, rng=0), TOKENS,
        {"bias": draw(N, 2, L, L)}, TWO_HEADS),
    "TransformerEncoderLayer, post-norm": Example(
        lambda: TransformerEncoderLayer(D, 2, 11, activation="gelu", rng=0), TOKENS, {"mask": causal_mask(L)}),
    "TransformerEncoderLayer, pre-norm": Example(
        lambda: TransformerEncoderLayer(D, 2, 11, activation="silu", norm_first=True, dropout=0.2, rng=0), TOKENS,
        {"bias": draw(N, 2, L, L)}, TWO_HEADS),
    "TransformerEncoder, post-norm": Example(lambda: TransformerEncoder(2, D, 2, 11, activation="gelu", rng=0),
                                             TOKENS, {"bias": draw(L, L)}, TWO_HEADS),
    "TransformerEncoder, pre-norm": Example(
        lambda: TransformerEncoder(2, D, 2, 11, activation="gelu", norm_first=True, rng=0), TOKENS),
    "TransformerDecoderLayer, post-norm": Example(
        lambda: TransformerDecoderLayer(D, 2, 11, activation="gelu", rng=0), TOKENS + MEMORY,
        {"mask": causal_mask(L), "memory_bias": draw(N, 2, L, S)}, TWO_HEADS),
    "TransformerDecoderLayer, pre-norm": Example(
        lambda: TransformerDecoderLayer(D, 2, 11, activation="gelu", norm_first=True, dropout=0.2, rng=0),
        TOKENS + MEMORY, {"memory_mask": padding_mask([3, 5], S), "bias": draw(N, 2, L, L)}, TWO_HEADS),
    "TransformerDecoder, post-norm": Example(
        lambda: TransformerDecoder(2, D, 2, 11, activation="gelu", final_norm=True, rng=0), TOKENS + MEMORY,
        {"mask": causal_mask(L), "memory_bias": draw(L, S)}),
    "TransformerDecoder, pre-norm": Example(
        lambda: TransformerDecoder(2, D, 2, 11, activation="gelu", norm_first=True, final_norm=False, rng=0),
        TOKENS + MEMORY, {"memory_mask": padding_mask([3, 5], S)}),

    "CrossEntropyLoss": Example(lambda: CrossEntropyLoss(ignore_index=2), (draw(N, L, 3), TARGET), {}, {"C": 3}),
    "CrossEntropyLoss, weighted": Example(
        lambda: CrossEntropyLoss(class_weights=[0.5, 2, 1], label_smoothing=0.1, reduction="none"),
        (draw(N, L, 3), TARGET), {}, {"C": 3}),
    "MeanSquaredError": Example(lambda: MeanSquaredError(), (draw(N, L, D), draw(N, L, D, seed=1)), {},
                                {"...": (N, L, D)}),
}
