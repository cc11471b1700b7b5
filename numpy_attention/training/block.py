"""A block: look at the other tokens, then think about what was found; each adds to what is there already.

Every token has one row, its stream, that runs through all blocks from bottom to top. A block never replaces a row, it
only adds to it: first what attention brought from other places, then what the feed-forward layer made of it. So on the
way back each sum hands its gradient on twice: straight down the stream, and through the layer that added something.
"""
import numpy as np

from ..engine.arguments import switch
from ..engine.named_parts import NamedParts
from ..layers.feed_forward import FeedForward
from ..layers.layer_norm import LayerNorm
from ..layers.residual import Residual


class Block(NamedParts):
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

    def __init__(self, attention, d_model, *, d_hidden=None, norm=False, rng=None, dtype=np.float64):
        super().__init__()
        norms = [LayerNorm(d_model, dtype=dtype) if switch("norm", norm) else None for _ in range(2)]
        self.attend = Residual(attention, norms[0], norm_first=True)
        self.think = None
        if d_hidden is not None:
            feed_forward = FeedForward(d_model, d_hidden, rng=rng, dtype=dtype)
            self.think = Residual(feed_forward, norms[1], norm_first=True)

    def forward(self, x, *, mask=None, bias=None):
        heard = self.attend(x, mask=mask, bias=bias)                # (N,L,D): x + attention(norm(x))
        self.cache = {"x": x, "heard": heard}
        if self.think:
            self.cache["out"] = self.think(heard)                   # (N,L,D): heard + feed_forward(norm(heard))
        return self.cache.get("out", heard)

    def backward(self, dout):
        dheard = self.think.backward(dout) if self.think else dout  # (N,L,D)
        dx = self.attend.backward(dheard)                           # (N,L,D)
        self.grads = {"x": dx, "heard": dheard, **({"out": dout} if self.think else {})}
        return dx

    PARTS = {"norm": "attend.norm", "attention": "attend.layer", "second_norm": "think.norm",
             "feed_forward": "think.layer"}
    FORWARD = ("attend", "think")
    BACKWARD = ("think", "attend")
