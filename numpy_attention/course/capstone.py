"""The capstone: a whole layer of multi-head attention written by the learner, trained and broken.

Two functions are written, forward and backward; `YourLayer` makes a layer of them that can be put into a model and
trained. `BUGS` are what goes wrong in such functions most often, planted in right ones.

    p = {"W_Q": (D, D), "b_Q": (D,), "W_K": ..., "b_K", "W_V", "b_V", "W_O", "b_O"}
    forward(x, p, H, mask) -> out, weights                   x (N, L, D), mask bool (L, L), True = may look
    backward(x, p, H, mask, dout) -> dx, dp                  dp has the names and shapes of p
"""
import numpy as np

from ..engine.arguments import generator
from ..engine.layer import Layer
from ..layers.linear import Linear

NAMES = ("W_Q", "b_Q", "W_K", "b_K", "W_V", "b_V", "W_O", "b_O")


def masked_softmax(scores, mask):
    """Shares over the last axis among what may be seen; a row that may see nothing gets 0.

    >>> masked_softmax(np.zeros((2, 3)), np.array([[True, True, False], [False, False, False]]))
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """
    scores = np.where(mask, scores, -np.inf)
    highest = scores.max(axis=-1, keepdims=True)
    shares = np.exp(scores - np.where(np.isfinite(highest), highest, 0))
    total = shares.sum(axis=-1, keepdims=True)
    return shares / np.where(total == 0, 1, total)


def split(x, H):
    """(N, L, H·d) -> (N, H, L, d)"""
    N, L, D = x.shape
    return x.reshape(N, L, H, D // H).transpose(0, 2, 1, 3)


def merge(heads):
    """(N, H, L, d) -> (N, L, H·d)"""
    N, H, L, d = heads.shape
    return heads.transpose(0, 2, 1, 3).reshape(N, L, H * d)


def forward(x, p, H, mask, *, split=split, merge=merge, softmax=masked_softmax, width=None):
    """The reference; what is behind the star is where BUGS are planted."""
    Q, K, V = (split(x @ p[f"W_{role}"] + p[f"b_{role}"], H) for role in "QKV")
    scores = Q @ K.swapaxes(-1, -2) / np.sqrt(width or Q.shape[-1])
    weights = softmax(scores, mask)
    return merge(weights @ V) @ p["W_O"] + p["b_O"], weights


def through_softmax(weights, dweights):
    """p ∘ (d − Σ p ∘ d), row by row."""
    return weights * (dweights - (weights * dweights).sum(axis=-1, keepdims=True))


def backward(x, p, H, mask, dout, *, softmax_backward=through_softmax, scale=None, paths="QKV", dV=None, bias=True):
    """The reference of the backward pass; what is behind the star is where BUGS are planted."""
    Q, K, V = (split(x @ p[f"W_{role}"] + p[f"b_{role}"], H) for role in "QKV")
    down = 1 / np.sqrt(Q.shape[-1])
    weights = masked_softmax(Q @ K.swapaxes(-1, -2) * down, mask)
    concat = merge(weights @ V)
    dheads = split(dout @ p["W_O"].T, H)
    dscores = softmax_backward(weights, dheads @ V.swapaxes(-1, -2))
    back = down if scale is None else scale
    d = {"Q": merge(dscores @ K * back), "K": merge(dscores.swapaxes(-1, -2) @ Q * back),
         "V": merge((weights.swapaxes(-1, -2) if dV is None else dV(weights)) @ dheads)}
    dp = {"W_O": np.einsum("nli,nlj->ij", concat, dout), "b_O": dout.sum(axis=(0, 1))}
    for role in "QKV":
        dp[f"W_{role}"] = np.einsum("nli,nlj->ij", x, d[role])
        dp[f"b_{role}"] = d[role].sum(axis=(0, 1)) if bias else np.zeros(len(p[f"b_{role}"]))
    return sum(d[role] @ p[f"W_{role}"].T for role in paths), {name: dp[name] for name in NAMES}


def _after_softmax(scores, mask):
    """A mask that comes too late: the shares of what is hidden are simply struck out."""
    return masked_softmax(scores, np.ones_like(mask)) * mask


def _one_too_far(scores, mask):
    """A causal mask that is off by one."""
    return masked_softmax(scores, mask | np.eye(mask.shape[-1], k=1, dtype=bool))


FORWARD_BUGS = {
    "scale-missing": lambda x, p, H, mask: forward(x, p, H, mask, width=1),
    "scale-by-model-width": lambda x, p, H, mask: forward(x, p, H, mask, width=x.shape[-1]),
    "split-without-transpose": lambda x, p, H, mask: forward(
        x, p, H, mask, split=lambda x, H: x.reshape(len(x), H, x.shape[1], x.shape[2] // H)),
    "merge-without-transpose": lambda x, p, H, mask: forward(x, p, H, mask, merge=lambda h: h.reshape(
        len(h), h.shape[2], h.shape[1] * h.shape[3])),
    "mask-after-softmax": lambda x, p, H, mask: forward(x, p, H, mask, softmax=_after_softmax),
    "mask-inverted": lambda x, p, H, mask: forward(x, p, H, ~mask),
    "mask-ignored": lambda x, p, H, mask: forward(x, p, H, np.ones_like(mask)),
    "causal-off-by-one": lambda x, p, H, mask: forward(x, p, H, mask, softmax=_one_too_far),
}
BACKWARD_BUGS = {
    "softmax-no-row-term": lambda *given: backward(*given, softmax_backward=lambda p, d: p * d),
    "softmax-diagonal": lambda *given: backward(*given, softmax_backward=lambda p, d: p * (1 - p) * d),
    "scale-missing-backward": lambda *given: backward(*given, scale=1.0),
    "values-untransposed": lambda *given: backward(*given, dV=lambda weights: weights),
    "key-path-forgotten": lambda *given: backward(*given, paths="QV"),
    "paths-overwritten": lambda *given: backward(*given, paths="V"),
    "bias-forgotten": lambda *given: backward(*given, bias=False),
}


class YourLayer(Layer):
    """A layer made of a forward and a backward function, as MultiHeadAttention is called and learns.

    Args: d_model: D. num_heads: H. forward, backward: as at the top of this file. rng: seed or np.random.Generator.

    >>> layer = YourLayer(8, 2, forward, backward, rng=0)
    >>> x = np.random.default_rng(1).standard_normal((2, 3, 8))
    >>> layer(x).shape, na.check_gradients(layer, x).ok
    ((2, 3, 8), True)
    """

    FORWARD = (("weights", "your softmax", "N H L L", "Your shares.", "你的份额。"),
               ("out", "your forward", "N L D", "Your answer.", "你的输出。"))
    BACKWARD = (("dx", "your backward", "N L D", "Your gradient.", "你的梯度。"),)

    def __init__(self, d_model, num_heads, forward, backward, *, rng=None, dtype=np.float64):
        super().__init__()
        rng = generator(rng)
        self.num_heads, self.functions, self.mask = num_heads, (forward, backward), None
        for role in "QKVO":
            made = Linear(d_model, d_model, rng=rng, dtype=dtype).params
            self.params |= {f"W_{role}": made["W"], f"b_{role}": made["b"]}

    @property
    def weights(self):
        """The weights of the last forward, (N, H, L, L)."""
        return self.cache["weights"]

    def forward(self, x, *, mask=None, bias=None):
        L = x.shape[-2]
        self.mask = np.ones((L, L), bool) if mask is None else np.array(mask)
        out, weights = self.functions[0](x, self.params, self.num_heads, self.mask)
        self.cache = {"x": x, "weights": weights, "out": out}
        return out

    def backward(self, dout):
        dx, dp = self.functions[1](self.cache["x"], self.params, self.num_heads, self.mask, dout)
        self.grads = {"out": dout, "x": dx, **{name: dp[name].astype(self.params[name].dtype) for name in self.params}}
        return dx


def model_with(task, forward, backward, *, layers=1, heads=4, d_model=32, seed=0):
    """A ToyModel for a task in which every attention layer is YourLayer."""
    from ..training import ToyModel
    model = ToyModel(task.vocab, task.length, layers=layers, heads=heads, d_model=d_model, causal=task.causal, rng=seed,
                     dtype=np.float64)
    for number, block in enumerate(model.blocks):
        block.attention = YourLayer(d_model, heads, forward, backward, rng=[seed, number])
    return model
