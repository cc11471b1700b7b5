"""LayerNorm: put every token's row on the same footing.

Subtract the row's mean, divide by its standard deviation: whatever came in, a row now has mean 0 and standard deviation
1. Two learned vectors, γ and β, then set the scale and the level that the next layer likes best. Each row is treated on
its own: neither the other tokens nor the rest of the batch matter. The small eps keeps a constant row from dividing by
0.
"""
import numpy as np

from ..engine.arguments import axes_sizes, positive, precision, switch
from ..engine.large_numbers import rms_of_large
from ..engine.layer import Layer
from ..engine.shapes import check_last_axes


class LayerNorm(Layer):
    """γ ∘ (x − mean) / √(variance + eps) + β, over the last axis or the last few axes.

    Args:
        normalized_shape: D, or the sizes of all the last axes that are normalised together, such as (L, D).
        eps: added to the variance, inside the square root.
        affine: whether to learn γ and β at all. bias: whether to learn β.
        dtype: of the parameters.

    Shapes: x and out (..., D). Params: gamma (D,), at first 1; beta (D,), at first 0.
    Raises: ValueError if the last axes of x are not those of normalized_shape.

    >>> layer = na.LayerNorm(4)
    >>> layer([[1., 2., 3., 4.], [7., 7., 7., 7.]]).round(4)
    array([[-1.3416, -0.4472,  0.4472,  1.3416],
           [ 0.    ,  0.    ,  0.    ,  0.    ]])
    >>> layer.backward(np.ones((2, 4))).round(4) + 0      # adding 1 to a whole row of out: no x can do that
    array([[0., 0., 0., 0.],
           [0., 0., 0., 0.]])

    Source: Ba, Kiros and Hinton 2016, "Layer Normalization".
    """

    def __init__(self, normalized_shape, *, eps=1e-5, affine=True, bias=True, dtype=np.float64):
        super().__init__()
        self.normalized_shape, self.eps = axes_sizes("normalized_shape", normalized_shape), positive("eps", eps)
        affine, bias = switch("affine", affine), switch("bias", bias)
        if affine:
            self.params["gamma"] = np.ones(self.normalized_shape, precision(dtype))
        if affine and bias:
            self.params["beta"] = np.zeros(self.normalized_shape, dtype)

    def forward(self, x):
        check_last_axes(x, self.normalized_shape)
        gamma, beta = self.param("gamma", x), self.param("beta", x)
        row = tuple(range(-len(self.normalized_shape), 0))          # the axes that make up one row
        # 1. Where does the row lie, and how far does it spread?
        mean = x.mean(axis=row, keepdims=True)                      # (..., 1)
        centred = x - mean
        std = np.sqrt((centred * centred).mean(axis=row, keepdims=True) + self.eps)     # (..., 1)
        if not np.isfinite(std).all():                              # the squares were too large for the precision
            std = rms_of_large(centred, row, self.eps)
        # 2. Mean 0, spread 1.
        normed = centred / std                                      # (..., D)
        # 3. The scale and the level that were learned.
        out = normed if gamma is None else normed * gamma           # (..., D)
        out = out if beta is None else out + beta
        self.cache = {"x": x, "mean": mean, "std": std, "normed": normed, "out": out}
        return out

    def backward(self, dout):
        std, normed = self.cache["std"], self.cache["normed"]
        row = tuple(range(-len(self.normalized_shape), 0))
        rows = tuple(range(dout.ndim - len(row)))                   # the axes that count the rows
        self.grads = {"out": dout}
        # 3. In the forward pass this was out = normed ∘ γ + β, one γ and one β for all rows, so each gets their sum.
        if "beta" in self.params:
            self.grads["beta"] = dout.sum(axis=rows)                # (..., D) -> (D,)
        if "gamma" in self.params:
            self.grads["gamma"] = (dout * normed).sum(axis=rows)    # (..., D) -> (D,)
            dnormed = dout * self.param("gamma", std)               # (..., D)
        else:
            dnormed = dout
        # 2. and 1. This was normed = (x - mean) / std, where mean and std depend on the whole row, too.
        shift = dnormed.mean(axis=row, keepdims=True)               # (..., 1), the way through the mean
        stretch = (dnormed * normed).mean(axis=row, keepdims=True)  # (..., 1), the way through the std
        dx = (dnormed - shift - normed * stretch) / std             # (..., D)
        self.grads |= {"normed": dnormed, "x": dx}
        return dx

    FORWARD = (
        ("mean", "Σ x / D", "... 1",
         "Where does the row lie?", "这一行的平均水平在哪里？"),
        ("std", "√(Σ (x − mean)² / D + eps)", "... 1",
         "How far does the row spread?", "这一行散得有多开？"),
        ("normed", "(x − mean) / std", "... D",
         "Every row now has mean 0 and spread 1.", "现在每一行的均值是 0，标准差是 1。"),
        ("out", "γ ∘ normed + β", "... D",
         "Learn what scale and level each column should have.", "每一列该多大、该多高，由 γ 和 β 来学。"),
    )
    BACKWARD = (
        ("dbeta", "Σ dout over all rows", "D",
         "β was added to every row.", "β 加到了每一行，所以把每一行的梯度加起来。"),
        ("dgamma", "Σ dout ∘ normed over all rows", "D",
         "γ multiplied every row.", "γ 乘了每一行，所以梯度乘上它当时乘的数，再对所有行求和。"),
        ("dnormed", "dout ∘ γ", "... D",
         "Back through the scale.", "先退回缩放之前。"),
        ("dx", "(dnormed − mean(dnormed) − normed ∘ mean(dnormed ∘ normed)) / std", "... D",
         "Shifting or stretching the whole row changes nothing, so these two parts of the gradient are taken out.",
         "整行平移或拉伸都不会改变结果，所以梯度里要去掉这两部分。"),
    )
