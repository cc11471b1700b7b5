"""TransformerDecoderLayer: listen to your own words so far, then to the other text, then think.

An encoder layer with a second attention in the middle: its queries come from the sequence that is being written, its
keys and values from `memory`, the encoder's output. Give a causal mask, or the words can see what follows them.
"""
import numpy as np

from ..engine.layer import Layer
from ..engine.mask_and_bias import take_mask_and_bias
from .feed_forward import FeedForward
from .layer_norm import LayerNorm
from .multi_head import MultiHeadAttention
from .transformer_encoder_layer import check_tokens
from .variants.dropout import Dropout


class TransformerDecoderLayer(Layer):
    """Self-attention, attention over a memory and a feed-forward layer, each with a residual sum and a LayerNorm.

    Args: as TransformerEncoderLayer.

    layer(x, memory, *, mask=None, memory_mask=None, bias=None, memory_bias=None) -> out

    Shapes: x and out (N, L, D), memory (N, S, D), all without N for a single sequence. mask and bias belong to
        self-attention, (L, L) and so on; memory_mask and memory_bias to the attention over memory, (L, S) and so on.
    Raises: ValueError/TypeError that name the argument, what it should be and what it is.

    backward(dout) returns dx and dmemory. The weights are in `layer.self_attn.weights`, `layer.cross_attn.weights`.

    >>> layer = na.TransformerDecoderLayer(8, 2, 16, rng=0)
    >>> x, memory = np.ones((1, 3, 8)), np.ones((1, 5, 8))
    >>> layer(x, memory, mask=na.causal_mask(3)).shape, layer.cross_attn.weights.shape
    ((1, 3, 8), (1, 2, 3, 5))
    >>> [d.shape for d in layer.backward(np.ones((1, 3, 8)))]
    [(1, 3, 8), (1, 5, 8)]

    Source: Vaswani et al. 2017, section 3.1. Below is post-norm; with norm_first, normed_x = norm1(x) is attended to,
        normed1 = norm2(summed1), normed2 = norm3(summed2), and the sums add summed1 and summed2.
    """

    FORWARD = (
        ("normed_x", "norm1(x)", "N L D",
         "Pre-norm: bring each row to one size before it is used.", "先归一化，再使用（pre-norm）。"),
        ("attended", "dropout(self_attn(x))", "N L D",
         "What each word hears from the words so far.", "每个词从已有的词那里听到的内容。"),
        ("summed1", "x + attended", "N L D",
         "Keep what was there: the first residual sum.", "保留原来的内容：第一个残差相加。"),
        ("normed1", "norm1(summed1)", "N L D",
         "Bring each row to one size.", "把每一行归一化。"),
        ("crossed", "dropout(cross_attn(normed1, memory))", "N L D",
         "What each word finds in the other text.", "每个词在另一段文字里找到的内容。"),
        ("summed2", "normed1 + crossed", "N L D",
         "The second residual sum.", "第二个残差相加。"),
        ("normed2", "norm2(summed2)", "N L D",
         "Bring each row to one size again.", "再次归一化。"),
        ("transformed", "dropout(feed_forward(normed2))", "N L D",
         "What each word makes of it, on its own.", "每个词各自加工。"),
        ("total", "normed2 + transformed", "N L D",
         "The third residual sum.", "第三个残差相加。"),
        ("out", "norm3(total)", "N L D",
         "What the next layer gets.", "交给下一层。"),
    )
    BACKWARD = (
        ("dtotal", "norm3.backward(dout)", "N L D",
         "Back through the norm.", "经过归一化层传回去。"),
        ("dtransformed", "dtotal", "N L D",
         "A sum hands its gradient on unchanged.", "加法把梯度原样传回去。"),
        ("dnormed2", "dtotal + feed_forward.backward(dtransformed)", "N L D",
         "It went two ways, so two gradients come back and add up.", "它走了两条路，所以两条路的梯度相加。"),
        ("dsummed2", "norm2.backward(dnormed2)", "N L D",
         "Back to the second sum.", "传回第二个残差相加处。"),
        ("dcrossed", "dsummed2", "N L D",
         "The sum hands it on unchanged.", "加法原样传回。"),
        ("dmemory", "cross_attn.backward(dcrossed), second part", "N S D",
         "The memory hears from every word that looked at it.", "记忆收到每个看过它的词传回的梯度。"),
        ("dnormed1", "dsummed2 + cross_attn.backward(dcrossed), first part", "N L D",
         "Around the attention and through its queries.", "绕过注意力一条，穿过查询一条。"),
        ("dsummed1", "norm1.backward(dnormed1)", "N L D",
         "Back to the first sum.", "传回第一个残差相加处。"),
        ("dattended", "dsummed1", "N L D",
         "Again the sum hands it on unchanged.", "加法再次原样传回。"),
        ("dnormed_x", "self_attn.backward(dattended)", "N L D",
         "Pre-norm: what attention asks of its input.", "注意力这条路传回的梯度（pre-norm）。"),
        ("dx", "dsummed1 + self_attn.backward(dattended)", "N L D",
         "Around attention and through it: two gradients, one sum.", "绕过注意力一条，穿过注意力一条，两条相加。"),
    )

    def __init__(self, d_model, num_heads, d_hidden=None, *, activation="relu", norm_first=False, dropout=0.0,
                 eps=1e-5, bias=True, rng=None, dtype=np.float64):
        super().__init__()
        rng = np.random.default_rng(rng)
        attention = {"bias": bias, "dropout": dropout, "rng": rng, "dtype": dtype}
        norm = {"eps": eps, "bias": bias, "dtype": dtype}
        self.norm_first = norm_first
        self.self_attn = MultiHeadAttention(d_model, num_heads, **attention)
        self.dropout1, self.norm1 = Dropout(dropout, rng=rng), LayerNorm(d_model, **norm)
        self.cross_attn = MultiHeadAttention(d_model, num_heads, **attention)
        self.dropout2, self.norm2 = Dropout(dropout, rng=rng), LayerNorm(d_model, **norm)
        self.feed_forward = FeedForward(d_model, d_hidden, activation=activation, **attention)
        self.dropout3, self.norm3 = Dropout(dropout, rng=rng), LayerNorm(d_model, **norm)
        if norm_first:
            self.restate(attended="dropout(self_attn(normed_x))", normed1="norm2(summed1)", summed2="summed1 + crossed",
                         normed2="norm3(summed2)", out="summed2 + transformed", dtransformed="dout",
                         dnormed2="feed_forward.backward(dtransformed)", dsummed2="dout + norm3.backward(dnormed2)",
                         dnormed1="cross_attn.backward(dcrossed), first part",
                         dsummed1="dsummed2 + norm2.backward(dnormed1)", dx="dsummed1 + norm1.backward(dnormed_x)")

    def forward(self, x, memory, *, mask=None, memory_mask=None, bias=None, memory_bias=None):
        D, pre = self.norm1.normalized_shape[0], self.norm_first
        check_tokens("x", x, "L", D)
        check_tokens("memory", memory, "S", D)
        if x.shape[:-2] != memory.shape[:-2]:
            raise ValueError(f"x and memory must share the batch size N: x is {x.shape}, memory is {memory.shape}")
        shape = (len(x) if x.ndim == 3 else 1, self.cross_attn.split.num_heads, x.shape[-2], memory.shape[-2])
        try:
            take_mask_and_bias(memory_mask, memory_bias, shape, x.dtype)
        except (TypeError, ValueError) as error:        # it speaks of "mask" and "bias"; say which ones
            raise type(error)(f"memory_{error}") from None
        # 1. What does each word hear from the words so far?
        normed_x = self.norm1(x) if pre else x                                                      # (N,L,D)
        attended = self.dropout1(self.self_attn(normed_x, mask=mask, bias=bias))                    # (N,L,D)
        summed1 = x + attended                                                                      # (N,L,D)
        # 2. What does it find in the other text?
        normed1 = self.norm2(summed1) if pre else self.norm1(summed1)                               # (N,L,D)
        crossed = self.dropout2(self.cross_attn(normed1, memory, mask=memory_mask, bias=memory_bias))
        summed2 = (summed1 if pre else normed1) + crossed                                           # (N,L,D)
        # 3. What does it make of both?
        normed2 = self.norm3(summed2) if pre else self.norm2(summed2)                               # (N,L,D)
        transformed = self.dropout3(self.feed_forward(normed2))                                     # (N,L,D)
        total = (summed2 if pre else normed2) + transformed                                         # (N,L,D)
        out = total if pre else self.norm3(total)                                                   # (N,L,D)
        steps = {"attended": attended, "summed1": summed1, "normed1": normed1, "crossed": crossed, "summed2": summed2,
                 "normed2": normed2, "transformed": transformed}
        given = {"x": x, "memory": memory, "bias": self.self_attn.cache.get("bias"),
                 "memory_bias": self.cross_attn.cache.get("bias")}
        given = {name: array for name, array in given.items() if array is not None}
        self.cache = ({**given, "normed_x": normed_x, **steps, "out": out} if pre else
                      {**given, **steps, "total": total, "out": out})
        return out

    def backward(self, dout):
        pre = self.norm_first
        # 3. out = summed2 + transformed, or norm3(normed2 + transformed); what was kept adds its own gradient.
        dtotal = dout if pre else self.norm3.backward(dout)
        dtransformed = dtotal
        dthrough = self.feed_forward.backward(self.dropout3.backward(dtransformed))
        dnormed2 = dthrough if pre else dtotal + dthrough
        dsummed2 = dtotal + self.norm3.backward(dnormed2) if pre else self.norm2.backward(dnormed2)
        # 2. summed2 = summed1 + crossed, or normed1 + crossed
        dcrossed = dsummed2
        dthrough, dmemory = self.cross_attn.backward(self.dropout2.backward(dcrossed))
        dnormed1 = dthrough if pre else dsummed2 + dthrough
        dsummed1 = dsummed2 + self.norm2.backward(dnormed1) if pre else self.norm1.backward(dnormed1)
        # 1. summed1 = x + attended
        dattended = dsummed1
        dnormed_x = self.self_attn.backward(self.dropout1.backward(dattended))
        dx = dsummed1 + (self.norm1.backward(dnormed_x) if pre else dnormed_x)
        steps = {"transformed": dtransformed, "normed2": dnormed2, "summed2": dsummed2, "crossed": dcrossed,
                 "memory": dmemory, "normed1": dnormed1, "summed1": dsummed1, "attended": dattended}
        self.grads = ({"out": dout, **steps, "normed_x": dnormed_x, "x": dx} if pre else
                      {"out": dout, "total": dtotal, **steps, "x": dx})
        for name, attention in (("bias", self.self_attn), ("memory_bias", self.cross_attn)):
            if name in self.cache:
                self.grads[name] = attention.grads["bias"]
        return dx, dmemory
