"""Learned positions: a table with one learned row for each place in the sequence, added to the token that stands there.

The plainest way to tell a layer about order. The table ends somewhere: a sequence longer than it cannot be read.
"""
import numpy as np

from ..engine.arguments import generator, precision, size
from ..engine.layer import Layer
from ..engine.shapes import rows_of_table


class LearnedPositions(Layer):
    """x + W[offset : offset + L], the same rows for every sequence of the batch, or rows of its own for each.

    positions(x, *, offset=0, places=None) -> out

    Args:
        max_length: how many positions the table has. d_model: D.
        rng: seed or np.random.Generator for W (standard normal, as Embedding's). dtype: of W.

    offset is the position of the first token, so that a later chunk can go on where an earlier one ended. places: all
    of them instead, (L,) or (N, L) whole numbers; a negative one is padding, to which nothing is added.
    Shapes: x and out (..., L, D). Params: W (max_length, D).
    Raises: ValueError if the sequence reaches beyond the table, or D does not fit.

    >>> positions = na.LearnedPositions(10, 4, rng=0)
    >>> whole = positions(np.zeros((2, 5, 4)))
    >>> bool((positions(np.zeros((2, 3, 4)), offset=2) == whole[:, 2:]).all())
    True

    Source: Gehring et al. 2017, section 3.1; compared with sinusoids in Vaswani et al. 2017, table 3 (E).
    """

    def __init__(self, max_length, d_model, *, rng=None, dtype=np.float64):
        super().__init__()
        max_length, D = size("max_length", max_length), size("d_model", d_model)
        self.params["W"] = generator(rng).standard_normal((max_length, D)).astype(precision(dtype))

    def forward(self, x, *, offset=0, places=None):
        W = self.param("W", x)
        rows = rows_of_table(x, offset, places, *W.shape)           # offset : offset + L, or (N, L)
        # 1. One row for each place; padding has none.
        positions = np.where(rows[..., None] < 0, 0, W[rows])       # (max_length, D) -> (L, D) or (N, L, D)
        # 2. Added to the token that stands there.
        out = x + positions                                         # (..., L, D)
        self.cache = {"x": x, "rows": rows, "positions": positions, "out": out}
        return out

    def backward(self, dout):
        # 2. In the forward pass this was out = x + positions: both get dout, and the rows that of every sequence.
        dx = dout                                                   # (..., L, D)
        rows = self.cache["rows"]
        dpositions = dout.sum(axis=tuple(range(dout.ndim - 1 - rows.ndim)))     # (..., L, D) -> (L, D)
        # 1. This was positions = W[rows], so the gradient goes back into these rows, and the others get 0.
        dW = np.zeros(self.params["W"].shape, dout.dtype)           # (max_length, D)
        np.add.at(dW, rows[rows >= 0], dpositions[rows >= 0])
        self.grads = {"out": dout, "x": dx, "positions": dpositions, "W": dW}
        return dx

    FORWARD = (
        ("positions", "W[rows]", "L D",
         "Look up one row for each place.", "查表：每个位置取出一行。"),
        ("out", "x + positions", "... L D",
         "Write each token's place into its row.", "把位置写进每个词元的那一行。"),
    )
    BACKWARD = (
        ("dx", "dout", "... L D",
         "A sum hands its gradient on unchanged.", "加法把梯度原样传回去。"),
        ("dpositions", "Σ dout over the sequences", "L D",
         "Every sequence used the same rows.", "每个序列都用了同样的行，所以把梯度加起来。"),
        ("dW", "dpositions, in the rows that were looked up", "max_length D",
         "Places that nobody used learn nothing.", "没有用到的位置学不到东西。"),
    )
