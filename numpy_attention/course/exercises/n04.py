# ruff: noqa: E501  (sentences in two languages)
"""04 Why the square root: measure saturation, and find the scale that prevents it."""
import numpy as np

from ...layers.softmax import Softmax
from ...words.languages import Words
from ..comparing import compare
from ..drawing import draws
from ..exercise import GRADIENT, INVARIANT, CheckStage, Exercise, Mistake, golden, random_case
from .n01 import BY_HAND, softmax, step_for

TOP = (("mean top weight", ""),)
SCALE = (("scale", ""),)


def mean_top_weight(Q, K, scale):
    return softmax(Q @ K.T * scale).max(axis=-1).mean()


def right_scale(d_k, sigma):
    return 1 / (sigma ** 2 * np.sqrt(d_k))


TOP_MISTAKES = (
    Mistake(lambda Q, K, s: softmax(Q @ K.T).max(axis=-1).mean(), "没有用到 scale。", "The scale is not used."),
    Mistake(lambda Q, K, s: softmax(Q @ K.T / s).max(axis=-1).mean(), "scale 是乘上去的，不是除。", "Multiply by the scale instead of dividing."),
    Mistake(lambda Q, K, s: softmax(Q @ K.T * s).mean(), "这是所有权重的平均，永远是 1/S；先取每一行的最大值。", "That is the mean of all weights, always 1/S: take each row's maximum first."),
    Mistake(lambda Q, K, s: softmax(Q @ K.T * s).max(), "这是整张表的最大值；每一行取最大，再平均。", "That is the maximum of the whole table: one maximum a row, then the mean."),
    Mistake(lambda Q, K, s: (Q @ K.T * s).max(axis=-1).mean(), "没有做 softmax：这是最大的分数。", "There is no softmax: that is the largest score."),
    Mistake(lambda Q, K, s: softmax(Q @ K.T / np.sqrt(Q.shape[-1])).max(axis=-1).mean(), "除以了 √d_k，没有用给的 scale。", "Divided by √d_k; use the scale that is given."),
    Mistake(lambda Q, K, s: softmax(Q @ K.T * s, axis=0).max(axis=-1).mean(), "softmax 要沿着键（最后一个轴）。", "Softmax goes over the keys, the last axis."),
)
SCALE_MISTAKES = (
    Mistake(lambda d, sigma: 1 / np.sqrt(d), "只对 σ = 1 成立：q 和 k 各放大 σ 倍，分数就放大 σ² 倍。", "Right for σ = 1 only: with q and k σ times as large, scores are σ² times as large."),
    Mistake(lambda d, sigma: 1 / (sigma * np.sqrt(d)), "q 和 k 都放大了：要除以 σ²。", "Both q and k are larger: divide by σ²."),
    Mistake(lambda d, sigma: 1 / (sigma ** 2 * d), "方差是 d_k，标准差才是 √d_k。", "The variance is d_k; the standard deviation is its root, √d_k."),
    Mistake(lambda d, sigma: 1 / (sigma * d), "这里要的是标准差：1 / (σ² √d_k)；d_k 要开根号，σ 要平方。", "It is the standard deviation that counts: take the root of d_k and the square of σ."),
    Mistake(lambda d, sigma: sigma ** 2 / np.sqrt(d), "σ² 要除，不是乘：分数大了，就要缩小。", "Divide by σ²: scores that are too large have to shrink."),
    Mistake(lambda d, sigma: sigma ** 2 * np.sqrt(d), "这是分数的标准差；scale 是它的倒数。", "That is the standard deviation of the scores; the scale is its inverse."),
)


def _sizes(rng):
    return rng.standard_normal((4, 6)), rng.standard_normal((7, 6)), 0.7


def _engine_top(Q, K, scale):
    return Softmax()(Q @ K.T * scale).max(axis=-1).mean()


def _slope(learner):
    """How fast the top weight grows with the scale: p (s − Σ p s) for the largest share p of each row."""
    Q, K, scale = _sizes(draws(3))
    scores, h = Q @ K.T, step_for(learner(Q, K, scale))
    p = softmax(scores * scale)
    top = np.arange(4), scores.argmax(axis=-1)
    expected = (p[top] * (scores[top] - (p * scores).sum(axis=-1))).mean()
    above, below = learner(Q, K, scale + h), learner(Q, K, scale - h)
    return compare(above, above, "mean top weight") or compare(
        (above - below) / (2 * h), expected, "d(mean top weight) / d(scale)", atol=h / 2, rtol=h / 2)


def _extremes(learner):
    Q, K, _ = _sizes(draws(4))
    return compare(learner(Q, K, 0.0), 1 / 7, "mean top weight (scale = 0)") or compare(
        learner(Q, K, 1e4), 1.0, "mean top weight (scale = 10000)")


def _settings(rng):
    return int(rng.integers(2, 300)), float(rng.uniform(0.5, 3))


def _simulated(learner):
    """Draw queries and keys and look: scaled scores should have standard deviation 1."""
    rng = draws(5)
    Q, K = 2 * rng.standard_normal((2, 400, 64))
    spread = (Q @ K.T * learner(64, 2.0)).std()
    return compare(spread, 1.0, "std(scale · Q Kᵀ)", atol=0.03)


def _doubled(learner):
    return compare(learner(48, 2.0), np.asarray(learner(12, 1.0)) / 8, "scale(4·d_k, 2·σ)")


EXERCISES = (
    Exercise("mean-top-weight", "04", Words("测量 softmax 有多饱和。", "Measure how saturated a softmax is."),
             (golden((BY_HAND[0], BY_HAND[1], 0.5), np.float64(0.765341), TOP, atol=1e-5),
              random_case(_sizes, _engine_top, TOP), CheckStage(GRADIENT, _slope), CheckStage(INVARIANT, _extremes)),
             mean_top_weight, TOP_MISTAKES, arguments="Q, K, scale", library="softmax"),
    Exercise("right-scale", "04", Words("如果 q 和 k 的标准差是 σ，该乘以多少？", "Which scale is right when q and k have standard deviation σ?"),
             (golden((4, 1.0), np.float64(0.5), SCALE), random_case(_settings, right_scale, SCALE),
              CheckStage(Words("模拟", "simulation"), _simulated), CheckStage(INVARIANT, _doubled)),
             right_scale, SCALE_MISTAKES, arguments="d_k, sigma"),
)
