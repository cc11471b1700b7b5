# ruff: noqa: E501  (sentences in two languages)
"""17 It writes: the shares of the next character, with temperature and top-k."""
import numpy as np

from ...words.languages import Words
from ..comparing import compare
from ..exercise import INVARIANT, CheckStage, Exercise, Mistake, golden, outcome, random_case

SHARES = (("shares", "V"),)


def shares_top_k(logits, temperature, k):
    scores = np.asarray(logits) / temperature
    scores = np.where(scores >= np.sort(scores)[-k], scores, -np.inf)
    shares = np.exp(scores - scores.max())
    return shares / shares.sum()


def _plain(scores):
    shares = np.exp(scores - np.max(scores))
    return shares / shares.sum()


def _kept(x, k):
    return x >= np.sort(x)[-k]


MISTAKES = (
    Mistake(lambda s, t, k: _plain(s / t), "没有用到 k。", "k is not used."),
    Mistake(lambda s, t, k: _plain(np.where(_kept(s, k), s, -np.inf)), "没有用到温度。", "The temperature is not used."),
    Mistake(lambda s, t, k: _plain(np.where(_kept(s, k), s * t, -np.inf)), "温度要除，不是乘。",
            "Divide by the temperature instead of multiplying."),
    Mistake(lambda s, t, k: _plain(s / t) * _kept(s, k), "砍掉以后没有重新归一化：份额之和要是 1。",
            "Cut off, but not normalised again: shares sum to 1."),
    Mistake(lambda s, t, k: _plain(np.where(_kept(s, k), s / t, 0.0)), "砍掉的要变成 −∞，不是 0：e⁰ = 1。",
            "What is cut off becomes −∞, not 0: e⁰ = 1."),
    Mistake(lambda s, t, k: _plain(np.where(_kept(-s, k), s / t, -np.inf)), "留下了最小的 k 个。", "The k smallest were kept."),
    Mistake(lambda s, t, k: _plain(np.where(s > np.sort(s)[-k], s / t, -np.inf)) if k > 1 else s * np.nan,
            "少留了一个：第 k 大的也要留，用 >=。", "One too few: the k-th largest stays, so >=."),
)


def _make(rng):
    return 3 * rng.standard_normal(9), float(rng.uniform(0.4, 2.5)), int(rng.integers(2, 7))


def _extremes(learner):
    logits = np.array([1000.0, 999, 0, -1000])
    return outcome(learner(logits, 1.0, 4), _plain(logits), SHARES) or compare(
        learner(logits, 5.0, 1), np.array([1.0, 0, 0, 0]), "shares (k = 1)", "V")


EXERCISES = (
    Exercise("shares-top-k", "17", Words("温度和 top-k 之后，每个字符的份额。", "Shares of the next character, after temperature and top-k."),
             (golden((np.log([1.0, 4, 2, 3]), 1.0, 2), np.array([0, 4 / 7, 0, 3 / 7]), SHARES),
              random_case(_make, shares_top_k, SHARES), CheckStage(INVARIANT, _extremes)),
             shares_top_k, MISTAKES, arguments="logits, temperature, k"),
)
