"""FeedForward: what each token does on its own, after attention has let it listen.

Widen the row, bend it, narrow it again; the same for every token, and no token sees another. Attention moves
information between tokens, this layer works on what has arrived.
"""
import numpy as np

from ..engine.arguments import generator, size
from ..engine.layer import Layer
from .activations import activation as make_activation
from .linear import Linear
from .variants.dropout import Dropout


class FeedForward(Layer):
    """activation(x W_up + b_up) W_down + b_down, for each token alone.

    Args:
        d_model: D. d_hidden: width in between, 4·D unless given.
        activation: "relu", "gelu", "silu", or a layer's class such as na.GELU.
        bias: whether both projections add biases.
        dropout: probability with which a number in between falls out, in training.
        rng: seed or np.random.Generator, for the parameters and for dropout. dtype: of the parameters.

    Shapes: x and out (..., D).
    Raises: ValueError if the last axis of x is not D wide, or for an unknown activation.

    >>> layer = na.FeedForward(8, 32, activation="gelu", rng=0)
    >>> layer(np.ones((2, 4, 8))).shape, layer.cache["hidden"].shape
    ((2, 4, 8), (2, 4, 32))

    Source: Vaswani et al. 2017, section 3.3.
    """

    def __init__(self, d_model, d_hidden=None, *, activation="relu", bias=True, dropout=0.0, rng=None,
                 dtype=np.float64):
        super().__init__()
        D = size("d_model", d_model)
        d_hidden = size("d_hidden", 4 * D if d_hidden is None else d_hidden)
        rng = generator(rng)
        self.up_proj = Linear(D, d_hidden, bias=bias, rng=rng, dtype=dtype)
        self.activation = make_activation(activation)
        self.dropout = Dropout(dropout, rng=rng)
        self.down_proj = Linear(d_hidden, D, bias=bias, rng=rng, dtype=dtype)

    def forward(self, x):
        # 1. Widen.
        hidden = self.up_proj(x)                                    # (..., D) -> (..., d_hidden)
        # 2. Bend.
        active = self.activation(hidden)                            # (..., d_hidden)
        # 3. Narrow.
        out = self.down_proj(self.dropout(active))                  # (..., d_hidden) -> (..., D)
        self.cache = {"x": x, "hidden": hidden, "active": active, "out": out}
        return out

    def backward(self, dout):
        # 3. In the forward pass this was out = dropout(active) W_down + b_down.
        dactive = self.dropout.backward(self.down_proj.backward(dout))      # (..., D) -> (..., d_hidden)
        # 2. This was active = activation(hidden).
        dhidden = self.activation.backward(dactive)                 # (..., d_hidden)
        # 1. This was hidden = x W_up + b_up.
        dx = self.up_proj.backward(dhidden)                         # (..., d_hidden) -> (..., D)
        self.grads = {"out": dout, "active": dactive, "hidden": dhidden, "x": dx}
        return dx

    FORWARD = (
        ("hidden", "x W_up + b_up", "... d_hidden",
         "Widen each row.", "把每一行变宽。"),
        ("active", "activation(hidden)", "... d_hidden",
         "Bend: without it, two linear layers would be one.", "加一个非线性：没有它，两个线性层就等于一个。"),
        ("out", "dropout(active) W_down + b_down", "... D",
         "Narrow it again.", "再变回原来的宽度。"),
    )
    BACKWARD = (
        ("dactive", "dropout.backward(dout W_downᵀ)", "... d_hidden",
         "Back through the second matrix, and through the same holes.", "经过第二个矩阵传回去，再丢掉同样的位置。"),
        ("dhidden", "activation.backward(dactive)", "... d_hidden",
         "Each number's gradient times the slope where it stood.", "每个数的梯度乘以它所在处的斜率。"),
        ("dx", "dhidden W_upᵀ", "... D",
         "Back through the first matrix.", "经过第一个矩阵传回去。"),
    )
