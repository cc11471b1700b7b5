# ruff: noqa: E501  (sentences in two languages)
"""05 Why three matrices: self-attention from x, and what a symmetric table of scores cannot do."""
import numpy as np

from ...layers.variants.scaled_dot_product import ScaledDotProductAttention
from ...words.languages import Words
from ..comparing import compare
from ..drawing import draws
from ..exercise import GRADIENT, INVARIANT, CheckStage, Exercise, Mistake, golden, outcome, random_case
from ..remark import Remark
from .n01 import BY_HAND, HEADS, softmax, step_for

SCORES = np.array([[0., 1, 2], [2, 2, 4], [1, 2, 4]])
OUTPUTS = (("scores", "L S"), ("heads", "L d_v"))
COUNT = (("count", ""),)


def self_attention(x, W_Q, W_K, W_V):
    Q, K, V = x @ W_Q, x @ W_K, x @ W_V
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    return scores, softmax(scores) @ V


def previous_beats_next(scores):
    L = len(scores)
    return sum(scores[i, (i - 1) % L] > scores[i, (i + 1) % L] for i in range(L))


def _scores(x, W_Q, W_K):
    return x @ W_Q @ (x @ W_K).T / np.sqrt(W_Q.shape[-1])


def _scaled(x, W_Q, W_K, W_V, number):
    scores = x @ W_Q @ (x @ W_K).T / np.sqrt(number)
    return scores, softmax(scores) @ (x @ W_V)


def _no_scale(x, W_Q, W_K, W_V):
    scores = x @ W_Q @ (x @ W_K).T
    return scores, softmax(scores) @ x @ W_V


def _swapped(x, W_Q, W_K, W_V):
    return self_attention(x, W_K, W_Q, W_V)


def _key_as_value(x, W_Q, W_K, W_V):
    return self_attention(x, W_Q, W_K, W_K)


def _tied(x, W_Q, W_K, W_V):
    return self_attention(x, W_Q, W_Q, W_V)


SELF_MISTAKES = (
    Mistake(_no_scale, "忘了除以 √d_k。", "The division by √d_k is missing."),
    Mistake(lambda x, W_Q, W_K, W_V: _scaled(x, W_Q, W_K, W_V, x.shape[-1]), "除以了 √D；应除以 √d_k：d_k 是 Q 的最后一个轴，不是 x 的。", "Divided by √D; it should be √d_k, and d_k is Q's last axis, not that of x."),
    Mistake(lambda x, W_Q, W_K, W_V: _scaled(x, W_Q, W_K, W_V, W_Q.shape[-1] ** 2), "除以了 d_k，应除以 √d_k。", "Divided by d_k; it should be √d_k."),
    Mistake(lambda x, W_Q, W_K, W_V: (_scores(x, W_Q, W_K), _scores(x, W_Q, W_K) @ (x @ W_V)), "没有做 softmax：heads 要用权重，不是分数。", "There is no softmax: heads take the weights, not the scores."),
    Mistake(lambda x, W_Q, W_K, W_V: (softmax(_scores(x, W_Q, W_K)), softmax(_scores(x, W_Q, W_K)) @ (x @ W_V)), "第一个返回的是权重；这里要的是 softmax 之前的分数。", "The first result holds the weights; the scores before the softmax are asked for."),
    Mistake(lambda x, W_Q, W_K, W_V: (_scores(x, W_Q, W_K), softmax(_scores(x, W_Q, W_K), axis=0) @ (x @ W_V)), "softmax 要沿着键（最后一个轴）。", "Softmax goes over the keys, the last axis."),
    Mistake(_swapped, "W_Q 和 W_K 用反了：行是查询，列是键。", "W_Q and W_K are in each other's place: rows are queries, columns are keys."),
    Mistake(_key_as_value, "把键当成值用了：V = x W_V。", "The keys were used as values: V = x W_V."),
    Mistake(_tied, "键也用了 W_Q：K = x W_K。", "The keys were made by W_Q as well: K = x W_K."),
)
COUNT_MISTAKES = (
    Mistake(lambda s: len(s) - previous_beats_next(s), "比反了：要「前一个」大于「后一个」。", "The comparison is the wrong way round: previous must beat next."),
    Mistake(lambda s: sum(s[i, i - 1] > s[i, i + 1] for i in range(1, len(s) - 1)), "环上首尾相接：第 0 个的前一个是最后一个。", "On a ring the ends meet: the one before place 0 is the last."),
    Mistake(lambda s: previous_beats_next(s.T), "行和列反了：第 i 行是查询 i。", "Rows and columns are swapped: row i belongs to query i."),
    Mistake(lambda s: sum(s[i, i - 1] >= s[i, (i + 1) % len(s)] for i in range(len(s))), "一样大不算「更看重」：用 >，不用 >=。", "Equal is not more: take >, not >=."),
    Mistake(lambda s: sum(s[i, i - 1] > s[i, i] for i in range(len(s))), "要和「后一个」比，不是和自己比。", "Compare with the next place, not with the place itself."),
    Mistake(lambda s: sum(s[i, i - 1] > s[i, (i + 1) % len(s)] for i in range(len(s) - 1)), "少数了最后一个位置：range(L)。", "The last place was left out: range(L)."),
    Mistake(lambda s: sum(s[i, i - 1] == s[i].max() for i in range(len(s))), "只要比后一个大就行，不必是整行最大。", "It only has to beat the next place, not the whole row."),
    Mistake(lambda s: int(all(s[i, i - 1] > s[i, (i + 1) % len(s)] for i in range(len(s)))), "要数有几个位置，不是问是不是全部。", "Count the places; do not ask whether all succeed."),
)


def _sizes(rng):
    L, D, d_k, d_v = 5, 7, 6, 3
    return rng.standard_normal((L, D)), *(rng.standard_normal((D, d)) for d in (d_k, d_k, d_v))


def _engine(x, W_Q, W_K, W_V):
    layer = ScaledDotProductAttention()
    heads = layer(x @ W_Q, x @ W_K, x @ W_V)
    return layer.cache["scores"], heads


def _slope(learner):
    """dx of the learner's forward along a random direction, against the package's: three ways add up."""
    rng = draws(3)
    x, *W = _sizes(rng)
    way, upstream, step = rng.standard_normal(x.shape), rng.standard_normal((len(x), 3)), step_for(learner(x, *W))
    above, below = learner(x + step * way, *W), learner(x - step * way, *W)
    found = outcome(above, _engine(x, *W), OUTPUTS, atol=np.inf)
    if found:
        return found
    layer = ScaledDotProductAttention()
    layer(*(x @ w for w in W))
    dx = sum(d @ w.T for d, w in zip(layer.backward(upstream), W, strict=True))
    measured = (upstream * (np.asarray(above[1]) - np.asarray(below[1]))).sum() / (2 * step)
    return compare(measured, (dx * way).sum(), "dLoss", atol=step / 5, rtol=step / 5)


def _symmetric(learner):
    x, W_Q, _, W_V = _sizes(draws(4))
    answer = learner(x, W_Q, W_Q, W_V)
    found = outcome(answer, _engine(x, W_Q, W_Q, W_V), OUTPUTS, atol=np.inf)
    return found or compare(answer[0], np.asarray(answer[0]).T, "scores (W_K = W_Q)", "L S")


def _ring(rng):
    return (rng.standard_normal((7, 7)),)


def _never_all(learner):
    for seed in range(20):
        table = draws(seed).standard_normal((6, 6))
        count = learner(table + table.T)
        if np.ndim(count) or not 0 < count < 6:
            return Remark(Words(f"对称的 6 × 6 分数得到了 {count}；应该在 1 和 5 之间。",
                                 f"Symmetric 6 × 6 scores gave {count}; it must lie between 1 and 5."))
    return None


EXERCISES = (
    Exercise("self-attention", "05", Words("从 x 和三个矩阵写出自注意力。", "Self-attention from x and three matrices."),
             (golden((np.eye(3), *BY_HAND), (SCORES, HEADS), OUTPUTS, atol=1e-5),
              random_case(_sizes, _engine, OUTPUTS), CheckStage(GRADIENT, _slope), CheckStage(INVARIANT, _symmetric)),
             self_attention, SELF_MISTAKES, arguments="x, W_Q, W_K, W_V", library="softmax"),
    Exercise("previous-beats-next", "05", Words("环上有几个位置更看重前一个？", "How many places of a ring prefer the previous one?"),
             (golden((np.array([[1., 1, 7, 4], [5, 6, 7, 0], [4, 1, 4, 9], [5, 0, 5, 1]]),), np.int64(1), COUNT),
              random_case(_ring, lambda s: np.int64(previous_beats_next(s)), COUNT, seeds=(1, 2, 5)),
              CheckStage(INVARIANT, _never_all)), previous_beats_next, COUNT_MISTAKES, arguments="scores"),
)
