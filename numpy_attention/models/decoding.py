"""Reading on: a model that remembers what it has read, so that every step computes the new tokens only.

A causal model never changes its mind about what came before. So a copy of it (see apart.py) keeps the keys and values
of every layer in a KV cache, and reads a text in as many steps as one likes, with the results of a single reading.
"""
from ..engine.layer import Layer
from ..engine.options import takes
from ..layers.variants.kv_cache import KVCache
from .apart import apart


class CachedAttention(Layer):
    """An attention layer in steps: x holds the new tokens, which see all that came before. There is no backward."""

    def __init__(self, cache):
        super().__init__()
        self.kv, self.turns = cache, takes(type(cache.attention), "query_offset")

    def forward(self, x, *, mask=None):
        out = self.kv.step(x, mask=mask)
        self.cache = {"x": x, "out": out}
        return out


class Decoding:
    """A text that a LanguageModel reads in steps.

    Args: model; its own caches are left alone. capacity: how many tokens the text may have. batch: N.

    decoding.step(ids, ...) -> logits of these tokens; ids (N, T) and the options are those of the model.
    len(decoding): tokens so far.

    Raises: ValueError for a model that sees both ways, or when the text is longer than the capacity.

    >>> from numpy_attention.models import Architecture, Decoding, LanguageModel
    >>> small = Architecture(family="gpt2", vocab=50, width=8, layers=2, heads=2, hidden=16, places=32)
    >>> model = LanguageModel(small, rng=0, dtype=np.float64)
    >>> decoding = Decoding(model, capacity=8)
    >>> first, second = decoding.step([[3, 1]]), decoding.step([[4]])
    >>> bool(np.allclose(second, model([[3, 1, 4]])[:, 2:])), len(decoding)
    (True, 3)
    """

    def __init__(self, model, capacity, batch=1):
        if not model.architecture.causal:
            raise ValueError("this model sees both ways: it names masked words and does not write on")
        self.reader = apart(model).eval()
        for block in self.reader.blocks:
            block.attention = CachedAttention(KVCache(block.attention, capacity, batch=batch))

    def __len__(self):
        return self.reader.held

    def step(self, ids, **options):
        """The logits of the new tokens, (N, T, V)."""
        return self.reader(ids, **options)
