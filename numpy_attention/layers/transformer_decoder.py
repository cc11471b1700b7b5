"""TransformerDecoder: decoder layers one after the other, all of them looking at the same memory."""
from ..engine.options import those_given
from .transformer_decoder_layer import TransformerDecoderLayer
from .transformer_encoder import TransformerEncoder


class TransformerDecoder(TransformerEncoder):
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

    layer_kind = TransformerDecoderLayer

    def forward(self, x, memory, *, mask=None, memory_mask=None, bias=None, memory_bias=None):
        options = those_given(mask=mask, memory_mask=memory_mask, bias=bias, memory_bias=memory_bias)
        # 1. Layer by layer, all with the same memory.
        hidden = x
        for layer in self.layers:
            hidden = layer(hidden, memory, **options)               # (N,L,D), (N,S,D) -> (N,L,D)
        # 2. The last norm.
        out = self.norm(hidden) if self.norm else hidden            # (N,L,D)
        given = {name: self.layers[0].cache[name] for name in options}
        self.keep(x=x, memory=memory, **given, hidden=hidden if self.norm else None, out=out)
        return out

    def backward(self, dout):
        # 2. In the forward pass this was out = norm(hidden).
        dhidden = self.norm.backward(dout) if self.norm else dout   # (N,L,D)
        # 1. This was hidden = layersₙ(… layers₁(x, memory), memory), so the last layer comes first.
        dx, dmemory = dhidden, 0
        for layer in reversed(self.layers):
            dx, dmemory_here = layer.backward(dx)                   # (N,L,D), (N,S,D)
            dmemory = dmemory + dmemory_here                        # every layer looked at it, so it gets the sum
        self.grads = those_given(out=dout, hidden=dhidden if self.norm else None,
                                 **self.dbiases("bias", "memory_bias"), memory=dmemory, x=dx)
        return dx, dmemory

    FORWARD = (
        ("hidden", "layersₙ(… layers₁(x, memory), memory)", "N L D",
         "Layer by layer; each one looks at the memory anew.", "一层接一层，每一层都重新看一遍记忆。"),
        TransformerEncoder.FORWARD[1],
    )
    BACKWARD = (
        *TransformerEncoder.BACKWARD,
        ("dmemory", "Σ over the layers", "N S D",
         "Every layer looked at the memory, so their gradients add up.", "每一层都看过记忆，所以各层的梯度相加。"),
    )
