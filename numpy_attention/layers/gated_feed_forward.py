"""GatedFeedForward: a feed-forward layer with doors in it.

One widened copy of the row decides how far each door stands open, another copy is what passes through the doors. The
form with "silu", called SwiGLU, is what most large language models of today use.
"""
import numpy as np

from ..engine.arguments import generator, size
from ..engine.layer import Layer
from .activations import activation as make_activation
from .linear import Linear
from .variants.dropout import Dropout


class GatedFeedForward(Layer):
    """(activation(x W_gate) ∘ x W_up) W_down, for each token alone; with "silu" it is called SwiGLU.

    Args: as FeedForward, but without biases unless asked for. Shazeer makes d_hidden two thirds of FeedForward's, so
        that three matrices cost what two did.

    Shapes: x and out (..., D).
    Raises: ValueError if the last axis of x is not D wide, or for an unknown activation.

    >>> layer = na.GatedFeedForward(8, 20, rng=0)
    >>> layer(np.ones((2, 4, 8))).shape, sorted(layer.named_params())
    ((2, 4, 8), ['down_proj.W', 'gate_proj.W', 'up_proj.W'])

    Source: Shazeer 2020, "GLU Variants Improve Transformer", equation (6).
    """

    def __init__(self, d_model, d_hidden=None, *, activation="silu", bias=False, dropout=0.0, rng=None,
                 dtype=np.float64):
        super().__init__()
        D = size("d_model", d_model)
        d_hidden = size("d_hidden", 4 * D if d_hidden is None else d_hidden)
        rng = generator(rng)
        self.gate_proj = Linear(D, d_hidden, bias=bias, rng=rng, dtype=dtype)
        self.activation = make_activation(activation)
        self.up_proj = Linear(D, d_hidden, bias=bias, rng=rng, dtype=dtype)
        self.dropout = Dropout(dropout, rng=rng)
        self.down_proj = Linear(d_hidden, D, bias=bias, rng=rng, dtype=dtype)

    def forward(self, x):
        # 1. How far is each gate open?
        gate = self.gate_proj(x)                                    # (..., D) -> (..., d_hidden)
        active = self.activation(gate)                              # (..., d_hidden)
        # 2. What may pass?
        hidden = self.up_proj(x)                                    # (..., D) -> (..., d_hidden)
        # 3. Let it pass as far as the gate is open.
        gated = active * hidden                                     # (..., d_hidden)
        # 4. Narrow.
        out = self.down_proj(self.dropout(gated))                   # (..., d_hidden) -> (..., D)
        self.cache = {"x": x, "gate": gate, "active": active, "hidden": hidden, "gated": gated, "out": out}
        return out

    def backward(self, dout):
        active, hidden = self.cache["active"], self.cache["hidden"]
        # 4. In the forward pass this was out = dropout(gated) W_down.
        dgated = self.dropout.backward(self.down_proj.backward(dout))       # (..., D) -> (..., d_hidden)
        # 3. This was gated = active ∘ hidden: each factor gets the gradient times the other.
        dhidden = dgated * active                                   # (..., d_hidden)
        dactive = dgated * hidden                                   # (..., d_hidden)
        # 2. and 1. This was hidden = x W_up and active = activation(x W_gate): x went two ways, so it gets the sum.
        dgate = self.activation.backward(dactive)                   # (..., d_hidden)
        dx = self.up_proj.backward(dhidden) + self.gate_proj.backward(dgate)    # (..., D)
        self.grads = {"out": dout, "gated": dgated, "hidden": dhidden, "active": dactive, "gate": dgate, "x": dx}
        return dx

    FORWARD = (
        ("gate", "x W_gate + b_gate", "... d_hidden",
         "One copy of the row will decide.", "一份用来决定放行多少。"),
        ("active", "activation(gate)", "... d_hidden",
         "How far is each gate open?", "每扇门开多大？"),
        ("hidden", "x W_up + b_up", "... d_hidden",
         "Another copy holds what may pass.", "另一份是等待通过的内容。"),
        ("gated", "active ∘ hidden", "... d_hidden",
         "Let it pass as far as the gate is open.", "门开多大，就通过多少。"),
        ("out", "dropout(gated) W_down + b_down", "... D",
         "Narrow it again.", "再变回原来的宽度。"),
    )
    BACKWARD = (
        ("dgated", "dropout.backward(dout W_downᵀ)", "... d_hidden",
         "Back through the last matrix, and through the same holes.", "经过最后一个矩阵传回去，再丢掉同样的位置。"),
        ("dhidden", "dgated ∘ active", "... d_hidden",
         "A product: each factor gets the gradient times the other factor.", "乘积：每个因子的梯度要乘上另一个因子。"),
        ("dactive", "dgated ∘ hidden", "... d_hidden",
         "And the gate gets it times the content.", "门的梯度乘上内容。"),
        ("dgate", "activation.backward(dactive)", "... d_hidden",
         "Through the activation.", "经过激活函数传回去。"),
        ("dx", "dhidden W_upᵀ + dgate W_gateᵀ", "... D",
         "x went two ways, so two gradients come back and add up.", "x 走了两条路，所以两条路的梯度相加。"),
    )
