# ruff: noqa: E501  (sentences in two languages)
"""07 The real size: splitting into heads and merging them again."""
import numpy as np

from ...layers.heads import MergeHeads, SplitHeads
from ...words.languages import Words
from ..comparing import compare
from ..drawing import draws
from ..exercise import GRADIENT, INVARIANT, CheckStage, Exercise, Mistake, golden, outcome, random_case

HEADS = (("heads", "N H L d"),)
CONCAT = (("concat", "N L H·d"),)
# number = 100 · token + column: one can see where each went
X = 100. * np.arange(3)[:, None] + np.arange(4)
SPLIT = np.array([[[0, 1], [100, 101], [200, 201]], [[2, 3], [102, 103], [202, 203]]], float)


def split_heads(x, H):
    *lead, L, D = x.shape
    return x.reshape(*lead, L, H, D // H).swapaxes(-3, -2)


def merge_heads(heads):
    *lead, H, L, d = heads.shape
    return heads.swapaxes(-3, -2).reshape(*lead, L, H * d)


SPLIT_MISTAKES = (
    Mistake(lambda x, H: x.reshape(*x.shape[:-2], H, x.shape[-2], x.shape[-1] // H),
            "只有 reshape：形状对了，数字却给错了头。先 reshape 成 (L, H, d)，再把 H 换到前面。",
            "Reshape alone: the right shape, but the heads get the wrong numbers. Reshape to (L, H, d), then move H to the front."),
    Mistake(lambda x, H: x.reshape(*x.shape[:-1], H, x.shape[-1] // H), "还停在 (L, H, d)：把 H 换到 L 前面。",
            "Still (L, H, d): move H in front of L."),
    Mistake(lambda x, H: x.reshape(*x.shape[:-1], x.shape[-1] // H, H).swapaxes(-1, -3).swapaxes(-1, -2),
            "列被交错地分给了各个头：一个头应该拿到连续的 d 列，reshape 成 (L, H, d) 而不是 (L, d, H)。",
            "The columns were dealt out in turn: a head gets d columns that lie together, so reshape to (L, H, d), not (L, d, H)."),
    Mistake(lambda x, H: SPLIT, "这些数是背下来的。", "These numbers are known by heart."),
    Mistake(lambda x, H: np.moveaxis(x.reshape(*x.shape[:-1], H, x.shape[-1] // H), -2, 0), "H 换到了所有轴的最前面：前面还有别的轴时，它只该在 L 前面。",
            "H was moved in front of all axes; with axes in front it only belongs before L."),
    Mistake(lambda x, H: split_heads(x, H)[..., ::-1, :, :], "头的顺序反了：头 0 拿最左边的 d 列。", "The heads are in reverse order: head 0 gets the leftmost d columns."),
)
MERGE_MISTAKES = (
    Mistake(lambda h: h.reshape(*h.shape[:-3], h.shape[-2], h.shape[-3] * h.shape[-1]),
            "只有 reshape：先把 H 换回 L 后面，再 reshape。", "Reshape alone: first move H back behind L, then reshape."),
    Mistake(lambda h: np.concatenate([h[..., i, :, :] for i in range(h.shape[-3])], axis=-2),
            "把头上下叠起来了；应该左右并排。", "The heads were stacked on top of each other; lay them side by side."),
    Mistake(lambda h: h.swapaxes(-3, -2).swapaxes(-1, -2).reshape(*h.shape[:-3], h.shape[-2], -1),
            "每个词元的数字顺序乱了：只交换 H 和 L 两个轴。", "Each token's numbers are out of order: swap only the axes H and L."),
    Mistake(lambda h: h.sum(axis=-3), "把头加起来了；应该拼接。", "The heads were added up; they should be concatenated."),
    Mistake(lambda h: h.mean(axis=-3), "把头平均了；应该拼接。", "The heads were averaged; they should be concatenated."),
    Mistake(lambda h: merge_heads(h[..., ::-1, :, :]), "头的顺序反了：头 0 在最左边。", "The heads are in reverse order: head 0 is the leftmost."),
)


def _x(rng):
    return rng.standard_normal((2, 4, 6)), 3


def _heads(rng):
    return (rng.standard_normal((2, 3, 4, 5)),)


def _split_adjoint(learner):
    """The gradient of Σ y ∘ split(x) is merge(y): splitting only moves numbers, so its backward moves them back."""
    x, H = _x(draws(5))
    y = draws(6).standard_normal((2, 3, 4, 2))
    found = outcome(learner(x, H), y, HEADS, atol=np.inf)
    return found or compare((learner(x, H) * y).sum(), (x * MergeHeads()(y)).sum(), "Σ y ∘ split(x)")


def _split_inverse(learner):
    x, _ = _x(draws(7))
    for H in (1, 2, 6):
        answer = learner(x, H)
        found = outcome(answer, SplitHeads(H)(x), HEADS, atol=np.inf) or compare(MergeHeads()(answer), x, "merge(split(x))", "N L D")
        if found:
            return found
    return None


def _merge_adjoint(learner):
    heads, = _heads(draws(8))
    y = draws(9).standard_normal((2, 4, 15))
    found = outcome(learner(heads), y, CONCAT, atol=np.inf)
    return found or compare((learner(heads) * y).sum(), (heads * SplitHeads(3)(y)).sum(), "Σ y ∘ merge(heads)")


def _merge_inverse(learner):
    x = draws(10).standard_normal((4, 6))
    for H in (1, 2, 6):
        found = outcome(learner(SplitHeads(H)(x)), x, (("merge(split(x))", "L D"),))
        if found:
            return found
    return None


EXERCISES = (
    Exercise("split-heads", "07", Words("把 (…, L, H·d) 切成 (…, H, L, d)。", "Cut (…, L, H·d) into (…, H, L, d)."),
             (golden((X, 2), SPLIT, (("heads", "H L d"),)), random_case(_x, lambda x, H: SplitHeads(H)(x), HEADS),
              CheckStage(GRADIENT, _split_adjoint), CheckStage(INVARIANT, _split_inverse)),
             split_heads, SPLIT_MISTAKES, arguments="x, H"),
    Exercise("merge-heads", "07", Words("再合并回去。", "And merge them again."),
             (golden((SPLIT,), X, (("concat", "L H·d"),)), random_case(_heads, lambda h: MergeHeads()(h), CONCAT),
              CheckStage(GRADIENT, _merge_adjoint), CheckStage(INVARIANT, _merge_inverse)),
             merge_heads, MERGE_MISTAKES, arguments="heads"),
)
