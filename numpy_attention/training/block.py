"""A block: listen to the other tokens, then think about what was heard; each adds to what is there already.

Every token has one row, its stream, that runs through all blocks from bottom to top. A block never replaces a row, it
only adds to it: first what attention brought from other places, then what the feed-forward layer made of it. So on the
way back each sum hands its gradient on twice: straight down the stream, and through the layer that added something.
"""
import numpy as np

from ..engine.layer import Layer
from ..layers.feed_forward import FeedForward
from ..layers.layer_norm import LayerNorm


class Block(Layer):
    """x + attention(norm(x)), then the same with a feed-forward layer; norms and the second half only if asked for.

    Args:
        attention: a layer that takes x and mask=, bias=, such as MultiHeadAttention.
        d_model: D. d_hidden: width inside the feed-forward layer; None leaves it out.
        norm: whether a LayerNorm stands before each half.
        rng: seed or np.random.Generator for the feed-forward layer. dtype: of the parameters.

    block(x, *, mask=None, bias=None) -> out, both (N, L, D)

    >>> block = na.training.Block(na.MultiHeadAttention(8, 2, rng=0), 8, d_hidden=16, rng=1)
    >>> block(np.ones((1, 3, 8)), mask=na.causal_mask(3)).shape
    (1, 3, 8)

    Source: Vaswani et al. 2017, section 3.1, the norms inside as in Xiong et al. 2020; the stream: Elhage et al. 2021.
    """

    FORWARD = (
        "norm",
        "attention",
        ("heard", "x + attention(norm(x))", "N L D",
         "Add what the other tokens had to say.", "加上从其他词元那里听到的内容。"),
        "second_norm",
        "feed_forward",
        ("out", "heard + feed_forward(norm(heard))", "N L D",
         "Add what each token made of it.", "加上每个词元自己加工出来的内容。"),
    )
    BACKWARD = (
        "feed_forward",
        "second_norm",
        ("dheard", "dout + its way back through norm and feed_forward", "N L D",
         "A sum hands its gradient to both summands.", "加法把梯度原样交给两个加数。"),
        "attention",
        "norm",
        ("dx", "dheard + its way back through norm and attention", "N L D",
         "Straight down the stream, and through the attention.", "一路直下，一路经过注意力，两路相加。"),
    )

    def __init__(self, attention, d_model, *, d_hidden=None, norm=False, rng=None, dtype=np.float64):
        super().__init__()
        self.norm = LayerNorm(d_model, dtype=dtype) if norm else None
        self.attention = attention
        self.second_norm = LayerNorm(d_model, dtype=dtype) if norm and d_hidden else None
        self.feed_forward = FeedForward(d_model, d_hidden, rng=rng, dtype=dtype) if d_hidden else None

    def forward(self, x, *, mask=None, bias=None):
        # 1. Listen.
        normed = self.norm(x) if self.norm else x                                       # (N,L,D)
        heard = x + self.attention(normed, mask=mask, bias=bias)                        # (N,L,D)
        self.cache = {"x": x, "heard": heard}
        if not self.feed_forward:
            return heard
        # 2. Think.
        heard_normed = self.second_norm(heard) if self.second_norm else heard           # (N,L,D)
        out = heard + self.feed_forward(heard_normed)                                   # (N,L,D)
        self.cache["out"] = out
        return out

    def backward(self, dout):
        # 2. out = heard + feed_forward(norm(heard))
        if self.feed_forward:
            dheard_normed = self.feed_forward.backward(dout)
            dheard = dout + (self.second_norm.backward(dheard_normed) if self.second_norm else dheard_normed)
        else:
            dheard = dout                                                               # (N,L,D)
        # 1. heard = x + attention(norm(x))
        dnormed = self.attention.backward(dheard)
        dx = dheard + (self.norm.backward(dnormed) if self.norm else dnormed)           # (N,L,D)
        self.grads = {"x": dx, "heard": dheard}
        if self.feed_forward:
            self.grads["out"] = dout
        return dx
