"""Embedding: a table with one learned row for each token id.

Forward looks rows up. Backward hands each row the sum of the gradients of all places where its id stood: a token that
occurs twice is pulled twice.
"""
import numpy as np

from ..engine.arguments import generator, precision, size
from ..engine.layer import Layer


class Embedding(Layer):
    """W[ids], one row of width d_model for each id.

    Args:
        num_embeddings: how many different ids there are. d_model: D, width of a row.
        padding_idx: an id whose row is read as usual but never learns (gradient 0).
        rng: seed or np.random.Generator for W (standard normal). dtype: of W.

    Shapes: ids whole numbers (...), out (..., D). Params: W (num_embeddings, D).
    Raises: TypeError for ids that are not whole numbers, ValueError for ids outside 0..num_embeddings-1.
    backward(dout) returns None: ids have no gradient. The table's is in grads["W"].

    >>> layer = na.Embedding(5, 3, rng=0)
    >>> layer([[1, 4, 1]]).shape
    (1, 3, 3)
    >>> layer.backward(np.ones((1, 3, 3)))
    >>> layer.grads["W"][:, 0]
    array([0., 2., 0., 0., 1.])

    Source: Bengio et al. 2003, section 2 (the matrix C).
    """

    FORWARD = (
        ("out", "W[ids]", "... D",
         "Look each token's row up.", "查表：取出每个词元的那一行。"),
    )
    BACKWARD = (
        ("dW", "Σ dout over the places of each id", "num_embeddings D",
         "A row hears from every place where its token stood.", "一行收到它的词元出现过的每个位置的梯度之和。"),
    )
    integer_inputs = ("ids",)

    def __init__(self, num_embeddings, d_model, *, padding_idx=None, rng=None, dtype=np.float64):
        super().__init__()
        num_embeddings, D = size("num_embeddings", num_embeddings), size("d_model", d_model)
        if padding_idx is not None:
            padding_idx = _checked_ids("padding_idx", padding_idx, num_embeddings).item()
        self.padding_idx = padding_idx
        self.params["W"] = generator(rng).standard_normal((num_embeddings, D)).astype(precision(dtype))

    def forward(self, ids):
        W = self.params["W"]
        ids = _checked_ids("ids", ids, len(W))
        out = W[ids]                                # (...) -> (..., D)
        self.cache = {"ids": ids, "out": out}
        return out

    def backward(self, dout):
        ids = self.cache["ids"].ravel()
        dW = np.zeros(self.params["W"].shape, dout.dtype)
        if ids.size:
            order = np.argsort(ids, kind="stable")  # in this order the places of an id follow one another
            ids, rows = ids[order], dout.reshape(-1, dout.shape[-1]).take(order, axis=0)
            first = np.flatnonzero(np.concatenate(([True], ids[1:] != ids[:-1])))       # where each id begins
            dW[ids[first]] = np.add.reduceat(rows, first, axis=0)
        if self.padding_idx is not None:
            dW[self.padding_idx] = 0
        self.grads = {"out": dout, "W": dW}


def _checked_ids(name, ids, num_embeddings):
    ids = np.array(ids)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers, got dtype {ids.dtype}")
    if ids.size and not 0 <= ids.min() <= ids.max() < num_embeddings:
        raise ValueError(f"{name} must lie in 0..{num_embeddings - 1} (num_embeddings = {num_embeddings}); "
                         f"got {ids.min()}..{ids.max()}")
    return ids
