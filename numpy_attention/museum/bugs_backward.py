"""Bugs of backward: factors, transposes and sums that nobody misses until something should learn."""
import math

import numpy as np

from .specimen import replace, specimen

RIGHT = "The forward pass is right, and so is every test of it."
RIGHT_ZH = "前向正确，对前向的一切测试都通过。"


def _attention_backward(change):
    """Plant another set of (dQ, dK, dV), made from the right one."""
    def plant(mha):
        attention = type(mha.attention)

        def backward(self, dheads):
            found = attention.backward(self, dheads)
            changed = change(self.cache, self.grads, dheads, *found)
            self.grads.update(zip("QKV", changed, strict=True))
            return changed
        replace(mha.attention, backward=backward)
    return plant


specimen("scale-missing-backward", caught_by="gradient check",
         seen="no thread cited; it survives every training task of the course",
         what="The scale 1/√d_k is applied forward and forgotten backward.", what_zh="前向除了 √d_k，反向忘了除。",
         why=RIGHT, why_zh=RIGHT_ZH)(
    _attention_backward(lambda cache, grads, dheads, dQ, dK, dV: (
        dQ * math.sqrt(dQ.shape[-1]), dK * math.sqrt(dQ.shape[-1]), dV)))

specimen("values-untransposed", caught_by="gradient check",
         seen="no thread cited; square shapes let it run",
         what="dV = weights dheads, without the transpose.", what_zh="dV = weights dheads，少了转置。",
         why=RIGHT + " Even training on a reversal task succeeds: there weights equals its transpose.",
         why_zh=RIGHT_ZH + "连倒序任务都能训成，因为那里 weights 等于它的转置。")(
    _attention_backward(lambda cache, grads, dheads, dQ, dK, dV: (dQ, dK, cache["weights"] @ dheads)))

specimen("keys-untransposed", caught_by="gradient check",
         seen="huggingface/diffusers PR #14341: square shapes hide a transpose",
         what="dK = dscores Q / √d_k, without the transpose.", what_zh="dK = dscores Q / √d_k，少了转置。",
         why=RIGHT, why_zh=RIGHT_ZH)(
    _attention_backward(lambda cache, grads, dheads, dQ, dK, dV: (
        dQ, _softmax_backward(cache, grads) @ cache["Q"] / math.sqrt(dQ.shape[-1]), dV)))

specimen("gradient-sign-flipped", caught_by="gradient check",
         seen="harvard-edge/cs249r_book PR #2053, found by mutation testing",
         what="dQ and dK point the wrong way.", what_zh="dQ 和 dK 方向反了。", why=RIGHT, why_zh=RIGHT_ZH)(
    _attention_backward(lambda cache, grads, dheads, dQ, dK, dV: (-dQ, -dK, dV)))


def _softmax_backward(cache, grads):
    weights, dweights = cache["weights"], grads["weights"]
    return weights * (dweights - (weights * dweights).sum(axis=-1, keepdims=True))


def _input_gradient(combine):
    """Plant another way of adding the three paths into dx."""
    def plant(mha):
        kind = type(mha)

        def backward(self, dout):
            returned = kind.backward(self, dout)
            if "x" not in self.cache:
                return returned
            self.grads["x"] = combine(self.grads["query"], self.grads["key"], self.grads["value"])
            return self.grads["x"]
        replace(mha, backward=backward)
    return plant


specimen("key-path-forgotten", caught_by="gradient check",
         seen="sebgao/cTensor #5, mlpack/mlpack PR #2375",
         what="In self-attention, dx = dquery + dvalue: the way through the keys is forgotten.",
         what_zh="自注意力里 dx = dquery + dvalue：漏了经过键的那条路。", why=RIGHT, why_zh=RIGHT_ZH)(
    _input_gradient(lambda dquery, dkey, dvalue: dquery + dvalue))

specimen("paths-overwritten", caught_by="gradient check",
         seen="karpathy/micrograd #2 and PR #102 (= where += belongs)",
         what="Each path writes dx instead of adding to it, so that the last one is all that is left.",
         what_zh="每条路都用 = 而不是 +=，最后只剩下最后一条。", why=RIGHT, why_zh=RIGHT_ZH)(
    _input_gradient(lambda dquery, dkey, dvalue: dvalue))

specimen("path-counted-twice", caught_by="gradient check",
         seen="karpathy/micrograd #53 and PR #63",
         what="The way through the values is added twice.", what_zh="经过值的那条路加了两次。",
         why=RIGHT, why_zh=RIGHT_ZH)(
    _input_gradient(lambda dquery, dkey, dvalue: dquery + dkey + 2 * dvalue))


def _linear_backward(change):
    """Plant another set of parameter gradients in all four projections: change(linear, dout)."""
    def plant(mha):
        for part in (mha.query_proj, mha.key_proj, mha.value_proj, mha.output_proj):
            _replace_linear(part, change)
    return plant


def _replace_linear(part, change):
    kind = type(part)

    def backward(self, dout):
        before = dict(self.grads)
        dx = kind.backward(self, dout)
        self.grads.update(change(self, dout, before))
        return dx
    replace(part, backward=backward)


specimen("bias-averaged", caught_by="gradient check",
         seen="jimfleming/differentiation #1, deeplearning4j/nd4j #2424, HIPS/autograd #376",
         what="db is the mean over all rows, not their sum.", what_zh="db 取了所有行的平均，而不是求和。",
         why=RIGHT, why_zh=RIGHT_ZH)(
    _linear_backward(lambda linear, dout, before: {"b": dout.reshape(-1, dout.shape[-1]).mean(axis=0)}))

specimen("matrix-of-the-last-item", caught_by="gradient check",
         seen="no thread cited; a loop over the batch that assigns where it should add",
         what="dW holds the gradient of the last item of the batch alone.", what_zh="dW 里只有批里最后一个样本的梯度。",
         why=RIGHT + " A batch of one hides it.", why_zh=RIGHT_ZH + "批大小为 1 时看不出来。")(
    _linear_backward(lambda linear, dout, before: {
        "W": linear.cache["x"][-1].T @ dout[-1] if dout.ndim == 3 else linear.grads["W"]}))

specimen("gradients-pile-up", caught_by="gradient check",
         seen="karpathy/micrograd PR #54 (a missing zero_grad)",
         what="Parameter gradients are added to those of the backward before.",
         what_zh="参数梯度加到了上一次反向的梯度上。",
         why=RIGHT + " The first backward is right, too; the second one is not.",
         why_zh=RIGHT_ZH + "第一次反向也是对的，第二次就不对了。")(
    _linear_backward(lambda linear, dout, before: {
        name: linear.grads[name] + before[name] for name in ("W", "b") if name in before}))


@specimen("upstream-overwritten", caught_by="gradient check",
          seen="HomericIntelligence/Odyssey PR #2090, rsokl/MyGrad PR #323 (shared memory)",
          what="backward writes into the gradient that it was handed.", what_zh="反向改写了别人交给它的梯度。",
          why=RIGHT + " Even the gradients are right; the next layer's are not.",
          why_zh=RIGHT_ZH + "连它自己的梯度也对，错的是下一层的。")
def upstream_overwritten(mha):
    kind = type(mha)

    def backward(self, dout):
        found = kind.backward(self, np.array(dout))
        if isinstance(dout, np.ndarray) and dout.flags.writeable:
            dout *= 0.5
        return found
    _without_rules(mha, backward)


def _without_rules(layer, backward):
    """Plant a backward that is handed the caller's own array; the house rules would have copied it."""
    kind = type(layer)
    layer.__class__ = type(kind.__name__, (kind,), {"__module__": kind.__module__, "__doc__": kind.__doc__})
    layer.__class__.backward = backward
