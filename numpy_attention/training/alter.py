"""Changes to a model before it is trained: how to ask whether one thing is the cause of another.

Two curves that rise together prove nothing. To find out whether a part is needed, take it away, or fix it, and train
what is left. Each function here changes an untrained model; `train` then goes on as usual.
"""
import numpy as np

from ..layers.variants.extra_keys import ExtraKeyAttention
from ..layers.variants.scaled_dot_product import ScaledDotProductAttention


class FrozenAttention(ScaledDotProductAttention):
    """Attention that looks where a table says, whatever the queries and keys are.

    Args: scores_for: a function of L that gives the table of scores, (L, L).

    >>> heads = na.training.alter.FrozenAttention(na.training.alter.just_before)(np.eye(3), np.eye(3), np.eye(3))
    >>> heads.round(2)
    array([[1., 0., 0.],
           [1., 0., 0.],
           [0., 1., 0.]])
    """

    def __init__(self, scores_for):
        super().__init__(scale=0.0)
        self.scores_for = scores_for

    def forward(self, Q, K, V, *, mask=None, bias=None):
        return super().forward(Q, K, V, mask=mask, bias=self.scores_for(Q.shape[-2]).astype(Q.dtype))

    def backward(self, dheads):
        return super().backward(dheads)[:3]


def everywhere(L):
    """Scores that look everywhere alike."""
    return np.zeros((L, L))


def just_before(L):
    """Scores that look at the place just before; the first place looks at itself."""
    scores = 50 * np.eye(L, k=-1)
    scores[0, 0] = 50
    return scores


def freeze_first_layer(model, scores_for):
    """The first layer's heads look where `scores_for` says, and do not learn to look elsewhere."""
    model.attentions()[0].attention = FrozenAttention(scores_for)


def value_is_x(model):
    """W_V becomes the identity and stays so, in every layer: V = x, cut into heads."""
    for attention in model.attentions():
        proj = attention.value_proj
        proj.params["W"] = np.eye(*proj.params["W"].shape, dtype=proj.params["W"].dtype)
        proj.backward = _learning_nothing(proj, proj.backward)


def _learning_nothing(proj, backward):
    """The same backward, after which W has nothing to learn from."""
    def backward_without_W(dout):
        dx = backward(dout)
        proj.grads["W"] = np.zeros_like(proj.grads["W"])
        return dx
    return backward_without_W


def start_smaller(model, factor=64**-0.25):
    """W_Q and W_K start smaller: by d_k^¼ each, scores start as if they were divided by √d_k (of 64)."""
    for attention in model.attentions():
        for proj in (attention.query_proj, attention.key_proj):
            proj.params["W"] = proj.params["W"] * proj.params["W"].dtype.type(factor)


def empty_key(model):
    """Every head gets one more key and value, all zeros, at which it may leave its weight."""
    for attention in model.attentions():
        H = attention.split.num_heads
        d = attention.value_proj.params["W"].shape[1] // H
        attention.attention = ExtraKeyAttention(H, d, d, learned=False, zero=True)
