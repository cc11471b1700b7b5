# ruff: noqa: E501  (sentences in two languages)
"""02 Backward by hand: through the softmax twice, then through the whole of attention."""
import numpy as np

from ...layers.softmax import Softmax
from ...layers.variants.scaled_dot_product import ScaledDotProductAttention
from ...words.languages import Words
from ..comparing import compare
from ..drawing import draws
from ..exercise import GRADIENT, INVARIANT, CheckStage, Exercise, Mistake, golden, outcome, random_case
from ..measuring import measured_gradients
from .n01 import BY_HAND, softmax

DHEADS = np.array([[0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0]], float)
EXACT = softmax(BY_HAND[0] @ BY_HAND[1].T / 2)
DWEIGHTS = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]], float)
DSCORES = np.array([[-.059892, -.162803, .222695], [.095163, -.011344, -.083820], [-.004797, .101155, -.096357]])
DQ = np.array([[.141294, .111348, .141294, .111348], [-.089491, -.041910, -.089491, -.041910],
               [-.045780, -.048179, -.045780, -.048179]])
DK = np.array([[-.032345, .092765, -.032345, .092765], [-.030824, .039234, -.030824, .039234],
               [.063169, -.131998, .063169, -.131998]])
DV = np.array([[.106507, .042010, .090031, 0], [.106507, .114195, .244728, 0], [.786986, .843795, .665241, 0]])
DSCORES_OUT = (("dscores", "L S"),)
ALL_OUT = (("dQ", "L d_k"), ("dK", "S d_k"), ("dV", "S d_v"))
LOOSE = {"atol": 2e-6}


def one_line(weights, dweights):
    return weights * (dweights - (weights * dweights).sum(axis=-1, keepdims=True))


def jacobian(weights, dweights):
    dscores = np.empty_like(weights)
    for i, p in enumerate(weights):
        dscores[i] = (np.diag(p) - np.outer(p, p)) @ dweights[i]
    return dscores


def backward(Q, K, V, dheads):
    scale = 1 / np.sqrt(Q.shape[-1])
    weights = softmax(Q @ K.T * scale)
    dscores = one_line(weights, dheads @ V.T)
    return dscores @ K * scale, dscores.T @ Q * scale, weights.T @ dheads


SOFTMAX_MISTAKES = (
    Mistake(lambda p, d: p * (1 - p) * d, "只用了雅可比矩阵的对角线 p(1 − p)：一个分数变了，这一行的每个权重都会变。",
            "Only the Jacobian's diagonal, p(1 − p): but when one score moves, every share of its row moves."),
    Mistake(lambda p, d: p * d, "少了那一行的总和：Σ weights ∘ dweights 要减去。",
            "The row's own term is missing: subtract Σ weights ∘ dweights."),
    Mistake(lambda p, d: d, "梯度原样穿过了 softmax。", "The gradient went straight through the softmax, unchanged."),
    Mistake(lambda p, d: p * (d - (p * d).sum(axis=0, keepdims=True)), "求和的方向错了：沿着键（axis=-1）。",
            "The sum goes along the wrong axis: it is over the keys, axis=-1."),
    Mistake(lambda p, d: p * (d - (p * d).sum()), "对整张表求了和；每一行要有自己的和 (axis=-1, keepdims=True)。",
            "One sum for the whole table; each row has its own (axis=-1, keepdims=True)."),
    Mistake(lambda p, d: p * (d - d.sum(axis=-1, keepdims=True)), "和里少乘了权重：是 Σ weights ∘ dweights。",
            "The sum lacks the weights: it is Σ weights ∘ dweights."),
    Mistake(lambda p, d: DSCORES, "这些数是背下来的。", "These numbers are known by heart."),
)

AXIS_1 = Mistake(lambda p, d: p * (d - (p * d).sum(axis=1, keepdims=True)), "求和的方向写成了 axis=1：前面有别的轴时要用 axis=-1。",
                 "The sum is over axis=1: with axes in front it has to be axis=-1.")


def _variant(dscores=one_line, back=None, dV=None, dK=None):
    def answer(Q, K, V, dheads):
        scale = 1 / np.sqrt(Q.shape[-1])
        weights = softmax(Q @ K.T * scale)
        ds = dscores(weights, dheads @ V.T)
        end = scale if back is None else back(Q)
        return ds @ K * end, (dK or (lambda s, Q: s.T @ Q))(ds, Q) * end, (dV or (lambda w, d: w.T @ d))(weights, dheads)
    return answer


def _unscaled(Q, K, V, dheads):
    weights, scale = softmax(Q @ K.T), 1 / np.sqrt(Q.shape[-1])
    dscores = one_line(weights, dheads @ V.T)
    return dscores @ K * scale, dscores.T @ Q * scale, weights.T @ dheads


BACKWARD_MISTAKES = (
    Mistake(_variant(back=lambda Q: 1), "反向传播也要除以 √d_k：前向每一步，反向传播都要还回来。",
            "The backward pass needs the division by √d_k too: whatever forward did, backward does again."),
    Mistake(_variant(back=lambda Q: 1 / Q.shape[-1]), "除了两次 √d_k：只除一次。", "Divided by √d_k twice; once is right."),
    Mistake(_variant(dscores=lambda p, d: p * d), "softmax 的反向传播少了那一行的总和。", "The softmax's backward lacks the row's own term."),
    Mistake(_variant(dscores=lambda p, d: p * (1 - p) * d), "softmax 的反向传播只用了对角线。", "The softmax's backward used the diagonal only."),
    Mistake(_variant(dV=lambda w, d: w @ d), "dV 要用 weights 的转置：值 j 听到的是每个看了它的查询。",
            "dV needs the transpose of weights: value j hears from every query that looked at it."),
    Mistake(_variant(dK=lambda s, Q: s @ Q), "dK 要用 dscores 的转置。", "dK needs the transpose of dscores."),
    Mistake(lambda *inputs: (backward(*inputs)[0], backward(*inputs)[1] * np.sqrt(inputs[0].shape[-1]), backward(*inputs)[2]),
            "只有 dQ 除以了 √d_k，dK 也要。", "Only dQ was divided by √d_k; dK wants it, too."),
    Mistake(lambda *inputs: (backward(*inputs)[0] * np.sqrt(inputs[0].shape[-1]), *backward(*inputs)[1:]),
            "只有 dK 除以了 √d_k，dQ 也要。", "Only dK was divided by √d_k; dQ wants it, too."),
    Mistake(_unscaled, "前向的分数忘了除以 √d_k，权重就不对了。", "The scores of the forward half were not divided by √d_k, so the weights are wrong."),
    Mistake(_variant(dscores=lambda p, d: d), "梯度没有穿过 softmax。", "The gradient did not go through the softmax."),
)


def _engine_softmax(weights, dweights):
    layer = Softmax()
    layer(np.log(weights))
    return layer.backward(dweights)


def _rows(rng):
    return softmax(rng.standard_normal((4, 5))), rng.standard_normal((4, 5))


def _block(rng):
    return softmax(rng.standard_normal((2, 3, 4, 5))), rng.standard_normal((2, 3, 4, 5))


def _softmax_gradient(learner):
    scores, upstream = draws(5).standard_normal((2, 3, 6))
    found = learner(softmax(scores), upstream)
    return outcome(found, measured_gradients(Softmax(), [scores], upstream)[0], DSCORES_OUT)


def _softmax_sums(learner):
    weights, dweights = _rows(draws(6))
    found = learner(weights, dweights)
    return outcome(found, weights, DSCORES_OUT, atol=np.inf) or compare(
        np.sum(found, axis=-1), np.zeros(4), "Σ dscores", "L", atol=1e-9)


def _engine(Q, K, V, dheads):
    layer = ScaledDotProductAttention()
    layer(Q, K, V)
    return layer.backward(dheads)


def _sizes(rng):
    L, S, d_k, d_v = 5, 7, 6, 3
    return tuple(rng.standard_normal(shape) for shape in ((L, d_k), (S, d_k), (S, d_v), (L, d_v)))


def _gradient(learner):
    *inputs, upstream = _sizes(draws(7))
    return outcome(learner(*inputs, upstream), measured_gradients(ScaledDotProductAttention(), inputs, upstream), ALL_OUT)


def _same_values(learner):
    """If all values are the same, where one looks makes no difference: dQ and dK are 0."""
    Q, K, V, dheads = _sizes(draws(8))
    same = np.repeat(V[:1], len(V), axis=0)
    found = learner(Q, K, same, dheads)
    expected = _engine(Q, K, same, dheads)
    return outcome(found, (np.zeros_like(Q), np.zeros_like(K), expected[2]), ALL_OUT, atol=1e-9)


def _softmax_stages(*more):
    return (golden((EXACT, DWEIGHTS), DSCORES, DSCORES_OUT, **LOOSE),
            random_case(_rows, _engine_softmax, DSCORES_OUT), *more,
            CheckStage(GRADIENT, _softmax_gradient), CheckStage(INVARIANT, _softmax_sums))


BLOCK = random_case(_block, _engine_softmax, (("dscores", "N H L S"),),
                    title=Words("多个头", "many heads (N, H, L, S)"))
EXERCISES = (
    Exercise("softmax-backward-jacobian", "02", Words("用完整的雅可比矩阵写 softmax 的反向传播。", "Softmax backward with the full Jacobian."),
             _softmax_stages(), jacobian, SOFTMAX_MISTAKES, arguments="weights, dweights"),
    Exercise("softmax-backward", "02", Words("用一行写 softmax 的反向传播，任何形状都行。", "Softmax backward in one line, for any leading axes."),
             _softmax_stages(BLOCK), one_line, (*SOFTMAX_MISTAKES, AXIS_1), arguments="weights, dweights"),
    Exercise("attention-backward", "02", Words("写出整个注意力的反向传播。", "The backward pass of the whole of attention."),
             (golden((*BY_HAND, DHEADS), (DQ, DK, DV), ALL_OUT, **LOOSE),
              random_case(_sizes, _engine, ALL_OUT), CheckStage(GRADIENT, _gradient),
              CheckStage(INVARIANT, _same_values)), backward, BACKWARD_MISTAKES, arguments="Q, K, V, dheads", library="softmax"),
)
