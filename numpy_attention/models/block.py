"""A block of a trained model: listen to the other tokens, then think about what was heard; each adds to what is there.

All models of the family tree have this in common: a stream that runs through all blocks, and two layers in each that
add to it. They differ in where the norm stands: before each of the two layers, so that the stream itself is never
normed (GPT-2, Llama), or behind each sum (BERT).
"""
from ..engine.layer import Layer


class StreamBlock(Layer):
    """heard = x + attention(norm(x)), out = heard + feed_forward(second_norm(heard)); or the norms behind the sums.

    Args:
        norm, attention, second_norm, feed_forward: the four layers. norm_first: whether the norms stand before the
            layers, or behind the sums: heard = norm(x + attention(x)), out = second_norm(heard + feed_forward(heard)).

    block(x, *, mask=None, cache=None) -> out, both (N, L, D); cache: a KVCache of its attention, and x then holds the
        new tokens only.

    >>> from numpy_attention.models import StreamBlock
    >>> block = StreamBlock(na.RMSNorm(8), na.MultiHeadAttention(8, 2, rng=0), na.RMSNorm(8), na.FeedForward(8, rng=1))
    >>> block(np.ones((1, 3, 8)), mask=na.causal_mask(3)).shape
    (1, 3, 8)

    Source: Vaswani et al. 2017, section 3.1, and Xiong et al. 2020 for the norms inside.
    """

    FORWARD = (
        "norm",
        "attention",
        ("heard", "x + attention(norm(x))", "N L D",
         "Add what the other tokens had to say.", "加上从其他词元那里听到的内容。"),
        "second_norm",
        "feed_forward",
        ("out", "heard + feed_forward(second_norm(heard))", "N L D",
         "Add what each token made of it.", "加上每个词元自己加工出来的内容。"),
    )
    BACKWARD = (
        "feed_forward",
        "second_norm",
        ("dheard", "dout + second_norm.backward(feed_forward.backward(dout))", "N L D",
         "A sum hands its gradient to both summands.", "加法把梯度原样交给两个加数。"),
        "attention",
        "norm",
        ("dx", "dheard + norm.backward(attention.backward(dheard))", "N L D",
         "Straight down the stream, and through the attention.", "一路直下，一路经过注意力，两路相加。"),
    )

    def __init__(self, norm, attention, second_norm, feed_forward, *, norm_first=True):
        super().__init__()
        self.norm, self.attention, self.second_norm, self.feed_forward = norm, attention, second_norm, feed_forward
        self.norm_first = norm_first
        if not norm_first:
            self.FORWARD = tuple(self.FORWARD[i] for i in (1, 2, 0, 4, 5, 3))
            self.BACKWARD = tuple(self.BACKWARD[i] for i in (1, 0, 2, 4, 3, 5))
            self.restate(heard="norm(x + attention(x))", out="second_norm(heard + feed_forward(heard))",
                         dheard="dtotal + feed_forward.backward(dtotal), dtotal = second_norm.backward(dout)",
                         dx="dsummed + attention.backward(dsummed), dsummed = norm.backward(dheard)")

    def forward(self, x, *, mask=None, cache=None):
        first = self.norm_first
        # 1. Listen.
        normed = self.norm(x) if first else x                                           # (N,L,D)
        attended = self.attention(normed, mask=mask) if cache is None else cache.step(normed, mask=mask)
        heard = x + attended if first else self.norm(x + attended)                      # (N,L,D)
        # 2. Think.
        thought = self.feed_forward(self.second_norm(heard) if first else heard)        # (N,L,D)
        out = heard + thought if first else self.second_norm(heard + thought)           # (N,L,D)
        self.cache = {"x": x, "heard": heard, "out": out}
        return out

    def backward(self, dout):
        if self.norm_first:
            # 2. out = heard + feed_forward(second_norm(heard))
            dheard = dout + self.second_norm.backward(self.feed_forward.backward(dout))
            # 1. heard = x + attention(norm(x))
            dx = dheard + self.norm.backward(self.attention.backward(dheard))
        else:
            # 2. out = second_norm(heard + feed_forward(heard))
            dtotal = self.second_norm.backward(dout)
            dheard = dtotal + self.feed_forward.backward(dtotal)
            # 1. heard = norm(x + attention(x))
            dsummed = self.norm.backward(dheard)
            dx = dsummed + self.attention.backward(dsummed)
        self.grads = {"out": dout, "heard": dheard, "x": dx}                            # (N,L,D)
        return dx
