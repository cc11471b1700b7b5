# ruff: noqa: E501  (sentences in two languages)
"""09 Two layers make an induction head: a detector that measures it."""
import numpy as np

from ...training.measure import prefix_match_score
from ...words.languages import Words
from ..comparing import compare
from ..drawing import draws
from ..exercise import INVARIANT, CheckStage, Exercise, Mistake, golden, random_case

SCORE = (("score", "H"),)


def prefix_match(weights, tokens):
    N, H, L, _ = weights.shape
    total, count = np.zeros(H), 0
    for n in range(N):
        for i in range(L):
            places = [j for j in range(1, i + 1) if tokens[n, j - 1] == tokens[n, i]]
            if places:
                total += weights[n, :, i, places].sum(axis=0)
                count += 1
    return total / count


def _variant(offset=0, include_all=False, per_place=False, first=False, later=False):
    def answer(weights, tokens):
        N, H, L, _ = weights.shape
        total, count = np.zeros(H), 0
        for n in range(N):
            for i in range(L):
                places = [j for j in range(1, L if later else i + 1) if tokens[n, j - 1] == tokens[n, i]]
                if first:
                    places = places[:1]
                shifted = [j - 1 + offset for j in places]
                if places:
                    total += weights[n, :, i, shifted].sum(axis=0)
                count += len(places) if per_place else bool(places) or include_all
        return total / count
    return answer


GOLDEN_TOKENS = np.array([[5, 7, 9, 5, 7]])
GOLDEN_WEIGHTS = np.array([[[[1, 0, 0, 0, 0], [.5, .5, 0, 0, 0], [.2, .3, .5, 0, 0], [.1, .6, .2, .1, 0], [.1, .2, .4, .1, .2]]]])
MISTAKES = (
    Mistake(_variant(offset=0), "看的是同一个词元本身；要看它**后面**那一个：tokens[j − 1] == tokens[i]。",
            "That looks at the same token itself; look at the one *behind* it: tokens[j − 1] == tokens[i]."),
    Mistake(_variant(offset=1, include_all=True), "没有重复的位置不算：平均只取有匹配的那些位置。",
            "Places without a repeat do not count: average over those that have a match."),
    Mistake(_variant(offset=1, later=True), "后面的位置 (j > i) 也算进去了：只看 j ≤ i，前面没有匹配的 i 不算。", "Places behind i (j > i) were counted, too: take j ≤ i only, and leave out an i that has no match before it."),
    Mistake(_variant(offset=1, per_place=True), "匹配不止一处时要相加，再对位置求平均。", "Where several places match, add their weights; then average over the places i."),
    Mistake(_variant(offset=1, first=True), "只算了第一处匹配：所有匹配的位置都要相加。", "Only the first match was counted: add up all that match."),
    Mistake(lambda w, t: _variant(offset=1)(w, t) * 0 + _variant(offset=1)(w, t).mean(), "每个头要有自己的分数：形状 (H,)，不要对头求平均。", "Every head has a score of its own, shape (H,): do not average over heads."),
    Mistake(lambda w, t: np.diagonal(w, offset=-1, axis1=-2, axis2=-1).mean(axis=(0, -1)), "这是「看前一个词元」的分数，不是前缀匹配。",
            "That is the previous-token score, not the prefix match."),
)


def _make(rng):
    N, H, L = 2, 3, 9
    tokens = rng.integers(4, size=(N, L))
    tokens[:, -1] = tokens[0, 0], 4         # a repeat at the end of one, a letter of its own at the end of the other
    weights = rng.random((N, H, L, L)) * np.tri(L)
    return weights / weights.sum(axis=-1, keepdims=True), tokens


def _perfect(learner):
    """A head that puts all its weight where it should scores 1, one that never does scores 0."""
    tokens = np.array([[1, 2, 3, 1, 2, 3]])
    weights = np.zeros((1, 2, 6, 6))
    weights[0, :, range(3), 0] = 1
    weights[0, 0, range(3, 6), range(1, 4)] = 1
    weights[0, 1, range(3, 6), 0] = 1
    return compare(learner(weights, tokens), np.array([1.0, 0.0]), "score", "H")


def _slope(learner):
    """The score is a mean of weights, so it is linear in them: half of this and half of that gives the mean of both."""
    weights, tokens = _make(draws(7))
    other = np.broadcast_to(np.tri(9) / np.arange(1, 10)[:, None], weights.shape).copy()
    return compare(learner((weights + other) / 2, tokens),
                   (np.asarray(learner(weights, tokens)) + np.asarray(learner(other, tokens))) / 2, "score", "H")


EXERCISES = (
    Exercise("prefix-match", "09", Words("写一个探测器：这个头是不是归纳头？", "Write a detector: is this head an induction head?"),
             (golden((GOLDEN_WEIGHTS, GOLDEN_TOKENS), np.array([0.5]), SCORE),
              random_case(_make, prefix_match_score, SCORE), CheckStage(INVARIANT, _perfect), CheckStage(Words("线性", "linear"), _slope)),
             prefix_match, MISTAKES, arguments="weights, tokens"),
)
