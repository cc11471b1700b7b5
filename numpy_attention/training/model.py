"""A model small enough to be looked at whole: embedding, positions, a few blocks of attention, and logits.

Each token becomes a row, its stream. Every block lets the rows listen to each other and adds what was heard. At the end
one matrix reads off each row how likely each answer is. Without feed-forward layers and norms everything between the
embedding and the logits is attention, so whatever the model has learned, its heads have learned.
"""
import numpy as np

from ..engine.arguments import generator, size, switch
from ..engine.layer import Layer
from ..layers.embedding import Embedding
from ..layers.linear import Linear
from ..layers.multi_head import MultiHeadAttention
from ..masks import causal_mask
from .block import Block
from .positions import attention_for, placing_layer, position_bias


class ToyModel(Layer):
    """Token ids to logits, through blocks of self-attention.

    Args:
        vocab: how many different tokens. length: the longest sequence (matters to learned positions only).
        classes: C different answers, vocab unless given. questions: K, how many are asked at each place.
        layers: how many blocks. heads: H in each. d_model: D. kv_heads: key/value heads, H unless given.
        d_k: width of a head's queries and keys, D / H unless given.
        d_hidden: width of a feed-forward layer in each block; None for attention only. norm: LayerNorms, too.
        causal: whether a place may look at earlier ones and itself only; or a function of L that makes another mask.
        positions: "learned", "sinusoidal", "rotary", "alibi" or "none".
        scale: a factor on Q Kᵀ instead of 1/√d_k; 1.0 is no scale. tied: W_Q = W_K.
        rng: seed or np.random.Generator for all parameters. dtype: of the parameters, and so of everything.

    Shapes: ids (N, L), logits (N, L, C), or (N, L, K, C) for several questions.

    To try something else, put it in its place: model.blocks[0].attention.attention = na.ScaledDotProductAttention(...).

    >>> model = na.training.ToyModel(10, 8, d_model=16, rng=0)
    >>> model([[1, 2, 3]]).shape, sum(p.size for p in model.named_params().values())
    ((1, 3, 10), 1472)

    Source: the attention-only transformers of Elhage et al. 2021.
    """

    FORWARD = (
        ("embedded", "W_E[ids]", "N L D",
         "Look each token's row up.", "查表：取出每个词元的那一行。"),
        ("placed", "embedded + positions", "N L D",
         "What the token is, and where it stands.", "是什么词元，加上它在哪里。"),
        "blocks",
        ("logits", "stream W_U", "N L C",
         "Read off each row how likely each answer is.", "从每一行读出每个答案有多可能。"),
    )
    BACKWARD = (
        ("dstream", "dlogits W_Uᵀ", "N L D",
         "Which rows would have given better answers?", "什么样的行会给出更好的答案？"),
        "blocks",
        ("dembedded", "dplaced", "N L D",
         "The positions were only added, so the embeddings hear the same.", "位置只是加上去的，所以嵌入收到的一样。"),
    )
    integer_inputs = ("ids",)

    def __init__(self, vocab, length, *, classes=None, questions=1, layers=1, heads=1, d_model=32, kv_heads=None,
                 d_k=None, d_hidden=None, norm=False, causal=False, positions="learned", scale=None, tied=False,
                 rng=None, dtype=np.float32):
        super().__init__()
        rng = generator(rng)
        vocab, length, heads = size("vocab", vocab), size("length", length), size("heads", heads)
        d_model, classes = size("d_model", d_model), vocab if classes is None else size("classes", classes)
        d_k, d_hidden = (given if given is None else size(name, given)
                         for name, given in (("d_k", d_k), ("d_hidden", d_hidden)))
        self.kind, self.questions, self.heads = positions, size("questions", questions), heads
        self.causal = causal if callable(causal) else switch("causal", causal)
        self.embedding = Embedding(vocab, d_model, rng=rng, dtype=dtype)
        self.positions = placing_layer(positions, length, d_model, rng=rng, dtype=dtype)
        start_small(self.embedding, *([self.positions] if positions == "learned" else []))
        self.blocks = []
        for _ in range(size("layers", layers)):
            attention = (TiedAttention if switch("tied", tied) else MultiHeadAttention)(
                d_model, heads, d_k=d_k, num_kv_heads=kv_heads, bias=False, rng=rng, dtype=dtype,
                attention=attention_for(positions, d_k or d_model // heads, scale))
            self.blocks.append(Block(attention, d_model, d_hidden=d_hidden, norm=norm, rng=rng, dtype=dtype))
        self.unembedding = Linear(d_model, self.questions * classes, bias=False, rng=rng, dtype=dtype)
        up = [f"blocks.{i}" for i in range(layers)]
        self.FORWARD = (*self.FORWARD[:2], *up, *self.FORWARD[3:])
        self.BACKWARD = (*self.BACKWARD[:1], *reversed(up), *self.BACKWARD[2:])

    def attentions(self):
        """The attention layer of each block, from the first to the last."""
        return [block.attention for block in self.blocks]

    def forward(self, ids):
        # 1. What is each token, and where does it stand?
        embedded = self.embedding(ids)                                  # (N,L) -> (N,L,D)
        placed = self.positions(embedded) if self.positions else embedded
        # 2. Each block adds to every token's row.
        L, stream = embedded.shape[-2], placed
        mask = self.causal(L) if callable(self.causal) else causal_mask(L) if self.causal else None
        bias = position_bias(self.kind, self.heads, L, embedded.dtype)
        for block in self.blocks:
            stream = block(stream, mask=mask, bias=bias)                # (N,L,D)
        # 3. Read the answers off the rows.
        logits = self.unembedding(stream)                               # (N,L,D) -> (N,L,K·C)
        if self.questions > 1:
            logits = logits.reshape(*logits.shape[:-1], self.questions, -1)
        self.cache = {"ids": ids, "embedded": embedded, "placed": placed, "stream": stream, "logits": logits}
        return logits

    def backward(self, dlogits):
        flat = dlogits.reshape(*self.cache["stream"].shape[:-1], -1)    # (N,L,K·C)
        # 3. logits = stream W_U
        dstream = self.unembedding.backward(flat)                       # (N,L,D)
        # 2. Down through the blocks, the last one first.
        dplaced = dstream
        for block in reversed(self.blocks):
            dplaced = block.backward(dplaced)                           # (N,L,D)
        # 1. placed = W_E[ids] + positions
        dembedded = self.positions.backward(dplaced) if self.positions else dplaced
        self.embedding.backward(dembedded)                              # ids have no gradient, the table has
        self.grads = {"logits": dlogits, "stream": dstream, "placed": dplaced, "embedded": dembedded}


def start_small(*tables):
    """Halve the tables' first rows, so that scores start small, too: no head has made up its mind yet."""
    for table in tables:
        table.params["W"] *= 0.5


class TiedAttention(MultiHeadAttention):
    """MultiHeadAttention in which W_K is W_Q, the same array.

    Then the score of place i for place j is the score of j for i: the table of scores is symmetric before the softmax.
    Some jobs do not mind, like reversal, where partners look at each other. "Look at your left neighbour" minds: your
    left neighbour does not look back at you. That is why there are two matrices.

    Args: as for MultiHeadAttention. key_proj shares its params with query_proj and is not learned a second time.

    >>> tied = na.training.TiedAttention(4, 1, rng=0)
    >>> _ = tied(np.random.default_rng(1).standard_normal((3, 4)))
    >>> scores = tied.cache["scores"]
    >>> bool(np.allclose(scores, scores.mT)), "key_proj.W" in tied.named_params()
    (True, False)

    Source: the shared-QK attention of Kitaev et al. 2020 (Reformer), section 2, without its normalisation.
    """

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.key_proj.params = self.query_proj.params

    def backward(self, dout):
        found = super().backward(dout)
        # One matrix played two roles, so its gradients add up.
        for name in self.query_proj.params:
            both = self.query_proj.grads[name] + self.key_proj.grads[name]
            self.query_proj.grads[name] = self.key_proj.grads[name] = both
        return found

    def sublayers(self):
        """All but key_proj, which has nothing of its own to learn."""
        return {name: layer for name, layer in super().sublayers().items() if name != "key_proj"}
