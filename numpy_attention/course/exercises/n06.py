# ruff: noqa: E501  (sentences in two languages)
"""06 Why many heads: two heads built by hand, each with a job of its own."""
import numpy as np

from ...layers.variants.scaled_dot_product import ScaledDotProductAttention
from ...words.languages import Words
from ..comparing import compare
from ..exercise import GOLDEN, INVARIANT, CheckStage, Exercise, Mistake, outcome
from ..remark import Remark

OUTPUTS = (("Q", "H L d_k"), ("K", "H S d_k"))
SHARP = 0.99
TOO_SOFT = Words("方向对了，但还不够尖：把 Q 乘大一些（分数要除以 √d_k）。", "It looks the right way, but not sharply enough: make Q larger (scores are divided by √d_k).")
SWAPPED = Words("两个头看反了：头 0 应看前一个，头 1 应看后一个。（Q 和 K 返回反了，也会这样。）", "The heads look the wrong way round: head 0 should look at the previous place, head 1 at the next. (Q and K returned in the other order do that, too.)")
SAME = Words("两个头看的是同样的地方。", "Both heads look at the same places.")
NO_RING = Words("环的两端没有接上：第 0 个的前一个是最后一个 (np.roll)。", "The ends of the ring are not joined: before place 0 comes the last one (np.roll).")


def _wanted(L):
    """(2, L, L): one-hot rows, head 0 at the previous place, head 1 at the next."""
    place = np.arange(L)
    wanted = np.zeros((2, L, L))
    wanted[0, place, place - 1] = 1
    wanted[1, place, (place + 1) % L] = 1
    return wanted


def _look(learner, L):
    answer = learner(L)
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        return outcome(answer, (0, 0), OUTPUTS)
    for name, array in zip("QK", answer, strict=True):
        found = compare(array, np.zeros((2, L, np.shape(array)[-1] if np.ndim(array) else 1)), name, "H L d_k", atol=np.inf)
        if found:
            return found
    attention = ScaledDotProductAttention()
    attention(*map(np.asarray, answer), np.ones((2, L, 1)))
    weights, wanted = attention.weights, _wanted(L)
    if (weights[wanted == 1] > SHARP).all():
        return None
    cell = np.argwhere((wanted == 1) & ~(weights > SHARP))[0]
    h, i, j = map(int, cell)
    right = weights.argmax(axis=-1) == wanted.argmax(axis=-1)
    hint = None
    if right.all():
        hint = TOO_SOFT
    elif (weights.argmax(axis=-1) == wanted[::-1].argmax(axis=-1)).all():
        hint = SWAPPED
    elif np.allclose(weights[0], weights[1]):
        hint = SAME
    elif set(map(tuple, np.argwhere(~right))) <= {(0, 0), (1, L - 1)}:
        hint = NO_RING
    return Remark(Words(f"头 {h} 的位置 {i} 应该看位置 {j}，权重只有 {weights[h, i, j]:.3f}（要超过 {SHARP}）。",
                         f"Head {h}, place {i} should look at place {j}; its weight is {weights[h, i, j]:.3f} "
                         f"and should exceed {SHARP}."), hint)


def _stage(title, *lengths):
    return CheckStage(title, lambda learner: next((f for f in (_look(learner, L) for L in lengths) if f), None))


def _heads(previous, following, size=30.0):
    def answer(L):
        return size * np.sqrt(L) * np.stack([previous(L), following(L)]), np.stack([np.eye(L)] * 2)
    return answer


def _before(L):
    return np.roll(np.eye(L), -1, axis=1)


def _after(L):
    return np.roll(np.eye(L), 1, axis=1)


two_heads = _heads(_before, _after)


def _independent(learner):
    """Each head alone still does its job: no head needs the other."""
    Q, K = (np.asarray(a) for a in learner(6))
    attention = ScaledDotProductAttention()
    for h in (0, 1):
        attention(Q[h], K[h], np.ones((6, 1)))
        found = compare(attention.weights, _wanted(6)[h], f"weights of head {h}", "L S", atol=0.011)
        if found:
            return found
    return None


MISTAKES = (
    Mistake(_heads(_before, _after, 1.0), *TOO_SOFT),
    Mistake(_heads(_after, _before), *SWAPPED),
    Mistake(_heads(_before, _before), *SAME),
    Mistake(_heads(lambda L: np.eye(L, k=-1), lambda L: np.eye(L, k=1)), *NO_RING),
    Mistake(lambda L: two_heads(L)[::-1], *SWAPPED),
    Mistake(_heads(_after, _after), *SAME),
    Mistake(_heads(_before, _after, 0.1), *TOO_SOFT),
)
EXERCISES = (
    Exercise("two-heads", "06", Words("不训练，亲手造两个头：一个看前一个，一个看后一个。", "Without training, build two heads: one looks back, one looks ahead."),
             (_stage(GOLDEN, 5), _stage(Words("别的长度", "other lengths"), 3, 8, 13),
              CheckStage(INVARIANT, _independent)), two_heads, MISTAKES, arguments="L", own_hints=True),
)
