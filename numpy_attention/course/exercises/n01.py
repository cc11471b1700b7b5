# ruff: noqa: E501  (sentences in two languages)
"""01 Attention by hand: one row with a pencil, then the whole layer in a few lines."""
import numpy as np

from ...layers.variants.scaled_dot_product import ScaledDotProductAttention
from ...walkthrough.examples import worked_example
from ...words.languages import Words
from ..comparing import compare, is_coarse
from ..drawing import draws
from ..exercise import GOLDEN, GRADIENT, INVARIANT, CheckStage, Exercise, Mistake, golden, outcome, random_case
from ..remark import Remark

BY_HAND = worked_example("by-hand").inputs
ROW = np.array([.106507, .106507, .786986])
WEIGHTS = np.array([[.090031, .244728, .665241], [.106507, .106507, .786986], [.042010, .114195, .843795]])
HEADS = np.hstack([WEIGHTS, WEIGHTS[:, 2:]])
TWO_DECIMALS = {"atol": 0.0051, "rtol": 0}
OUTPUTS = (("weights", "L S"), ("heads", "L d_v"))


def softmax(scores, axis=-1):
    shares = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return shares / shares.sum(axis=axis, keepdims=True)


def attention(Q, K, V):
    weights = softmax(Q @ K.T / np.sqrt(Q.shape[-1]))
    return weights, weights @ V


def _engine(Q, K, V):
    layer = ScaledDotProductAttention()
    heads = layer(Q, K, V)
    return layer.weights, heads


def _wrongly(weights):
    return lambda Q, K, V: (weights(Q, K), weights(Q, K) @ V)


ROW_MISTAKES = (
    Mistake([0, 0, 1], "softmax 不是取最大值：每个键都分到一份。",
            "Softmax is not picking the largest: every key gets a share."),
    Mistake([.0177, .0177, .9647], "分数忘了除以 √d_k = 2。", "The scores were not divided by √d_k = 2."),
    Mistake([.2119, .2119, .5761], "除以了 d_k = 4；应除以 √d_k = 2。", "Divided by d_k = 4 instead of √d_k = 2."),
    Mistake([.25, .25, .5], "份额不是分数除以总分：先取指数，再除以总和。",
            "Shares are not scores over their total: take exponentials first."),
    Mistake([.12, .12, .76], "这是原文印的数，softmax 算错了：e²/(e² + e² + e⁴)。",
            "That is what the source text prints, and its softmax is wrong: e²/(e² + e² + e⁴)."),
    Mistake([.0900, .2447, .6652], "这是「我」那一行；要的是「爱」。", "That is row 我; row 爱 is asked for."),
    Mistake([.0420, .1142, .8438], "这是「AI」那一行；要的是「爱」。", "That is row AI; row 爱 is asked for."),
    Mistake([.1353, .1353, 1], "还没有除以总和 1.2707。", "Not divided by the total yet, which is 1.2707."),
)
MISTAKES = (
    Mistake(_wrongly(lambda Q, K: softmax(Q @ K.T)), "忘了除以 √d_k。", "The division by √d_k is missing."),
    Mistake(_wrongly(lambda Q, K: softmax(Q @ K.T / Q.shape[-1])), "除以了 d_k，应除以 √d_k。",
            "Divided by d_k; it should be √d_k."),
    Mistake(_wrongly(lambda Q, K: softmax(Q @ K.T / 2)), "除以了 2：只有 d_k = 4 时 √d_k 才是 2。",
            "Divided by 2: √d_k is 2 only where d_k is 4."),
    Mistake(_wrongly(lambda Q, K: softmax(Q @ K.T / np.sqrt(len(Q)))), "除以了 √L；应除以 √d_k，d_k 是 Q 的最后一个轴。",
            "Divided by √L; it should be √d_k, and d_k is Q's last axis."),
    Mistake(_wrongly(lambda Q, K: softmax(Q @ K.T / np.sqrt(len(K)))), "除以了 √S；应除以 √d_k。", "Divided by √S; it should be √d_k."),
    Mistake(lambda Q, K, V: (softmax(Q @ K.T / np.sqrt(V.shape[-1])), softmax(Q @ K.T / np.sqrt(V.shape[-1])) @ V),
            "除以了 √d_v；应除以 √d_k。", "Divided by √d_v; it should be √d_k."),
    Mistake(_wrongly(lambda Q, K: Q @ K.T / np.sqrt(Q.shape[-1])), "没有做 softmax：返回的还是分数。", "There is no softmax: these are still the scores."),
    Mistake(_wrongly(lambda Q, K: softmax(Q @ K.T / np.sqrt(Q.shape[-1]), axis=0)),
            "softmax 的方向错了：每个查询一行，要沿着键（最后一个轴）归一化。",
            "Softmax along the wrong axis: one row is one query, and its shares go over the keys, the last axis."),
    Mistake(_wrongly(lambda Q, K: np.exp(Q @ K.T / np.sqrt(Q.shape[-1])) / np.exp(Q @ K.T / np.sqrt(Q.shape[-1])).sum()),
            "除以了整张表的总和；每一行要除以自己的总和 (keepdims=True)。",
            "Divided by the total of the whole table; each row wants its own total (keepdims=True)."),
    Mistake(lambda Q, K, V: (WEIGHTS, HEADS), "这些数是背下来的：要从 Q、K、V 算出来。",
            "These numbers are known by heart: compute them from Q, K and V."),
)


def _row(answer):
    found = compare(answer, ROW, "weights", "S", typed=True, reveal=False, **TWO_DECIMALS)
    if found and not found.hint:
        for mistake in ROW_MISTAKES:
            if compare(answer, np.array(mistake.answer, float), typed=True, **TWO_DECIMALS) is None:
                return Remark(found.what, Words(mistake.zh, mistake.en))
    return found


def _sums_to_one(answer):
    try:
        total = float(np.sum(np.asarray(answer, float)))
    except (TypeError, ValueError):
        total = np.nan
    if abs(total - 1) <= 0.02:
        return None
    return Remark(Words(f"一行权重的总和是 {total:.3g}，应为 1。", f"The row of weights sums to {total:.3g}; it should be 1."))


def _sizes(rng):
    L, S, d_k, d_v = 5, 7, 6, 3         # no two alike, and 4 is not among them, because its root is 2
    return rng.standard_normal((L, d_k)), rng.standard_normal((S, d_k)), rng.standard_normal((S, d_v))


def _slope(learner):
    """The package's backward, held against the learner's forward: a small step along a random direction."""
    rng = draws(3)
    inputs = _sizes(rng)
    step = step_for(learner(*inputs))
    upstream = rng.standard_normal((5, 3))
    ways = [rng.standard_normal(x.shape) for x in inputs]
    above, below = (learner(*(x + sign * step * way for x, way in zip(inputs, ways, strict=True))) for sign in (1, -1))
    found = outcome(above, _engine(*inputs), OUTPUTS, atol=np.inf)      # shapes, nan
    if found:
        return found
    measured = np.sum(upstream * (np.asarray(above[1]) - np.asarray(below[1]))) / (2 * step)
    layer = ScaledDotProductAttention()
    layer(*inputs)
    slope = sum(np.sum(d * way) for d, way in zip(layer.backward(upstream), ways, strict=True))
    return compare(measured, slope, "dLoss", atol=step / 10, rtol=step / 10)


def step_for(answer):
    """How large a step measures a slope: larger for answers in float32, which have seven digits."""
    coarse = any(is_coarse(x) for x in (answer if isinstance(answer, tuple | list) else [answer]))
    return 1e-2 if coarse else 1e-5


def _shift(learner):
    """Adding a number to all keys' scores of a query changes nothing; so does swapping key/value pairs."""
    Q, K, V = _sizes(draws(4))
    order = np.array([2, 0, 4, 6, 1, 5, 3])
    plain, moved = learner(Q, K, V), learner(Q, K[order], V[order])
    found = outcome(plain, _engine(Q, K, V), OUTPUTS, atol=np.inf) or compare(np.sum(plain[0], axis=-1), np.ones(5), "Σ weights", "L")
    return found or compare(moved[1], np.asarray(plain[1]), "heads(Q, K[order], V[order])", "L d_v")


EXERCISES = (
    Exercise("one-row-by-hand", "01", Words("用铅笔算出「爱」这一行的权重。", "Compute the weights of row 爱 with a pencil."),
             (CheckStage(GOLDEN, _row), CheckStage(INVARIANT, _sums_to_one)), ROW.round(3), ROW_MISTAKES),
    Exercise("attention-forward", "01", Words("写出整个注意力的前向。", "Write the whole forward pass."),
             (golden(BY_HAND, (WEIGHTS, HEADS), OUTPUTS, atol=1e-5),
              random_case(_sizes, _engine, OUTPUTS), CheckStage(GRADIENT, _slope), CheckStage(INVARIANT, _shift)),
             attention, MISTAKES, arguments="Q, K, V"),
)
