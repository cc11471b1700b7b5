"""TransformerEncoderLayer: listen, then think, and keep what was there before.

Attention lets every token listen to the others, the feed-forward layer works on what each has heard. Both results are
added to what went in: x + f(x). This residual sum is why deep stacks can be trained at all: backward, a sum hands its
gradient on unchanged, so there is always a way around every layer. A norm keeps the numbers at one size. The paper puts
it behind each sum (post-norm); most models of today put it in front of each part, off the main road (pre-norm).
"""
import numpy as np

from ..engine.layer import Layer
from .feed_forward import FeedForward
from .layer_norm import LayerNorm
from .multi_head import MultiHeadAttention
from .variants.dropout import Dropout


class TransformerEncoderLayer(Layer):
    """Self-attention and a feed-forward layer, each with a residual sum and a LayerNorm.

    Args:
        d_model: D. num_heads: H. d_hidden: width inside the feed-forward layer, 4·D unless given.
        activation: of the feed-forward layer: "relu", "gelu", "silu", or a layer's class.
        norm_first: pre-norm instead of post-norm. eps: of the norms. bias: whether projections and norms add biases.
        dropout: probability of falling out in training: of attention weights, of numbers inside the feed-forward layer,
            and of what both parts hand over.
        rng: seed or np.random.Generator, for the parameters and for dropout. dtype: of the parameters.

    layer(x, *, mask=None, bias=None) -> out

    Shapes: x and out (N, L, D), or (L, D) for a single sequence; mask and bias as in numpy_attention.masks.
    Raises: ValueError/TypeError that name the argument, what it should be and what it is.

    The weights of the last forward are in `layer.self_attn.weights`.

    >>> layer = na.TransformerEncoderLayer(8, 2, 16, norm_first=True, rng=0)
    >>> layer(np.ones((1, 3, 8)), mask=na.causal_mask(3)).shape
    (1, 3, 8)
    >>> layer.self_attn.weights[0, 0].round(2)
    array([[1.  , 0.  , 0.  ],
           [0.5 , 0.5 , 0.  ],
           [0.33, 0.33, 0.33]])

    Source: Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020. Below is post-norm; with norm_first,
        normed_x = norm1(x) is attended to, normed = norm2(summed), and out = summed + transformed.
    """

    FORWARD = (
        ("normed_x", "norm1(x)", "N L D",
         "Pre-norm: bring each row to one size before it is used.", "先归一化，再使用（pre-norm）。"),
        ("attended", "dropout(self_attn(x))", "N L D",
         "What each token hears from the others.", "每个词元从别的词元那里听到的内容。"),
        ("summed", "x + attended", "N L D",
         "Keep what was there: the first residual sum.", "保留原来的内容：第一个残差相加。"),
        ("normed", "norm1(summed)", "N L D",
         "Bring each row to one size.", "把每一行归一化。"),
        ("transformed", "dropout(feed_forward(normed))", "N L D",
         "What each token makes of it, on its own.", "每个词元各自加工。"),
        ("total", "normed + transformed", "N L D",
         "The second residual sum.", "第二个残差相加。"),
        ("out", "norm2(total)", "N L D",
         "What the next layer gets.", "交给下一层。"),
    )
    BACKWARD = (
        ("dtotal", "norm2.backward(dout)", "N L D",
         "Back through the norm.", "经过归一化层传回去。"),
        ("dtransformed", "dtotal", "N L D",
         "A sum hands its gradient on unchanged.", "加法把梯度原样传回去。"),
        ("dnormed", "dtotal + feed_forward.backward(dtransformed)", "N L D",
         "It went two ways, so two gradients come back and add up.", "它走了两条路，所以两条路的梯度相加。"),
        ("dsummed", "norm1.backward(dnormed)", "N L D",
         "Back to the first sum.", "传回第一个残差相加处。"),
        ("dattended", "dsummed", "N L D",
         "Again the sum hands it on unchanged.", "加法再次原样传回。"),
        ("dnormed_x", "self_attn.backward(dattended)", "N L D",
         "Pre-norm: what attention asks of its input.", "注意力这条路传回的梯度（pre-norm）。"),
        ("dx", "dsummed + self_attn.backward(dattended)", "N L D",
         "Around attention and through it: two gradients, one sum.", "绕过注意力一条，穿过注意力一条，两条相加。"),
    )

    def __init__(self, d_model, num_heads, d_hidden=None, *, activation="relu", norm_first=False, dropout=0.0,
                 eps=1e-5, bias=True, rng=None, dtype=np.float64):
        super().__init__()
        rng = np.random.default_rng(rng)
        self.norm_first = norm_first
        self.self_attn = MultiHeadAttention(d_model, num_heads, bias=bias, dropout=dropout, rng=rng, dtype=dtype)
        self.dropout1 = Dropout(dropout, rng=rng)
        self.norm1 = LayerNorm(d_model, eps=eps, bias=bias, dtype=dtype)
        self.feed_forward = FeedForward(d_model, d_hidden, activation=activation, bias=bias, dropout=dropout, rng=rng,
                                        dtype=dtype)
        self.dropout2 = Dropout(dropout, rng=rng)
        self.norm2 = LayerNorm(d_model, eps=eps, bias=bias, dtype=dtype)
        if norm_first:
            self.restate(attended="dropout(self_attn(normed_x))", normed="norm2(summed)", out="summed + transformed",
                         dtransformed="dout", dnormed="feed_forward.backward(dtransformed)",
                         dsummed="dout + norm2.backward(dnormed)",
                         dx="dsummed + norm1.backward(dnormed_x)")

    def forward(self, x, *, mask=None, bias=None):
        check_tokens("x", x, "L", self.norm1.normalized_shape[0])
        pre = self.norm_first
        # 1. What does each token hear from the others?
        normed_x = self.norm1(x) if pre else x                                          # (N,L,D)
        attended = self.dropout1(self.self_attn(normed_x, mask=mask, bias=bias))        # (N,L,D)
        # 2. Keep what was there.
        summed = x + attended                                                           # (N,L,D)
        # 3. What does each make of it?
        normed = self.norm2(summed) if pre else self.norm1(summed)                      # (N,L,D)
        transformed = self.dropout2(self.feed_forward(normed))                          # (N,L,D)
        # 4. Keep what was there.
        total = (summed if pre else normed) + transformed                               # (N,L,D)
        out = total if pre else self.norm2(total)                                       # (N,L,D)
        steps = {"attended": attended, "summed": summed, "normed": normed, "transformed": transformed}
        given = {"x": x} if bias is None else {"x": x, "bias": self.self_attn.cache["bias"]}
        self.cache = ({**given, "normed_x": normed_x, **steps, "out": out} if pre else
                      {**given, **steps, "total": total, "out": out})
        return out

    def backward(self, dout):
        pre = self.norm_first
        # 4. out = summed + transformed, or norm2(normed + transformed)
        dtotal = dout if pre else self.norm2.backward(dout)
        dtransformed = dtotal
        # 3. transformed = feed_forward(normed), and normed = norm(summed); what was kept adds its own gradient.
        dthrough = self.feed_forward.backward(self.dropout2.backward(dtransformed))
        dnormed = dthrough if pre else dtotal + dthrough
        dsummed = dtotal + self.norm2.backward(dnormed) if pre else self.norm1.backward(dnormed)
        # 2. summed = x + attended
        dattended = dsummed
        # 1. attended = self_attn(norm(x)), or self_attn(x)
        dnormed_x = self.self_attn.backward(self.dropout1.backward(dattended))
        dx = dsummed + (self.norm1.backward(dnormed_x) if pre else dnormed_x)
        steps = {"transformed": dtransformed, "normed": dnormed, "summed": dsummed, "attended": dattended}
        self.grads = ({"out": dout, **steps, "normed_x": dnormed_x, "x": dx} if pre else
                      {"out": dout, "total": dtotal, **steps, "x": dx})
        if "bias" in self.cache:
            self.grads["bias"] = self.self_attn.grads["bias"]
        return dx


def check_tokens(name, x, length, D):
    """x must be rows of width D, of one sequence or of a batch of them."""
    if x.ndim not in (2, 3) or x.shape[-1] != D:
        raise ValueError(f"{name} must have shape (N, {length}, D), or ({length}, D) for a single sequence, "
                         f"with D = {D}; got {x.shape}")
