# ruff: noqa: E501  (sentences in two languages)
"""15 Heads of a real model: an induction score, and a patch."""
import numpy as np

from ...words.languages import Words
from ..comparing import compare
from ..drawing import draws
from ..exercise import INVARIANT, CheckStage, Exercise, Mistake, golden, random_case

SCORE, ROWS = (("score", "H"),), (("out", "L D"),)


def induction_score(weights, period):
    L = weights.shape[-1]
    return np.mean([weights[:, i, i - period + 1] for i in range(period, L)], axis=0)


def _score(shift, start=None, total=False):
    def answer(weights, period):
        L = weights.shape[-1]
        rows = [weights[:, i, i - period + shift] for i in range(period if start is None else start, L)]
        return np.sum(rows, axis=0) if total else np.mean(rows, axis=0)
    return answer


SCORE_MISTAKES = (
    Mistake(_score(0), "看的是上一遍的**同一个**词元（那是重复头）；要看它**后面**那一个：i − period + 1。",
            "That looks at the *same* token of the first time (a duplicate head); look at the one behind it: i − period + 1."),
    Mistake(_score(-1), "方向反了：要看它**后面**那一个，不是前面那一个。", "The wrong side: look at the one *behind* it, not before it."),
    Mistake(_score(1, start=0), "第一遍里没有「上一次」：从 i = period 开始数。", "In the first round there is no last time: begin at i = period."),
    Mistake(_score(1, total=True), "要求平均，不是总和。", "The mean is asked for, not the sum."),
    Mistake(_score(2), "多往后看了一个：是 i − period + 1。", "One place too far: it is i − period + 1."),
    Mistake(lambda w, period: w[:, np.arange(period, w.shape[-1]), np.arange(1, w.shape[-1] - period + 1)], "还要对 i 求平均：每个头只有一个数。",
            "Not averaged over i yet: a single number for each head."),
)


def _weights(rng):
    weights = rng.random((3, 10, 10)) * np.tri(10)
    return weights / weights.sum(axis=-1, keepdims=True), 4


def _perfect(learner):
    """A head that always looks where it should scores 1, one that looks at itself 0."""
    weights = np.zeros((2, 6, 6))
    weights[0, range(3, 6), range(1, 4)] = 1
    weights[1] = np.eye(6)
    return compare(learner(weights, 3), np.array([1.0, 0.0]), "score", "H")


def run(weights, x):
    """A model of nothing but attention: every block adds weights · tanh(x)."""
    for w in weights:
        x = x + w @ np.tanh(x)
    return x


def patched(weights, clean, corrupted, layer, place):
    kept = run(weights[:layer + 1], clean)
    x = run(weights[:layer + 1], corrupted)
    x[place] = kept[place]
    return run(weights[layer + 1:], x)


def _patch(shift=0, swap=False, everything=False, always=False):
    def answer(weights, clean, corrupted, layer, place):
        if swap:
            clean, corrupted = corrupted, clean
        x, kept = corrupted.copy(), clean.copy()
        for number, w in enumerate(weights):
            if shift and number == layer:
                x[place] = kept[place]
            x, kept = x + w @ np.tanh(x), kept + w @ np.tanh(kept)
            if not shift and (number == layer or (always and number > layer)):
                x[slice(None) if everything else place] = kept[slice(None) if everything else place]
        return x
    return answer


PATCH_MISTAKES = (
    Mistake(_patch(shift=1), "补丁打早了：先算完第 layer 块，再换那一行。", "The patch comes too early: compute block `layer` first, then put the row in."),
    Mistake(_patch(swap=True), "两个文本弄反了：在 corrupted 里放进 clean 的一行。", "The texts are swapped: a row of clean goes into corrupted."),
    Mistake(_patch(everything=True), "只换一行 (place)，别的行不动。", "Only one row, `place`, is put in; the others stay."),
    Mistake(_patch(always=True), "只换一次：之后的块要照常计算，不能再换。", "It is put in once: the blocks after it compute as always."),
    Mistake(lambda w, clean, corrupted, layer, place: patched(w[:layer + 1], clean, corrupted, layer, place), "剩下的块还没有算：换了以后要一直算到最后。",
            "The remaining blocks are missing: after the patch, compute on to the last."),
    Mistake(lambda w, clean, corrupted, layer, place: run(w, corrupted), "没有放补丁。", "No patch was put in."),
)
GOLDEN_WEIGHTS = np.array([[[1, 0], [.5, .5]], [[1, 0], [.5, .5]]], float)
GOLDEN_CLEAN, GOLDEN_CORRUPTED = np.array([[1.0], [0.0]]), np.array([[-1.0], [0.0]])


def _texts(rng):
    weights = rng.random((3, 4, 4)) * np.tri(4)
    clean = rng.standard_normal((4, 5))
    corrupted = clean.copy()
    corrupted[1] = rng.standard_normal(5)
    return weights / weights.sum(axis=-1, keepdims=True), clean, corrupted, 1, 2


def _last_block(learner):
    """Behind the last block nothing reads the row any more: only that row changes, and it is clean's."""
    weights, clean, corrupted, _, place = _texts(draws(5))
    expected = run(weights, corrupted)
    expected[place] = run(weights, clean)[place]
    return compare(learner(weights, clean, corrupted, 2, place), expected, "out", "L D")


EXERCISES = (
    Exercise("induction-score", "15", Words("给每个头打一个归纳分。", "Give each head an induction score."),
             (golden((np.array([[[1, 0, 0, 0], [.5, .5, 0, 0], [.1, .6, .3, 0], [.1, .2, .4, .3]]]), 2), np.array([0.5]), SCORE),
              random_case(_weights, induction_score, SCORE), CheckStage(INVARIANT, _perfect)),
             induction_score, SCORE_MISTAKES, arguments="weights, period"),
    Exercise("patch-a-row", "15", Words("在一个文本的计算里，放进另一个文本的一行。", "Put one row of one text into the computation of another."),
             (golden((GOLDEN_WEIGHTS, GOLDEN_CLEAN, GOLDEN_CORRUPTED, 0, 1),
                     patched(GOLDEN_WEIGHTS, GOLDEN_CLEAN, GOLDEN_CORRUPTED, 0, 1), ROWS),
              random_case(_texts, patched, ROWS), CheckStage(INVARIANT, _last_block)),
             patched, PATCH_MISTAKES, arguments="weights, clean, corrupted, layer, place"),
)
