"""A trained language model: token ids go in, for each place the logits of all words come out.

Embedding, positions, blocks, a last norm, and a table that reads the words off the stream: the same layers as in every
lesson, only more of them and with numbers that somebody has trained. So everything works here, too: the weights of
every head are kept, and backward goes all the way down to the embeddings.
"""
import numpy as np

from ..engine.arguments import generator, rectangular, switch
from ..engine.layer import Layer
from ..engine.mask_and_bias import fit_mask
from ..layers.embedding import Embedding
from ..layers.variants.qk_norm import QKNormAttention
from ..masks import window_mask
from .decoding import CachedAttention
from .heads import make_head
from .parts import make_block, make_norm
from .question import texts
from .steady import steady


class LanguageModel(Layer):
    """ids (N, L) -> logits (N, L, vocab), or hidden states (N, L, D) where the model has no head.

    Args: architecture: its settings, see Architecture. rng: seed or np.random.Generator for all parameters. dtype.

    model(ids, types=None, *, mask=None, positions=None, last=False)

    Shapes: ids and types (N, L) or (L,). mask, True where a query may attend, as in numpy_attention.masks; a causal
        model adds its own causal mask to it. positions (L,) or (N, L): where each token stands, 0, 1, 2, … unless
        given (texts that are padded on the left begin later). last: read off the
        last place only, (N, 1, vocab).
    Raises: ValueError/TypeError for ids that are not in the vocabulary, or a text longer than the table of positions.

    >>> from numpy_attention.models import Architecture, LanguageModel
    >>> small = Architecture(family="gpt2", vocab=50, width=8, layers=2, heads=2, hidden=16, places=32)
    >>> model = LanguageModel(small, rng=0)
    >>> model([[3, 1, 4, 1, 5]]).shape, model.attentions()[1].weights.shape
    ((1, 5, 50), (1, 2, 5, 5))
    >>> model.backward(np.ones((1, 5, 50)))
    >>> model.named_grads()["embedding.W"].shape
    (50, 8)

    Source: Radford et al. 2019 (GPT-2), Devlin et al. 2018 (BERT), Touvron et al. 2023 (Llama).
    """

    FORWARD = (
        ("embedded", "W_E[ids]", "N L D",
         "Look each token's row up.", "查表：取出每个词元的那一行。"),
        ("placed", "embedded + W_P[positions]", "N L D",
         "What the token is, and where it stands.", "是什么词元，加上它在哪里。"),
        ("stream", "block after block", "N L D",
         "Every block adds to every token's row.", "每一块都往每个词元的那一行里加东西。"),
        ("hidden", "norm(stream)", "N L D",
         "Bring the rows to one size.", "最后把每一行归一化。"),
        ("logits", "hidden W_U", "N L V",
         "Read off each row how likely each word is.", "从每一行读出每个词有多可能。"),
    )
    BACKWARD = (
        ("dhidden", "dlogits W_Uᵀ", "N L D",
         "Which rows would have given better words?", "什么样的行会给出更好的词？"),
        ("dstream", "norm.backward(dhidden)", "N L D",
         "Back through the last norm.", "经过最后的归一化层传回去。"),
        ("dplaced", "block after block, the last one first", "N L D",
         "Down through the blocks.", "从最后一块开始，一块一块往下传。"),
        ("dembedded", "dplaced", "N L D",
         "The positions were only added, so the embeddings hear the same.", "位置只是加上去的，所以嵌入收到的一样。"),
    )
    integer_inputs = ("ids", "types")
    tokens = None                           # the tokenizer that came with it, see tokens.py

    def __init__(self, architecture, *, rng=None, dtype=np.float32):
        super().__init__()
        rng = generator(rng)
        a = self.architecture = architecture
        self.embedding = Embedding(a.vocab, a.width, padding_idx=a.padding_id, rng=rng, dtype=dtype)
        self.types = Embedding(a.types, a.width, rng=rng, dtype=dtype) if a.types else None
        self.positions = None if a.rope is not None else Embedding(a.places, a.width, rng=rng, dtype=dtype)
        self.embedding_norm = None if a.norm_first else make_norm(a, dtype)
        self.blocks = [make_block(a, layer, rng, dtype) for layer in range(a.layers)]
        self.norm = make_norm(a, dtype) if a.norm_first else None
        self.unembedding = make_head(a, rng, dtype)

    @property
    def tied(self):
        """Whether the words are read off with the embedding's own table."""
        return self.architecture.tied and self.unembedding is not None

    @property
    def held(self):
        """How many tokens it has read before, where it reads in steps; see decoding.py."""
        first = self.blocks[0].attention
        return len(first.kv) if isinstance(first, CachedAttention) else 0

    def attentions(self):
        """The attention layer of each block, from the first to the last."""
        return [block.attention for block in self.blocks]

    @steady
    def forward(self, ids, types=None, *, mask=None, positions=None, last=False):
        a, before = self.architecture, self.held
        # 1. What is each token, and where does it stand?
        embedded = self.embedding(texts(ids))                               # (N,L) -> (N,L,D)
        L = embedded.shape[-2]
        positions = _checked_positions(positions, before, embedded.shape[:-1], a)
        placed = embedded
        if self.types is not None:
            placed = placed + self.types(np.zeros(L, int) if types is None else _checked_types(types, embedded))
        if self.positions is not None:
            placed = placed + self.positions(before + np.arange(L) if positions is None else positions)
        if self.embedding_norm is not None:
            placed = self.embedding_norm(placed)                            # (N,L,D)
        # 2. Each block adds to every token's row.
        stream, masks = placed, {}
        for block, window in zip(self.blocks, a.windows, strict=True):
            turn_by(block.attention, positions)
            if window not in masks:
                masks[window] = self._mask(mask, embedded.shape[:-1], before, window)
            stream = block(stream, mask=masks[window])                      # (N,L,D)
        # 3. Read the words off the rows.
        hidden = stream if self.norm is None else self.norm(stream)         # (N,L,D)
        self.cache = {"ids": ids, "embedded": embedded, "placed": placed, "stream": stream, "hidden": hidden}
        if self.unembedding is None:
            return hidden
        table = (self.embedding.params["W"].view(),) if self.tied else ()   # a view: what is cached becomes read-only
        read = hidden[..., -1:, :] if switch("last", last) else hidden
        self.cache["logits"] = logits = self.unembedding(read, *table)      # (N,L,D) (V,D) -> (N,L,V)
        return logits

    def generate(self, prompt, n, **settings):
        """The prompt and at most n more tokens; see generate in generating.py."""
        from .generating import generate
        return generate(self, prompt, n, **settings)

    @steady
    def backward(self, dlogits):
        # 3. logits = hidden W_U
        found = dlogits if self.unembedding is None else self.unembedding.backward(dlogits)
        dhidden, dtable = found if self.tied else (found, None)
        if dhidden.shape != self.cache["hidden"].shape:                     # only the last place was read off
            before = np.zeros_like(self.cache["hidden"][..., 1:, :])
            dhidden = np.concatenate([before, dhidden], axis=-2)
        dstream = dhidden if self.norm is None else self.norm.backward(dhidden)
        # 2. Down through the blocks, the last one first.
        dplaced = dstream
        for block in reversed(self.blocks):
            dplaced = block.backward(dplaced)                               # (N,L,D)
        # 1. placed = norm(W_E[ids] + W_T[types] + W_P[positions])
        dembedded = dplaced if self.embedding_norm is None else self.embedding_norm.backward(dplaced)
        for table in (self.positions, self.types):
            if table is not None:
                table.backward(_sum_like(dembedded, table.cache["out"]))
        self.embedding.backward(dembedded)                                  # ids have no gradient, the table has
        if self.tied:                                                       # one table played two roles
            self.embedding.grads["W"] = self.embedding.grads["W"] + dtable
        self.grads = {"hidden": dhidden, "stream": dstream, "placed": dplaced, "embedded": dembedded}
        if self.unembedding is not None:
            self.grads["logits"] = dlogits

    def _mask(self, mask, rows, before, window):
        """The caller's mask and the model's own together, over the tokens held before and these."""
        a, (*N, L) = self.architecture, rows
        mask = fit_mask(mask, (*N, a.heads, L, before + L))
        if not a.causal or (before + L == L == 1 and mask is None):
            return mask
        own = window_mask(L, before + L, left=None if window is None else window - 1, right=0, offset=before)
        return own if mask is None else mask & own


def turn_by(mha, positions):
    """Let a layer's rotary part turn by these positions; None for 0, 1, 2, …"""
    if isinstance(mha, CachedAttention):
        if positions is not None and mha.turns:
            raise ValueError("positions cannot be given where rotary layers read in steps: they count from the "
                             "beginning of the text, and only distances matter to them")
        return
    rotary = mha.attention.attention if isinstance(mha.attention, QKNormAttention) else mha.attention
    for turn in (getattr(rotary, name, None) for name in ("turn_queries", "turn_keys")):
        if turn is not None:
            turn.positions = None if positions is None else positions[..., None, :]


def _checked_types(types, embedded):
    """The caller's token types, (N, L) or (L,), or an error."""
    if types.shape not in (embedded.shape[:-1], embedded.shape[-2:-1]):
        raise ValueError(f"types must have shape (N, L) = {embedded.shape[:-1]} or (L,); got {types.shape}")
    return types


def _checked_positions(positions, before, shape, architecture):
    """The caller's positions, checked; None for 0, 1, 2, …"""
    last = before + shape[-1] - 1
    if positions is not None:
        positions = rectangular("positions", positions)
        if positions.dtype.kind not in "iu" or positions.shape not in (shape, shape[-1:]):
            raise ValueError(f"positions must be whole numbers of shape (N, L) = {shape} or (L,); "
                             f"got {positions.dtype} of shape {positions.shape}")
        last = positions.max(initial=0)
    if architecture.rope is None and last >= architecture.places:
        raise ValueError(f"the text reaches place {last}: this model's table of positions has {architecture.places} "
                         "rows, so give at most as many tokens")
    return positions


def _sum_like(gradient, array):
    """The gradient of an array that stood in for all sequences: summed over those."""
    return gradient.sum(axis=tuple(range(gradient.ndim - array.ndim)))
