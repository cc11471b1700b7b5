"""TransformerDecoderLayer: look at your own words so far, then at the other text, then think.

An encoder layer with a second attention in the middle: its queries come from the sequence that is being written, its
keys and values from `memory`, the encoder's output. Give a causal mask, or the words can see what follows them.
"""
from ..engine.options import speaking_of
from ..engine.shapes import check_same_batch, check_tokens
from .transformer_encoder_layer import TransformerEncoderLayer


class TransformerDecoderLayer(TransformerEncoderLayer):
    """Self-attention, attention over a memory and a feed-forward layer, each with a residual sum and a LayerNorm.

        heard = norm1(x + self_attn(x))             found = norm2(heard + cross_attn(heard, memory))
        out = norm3(found + feed_forward(found))    or, with norm_first, the norms inside as in the encoder layer

    Args: as TransformerEncoderLayer.

    layer(x, memory, *, mask=None, memory_mask=None, bias=None, memory_bias=None) -> out

    Shapes: x and out (N, L, D), memory (N, S, D), all without N for a single sequence. mask and bias belong to
        self-attention, (L, L) and so on; memory_mask and memory_bias to the attention over memory, (L, S) and so on.
    Raises: ValueError/TypeError that name the argument, what it should be and what it is.

    backward(dout) returns dx and dmemory. The weights are in `layer.self_attn.weights`, `layer.cross_attn.weights`.

    >>> layer = na.TransformerDecoderLayer(8, 2, 16, rng=0)
    >>> layer(np.ones((1, 3, 8)), np.ones((1, 5, 8)), mask=na.causal_mask(3)).shape, layer.cross_attn.weights.shape
    ((1, 3, 8), (1, 2, 3, 5))

    Source: Vaswani et al. 2017, section 3.1.
    """

    def forward(self, x, memory, *, mask=None, memory_mask=None, bias=None, memory_bias=None):
        check_tokens("x", x, "L", self.d_model)
        check_tokens("memory", memory, "S", self.d_model)
        check_same_batch("x", x, "memory", memory)
        # 1. What does each word get from the words so far?
        heard = self.attend(x, mask=mask, bias=bias)                                        # (N,L,D)
        # 2. What does it find in the other text?
        with speaking_of(mask="memory_mask", bias="memory_bias"):
            found = self.look_up(heard, memory, mask=memory_mask, bias=memory_bias)         # (N,L,D)
        # 3. What does it make of both?
        out = self.think(found)                                                             # (N,L,D)
        self.cache = {"x": x, "memory": memory, **self.steps("cache"), "heard": heard, "found": found, "out": out}
        return out

    def backward(self, dout):
        # 3. In the forward pass this was out = think(found).
        dfound = self.think.backward(dout)                                                  # (N,L,D)
        # 2. This was found = look_up(heard, memory).
        dheard, dmemory = self.look_up.backward(dfound)                                     # (N,L,D), (N,S,D)
        # 1. This was heard = attend(x).
        dx = self.attend.backward(dheard)                                                   # (N,L,D)
        self.grads = {"out": dout, "found": dfound, "heard": dheard, **self.steps("grads"), "memory": dmemory, "x": dx}
        return dx, dmemory

    ATTENTIONS = ("attend", "look_up")
    PARTS = {"self_attn": "attend.layer", "dropout1": "attend.dropout", "norm1": "attend.norm",
             "cross_attn": "look_up.layer", "dropout2": "look_up.dropout", "norm2": "look_up.norm",
             "feed_forward": "think.layer", "dropout3": "think.dropout", "norm3": "think.norm"}
    STEPS = {"mask": "attend.mask", "bias": "attend.bias", "attended": "attend.added", "summed1": "attend.summed",
             "memory_mask": "look_up.mask", "memory_bias": "look_up.bias", "crossed": "look_up.added",
             "summed2": "look_up.summed", "transformed": "think.added", "total": "think.summed"}
    FORWARD = ("attend", "look_up", "think")
    BACKWARD = ("think", "look_up", "attend")
