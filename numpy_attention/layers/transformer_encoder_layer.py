"""TransformerEncoderLayer: look at the other tokens, then think, and keep what was there before.

Attention lets every token collect from the others, the feed-forward layer works on what each has collected. Both
results are added to what went in: residual.py says why, and where the norms stand.
"""
import numpy as np

from ..engine.arguments import generator
from ..engine.named_parts import NamedParts
from ..engine.shapes import check_tokens
from .feed_forward import FeedForward
from .layer_norm import LayerNorm
from .multi_head import MultiHeadAttention
from .residual import Residual


class TransformerEncoderLayer(NamedParts):
    """Self-attention and a feed-forward layer, each with a residual sum and a LayerNorm.

        heard = norm1(x + self_attn(x))         out = norm2(heard + feed_forward(heard))        post-norm
        heard = x + self_attn(norm1(x))         out = heard + feed_forward(norm2(heard))        pre-norm

    Args:
        d_model: D. num_heads: H. d_hidden: width inside the feed-forward layer, 4·D unless given.
        activation: of the feed-forward layer: "relu", "gelu", "silu", or a layer's class.
        norm_first: pre-norm instead of post-norm. eps: of the norms. bias: whether projections and norms add biases.
        dropout: of attention weights, of numbers inside the feed-forward layer, and of what both parts add.
        rng: seed or np.random.Generator, for the parameters and for dropout. dtype: of the parameters.

    layer(x, *, mask=None, bias=None) -> out; the weights are in `layer.self_attn.weights`.

    Shapes: x and out (N, L, D), or (L, D) for a single sequence; mask and bias as in numpy_attention.masks.
    Raises: ValueError/TypeError that name the argument, what it should be and what it is.

    >>> layer = na.TransformerEncoderLayer(8, 2, 16, norm_first=True, rng=0)
    >>> layer(np.ones((1, 3, 8)), mask=na.causal_mask(3)).shape
    (1, 3, 8)

    Source: Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020.
    """

    def forward(self, x, *, mask=None, bias=None):
        check_tokens("x", x, "L", self.d_model)
        # 1. What does each token get from the others?
        heard = self.attend(x, mask=mask, bias=bias)        # (N,L,D)
        # 2. What does it make of that?
        out = self.think(heard)                             # (N,L,D)
        self.cache = {"x": x, **self.steps("cache"), "heard": heard, "out": out}
        return out

    def backward(self, dout):
        # 2. In the forward pass this was out = think(heard).
        dheard = self.think.backward(dout)                  # (N,L,D)
        # 1. This was heard = attend(x).
        dx = self.attend.backward(dheard)                   # (N,L,D)
        self.grads = {"out": dout, "heard": dheard, **self.steps("grads"), "x": dx}
        return dx

    def __init__(self, d_model, num_heads, d_hidden=None, *, activation="relu", norm_first=False, dropout=0.0,
                 eps=1e-5, bias=True, rng=None, dtype=np.float64):
        super().__init__()
        self.d_model, rng = d_model, generator(rng)
        options = {"bias": bias, "dropout": dropout, "rng": rng, "dtype": dtype}

        def residual(layer):
            norm = LayerNorm(d_model, eps=eps, bias=bias, dtype=dtype)
            return Residual(layer, norm, norm_first=norm_first, dropout=dropout, rng=rng)

        for name in self.ATTENTIONS:
            setattr(self, name, residual(MultiHeadAttention(d_model, num_heads, **options)))
        self.think = residual(FeedForward(d_model, d_hidden, activation=activation, **options))

    ATTENTIONS = ("attend",)
    PARTS = {"self_attn": "attend.layer", "dropout1": "attend.dropout", "norm1": "attend.norm",
             "feed_forward": "think.layer", "dropout2": "think.dropout", "norm2": "think.norm"}
    STEPS = {"mask": "attend.mask", "bias": "attend.bias", "attended": "attend.added", "summed": "attend.summed",
             "transformed": "think.added", "total": "think.summed"}
    FORWARD = ("attend", "think")
    BACKWARD = ("think", "attend")
