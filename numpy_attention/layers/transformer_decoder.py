"""TransformerDecoder: decoder layers one after the other, all of them listening to the same memory."""
import numpy as np

from ..engine.arguments import size
from ..engine.layer import Layer
from .layer_norm import LayerNorm
from .transformer_decoder_layer import TransformerDecoderLayer
from .transformer_encoder_layer import check_tokens


class TransformerDecoder(Layer):
    """num_layers decoder layers, one after the other, and if wished a last LayerNorm.

    Args: as TransformerEncoder.

    decoder(x, memory, *, mask=None, memory_mask=None, bias=None, memory_bias=None) -> out

    Shapes: x and out (N, L, D), memory (N, S, D), all without N for a single sequence; masks as the layer's.
    Raises: ValueError/TypeError that name the argument, what it should be and what it is.

    backward(dout) returns dx and dmemory.

    >>> encoder = na.TransformerEncoder(2, 8, 2, 16, rng=0)
    >>> decoder = na.TransformerDecoder(2, 8, 2, 16, rng=1)
    >>> source, target = np.ones((1, 5, 8)), np.ones((1, 3, 8))
    >>> decoder(target, encoder(source), mask=na.causal_mask(3)).shape
    (1, 3, 8)
    >>> dtarget, dmemory = decoder.backward(np.ones((1, 3, 8)))
    >>> encoder.backward(dmemory).shape
    (1, 5, 8)

    Source: Vaswani et al. 2017, section 3.1.
    """

    FORWARD = (
        ("hidden", "layersₙ(… layers₁(x, memory), memory)", "N L D",
         "Layer by layer; each one looks at the memory anew.", "一层接一层，每一层都重新看一遍记忆。"),
        ("out", "norm(hidden)", "N L D",
         "Bring the rows to one size at the end.", "最后把每一行归一化。"),
    )
    BACKWARD = (
        ("dhidden", "norm.backward(dout)", "N L D",
         "Back through the last norm.", "经过最后的归一化层传回去。"),
        ("dx", "layers₁.backward(… layersₙ.backward(dhidden))", "N L D",
         "The last layer first.", "从最后一层开始，倒着走。"),
        ("dmemory", "Σ over the layers", "N S D",
         "Every layer looked at the memory, so their gradients add up.", "每一层都看过记忆，所以各层的梯度相加。"),
    )

    def __init__(self, num_layers, d_model, num_heads, d_hidden=None, *, activation="relu", norm_first=False,
                 final_norm=None, dropout=0.0, eps=1e-5, bias=True, rng=None, dtype=np.float64):
        super().__init__()
        rng = np.random.default_rng(rng)
        self.layers = [TransformerDecoderLayer(d_model, num_heads, d_hidden, activation=activation, dropout=dropout,
                                               norm_first=norm_first, eps=eps, bias=bias, rng=rng, dtype=dtype)
                       for _ in range(size("num_layers", num_layers))]
        final_norm = norm_first if final_norm is None else final_norm
        self.norm = LayerNorm(d_model, eps=eps, bias=bias, dtype=dtype) if final_norm else None
        if not final_norm:
            self.restate(out="layersₙ(… layers₁(x, memory), memory)",
                         dx="layers₁.backward(… layersₙ.backward(dout))")

    def forward(self, x, memory, *, mask=None, memory_mask=None, bias=None, memory_bias=None):
        D = self.layers[0].norm1.normalized_shape[0]
        check_tokens("x", x, "L", D)
        check_tokens("memory", memory, "S", D)
        # 1. Layer by layer, all with the same memory.
        hidden = x
        for layer in self.layers:
            hidden = layer(hidden, memory, mask=mask, memory_mask=memory_mask, bias=bias, memory_bias=memory_bias)
        given = {"x": x, "memory": memory}
        given |= {name: layer.cache[name] for name in ("bias", "memory_bias") if name in layer.cache}
        if self.norm is None:
            self.cache = {**given, "out": hidden}
            return hidden
        # 2. The last norm.
        out = self.norm(hidden)                                     # (N,L,D)
        self.cache = {**given, "hidden": hidden, "out": out}
        return out

    def backward(self, dout):
        memory = self.cache["memory"]
        # 2. out = norm(hidden)
        dhidden = dout if self.norm is None else self.norm.backward(dout)
        # 1. The last layer first; each one's gradient for the memory is added.
        dx, dmemory = dhidden, np.zeros(memory.shape, dout.dtype)
        for layer in reversed(self.layers):
            dx, dmemory_here = layer.backward(dx)                   # (N,L,D), (N,S,D)
            dmemory = dmemory + dmemory_here                        # (N,S,D)
        self.grads = {"out": dout, "x": dx, "memory": dmemory}
        if self.norm is not None:
            self.grads["hidden"] = dhidden
        for name in ("bias", "memory_bias"):
            if name in self.cache:
                self.grads[name] = sum(layer.grads[name] for layer in self.layers)
        return dx, dmemory
