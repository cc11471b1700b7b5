# ruff: noqa: E501  (sentences in two languages)
"""13 Reading heat maps honestly: other weights, the same output."""
import numpy as np

from ...words.languages import Words
from ..comparing import compare, is_coarse
from ..drawing import draws
from ..exercise import GOLDEN, INVARIANT, RANDOM, CheckStage, Exercise, Mistake
from ..remark import Remark

LEAST = 0.05
SUM_IS_NOT_1 = Words("一行权重要加起来是 1。", "A row of weights sums to 1.")
WITHOUT_ONES = Words("输出没有变，可是和不是 1：方向 n 除了 n @ V = 0，还要 Σ n = 0。", "The output is as it was, but the sum is not 1: besides n @ V = 0 a direction wants Σ n = 0.")
DIRECTION = Words("这是方向 n 自己：要返回的是权重，weights 加上若干倍的 n。", "That is a direction n itself; weights are asked for: weights plus some times n.")
NEGATIVE = Words("份额不能是负的：走到第一个权重变成 0 就停。", "Shares are not negative: stop where the first of them reaches 0.")
OTHER_OUTPUT = Words("输出变了：只能沿着 n @ V = 0、Σ n = 0 的方向走，事后也不能再归一化。", "The output has changed: move along n with n @ V = 0 and Σ n = 0 only, and divide by nothing afterwards.")
SAME = Words("权重几乎没变：沿着零空间的方向走远一点。", "The weights hardly changed: go further along a direction of the null space.")
NO_ROOM = Words("这里 d_v + 1 ≥ S，没有别的权重能给出同样的输出：原样返回。", "Here d_v + 1 ≥ S, and no other weights give this output: return them as they are.")


def same_output(weights, V):
    constraints = np.column_stack([V, np.ones(len(V))])             # n @ constraints = 0
    rank = np.linalg.matrix_rank(constraints)
    if rank == len(V):
        return weights.copy()
    best = weights.copy()
    for n in np.linalg.svd(constraints.T)[2][rank:]:
        for way in (n, -n):
            down = way < -1e-12
            other = np.maximum(weights + way * (weights[down] / -way[down]).min(), 0)
            if np.abs(other - weights).sum() > np.abs(best - weights).sum():
                best = other
    return best


def _case(S, d_v, seed):
    rng = draws(seed)
    weights = rng.random(S) + 0.2
    return weights / weights.sum(), rng.standard_normal((S, d_v))


def _look(learner, S, d_v, seed):
    weights, V = _case(S, d_v, seed)
    answer = learner(weights, V)
    found = compare(answer, weights, "weights", "S", atol=np.inf)
    if found:
        return found
    room = 1e-5 if is_coarse(answer) else 1e-8
    answer = np.asarray(answer, float)
    total, lowest = float(np.sum(answer)), float(np.min(answer))
    if abs(total - 1) > room:
        outputs, before = np.abs(answer @ V).max(), np.abs(answer @ V - weights @ V).max()
        hint = DIRECTION if max(abs(total), outputs) <= room else WITHOUT_ONES if before <= room else SUM_IS_NOT_1
        return Remark(Words(f"权重之和是 {total:.10g}。", f"The weights sum to {total:.10g}."), hint)
    if lowest < -room:
        j = int(np.argmin(answer))
        return Remark(Words(f"weights[{j}] = {lowest:.4g}，是负数。", f"weights[{j}] = {lowest:.4g} is negative."), NEGATIVE)
    moved = np.abs(answer @ V - weights @ V)
    if moved.max() > room:
        j = int(moved.argmax())
        return Remark(Words(f"输出的第 {j} 个数变了 {moved[j]:.3g}。", f"Number {j} of the output changed by {moved[j]:.3g}."), NO_ROOM if d_v + 1 >= S else OTHER_OUTPUT)
    change = np.abs(np.asarray(answer) - weights).sum() / 2
    if d_v + 1 < S and change < LEAST:
        return Remark(Words(f"只有 {change:.3f} 的注意力换了地方，至少要 {LEAST}。", f"Only {change:.3f} of the attention went elsewhere; it should be at least {LEAST}."), SAME)
    return None


def _stage(title, *cases):
    return CheckStage(title, lambda learner: next((f for f in (_look(learner, *case) for case in cases) if f), None))


def _direction(weights, V, ones=True):
    constraints = np.column_stack([V, np.ones(len(V))]) if ones else V
    return np.linalg.svd(constraints.T)[2][-1]


def _normalised(weights, V):
    other = np.abs(weights + 0.3 * _direction(weights, V, ones=False))
    return other / other.sum()


def _too_far(weights, V):
    return weights + 2 * _direction(weights, V)


def _shuffled(weights, V):
    return weights[::-1].copy()


MISTAKES = (
    Mistake(_normalised, *OTHER_OUTPUT),
    Mistake(lambda weights, V: weights + 0.3 * _direction(weights, V, ones=False), *WITHOUT_ONES),
    Mistake(_direction, *DIRECTION),
    Mistake(_too_far, *NEGATIVE),
    Mistake(_shuffled, *OTHER_OUTPUT),
    Mistake(lambda weights, V: weights.copy(), *SAME),
    Mistake(lambda weights, V: weights + 1e-3 * _direction(weights, V), *SAME),
    Mistake(lambda weights, V: 1.1 * weights, *SUM_IS_NOT_1),
)
EXERCISES = (
    Exercise("same-output", "13", Words("找一行不同的权重，输出却完全一样。", "Find other weights with exactly the same output."),
             (_stage(GOLDEN, (10, 4, 0)), _stage(RANDOM, (6, 2, 1), (12, 5, 2), (7, 1, 3)), _stage(INVARIANT, (4, 3, 4), (3, 6, 5))),
             same_output, MISTAKES, arguments="weights, V", own_hints=True),
)
