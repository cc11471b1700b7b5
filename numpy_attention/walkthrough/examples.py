"""The worked examples: small enough for paper, or the real size.

"by-hand" is the sentence 我 爱 AI with the Q and K of the source text, and a V that makes the output show the weights.
"cycle" is the same sentence with friendlier numbers, in which every token looks at another one.
"full-size" starts from token ids and goes through 512 columns and 8 heads.
"""
from dataclasses import dataclass, field

import numpy as np

from ..engine.arguments import generator
from ..engine.layer import Layer
from ..layers.embedding import Embedding
from ..layers.multi_head import MultiHeadAttention
from ..layers.positions import sinusoidal_positions
from ..layers.variants.scaled_dot_product import ScaledDotProductAttention
from .reading import read_trace

TOKENS = ("我", "爱", "AI")


@dataclass(frozen=True)
class Correction:
    """A number that the source text prints wrongly: which step and row, what it says, what went wrong."""

    step: str
    token: str
    printed: tuple
    note_en: str
    note_zh: str


@dataclass(frozen=True)
class WorkedExample:
    """A layer with the inputs and the upstream gradient of one example.

    Attributes: name, title, tokens, layer, inputs (tuple of arrays), upstream, corrections.

    >>> example = na.worked_example("by-hand")
    >>> example.tokens
    ('我', '爱', 'AI')
    >>> example.trace()["weights"].value.round(4)
    array([[0.09  , 0.2447, 0.6652],
           [0.1065, 0.1065, 0.787 ],
           [0.042 , 0.1142, 0.8438]])
    """

    name: str
    title: str
    tokens: tuple
    layer: Layer
    inputs: tuple
    upstream: np.ndarray
    corrections: tuple = field(default=())

    def trace(self, *, backward=True):
        """Run the layer forward (and backward) and read its trace."""
        self.layer.forward(*self.inputs)
        self.layer.grads = {}
        if backward:
            self.layer.backward(self.upstream)
        return read_trace(self.layer, tokens=self.tokens, title=self.title)

    def check(self, **options):
        """Check every gradient of the example numerically; see numpy_attention.check_gradients."""
        from ..gradcheck import check_gradients
        return check_gradients(self.layer, *self.inputs, **options)


def trace(subject, *, tokens=None, query_tokens=None, key_tokens=None, title=None):
    """Read the trace of a layer that has run forward (and backward), or of a worked example.

    Args:
        subject: a Layer after forward; or a worked example or its name.
        tokens: labels of queries and keys alike; query_tokens, key_tokens: where they differ.
        title: what the trace is of; the layer's class unless given.

    Raises: RuntimeError if the layer has not run; ValueError for labels that do not fit L or S.

    >>> attention = na.ScaledDotProductAttention()
    >>> heads = attention(np.eye(2), np.eye(2), np.eye(2))
    >>> [step.name for step in na.trace(attention, tokens=["a", "b"])]
    ['Q', 'K', 'V', 'product', 'scores', 'weights', 'heads']
    """
    if isinstance(subject, str):
        subject = worked_example(subject)
    if hasattr(subject, "trace"):
        return subject.trace()
    return read_trace(subject, tokens=tokens, query_tokens=query_tokens, key_tokens=key_tokens, title=title)


def worked_example(name="by-hand"):
    """One of the examples "by-hand", "cycle" and "full-size", ready to be traced.

    Raises: ValueError for another name.

    >>> na.worked_example("cycle").trace()["scores"].value
    array([[1., 0., 2.],
           [3., 2., 0.],
           [1., 2., 0.]])
    """
    if name not in EXAMPLES:
        raise ValueError(f"there is no example {name!r}; there are: {', '.join(EXAMPLES)}")
    return EXAMPLES[name]()


def _by_hand():
    Q = np.array([[1, 0, 1, 0], [0, 2, 0, 2], [1, 1, 1, 1]], float)
    K = np.array([[0, 1, 0, 1], [1, 1, 1, 1], [2, 2, 2, 2]], float)
    return WorkedExample("by-hand", "我 爱 AI", TOKENS, ScaledDotProductAttention(), (Q, K, _V()), _dheads(), (
        Correction("product", "我", (1, 2, 4),
                   "我's query and 我's key share no non-zero place: 1·0 + 0·1 + 1·0 + 0·1 = 0.",
                   "我的查询和我的键没有一个位置同时不为零：1·0 + 0·1 + 1·0 + 0·1 = 0。"),
        Correction("scores", "我", (0.5, 1, 2),
                   "It follows from the first mistake.", "由上一处错误而来。"),
        Correction("weights", "我", (0.18, 0.24, 0.58),
                   "Not even the softmax of its own row 0.5, 1, 2 (that is 0.1402, 0.2312, 0.6285).",
                   "连它自己那一行 0.5、1、2 的 softmax 都不是（应为 0.1402、0.2312、0.6285）。"),
        Correction("weights", "爱", (0.12, 0.12, 0.76),
                   "The scores are right, the softmax is not.", "分数是对的，softmax 算错了。"),
        Correction("weights", "AI", (0.09, 0.24, 0.67),
                   "That is the softmax of 0, 1, 2 (the right answer of row 我) instead of 1, 2, 4.",
                   "这是 0、1、2 的 softmax（我那一行的正确答案），而不是 1、2、4 的。"),
    ))


def _cycle():
    Q = np.array([[0, 0, 2, 2], [2, 2, 0, 0], [0, 2, 0, 1]], float)
    K = np.array([[2, 1, 1, 0], [0, 2, 0, 0], [0, 0, 2, 0]], float)
    return WorkedExample("cycle", "我 爱 AI (cycle)", TOKENS, ScaledDotProductAttention(), (Q, K, _V()), _dheads())


def _V():
    """Its first three columns are the identity, so the output's first three columns repeat the weights."""
    return np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]], float)


def _dheads():
    return np.array([[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]], float)


class Pipeline(Layer):
    """From token ids to the output of one multi-head attention: embedding, positions, a batch axis, attention.

    Shapes: ids (L,), out (1, L, D).

    >>> na.worked_example("full-size").layer([101, 234, 567]).shape
    (1, 3, 512)

    Source: Vaswani et al. 2017, sections 3.2 to 3.5, without the feed-forward part.
    """

    FORWARD = (
        ("embedded", "embedding(ids)", "L D",
         "Look up one row for each token id.", "查表：每个词元编号取一行。"),
        ("positions", "sin | cos (position / 10000^(2i/D))", "L D",
         "A code for each place, so that order is not lost.", "给每个位置一个编码，顺序就不会丢。"),
        ("placed", "embedded + positions", "L D",
         "What the token is, and where it stands.", "是什么词元，加上它在哪里。"),
        ("x", "placed[None]", "N L D",
         "The batch axis appears here: one sequence, N = 1. Without it there is nothing to view as (N, L, H, d_k).",
         "批次轴在这里加上：一个序列，N = 1。没有它，就没法看成 (N, L, H, d_k)。"),
        "mha",
    )
    BACKWARD = (
        "mha",
        ("dplaced", "dx[0]", "L D",
         "The batch axis goes away again. Both summands get this gradient; only the embedding learns.",
         "批次轴去掉。相加的两项都得到这个梯度，只有嵌入会学习。"),
    )
    integer_inputs = ("ids",)

    def __init__(self, num_embeddings, d_model, num_heads, rng=None):
        super().__init__()
        rng = generator(rng)
        self.embedding = Embedding(num_embeddings, d_model, rng=rng)
        self.mha = MultiHeadAttention(d_model, num_heads, rng=rng)

    def forward(self, ids):
        embedded = self.embedding(ids)
        positions = sinusoidal_positions(*embedded.shape)
        placed = embedded + positions
        x = placed[None]
        out = self.mha(x)
        self.cache = {"ids": self.embedding.cache["ids"], "embedded": embedded, "positions": positions,
                      "placed": placed, **self.mha.cache}
        return out

    def backward(self, dout):
        dx = self.mha.backward(dout)
        dplaced = dx[0]
        self.embedding.backward(dplaced)
        self.grads = {**self.mha.grads, "placed": dplaced}


def _full_size():
    ids = np.array([101, 234, 567])
    upstream = np.random.default_rng(1).standard_normal((1, 3, 512))
    return WorkedExample("full-size", "我 爱 AI · 512 × 8", TOKENS, Pipeline(1000, 512, 8, rng=0), (ids,), upstream)


EXAMPLES = {"by-hand": _by_hand, "cycle": _cycle, "full-size": _full_size}
