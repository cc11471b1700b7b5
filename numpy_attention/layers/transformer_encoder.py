"""TransformerEncoder: the same kind of layer again and again, each with parameters of its own.

What one layer hands over is what the next one looks at, so that later layers can work on what earlier ones found.
"""
import numpy as np

from ..engine.arguments import generator, size, switch
from ..engine.layer import Layer
from ..engine.options import those_given
from .layer_norm import LayerNorm
from .transformer_encoder_layer import TransformerEncoderLayer


class TransformerEncoder(Layer):
    """num_layers encoder layers, one after the other, and if wished a last LayerNorm.

    Args:
        num_layers: how many layers. The others are those of TransformerEncoderLayer, but for
        final_norm: whether a LayerNorm follows; if not given, it does after pre-norm layers, whose sums nobody has
            normalised, and does not after post-norm layers.

    encoder(x, *, mask=None, bias=None) -> out        every layer gets the same mask and bias

    Shapes: x and out (N, L, D), or (L, D) for a single sequence; mask and bias as in numpy_attention.masks.
    Raises: ValueError/TypeError that name the argument, what it should be and what it is.

    With mask=na.causal_mask(L) this is the decoder-only stack of a language model. The weights of layer i are in
    `encoder.layers[i].self_attn.weights`.

    >>> encoder = na.TransformerEncoder(2, 8, 2, 16, norm_first=True, rng=0)
    >>> encoder(np.ones((1, 3, 8))).shape, len(encoder.layers), encoder.norm is None
    ((1, 3, 8), 2, False)

    Source: Vaswani et al. 2017, section 3.1.
    """

    def forward(self, x, *, mask=None, bias=None):
        # 1. Layer by layer.
        hidden = x
        for layer in self.layers:
            hidden = layer(hidden, mask=mask, bias=bias)            # (N,L,D) -> (N,L,D)
        # 2. The last norm.
        out = self.norm(hidden) if self.norm else hidden            # (N,L,D)
        given = {name: self.layers[0].cache[name] for name in those_given(mask=mask, bias=bias)}
        self.keep(x=x, **given, hidden=hidden if self.norm else None, out=out)
        return out

    def backward(self, dout):
        # 2. In the forward pass this was out = norm(hidden).
        dhidden = self.norm.backward(dout) if self.norm else dout   # (N,L,D)
        # 1. This was hidden = layersₙ(… layers₁(x)), so the last layer comes first.
        dx = dhidden
        for layer in reversed(self.layers):
            dx = layer.backward(dx)                                 # (N,L,D) -> (N,L,D)
        self.grads = those_given(out=dout, hidden=dhidden if self.norm else None, **self.dbiases("bias"), x=dx)
        return dx

    def dbiases(self, *names):
        """Every layer added the same bias to its scores, so its gradients add up; {name: gradient} of those given."""
        return {name: sum(layer.grads[name] for layer in self.layers) for name in names if name in self.cache}

    layer_kind = TransformerEncoderLayer

    def __init__(self, num_layers, d_model, num_heads, d_hidden=None, *, activation="relu", norm_first=False,
                 final_norm=None, dropout=0.0, eps=1e-5, bias=True, rng=None, dtype=np.float64):
        super().__init__()
        rng = generator(rng)
        self.layers = [self.layer_kind(d_model, num_heads, d_hidden, activation=activation, dropout=dropout,
                                       norm_first=norm_first, eps=eps, bias=bias, rng=rng, dtype=dtype)
                       for _ in range(size("num_layers", num_layers))]
        final_norm = norm_first if final_norm is None else switch("final_norm", final_norm)
        self.norm = LayerNorm(d_model, eps=eps, bias=bias, dtype=dtype) if final_norm else None
        if not final_norm:
            self.restate(out=self.FORWARD[0].formula, dx=self.BACKWARD[1].formula.replace("dhidden", "dout"))

    FORWARD = (
        ("hidden", "layersₙ(… layers₁(x))", "N L D",
         "Layer by layer, each on top of the last.", "一层接一层，每一层都建立在上一层之上。"),
        ("out", "norm(hidden)", "N L D",
         "Bring the rows to one size at the end.", "最后把每一行归一化。"),
    )
    BACKWARD = (
        ("dhidden", "norm.backward(dout)", "N L D",
         "Back through the last norm.", "经过最后的归一化层传回去。"),
        ("dx", "layers₁.backward(… layersₙ.backward(dhidden))", "N L D",
         "The last layer first.", "从最后一层开始，倒着走。"),
    )
