"""The logit lens: what would the model say if it stopped here?

All blocks write into the same stream, and the words are read off it at the end. Nothing keeps us from reading them off
earlier: the last norm and the table of words, applied to the stream between two blocks, show how an answer grows.
"""
import numpy as np

from .edits import read
from .question import place_of


def logit_lens(model, ids, place=-1):
    """(layers + 1, N, V): the logits at one place after the embedding, after block 0, after block 1, ...

    What it does not prove: that the model "thinks" these words on the way. The last norm and the table were trained for
    the end of the stream; early on they may read something that is there in another form as noise.

    >>> from numpy_attention.models import logit_lens
    >>> model = na.training.ToyModel(10, 8, layers=2, causal=True, rng=0)
    >>> lens = logit_lens(model, [[1, 2, 3]])
    >>> lens.shape, bool(np.allclose(lens[-1], model([[1, 2, 3]])[:, -1]))
    ((3, 1, 10), True)

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
    """
    _, twin = read(model, ids)
    stream = [twin.blocks[0].cache["x"], *(block.cache["out"] if "out" in block.cache else block.cache["heard"]
                                           for block in twin.blocks)]
    stream = np.stack(stream)                                               # (layers + 1, N, L, D)
    return read_off(twin, stream[..., place_of(place, stream.shape[-2]), :])


def read_off(model, stream):
    """Logits of rows of the stream, (..., D) -> (..., V): the last norm if there is one, then the table of words."""
    norm, head = getattr(model, "norm", None), model.unembedding
    if head is None:
        raise ValueError("this model has no head to read words off with: it ends with its hidden states")
    rows = stream if norm is None else norm(stream)
    return head(rows, model.embedding.params["W"]) if getattr(model, "tied", False) else head(rows)
