"""Residual: keep what was there, and add what a layer makes of it.

x + layer(x): the layer need not say everything again, only what is new. This sum is what makes deep stacks easy to
train: backward, a sum hands its gradient on unchanged, so there is a way around each layer. A norm keeps the
numbers at one size. The paper puts it behind the sum (post-norm); most models of today put it in front of the layer
(pre-norm), so that the way around is a sum and nothing else.
"""
from ..engine.arguments import switch
from ..engine.layer import Layer, known_layer
from ..engine.options import those_given
from ..engine.shapes import check_same_shape
from .variants.dropout import Dropout


class Residual(Layer):
    """x + dropout(layer(x)); with a norm, norm(x + dropout(layer(x))) or x + dropout(layer(norm(x))).

    Args:
        layer: what is added; its output has the shape of x. norm: a layer such as na.LayerNorm(D), or None.
        norm_first: norm in front of the layer (pre-norm) instead of behind the sum (post-norm).
        dropout: probability with which an added number falls out in training. rng: seed or np.random.Generator for it.

    residual(x, memory=None, *, mask=None, bias=None) -> out; what is given besides x is handed to the layer.

    Shapes: x and out (..., D), memory (N, S, D). backward(dout) returns dx, or dx and dmemory.
    Raises: ValueError if what the layer makes of x does not have the shape of x.

    >>> residual = na.Residual(na.MultiHeadAttention(8, 2, rng=0), na.LayerNorm(8), norm_first=True)
    >>> residual(np.ones((1, 3, 8)), mask=na.causal_mask(3)).shape
    (1, 3, 8)

    Source: He et al. 2016; post-norm: Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020.
    """

    def __init__(self, layer, norm=None, *, norm_first=False, dropout=0.0, rng=None):
        super().__init__()
        self.layer, self.norm = known_layer(layer), None if norm is None else known_layer(norm, "norm")
        self.dropout = Dropout(dropout, rng=rng)
        norm_first = switch("norm_first", norm_first)
        self.pre = norm is not None and norm_first
        self.post = norm is not None and not norm_first
        self._state_what_was_asked_for()

    def forward(self, x, memory=None, *, mask=None, bias=None):
        # 1. What does the layer make of x?
        normed = self.norm(x) if self.pre else x                            # (..., D)
        inputs = (normed,) if memory is None else (normed, memory)
        added = self.layer(*inputs, **those_given(mask=mask, bias=bias))    # (..., D)
        added = self.dropout(added) if self.dropout.p else added
        check_same_shape("x", x, "what the layer makes of it", added)
        # 2. Keep what was there.
        summed = x + added                                                  # (..., D)
        # 3. Bring the rows to one size.
        out = self.norm(summed) if self.post else summed                    # (..., D)
        self.keep(x=x, memory=memory, mask=self.layer.cache.get("mask"), bias=self.layer.cache.get("bias"),
                  normed=normed if self.pre else None, added=added, summed=summed if self.post else None, out=out)
        return out

    def backward(self, dout):
        # 3. In the forward pass this was out = norm(summed), so the gradient goes back through the norm.
        dsummed = self.norm.backward(dout) if self.post else dout           # (..., D)
        # 2. This was summed = x + added: a sum hands its gradient to both, unchanged.
        dadded = dsummed
        # 1. This was added = dropout(layer(norm(x))), so through all three, the last one first.
        dinputs = self.layer.backward(self.dropout.backward(dadded) if self.dropout.p else dadded)
        dnormed, dmemory = dinputs if isinstance(dinputs, tuple) else (dinputs, None)
        # x went two ways, around the layer and through it, so two gradients come back and add up.
        dx = dadded + (self.norm.backward(dnormed) if self.pre else dnormed)        # (..., D)
        self.grads = those_given(out=dout, summed=dsummed if self.post else None, added=dadded,
                                 normed=dnormed if self.pre else None, memory=dmemory,
                                 bias=self.layer.grads.get("bias"), x=dx)
        return dx if dmemory is None else (dx, dmemory)

    def _state_what_was_asked_for(self):
        """The statement below is that of post-norm with dropout."""
        taken = "normed" if self.pre else "x"
        added = f"dropout(layer({taken}))" if self.dropout.p else f"layer({taken})"
        through = "layer.backward(dropout.backward(dadded))" if self.dropout.p else "layer.backward(dadded)"
        self.restate(added=added, dnormed=through, dmemory=f"{through}, second part",
                     dx="dadded + norm.backward(dnormed)" if self.pre else f"dadded + {through}")
        if not self.post:
            self.restate(out="x + added", dadded="dout")

    FORWARD = (
        ("normed", "norm(x)", "N L D",
         "Pre-norm: bring each row to one size before it is used.", "先归一化，再使用（pre-norm）。"),
        ("added", "dropout(layer(x))", "N L D",
         "What the layer makes of it: only what is new.", "这一层加工出来的内容：只有新的部分。"),
        ("summed", "x + added", "N L D",
         "Keep what was there.", "保留原来的内容。"),
        ("out", "norm(summed)", "N L D",
         "Old and new together, and with a norm of one size.", "旧的加上新的；有归一化层时，再把每一行归一化。"),
    )
    BACKWARD = (
        ("dsummed", "norm.backward(dout)", "N L D",
         "Back through the norm.", "经过归一化层传回去。"),
        ("dadded", "dsummed", "N L D",
         "A sum hands its gradient on unchanged.", "加法把梯度原样传回去。"),
        ("dmemory", "layer.backward(dropout.backward(dadded)), second part", "N S D",
         "The memory hears from every row that looked at it.", "记忆收到每个看过它的行传回的梯度。"),
        ("dnormed", "layer.backward(dropout.backward(dadded))", "N L D",
         "Pre-norm: what the layer asks of its input.", "这一层向它的输入要求的改变（pre-norm）。"),
        ("dx", "dadded + layer.backward(dropout.backward(dadded))", "N L D",
         "Around the layer and through it: two gradients, one sum.", "绕过这一层一条，穿过这一层一条，两条相加。"),
    )
