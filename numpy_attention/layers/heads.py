"""Heads: cutting a wide row into H narrow ones, and sewing them together again.

A row of D = H·d numbers holds H heads side by side, d numbers each. `SplitHeads` gives every head a table of its own:
first cut the row (reshape), then bring the head axis to the front (transpose). The transpose is what matters:
reshaping (L, H·d) straight into (H, L, d) has the right shape and hands the heads the wrong numbers.
`MergeHeads` undoes it, so each of the two is the other's backward pass.
"""
from ..engine.arguments import size
from ..engine.layer import Layer


class SplitHeads(Layer):
    """(..., L, H·d) -> (..., H, L, d): head h gets columns h·d to (h+1)·d.

    Args: num_heads: H.
    Raises: ValueError if the last axis cannot be cut into H equal parts.

    >>> x = np.arange(12).reshape(2, 6)          # two tokens, three heads of width 2
    >>> na.SplitHeads(3)(x)[0]                      # head 0 has the first two columns of every token
    array([[0., 1.],
           [6., 7.]])

    Source: Vaswani et al. 2017, section 3.2.2, with the H projections side by side in one matrix.
    """

    remembers = False       # backward only moves numbers back, so keys and values may share one

    def __init__(self, num_heads):
        super().__init__()
        self.num_heads = size("num_heads", num_heads)

    def forward(self, x):
        if x.ndim < 2 or x.shape[-1] % self.num_heads:
            raise ValueError(f"x must have shape (..., L, H·d) with H = {self.num_heads} heads; got {x.shape}")
        heads = split(x, self.num_heads)
        self.cache = {"x": x, "heads": heads}
        return heads

    def backward(self, dheads):
        dx = merge(dheads)                                      # in the forward pass: heads = split(x)
        self.grads = {"heads": dheads, "x": dx}
        return dx

    FORWARD = (
        ("heads", "transpose(reshape(x, L × H × d))", "... H L d",
         "Cut each row into H pieces, then give every head its own table.",
         "把每一行切成 H 段，再让每个头拿到自己的一张表。"),
    )
    BACKWARD = (
        ("dx", "reshape(transpose(dheads), L × H·d)", "... L H·d",
         "Splitting only moved numbers, so the gradients move back the same way.",
         "切分只是搬动数字，梯度原路搬回。"),
    )


class MergeHeads(Layer):
    """(..., H, L, d) -> (..., L, H·d): head h fills columns h·d to (h+1)·d.

    Raises: ValueError for fewer than three axes.

    >>> x = np.arange(12).reshape(2, 6)
    >>> bool((na.MergeHeads()(na.SplitHeads(3)(x)) == x).all())
    True

    Source: the Concat of Vaswani et al. 2017, section 3.2.2.
    """

    def forward(self, heads):
        if heads.ndim < 3:
            raise ValueError(f"heads must have shape (..., H, L, d); got {heads.shape}")
        concat = merge(heads)
        self.cache = {"heads": heads, "concat": concat}
        return concat

    def backward(self, dconcat):
        num_heads = self.cache["heads"].shape[-3]
        dheads = split(dconcat, num_heads)                      # in the forward pass: concat = merge(heads)
        self.grads = {"concat": dconcat, "heads": dheads}
        return dheads

    FORWARD = (
        ("concat", "reshape(transpose(heads), L × H·d)", "... L H·d",
         "Lay the heads' results side by side again, one row a token.", "把各个头的结果重新并排，每个词元一行。"),
    )
    BACKWARD = (
        ("dheads", "transpose(reshape(dconcat, L × H × d))", "... H L d",
         "Each head gets back the columns that it filled.", "每个头拿回自己填的那几列的梯度。"),
    )


def split(x, num_heads):
    """(..., L, H·d) -> (..., L, H, d) -> (..., H, L, d)."""
    *lead, L, width = x.shape
    return x.reshape(*lead, L, num_heads, width // max(num_heads, 1)).swapaxes(-3, -2)


def merge(heads):
    """(..., H, L, d) -> (..., L, H, d) -> (..., L, H·d)."""
    *lead, H, L, d = heads.shape
    return heads.swapaxes(-3, -2).reshape(*lead, L, H * d)
