"""RMSNorm: LayerNorm without the subtraction.

Only the length of a row is brought to a common size; its mean stays where it is. There is nothing to subtract and no β
to add, it is cheaper, and many large language models do well with it.
"""
import numpy as np

from ..engine.arguments import axes_sizes, positive, precision, switch
from ..engine.large_numbers import rms_of_large
from ..engine.layer import Layer
from ..engine.shapes import check_last_axes


class RMSNorm(Layer):
    """γ ∘ x / √(mean of x² + eps), over the last axis or the last few axes.

    Args:
        normalized_shape: D, or the sizes of all the last axes that are normalised together, such as (L, D).
        eps: added to the mean square, inside the square root.
        affine: whether to learn γ. dtype: of γ.

    Shapes: x and out (..., D). Params: gamma (D,), at first 1.
    Raises: ValueError if the last axes of x are not those of normalized_shape.

    >>> layer = na.RMSNorm(2)
    >>> layer([[3., 4.], [30., 40.]]).round(4)
    array([[0.8485, 1.1314],
           [0.8485, 1.1314]])
    >>> layer.backward([[3., 4.], [4., -3.]]).round(2)       # along the row: no effect; across it: all of it
    array([[ 0.  ,  0.  ],
           [ 0.11, -0.08]])

    Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization", equation (4).
    """

    def __init__(self, normalized_shape, *, eps=1e-5, affine=True, dtype=np.float64):
        super().__init__()
        self.normalized_shape, self.eps = axes_sizes("normalized_shape", normalized_shape), positive("eps", eps)
        if switch("affine", affine):
            self.params["gamma"] = np.ones(self.normalized_shape, precision(dtype))

    def forward(self, x):
        check_last_axes(x, self.normalized_shape)
        gamma = self.param("gamma", x)
        row = tuple(range(-len(self.normalized_shape), 0))          # the axes that make up one row
        # 1. How large are the row's numbers?
        rms = np.sqrt((x * x).mean(axis=row, keepdims=True) + self.eps)     # (..., 1)
        if not np.isfinite(rms).all():                              # the squares were too large for the precision
            rms = rms_of_large(x, row, self.eps)
        # 2. The same size for every row.
        normed = x / rms                                            # (..., D)
        # 3. The scale that was learned.
        out = normed if gamma is None else normed * gamma           # (..., D)
        self.cache = {"x": x, "rms": rms, "normed": normed, "out": out}
        return out

    def backward(self, dout):
        rms, normed = self.cache["rms"], self.cache["normed"]
        row = tuple(range(-len(self.normalized_shape), 0))
        rows = tuple(range(dout.ndim - len(row)))                   # the axes that count the rows
        self.grads = {"out": dout}
        # 3. In the forward pass this was out = normed ∘ γ, one γ for all rows, so it gets their sum.
        if "gamma" in self.params:
            self.grads["gamma"] = (dout * normed).sum(axis=rows)    # (..., D) -> (D,)
            dnormed = dout * self.param("gamma", rms)               # (..., D)
        else:
            dnormed = dout
        # 2. and 1. This was normed = x / rms, where rms depends on the whole row, too.
        stretch = (dnormed * normed).mean(axis=row, keepdims=True)  # (..., 1), the way through the rms
        dx = (dnormed - normed * stretch) / rms                     # (..., D)
        self.grads |= {"normed": dnormed, "x": dx}
        return dx

    FORWARD = (
        ("rms", "√(Σ x² / D + eps)", "... 1",
         "How large are the row's numbers, typically?", "这一行的数一般有多大？"),
        ("normed", "x / rms", "... D",
         "Bring every row to the same size.", "把每一行缩放到同样的大小。"),
        ("out", "γ ∘ normed", "... D",
         "Learn what scale each column should have.", "每一列该多大，由 γ 来学。"),
    )
    BACKWARD = (
        ("dgamma", "Σ dout ∘ normed over all rows", "D",
         "γ multiplied every row.", "γ 乘了每一行，所以梯度乘上它当时乘的数，再对所有行求和。"),
        ("dnormed", "dout ∘ γ", "... D",
         "Back through the scale.", "先退回缩放之前。"),
        ("dx", "(dnormed − normed ∘ mean(dnormed ∘ normed)) / rms", "... D",
         "Stretching the whole row changes nothing, so that part of the gradient is taken out.",
         "整行拉伸不会改变结果，所以梯度里要去掉这一部分。"),
    )
