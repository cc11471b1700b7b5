# ruff: noqa: E501  (sentences in two languages)
"""10 Cross-attention as a soft dictionary: its backward pass, in which a memory hears twice."""
import numpy as np

from ...layers.variants.scaled_dot_product import ScaledDotProductAttention
from ...words.languages import Words
from ..drawing import draws
from ..exercise import GRADIENT, INVARIANT, CheckStage, Exercise, Mistake, golden, outcome, random_case
from ..measuring import measured_gradients
from .n01 import BY_HAND, softmax
from .n02 import DHEADS, DK, DQ, DV

OUTPUTS = (("dquery", "L D"), ("dmemory", "S D"))
W_Q, W_K, W_V = BY_HAND
QUERY = MEMORY = np.eye(3)


def _parts(query, memory, W_Q, W_K, W_V, dheads, scale=None):
    Q, K, V = query @ W_Q, memory @ W_K, memory @ W_V
    scale = 1 / np.sqrt(Q.shape[-1]) if scale is None else scale
    weights = softmax(Q @ K.T * scale)
    dweights = dheads @ V.T
    dscores = weights * (dweights - (weights * dweights).sum(axis=-1, keepdims=True))
    return dscores @ K * scale, dscores.T @ Q * scale, weights.T @ dheads


def cross_backward(query, memory, W_Q, W_K, W_V, dheads):
    dQ, dK, dV = _parts(query, memory, W_Q, W_K, W_V, dheads)
    return dQ @ W_Q.T, dK @ W_K.T + dV @ W_V.T


def _variant(combine):
    def answer(query, memory, W_Q, W_K, W_V, dheads):
        return combine(*_parts(query, memory, W_Q, W_K, W_V, dheads), W_Q, W_K, W_V)
    return answer


MISTAKES = (
    Mistake(_variant(lambda dQ, dK, dV, q, k, v: (dQ @ q.T, dK @ k.T)), "忘了值这条路：memory 同时是键和值，两条路的梯度要相加。",
            "The value path is missing: the memory is both keys and values, and the two gradients add up."),
    Mistake(_variant(lambda dQ, dK, dV, q, k, v: (dQ @ q.T, dV @ v.T)), "忘了键这条路：两条路的梯度要相加。",
            "The key path is missing: the two gradients add up."),
    Mistake(_variant(lambda dQ, dK, dV, q, k, v: (dQ @ q.T, dK @ v.T + dV @ k.T)), "W_K 和 W_V 用反了。", "W_K and W_V are in each other's place."),
    Mistake(_variant(lambda dQ, dK, dV, q, k, v: (dQ @ q.T, (dK @ k.T + dV @ v.T) / 2)), "两条路是相加，不是平均。", "The two paths add up; they are not averaged."),
    Mistake(lambda *inputs: (lambda dQ, dK, dV: (dQ @ inputs[2].T, dK @ inputs[3].T + dV @ inputs[4].T))(*_parts(*inputs, scale=1)),
            "忘了 √d_k：前向的分数要除，反向传播也要除。", "√d_k is missing: scores are divided by it, and so are their gradients."),
    Mistake(_variant(lambda dQ, dK, dV, q, k, v: (dQ, dK + dV)), "还没有穿过 W：dquery = dQ W_Qᵀ。", "Not yet through the matrices: dquery = dQ W_Qᵀ."),
)


def _sizes(rng):
    L, S, D, d_k, d_v = 5, 7, 3, 6, 8
    shapes = (L, D), (S, D), (D, d_k), (D, d_k), (D, d_v), (L, d_v)
    return tuple(rng.standard_normal(shape) for shape in shapes)


def _engine(query, memory, W_Q, W_K, W_V, dheads):
    layer = ScaledDotProductAttention()
    layer(query @ W_Q, memory @ W_K, memory @ W_V)
    dQ, dK, dV = layer.backward(dheads)
    return dQ @ W_Q.T, dK @ W_K.T + dV @ W_V.T


def _gradient(learner):
    query, memory, q, k, v, upstream = _sizes(draws(5))

    def forward(query, memory):
        return ScaledDotProductAttention()(query @ q, memory @ k, memory @ v)

    return outcome(learner(query, memory, q, k, v, upstream), measured_gradients(forward, [query, memory], upstream), OUTPUTS)


def _slots(learner):
    """A memory is a set: in another order, its gradients come in that order, and the queries' stay."""
    query, memory, *rest = _sizes(draws(6))
    order = np.array([3, 1, 6, 4, 0, 5, 2])
    plain, moved = learner(query, memory, *rest), learner(query, memory[order], *rest)
    found = outcome(plain, _engine(query, memory, *rest), OUTPUTS, atol=np.inf)
    return found or outcome(moved, (np.asarray(plain[0]), np.asarray(plain[1])[order]), OUTPUTS)


EXERCISES = (
    Exercise("cross-backward", "10", Words("写出交叉注意力的反向传播。", "The backward pass of cross-attention."),
             (golden((QUERY, MEMORY, W_Q, W_K, W_V, DHEADS), (DQ @ W_Q.T, DK @ W_K.T + DV @ W_V.T), OUTPUTS, atol=1e-5),
              random_case(_sizes, _engine, OUTPUTS), CheckStage(GRADIENT, _gradient), CheckStage(INVARIANT, _slots)),
             cross_backward, MISTAKES, arguments="query, memory, W_Q, W_K, W_V, dheads", library="softmax"),
)
