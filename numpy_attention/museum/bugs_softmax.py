"""Bugs of the softmax: a derivative that is nearly right, and sums over the wrong things."""
import numpy as np

from .specimen import replace, specimen

FORWARD_IS_RIGHT = "The forward pass is right, so numbers, sums and symmetries are all in order."
FORWARD_IS_RIGHT_ZH = "前向完全正确，所以数值、每行之和与对称性都查不出问题。"


def _with_backward(formula):
    """Plant another formula for dscores, of (weights, dweights)."""
    def plant(mha):
        def backward(self, dweights):
            dscores = formula(self.cache["weights"], dweights)
            self.grads = {"weights": dweights, "scores": dscores}
            return dscores
        replace(mha.attention.softmax, backward=backward)
    return plant


specimen("softmax-diagonal", caught_by="gradient check",
         seen="libnd4j #440, SebLague PR #5, HomericIntelligence/Odyssey #2134, cTensor PR #31",
         what="The softmax is derived as if each share depended on its own score alone: p (1 − p).",
         what_zh="把 softmax 的导数写成 p (1 − p)，好像每个份额只取决于自己的分数。",
         why=FORWARD_IS_RIGHT, why_zh=FORWARD_IS_RIGHT_ZH)(
    _with_backward(lambda p, d: p * (1 - p) * d))

specimen("softmax-no-row-term", caught_by="gradient check",
         seen="pjreddie/darknet PR #96, mlpack/mlpack #2360",
         what="dscores = weights ∘ dweights: that a share can only grow at the others' cost is forgotten.",
         what_zh="dscores = weights ∘ dweights：忘了一份变大，别的份额就得变小。",
         why=FORWARD_IS_RIGHT, why_zh=FORWARD_IS_RIGHT_ZH)(
    _with_backward(lambda p, d: p * d))

specimen("softmax-straight-through", caught_by="gradient check",
         seen="wkcn/mobula #3, RoboticsClubIITJ PR #153",
         what="The gradient passes the softmax unchanged.", what_zh="梯度原封不动地穿过 softmax。",
         why=FORWARD_IS_RIGHT, why_zh=FORWARD_IS_RIGHT_ZH)(
    _with_backward(lambda p, d: d))

specimen("softmax-twice-the-gradient", caught_by="gradient check",
         seen="fromscratchtoml #65",
         what="dscores comes out twice as large as it is.", what_zh="dscores 大了一倍。",
         why=FORWARD_IS_RIGHT + " Training only seems to have a larger learning rate.",
         why_zh=FORWARD_IS_RIGHT_ZH + "训练起来只像学习率大了一点。")(
    _with_backward(lambda p, d: 2 * p * (d - (p * d).sum(axis=-1, keepdims=True))))

specimen("no-gradient-through-weights", caught_by="gradient check",
         seen="no thread cited; of all gradient bugs the one that a reversal task notices when trained",
         what="The weights are taken for constants: only the values learn.", what_zh="把权重当成常数：只有值会学习。",
         why=FORWARD_IS_RIGHT, why_zh=FORWARD_IS_RIGHT_ZH)(
    _with_backward(lambda p, d: 0 * d))


@specimen("softmax-over-queries", caught_by="row sums", also="golden numbers, causality probe",
          seen="labml #146, FudanNLP/fastNLP #254, nerdai/llms-from-scratch-rs PR #30",
          what="The softmax runs over the queries instead of the keys.", what_zh="softmax 沿着查询而不是沿着键归一化。",
          why="Permuting the tokens permutes this, too, and its gradient is the right one of the wrong function.",
          why_zh="打乱词元，结果照样跟着打乱；梯度也是“错误函数”的正确梯度。")
def softmax_over_queries(mha):
    softmax = type(mha.attention.softmax)

    def forward(self, scores, *, mask=None):
        mask = None if mask is None else np.broadcast_to(mask, scores.shape).mT
        return softmax.forward(self, scores.mT, mask=mask).mT

    def backward(self, dweights):
        return softmax.backward(self, dweights.mT).mT
    replace(mha.attention.softmax, forward=forward, backward=backward)


def _softmax(self, scores, mask, shift):
    """exp / Σ exp with some shift; the cache as backward wants it."""
    visible = scores if mask is None else np.where(mask, scores, -np.inf)
    exponentials = np.exp(visible - shift(visible))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = exponentials / np.where(total == 0, 1, total)
    self.cache = {"scores": scores, "mask": mask, "weights": weights}
    return weights


@specimen("softmax-global-maximum", caught_by="golden numbers", also="row sums",
          seen="pyg-team/pytorch_geometric #53",
          what="The maximum of the whole table is subtracted, not each row's: rows far below it vanish.",
          what_zh="减去的是整张表的最大值，而不是每一行的：远低于它的那一行被舍成了零。",
          why="Ordinary scores give ordinary results, in which it cannot be told; only rows of very different size do. "
              "Golden numbers and row sums try such a case.",
          why_zh="分数大小正常时毫无异样，只有各行相差悬殊时才露馅；参考数值和行和里都备有这样的例子。")
def softmax_global_maximum(mha):
    def forward(self, scores, *, mask=None):
        return _softmax(self, scores, mask, lambda visible: visible.real.max())
    replace(mha.attention.softmax, forward=forward)


@specimen("softmax-no-maximum", caught_by="golden numbers", also="row sums",
          seen="HIPS/autograd #197, mila-iqia/blocks PR #727, jhcross/span-parser #2",
          what="No maximum is subtracted, so that exp overflows for scores above 709.",
          what_zh="没有减去最大值，分数超过 709 时 exp 就溢出。",
          why="Everything is right until the scores are large; the tests with ordinary numbers never are.",
          why_zh="分数不大时一切正常，而普通的测试数值从来不大。")
def softmax_no_maximum(mha):
    def forward(self, scores, *, mask=None):
        return _softmax(self, scores, mask, lambda visible: 0)
    replace(mha.attention.softmax, forward=forward)
