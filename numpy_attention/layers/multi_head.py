"""Multi-head attention: several small attentions side by side, each with its own view of the tokens.

Three learned matrices give every token three roles. Its query says what it looks for, its key what it can be found
by, its value what it hands over. Each row is cut into H heads, every head attends on its own, their answers are laid
side by side, and a fourth matrix mixes them. One (D, H·d_k) matrix that is cut afterwards is the same as H matrices
of shape (D, d_k), one a head.
"""
import numpy as np

from ..engine.arguments import generator
from ..engine.layer import Layer
from ..engine.lazy import like
from ..engine.mask_and_bias import fit_bias, fit_mask, without_batch
from ..engine.options import attention_part, options_given
from ..engine.shapes import check_sequences, multi_head_sizes
from .heads import MergeHeads, SplitHeads
from .linear import Linear
from .variants.scaled_dot_product import ScaledDotProductAttention


class MultiHeadAttention(Layer):
    """Self-attention mha(x), attention over a memory mha(query, memory), cross-attention mha(query, key, value).

    Shapes: query (N, L, D), key (N, S, kdim), value (N, S, vdim), out (N, L, D); all without N for a single
        sequence. mask (True = may attend) and bias (added to the scores) are (L, S), (N, L, S) or (N, H, L, S).
    Raises: ValueError/TypeError that name the argument, what it should be and what it is.

    backward(dout) returns one gradient for each array given: dx, or (dquery, dmemory), or (dquery, dkey, dvalue).
    `.weights` holds the last weights of every head, (N, H, L, S).

    >>> mha = na.MultiHeadAttention(8, 2, rng=0)
    >>> x = np.random.default_rng(1).standard_normal((1, 3, 8))
    >>> mha(x).shape, mha.weights.shape
    ((1, 3, 8), (1, 2, 3, 3))
    >>> mha.backward(np.ones((1, 3, 8))).shape
    (1, 3, 8)

    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def forward(self, query, key=None, value=None, *, mask=None, bias=None):
        given = roles(query, key, value)                    # one array may play several roles
        query, key, value = given["query"], given["key"], given["value"]
        options = self._options(query, key, value, mask, bias)
        # 1. Three views of each token, cut into heads.
        Q = self.split(self.query_proj(query))              # (N,L,D) -> (N,L,H·d_k) -> (N,H,L,d_k)
        K = self.split_kv(self.key_proj(key))               # (N,S,kdim) -> (N,S,H·d_k) -> (N,H,S,d_k)
        V = self.split_kv(self.value_proj(value))           # (N,S,vdim) -> (N,S,H·d_v) -> (N,H,S,d_v)
        # 2. Every head attends on its own.
        heads = self.attention(Q, K, V, **options)          # (N,H,L,d_v)
        # 3. Lay the answers side by side.
        concat = self.merge(heads)                          # (N,L,H·d_v)
        # 4. Mix what the heads have found.
        out = self.output_proj(concat)                      # (N,L,D)
        self.cache = like(self.attention.cache, {**given, **self.attention.cache, "concat": concat, "out": out})
        return out

    def backward(self, dout):
        # 4. out = concat W_O + b_O
        dconcat = self.output_proj.backward(dout)           # (N,L,H·d_v)
        # 3. concat = merge(heads)
        dheads = self.merge.backward(dconcat)               # (N,H,L,d_v)
        # 2. heads = attention(Q, K, V)
        dQ, dK, dV = self.attention.backward(dheads)        # (N,H,L,d_k) (N,H,S,d_k) (N,H,S,d_v)
        # 1. Q = split(query W_Q + b_Q), and so on
        dquery = self.query_proj.backward(self.split.backward(dQ))      # (N,L,D)
        dkey = self.key_proj.backward(self.split_kv.backward(dK))       # (N,S,kdim)
        dvalue = self.value_proj.backward(self.split_kv.backward(dV))   # (N,S,vdim)
        self.grads = like(self.attention.grads, {"out": dout, "concat": dconcat, **self.attention.grads,
                                                 "query": dquery, "key": dkey, "value": dvalue})
        # Where one array played several roles, its gradients add up.
        if "x" in self.cache:
            self.grads["x"] = dx = dquery + dkey + dvalue
            return dx
        if "memory" in self.cache:
            self.grads["memory"] = dmemory = dkey + dvalue
            return dquery, dmemory
        return dquery, dkey, dvalue

    def __init__(self, d_model, num_heads, *, d_k=None, d_v=None, kdim=None, vdim=None, num_kv_heads=None, bias=True,
                 dropout=0.0, rng=None, dtype=np.float64, attention=None):
        """A layer with random parameters.

        Args:
            d_model: D, width of query and out. num_heads: H.
            d_k, d_v: width of one head's query and key, and of its value; d_model / num_heads unless given.
            kdim, vdim: widths of the key and value inputs; d_model unless given.
            num_kv_heads: number of key/value heads, a divisor of num_heads (grouped heads; 1 is multi-query attention).
            bias: whether the four projections add biases.
            dropout: share of the weights that falls out in training.
            rng: seed or np.random.Generator for the parameters and dropout. dtype: of the parameters.
            attention: what the heads do with Q, K, V; ScaledDotProductAttention unless given. Hand in one with another
                scale or a softcap, RotaryAttention, ExtraKeyAttention, BlockedAttention or a Layer of your own: it is
                called as attention(Q, K, V), with mask= and bias= where they are given, and holds `.weights`.
        """
        super().__init__()
        D, H, H_kv, d_k, d_v, kdim, vdim = multi_head_sizes(d_model, num_heads, num_kv_heads, d_k, d_v, kdim, vdim)
        rng = generator(rng)
        self.query_proj = Linear(D, H * d_k, bias=bias, rng=rng, dtype=dtype)
        self.key_proj = Linear(kdim, H_kv * d_k, bias=bias, rng=rng, dtype=dtype)
        self.value_proj = Linear(vdim, H_kv * d_v, bias=bias, rng=rng, dtype=dtype)
        self.split, self.split_kv = SplitHeads(H), SplitHeads(H_kv)
        self.attention = (ScaledDotProductAttention(dropout=dropout, rng=rng) if attention is None
                          else self.adopt(attention_part(attention, dropout)))
        self.merge = MergeHeads()
        self.output_proj = Linear(H * d_v, D, bias=bias, rng=rng, dtype=dtype)
        if H_kv != H:
            self.restate("shape", K="N H_kv S d_k", V="N H_kv S d_v")
            self.inner_shapes = {"dK": "N H_kv S d_k", "dV": "N H_kv S d_v"}

    @property
    def weights(self):
        """The weights of the last forward, (N, H, L, S), before any dropout; read-only."""
        if not self.attention.cache:
            raise RuntimeError("there are no weights before a forward pass: call mha(x) first")
        return self.attention.weights

    def _options(self, query, key, value, mask, bias):
        """What is handed on to the attention, once the inputs are known to fit the projections and each other."""
        D, kdim, vdim = (len(proj.params["W"]) for proj in (self.query_proj, self.key_proj, self.value_proj))
        check_sequences(query, key, value, D, kdim, vdim)
        if mask is None and bias is None:
            return {}
        if query.ndim == 2:
            shape = 1, self.split.num_heads, len(query), len(key)
            mask, bias = without_batch(fit_mask, mask, shape), without_batch(fit_bias, bias, shape)
        return options_given(self.attention, mask=mask, bias=bias)

    FORWARD = (
        ("Q", "split(query W_Q + b_Q)", "N H L d_k", "What is each token looking for?", "每个词元在找什么？"),
        ("K", "split(key W_K + b_K)", "N H S d_k", "What can each token be found by?", "每个词元凭什么被找到？"),
        ("V", "split(value W_V + b_V)", "N H S d_v", "What does each token hand over?", "每个词元交出什么内容？"),
        "attention",
        ("concat", "merge(heads)", "N L H·d_v", "Lay the heads' answers side by side.", "把各个头的答案并排放好。"),
        ("out", "concat W_O + b_O", "N L D", "Mix what the heads have found.", "把各个头找到的内容混合起来。"),
    )
    BACKWARD = (
        ("dconcat", "dout W_Oᵀ", "N L H·d_v", "Back through the mixing matrix.", "沿混合矩阵传回去。"),
        ("dheads", "split(dconcat)", "N H L d_v", "Each head gets its own columns.", "每个头拿到自己那几列。"),
        "attention",
        ("dquery", "merge(dQ) W_Qᵀ", "N L D", "What the queries ask of their tokens.", "查询这条路传给词元的梯度。"),
        ("dkey", "merge(dK) W_Kᵀ", "N S kdim", "What the keys ask of theirs.", "键这条路传给词元的梯度。"),
        ("dvalue", "merge(dV) W_Vᵀ", "N S vdim", "And the values of theirs.", "值这条路传给词元的梯度。"),
        ("dx", "dquery + dkey + dvalue", "N L D",
         "In self-attention x played all three roles, so it gets the sum.",
         "自注意力里 x 一身兼三职，所以三条路的梯度相加。"),
        ("dmemory", "dkey + dvalue", "N S kdim",
         "A memory played two roles, so it gets the sum of two.", "记忆兼任键和值，所以两条路的梯度相加。"),
    )


def roles(query, key, value):
    """The inputs by role: x plays all three roles, a memory those of key and value."""
    if key is not None and value is not None:
        return {"query": query, "key": key, "value": value}
    if key is not None:
        return {"memory": key, "query": query, "key": key, "value": key}
    if value is not None:
        raise ValueError("value was given without key: call mha(x), mha(query, memory) or mha(query, key, value)")
    return {"x": query, "query": query, "key": query, "value": query}
