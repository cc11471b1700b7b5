# ruff: noqa: E501  (sentences in two languages)
"""12 The bug museum: write tests that kill bugs, and raise no false alarm."""
import numpy as np

from ...gradcheck import check_gradients
from ...masks import causal_mask
from ...museum import grade
from ...words.languages import Words
from ..comparing import BLANK
from ..exercise import CheckStage, Exercise, Mistake
from ..remark import Remark

FALSE_ALARM = Words("误报：测试对一个正确的层报了错。比较小数要留容差；先在一个正确的 na.MultiHeadAttention 上试一试。",
                    "A false alarm: the test complained about a correct layer. Compare floats with a tolerance, and try it on a right na.MultiHeadAttention first.")
NOTHING = Words("什么也没发现：测试要用 assert 报错，或者返回 False。", "Nothing was noticed: a test complains by assert, or returns False.")
BLIND_BACKWARD = Words("反向传播里的错误还活着：数值和对称性看不见它们，要用 na.check_gradients。",
                       "The bugs of the backward pass are still alive: numbers and symmetries cannot see them; use na.check_gradients.")
BLIND_FORWARD = Words("前向的错误还活着：梯度检查只问「反向传播配不配前向」，前向算错了它看不见。加上独立的前向：自己从参数算一遍。",
                      "Bugs of the forward pass are still alive: a gradient check asks only whether backward fits forward. Add a forward of your own, computed from the parameters.")
NO_MASK = Words("掩码的错误还活着：测试里也要用掩码。", "Bugs of the masks are still alive: use a mask in your tests, too.")

GRADIENT_BUGS = ("softmax-diagonal", "softmax-no-row-term", "scale-missing-backward", "values-untransposed", "keys-untransposed",
                 "key-path-forgotten", "paths-overwritten", "no-gradient-through-weights")
FORWARD_BUGS = ("scale-by-model-width", "scale-missing", "split-without-transpose", "merge-without-transpose", "softmax-over-queries",
                "heads-share-a-projection", "keys-and-values-swapped")
MASK_BUGS = ("causal-off-by-one", "mask-inverted", "mask-ignored", "mask-after-softmax")


def forward_by_hand(mha, x, mask=None):
    """Multi-head attention once more, head by head, from the parameters alone."""
    W = {name: getattr(mha, f"{name}_proj").params for name in ("query", "key", "value", "output")}
    Q, K, V = (x @ W[name]["W"] + W[name]["b"] for name in ("query", "key", "value"))
    H = mha.split.num_heads
    d = Q.shape[-1] // H
    heads = []
    for h in range(H):
        part = slice(h * d, (h + 1) * d)
        scores = Q[..., part] @ K[..., part].swapaxes(-1, -2) / np.sqrt(d)
        if mask is not None:
            scores = np.where(mask, scores, -np.inf)
        shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
        heads.append(shares / shares.sum(axis=-1, keepdims=True) @ V[..., part])
    return np.concatenate(heads, axis=-1) @ W["output"]["W"] + W["output"]["b"]


def _tokens(mha):
    return np.random.default_rng(0).standard_normal((2, 5, len(mha.query_proj.params["W"])))


def test_attention(mha):
    x = _tokens(mha)
    mask = causal_mask(5)
    assert np.allclose(mha(x), forward_by_hand(mha, x))
    assert np.allclose(mha(x, mask=mask), forward_by_hand(mha, x, mask))
    assert check_gradients(mha, x, mask=mask, method="directional").ok


test_attention.__test__ = False     # a learner's answer, not a test of this package


def _with_gradients_only(mha):
    return check_gradients(mha, _tokens(mha), method="directional").ok


def _with_numbers_only(mha):
    x = _tokens(mha)
    return np.allclose(mha(x), forward_by_hand(mha, x)) and np.allclose(mha(x, mask=causal_mask(5)), forward_by_hand(mha, x, causal_mask(5)))


def _without_masks(mha):
    x = _tokens(mha)
    return np.allclose(mha(x), forward_by_hand(mha, x)) and check_gradients(mha, x, method="directional").ok


def _exactly(mha):
    x = _tokens(mha)
    return bool((mha(x) == forward_by_hand(mha, x)).all())


def _graded(learner):
    """The grade; kept with the learner, so that all stages speak of the same one."""
    if not hasattr(learner, "grade"):
        said = []

        def test(layer):
            if learner.late:            # one endless loop is enough
                raise TimeoutError
            said.append(learner(layer))
            return said[-1]

        learner.grade = grade(test)
        learner.blank = any(answer is Ellipsis for answer in said)
    return learner.grade


def _no_false_alarm(learner):
    result = _graded(learner)
    if learner.late:
        raise learner.late
    if learner.blank:
        return Remark(BLANK)
    if result.false_alarms:
        return Remark(Words(f"对正确的层误报：{result.false_alarms[0]}", f"False alarm on a correct layer: {result.false_alarms[0]}"), FALSE_ALARM)
    if not result.kills:
        return Remark(Words("一个错误也没有抓到。", "No bug was caught."), NOTHING)
    return None


def _kills(bugs, hint):
    def run(learner):
        alive = [name for name in _graded(learner).survivors if name in bugs]
        if not alive:
            return None
        return Remark(Words(f"还活着：{', '.join(alive)}。", f"Still alive: {', '.join(alive)}."), hint)
    return run


MISTAKES = (
    Mistake(_exactly, *FALSE_ALARM),
    Mistake(lambda mha: None, *NOTHING),
    Mistake(_with_numbers_only, *BLIND_BACKWARD),
    Mistake(_with_gradients_only, *BLIND_FORWARD),
    Mistake(_without_masks, *NO_MASK),
    Mistake(lambda mha: True, *NOTHING),
)
EXERCISES = (
    Exercise("kill-the-bugs", "12", Words("写一个测试：错的层要报错，对的层不报错。", "Write a test that complains about wrong layers, and about no right one."),
             (CheckStage(Words("不误报", "no false alarm"), _no_false_alarm), CheckStage(Words("前向的错误", "bugs of forward"), _kills(FORWARD_BUGS, BLIND_FORWARD)),
              CheckStage(Words("掩码的错误", "bugs of masks"), _kills(MASK_BUGS, NO_MASK)),
              CheckStage(Words("反向传播的错误", "bugs of backward"), _kills(GRADIENT_BUGS, BLIND_BACKWARD))),
             test_attention, MISTAKES, arguments="mha", own_hints=True, seconds=10, library="everything"),
)
