# ruff: noqa: E501  (sentences in two languages)
"""11 What attention costs: merging two partial softmaxes."""
import numpy as np

from ...words.languages import Words
from ..comparing import compare
from ..drawing import draws
from ..exercise import INVARIANT, CheckStage, Exercise, Mistake, golden, outcome, random_case

OUTPUTS = (("m", "L"), ("l", "L"), ("o", "L d_v"))


def part(scores, V):
    """What is kept of one block: each row's highest score m, l = Σ exp(scores − m), and o, the values mixed in these shares."""
    highest = scores.max(axis=-1)
    shares = np.exp(scores - highest[:, None])
    return highest, shares.sum(axis=-1), shares @ V


def merge(m1, l1, o1, m2, l2, o2):
    m = np.maximum(m1, m2)
    a, b = np.exp(m1 - m), np.exp(m2 - m)
    return m, a * l1 + b * l2, a[:, None] * o1 + b[:, None] * o2


SCORES = np.array([[0., 1, 2], [2, 2, 4], [1, 2, 4]])           # 我 爱 AI
V = np.array([[1., 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]])
GOLDEN_IN = *part(SCORES[:, :2], V[:2]), *part(SCORES[:, 2:], V[2:])
GOLDEN_OUT = part(SCORES, V)

MISTAKES = (
    Mistake(lambda m1, l1, o1, m2, l2, o2: (np.maximum(m1, m2), l1 + l2, o1 + o2), "直接相加了：两块的基准（最大值）不同，要先乘 exp(m₁ − m) 和 exp(m₂ − m)。",
            "They were added as they are: the blocks have different highest scores, so rescale by exp(m₁ − m) and exp(m₂ − m) first."),
    Mistake(lambda m1, l1, o1, m2, l2, o2: (np.maximum(m1, m2), np.exp(m1 - np.maximum(m1, m2)) * l1 + np.exp(m2 - np.maximum(m1, m2)) * l2, o1 + o2),
            "l 缩放了，o 没有：两个都要用同样的因子。", "l was rescaled, o was not: both take the same factors."),
    Mistake(lambda m1, l1, o1, m2, l2, o2: (np.maximum(m1, m2), *(np.exp(np.maximum(m1, m2) - m1).reshape(s) * x + np.exp(np.maximum(m1, m2) - m2).reshape(s) * y
                                                                  for x, y, s in ((l1, l2, (-1,)), (o1, o2, (-1, 1))))),
            "指数的正负号反了：exp(原来的 − 新的)，永远不超过 1。", "The exponent has the wrong sign: exp(old − new) never exceeds 1."),
    Mistake(lambda m1, l1, o1, m2, l2, o2: (lambda m, t, o: (m, t, o / t[:, None]))(*merge(m1, l1, o1, m2, l2, o2)),
            "除得太早了：最后一块合并完再除以 l，不然下一次合并就不对。", "Divided too early: divide by l after the last block, or the next merge goes wrong."),
    Mistake(lambda m1, l1, o1, m2, l2, o2: (m2, np.exp(m1 - m2) * l1 + l2, np.exp(m1 - m2)[:, None] * o1 + o2),
            "总是用第二块的最大值作基准：取两者中较大的，不然 exp 会溢出。", "The second block's maximum was taken for both: take the larger of the two, or exp overflows."),
    Mistake(lambda m1, l1, o1, m2, l2, o2: (np.minimum(m1, m2), np.exp(m1 - np.minimum(m1, m2)) * l1 + np.exp(m2 - np.minimum(m1, m2)) * l2,
                                            np.exp(m1 - np.minimum(m1, m2))[:, None] * o1 + np.exp(m2 - np.minimum(m1, m2))[:, None] * o2),
            "取了较小的最大值作基准：要取较大的，不然 exp 会溢出。", "The smaller of both maxima was taken: take the larger, or exp overflows."),
)


def _make(rng):
    L, d_v = 4, 3
    scores, values = rng.standard_normal((L, 7)) * 3, rng.standard_normal((7, d_v))
    scores[0, 0], scores[1, 6] = 9, 9           # the highest score is now in the first, now in the second part
    return *part(scores[:, :5], values[:5]), *part(scores[:, 5:], values[5:])


def _reference(m1, l1, o1, m2, l2, o2):
    logs = np.logaddexp(m1 + np.log(l1), m2 + np.log(l2))
    m = np.maximum(m1, m2)
    mixed = o1 / l1[:, None] * np.exp(m1 + np.log(l1) - logs)[:, None] + o2 / l2[:, None] * np.exp(m2 + np.log(l2) - logs)[:, None]
    total = np.exp(logs - m)
    return m, total, mixed * total[:, None]


def _three_blocks(learner):
    """Merging block by block, in either order, gives the softmax of the whole row, also where exp would overflow."""
    rng = draws(5)
    scores, values = rng.standard_normal((4, 9)) * 1000, rng.standard_normal((9, 3))
    parts = [part(scores[:, i:i + 3], values[i:i + 3]) for i in (0, 3, 6)]
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    expected = shares / shares.sum(axis=-1, keepdims=True) @ values
    for first, second, third in ((0, 1, 2), (2, 0, 1)):
        answer = learner(*parts[first], *parts[second])
        found = outcome(answer, parts[0], OUTPUTS, atol=np.inf)
        if found:
            return found
        _, total, mixed = learner(*answer, *parts[third])
        with np.errstate(all="ignore"):
            found = compare(np.asarray(mixed) / np.asarray(total)[:, None], expected, "o / l", "L d_v")
        if found:
            return found
    return None


def _empty(learner):
    """A block in which everything is hidden has m = -inf and l = 0; it must change nothing, and give no nan."""
    kept = part(SCORES, V)
    nothing = np.full(3, -np.inf), np.zeros(3), np.zeros((3, 4))
    return outcome(learner(*kept, *nothing), kept, OUTPUTS)


EXERCISES = (
    Exercise("merge-softmax", "11", Words("合并两半 softmax。", "Merge two halves of a softmax."),
             (golden(GOLDEN_IN, GOLDEN_OUT, OUTPUTS), random_case(_make, _reference, OUTPUTS),
              CheckStage(Words("三块", "three blocks"), _three_blocks), CheckStage(INVARIANT, _empty)),
             merge, MISTAKES, arguments="m1, l1, o1, m2, l2, o2"),
)
