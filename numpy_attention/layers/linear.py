"""Linear: every row of x times one matrix, plus one bias.

Each output number is a weighted sum of the input row's numbers; W holds the weights of all these sums, a column each.
The same W serves every row, so in the backward pass every row has its say in dW: a sum over all rows.
"""
import cmath
import math

import numpy as np

from ..engine.arguments import generator, precision, size, switch
from ..engine.layer import Layer


class Linear(Layer):
    """x W + b, for any number of leading axes: x (..., in_features), out (..., out_features).

    Args:
        in_features, out_features: widths of a row of x and of out.
        bias: whether to add b.
        rng: seed or np.random.Generator for W (normal, standard deviation 1/√in_features). b starts at 0.
        dtype: of the parameters.

    Params: W (in_features, out_features), b (out_features,).
    Raises: ValueError if the last axis of x is not in_features wide.

    >>> layer = na.Linear(3, 2, rng=0)
    >>> layer(np.ones((5, 4, 3))).shape
    (5, 4, 2)
    >>> layer.backward(np.ones((5, 4, 2))).shape, layer.grads["b"]
    ((5, 4, 3), array([20., 20.]))

    Source: the derivation is Clark 2017, "Computing Neural Network Gradients", identities (1) and (5).
    """

    def __init__(self, in_features, out_features, *, bias=True, rng=None, dtype=np.float64):
        super().__init__()
        in_features, out_features = size("in_features", in_features), size("out_features", out_features)
        rng, dtype = generator(rng), precision(dtype)
        self.params["W"] = (rng.standard_normal((in_features, out_features)) / math.sqrt(in_features)).astype(dtype)
        if switch("bias", bias):
            self.params["b"] = np.zeros(out_features, dtype)

    def forward(self, x):
        W, b = self.param("W", x), self.param("b", x)
        if x.ndim < 1 or x.shape[-1] != len(W):
            raise ValueError(f"x must have shape (..., in_features) with in_features = {len(W)}; got {x.shape}")
        rows = x.reshape(-1, len(W))                            # all leading axes in one
        out = rows @ W if b is None else rows @ W + b           # (rows, in) (in, out) -> (rows, out)
        out = out.reshape(x.shape[:-1] + b.shape if b is not None else (*x.shape[:-1], W.shape[1]))
        self.cache = {"x": x, "out": out}
        return out

    def backward(self, dout):
        # In the forward pass: out = x W + b, row by row.
        x = self.cache["x"]
        W = self.param("W", x)
        rows, drows = x.reshape(-1, len(W)), dout.reshape(-1, W.shape[1])
        grads = {"out": dout}
        if "b" in self.params:
            grads["b"] = drows.sum(axis=0)                      # (rows, out) -> (out,)
        dW = rows.T @ drows                                     # (in, rows) (rows, out) -> (in, out)
        dx = (drows @ W.T).reshape(x.shape)                     # (rows, out) (out, in) -> (rows, in)
        if not cmath.isfinite(np.add.reduce(dW[:, 0])):         # NaN in a row of x
            dW = rows_with_gradient(rows, drows).T @ drows
        self.grads = {**grads, "W": dW, "x": dx}
        return dx

    FORWARD = (
        ("out", "x W + b", "... out_features",
         "Each output number is a weighted sum of its row of x.", "每个输出数都是 x 那一行的加权和。"),
    )
    BACKWARD = (
        ("db", "Σ dout over all rows", "out_features",
         "b was added to every row, so it hears from every row.", "b 加到了每一行，所以梯度要把每一行加起来。"),
        ("dW", "xᵀ dout", "in_features out_features",
         "Each weight hears how much its input mattered to its output, over all rows.",
         "每个权重收到：它的输入乘以它的输出的梯度，对所有行求和。"),
        ("dx", "dout Wᵀ", "... in_features",
         "The gradient goes back through the same matrix, transposed.", "梯度沿同一个矩阵的转置传回去。"),
    )


def rows_with_gradient(rows, drows):
    """The rows, 0 where no gradient came: a row without gradient teaches nothing, even if it holds NaN."""
    return np.where(drows.any(axis=-1, keepdims=True), rows, 0)
