# ruff: noqa: E501  (sentences in two languages)
"""08 Masks, order and the sink: a probe that finds out whether the future leaks."""
import numpy as np

from ...layers.variants.scaled_dot_product import ScaledDotProductAttention
from ...masks import causal_mask
from ...words.languages import Words
from ..comparing import BLANK
from ..drawing import draws
from ..exercise import CheckStage, Exercise, Mistake
from ..remark import Remark

FALSE_ALARM = Words("误报：这个模型没有泄漏。改了第 t 个词元，第 t 个及以后的输出可以变，只比较 t 之前的；给舍入留一点容差 (1e-10)。",
                    "A false alarm: this model does not leak. When token t is changed, outputs from t on may change, so compare those before t; and leave some room for rounding (1e-10).")
MISSED = Words("漏报：这个模型完全没有掩码。", "A leak was missed: this model has no mask at all.")
MISSED_ONE = Words("漏掉了「只偷看下一个」的模型：t 之前的每一个输出都要比较，尤其是 t − 1。",
                   "A model that peeks at the next token only was missed: compare every output before t, t − 1 above all.")
MISSED_PLACE = Words("漏掉了只在一处泄漏的模型：从 1 起的每一个 t 都要试，t 之前的每一个输出都要比。",
                     "A model that leaks at a single place was missed: try every t from 1 on, and compare every output before t.")
MISSED_SMALL = Words("漏掉了很小的泄漏：改动要大，容差要小。", "A small leak was missed: make a large change and a small tolerance.")
EXCHANGED = Words("True 和 False 反了：没有泄漏返回 True，有泄漏返回 False。", "True and False are exchanged: True means that nothing leaks, False that something does.")
NO_BOOL = Words("返回 True（没有泄漏）或 False（有泄漏）。", "Return True (nothing leaks) or False (something does).")


def is_causal(forward, x):
    before = forward(x)
    for t in range(1, len(x)):
        changed = x.copy()
        changed[t] += 10
        if not np.allclose(forward(changed)[:t], before[:t], rtol=0, atol=1e-10):
            return False
    return True


def _attend(mask):
    def forward(x):
        layer = ScaledDotProductAttention()
        return layer(x, x, x, mask=mask(len(x)))
    return forward


def _only(i, j, share=None):
    """Causal, but for place i, which looks at j too (or gets a small share of it added)."""
    def forward(x):
        mask = causal_mask(len(x))
        there = max(i, j) < len(x)              # a probe may cut the sequence off
        if share is None and there:
            mask[i, j] = True
        out = ScaledDotProductAttention()(x, x, x, mask=mask)
        if share is not None and there:
            out = out.copy()
            out[i] += share * x[j]
        return out
    return forward


HONEST = (_attend(causal_mask), _attend(lambda L: np.eye(L, dtype=bool)), lambda x: np.cumsum(x, axis=0), lambda x: 0 * x)
LEAKY = ((MISSED, _attend(lambda L: np.ones((L, L), bool))), (MISSED, lambda x: x - x.mean(axis=0)),
         (MISSED_ONE, _attend(lambda L: causal_mask(L, offset=1))), (MISSED_PLACE, _only(2, 4)), (MISSED_PLACE, _only(0, 1)),
         (MISSED_SMALL, _only(1, 3, share=1e-7)))


def _tokens(L=7):
    return draws(L).standard_normal((L, 4))


def _verdict(learner, forward):
    """The probe's answer as a bool, or a Remark if it is none."""
    answer = learner(forward, _tokens())
    if answer is Ellipsis:
        return Remark(BLANK)
    if not isinstance(answer, bool | np.bool_):
        return Remark(Words(f"返回了 {type(answer).__name__}，不是 True 或 False。",
                             f"A {type(answer).__name__} was returned, not True or False."), NO_BOOL)
    return bool(answer)


def _accepts(learner):
    for number, forward in enumerate(HONEST):
        verdict = _verdict(learner, forward)
        if isinstance(verdict, Remark):
            return verdict
        if not verdict:
            if _verdict(learner, LEAKY[0][1]) is True:
                return Remark(Words(f"第 {number} 个没有泄漏的模型被说成有泄漏，没有掩码的却说没有。", f"Honest model {number} was said to leak, and one without a mask was not."), EXCHANGED)
            return Remark(Words(f"第 {number} 个没有泄漏的模型被说成有泄漏。", f"Honest model {number} was said to leak."), FALSE_ALARM)
    return None


def _finds(hints):
    def run(learner):
        for number, (hint, forward) in enumerate(LEAKY):
            if hint in hints:
                verdict = _verdict(learner, forward)
                if isinstance(verdict, Remark):
                    return verdict
                if verdict:
                    return Remark(Words(f"第 {number} 个有泄漏的模型没有被发现。", f"Leaky model {number} was not noticed."), hint)
        return None
    return run


def _only_last(forward, x):
    changed = x.copy()
    changed[-1] += 10
    return bool(np.allclose(forward(changed)[:-1], forward(x)[:-1], rtol=0, atol=1e-10))


def _every(far):
    """The probe, but it compares only the outputs up to t - far."""
    def probe(forward, x):
        before = forward(x)
        for t in range(1, len(x)):
            changed = x.copy()
            changed[t] += 10
            if not np.allclose(forward(changed)[:max(t - far, 0)], before[:max(t - far, 0)], rtol=0, atol=1e-10):
                return False
        return True
    return probe


def _loose(forward, x):
    before = forward(x)
    for t in range(1, len(x)):
        changed = x.copy()
        changed[t] += 1
        if not np.allclose(forward(changed)[:t], before[:t], atol=1e-3):
            return False
    return True


MISTAKES = (
    Mistake(_every(-1), *FALSE_ALARM),
    Mistake(lambda forward, x: not is_causal(forward, x), *EXCHANGED),
    Mistake(lambda forward, x: True, *MISSED),
    Mistake(_every(1), *MISSED_ONE),
    Mistake(_only_last, *MISSED_PLACE),
    Mistake(_loose, *MISSED_SMALL),
    Mistake(lambda forward, x: forward(x), *NO_BOOL),
)
EXERCISES = (
    Exercise("causality-probe", "08", Words("写一个探针：未来有没有泄漏？", "Write a probe: does the future leak?"),
             (CheckStage(Words("没有泄漏的，和没有掩码的", "honest models, and models without a mask"), lambda learner: _accepts(learner) or _finds((MISSED,))(learner)),
              CheckStage(Words("差一位的", "off by one"), _finds((MISSED_ONE,))), CheckStage(Words("只漏一处的", "one place only"), _finds((MISSED_PLACE,))),
              CheckStage(Words("漏得很少的", "a small leak"), _finds((MISSED_SMALL,)))),
             is_causal, MISTAKES, arguments="forward, x", own_hints=True),
)
