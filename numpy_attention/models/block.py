"""A block of a trained model: listen to the other tokens, then think about what was heard; each adds to what is there.

All models of the family tree have this in common: a stream that runs through all blocks, and two layers in each that
add to it. They differ in where the norm stands: before each of the two layers, so that the stream itself is never
normed (GPT-2, Llama), or behind each sum (BERT).
"""
from ..engine.named_parts import NamedParts
from ..layers.residual import Residual


class StreamBlock(NamedParts):
    """heard = x + attention(norm(x)), out = heard + feed_forward(second_norm(heard)); or the norms behind the sums.

    Args:
        norm, attention, second_norm, feed_forward: the four layers. norm_first: whether the norms stand before the
            layers, or behind the sums: heard = norm(x + attention(x)), out = second_norm(heard + feed_forward(heard)).

    block(x, *, mask=None) -> out, both (N, L, D)

    >>> from numpy_attention.models import StreamBlock
    >>> block = StreamBlock(na.RMSNorm(8), na.MultiHeadAttention(8, 2, rng=0), na.RMSNorm(8), na.FeedForward(8, rng=1))
    >>> block(np.ones((1, 3, 8)), mask=na.causal_mask(3)).shape
    (1, 3, 8)

    Source: Vaswani et al. 2017, section 3.1, and Xiong et al. 2020 for the norms inside.
    """

    def __init__(self, norm, attention, second_norm, feed_forward, *, norm_first=True):
        super().__init__()
        self.attend = Residual(attention, norm, norm_first=norm_first)
        self.think = Residual(feed_forward, second_norm, norm_first=norm_first)

    def forward(self, x, *, mask=None):
        # 1. Listen.
        heard = self.attend(x, mask=mask)                           # (N,L,D)
        # 2. Think.
        out = self.think(heard)                                     # (N,L,D)
        self.cache = {"x": x, "heard": heard, "out": out}
        return out

    def backward(self, dout):
        # 2. In the forward pass this was out = think(heard).
        dheard = self.think.backward(dout)                          # (N,L,D)
        # 1. This was heard = attend(x).
        dx = self.attend.backward(dheard)                           # (N,L,D)
        self.grads = {"out": dout, "heard": dheard, "x": dx}
        return dx

    PARTS = {"norm": "attend.norm", "attention": "attend.layer", "second_norm": "think.norm",
             "feed_forward": "think.layer"}
    FORWARD = ("attend", "think")
    BACKWARD = ("think", "attend")
