"""Cross-entropy: how surprised the model is by the right answer.

The model gives every class a share; the loss is minus the logarithm of the share that the right class got: 0 if that
was everything, large if it was next to nothing. Its gradient is the simplest in the whole field: what the model said
minus what it should have said.
"""
import numpy as np

from ..engine.arguments import fraction, not_negative, one_of, whole
from ..engine.layer import Layer
from ..engine.shapes import classes_of
from .log_softmax import LogSoftmax

REDUCTIONS = ("mean", "sum", "none")


class CrossEntropyLoss(Layer):
    """−log softmax(logits)[target], averaged over all targets that count.

    loss(logits, target) -> a number; loss.backward() -> dlogits

    Args:
        class_weights: (C,), how much each class counts; all 1 unless given. The mean divides by what was counted.
        ignore_index: a target with this value does not count.
        label_smoothing: the part ε of each answer that is spread over all C classes, 0 <= ε <= 1.
        reduction: "mean", "sum", or "none" for one loss per target; then backward needs dlosses.

    Shapes: logits (..., C), target whole numbers (...), loss () or (...). A target of floats (..., C) holds what every
        share should be ("soft targets"); then all rows count, and the mean is over rows.
    Raises: TypeError for targets that are no numbers, ValueError for targets outside 0..C-1 or other shapes.

    If no target counts, the loss is 0 and so are all gradients; what lies in ignored rows, NaN included, never matters.

    >>> loss = na.CrossEntropyLoss(ignore_index=-1)
    >>> float(loss([[2., 0., 0.], [0., 3., 0.], [9., 9., 9.]], [0, 0, -1]).round(4))
    1.6672
    >>> loss.backward().round(4)
    array([[-0.1065,  0.0533,  0.0533],
           [-0.4774,  0.4547,  0.0226],
           [ 0.    ,  0.    ,  0.    ]])

    Source: Bridle 1990; label smoothing: Szegedy et al. 2016, section 7.
    """

    integer_inputs = ("target",)

    def __init__(self, *, class_weights=None, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
        super().__init__()
        self.reduction = one_of("reduction", reduction, REDUCTIONS)
        self.label_smoothing = fraction("label_smoothing", label_smoothing)
        self.class_weights = None if class_weights is None else not_negative("class_weights", class_weights)
        self.ignore_index = whole("ignore_index", ignore_index)
        self.log_softmax = LogSoftmax()

    def forward(self, logits, target):
        target, counts = classes_of(target, logits, self.class_weights, self.ignore_index)
        soft, C, ε = target.ndim == logits.ndim, logits.shape[-1], self.label_smoothing
        class_weights = np.ones(C) if self.class_weights is None else self.class_weights
        # 1. The logarithm of every class's share.
        log_probs = self.log_softmax(logits)                                        # (..., C)
        # 2. What the shares should be: all for the right class, but for the part ε that all classes have.
        right = np.where(counts, 0 if soft else target, 0)                          # (...)
        onehot = target if soft else np.arange(C) == right[..., None]               # (..., C)
        wanted = (class_weights * ((1 - ε) * onehot + ε / C)).astype(logits.real.dtype)
        wanted[~counts] = 0                                                         # where no target counts: nothing
        importance = np.where(counts, 1 if soft else class_weights[right], 0).astype(wanted.dtype)      # (...)
        # 3. How surprising is the right answer? Where nothing is wanted, not even -inf or NaN is looked at.
        losses = 0 - np.where(wanted == 0, 0, wanted * log_probs).sum(axis=-1)      # (..., C) -> (...)
        self.cache = {"logits": logits, "target": target, "counts": counts, "importance": importance,
                      "log_probs": log_probs, "wanted": wanted, "losses": losses}
        if self.reduction == "none":
            return losses
        # 4. The average, or the sum, over all targets that count.
        total = importance.sum() if self.reduction == "mean" else 1
        self.cache["loss"] = loss = losses.sum() / total if total else losses.sum() * 0
        return loss

    def backward(self, dloss=1):
        counts, importance, wanted = (self.cache[name] for name in ("counts", "importance", "wanted"))
        # 4. In the forward pass this was loss = Σ losses / Σ importance.
        if self.reduction == "none":
            dlosses = dloss
        else:
            total = importance.sum() if self.reduction == "mean" else 1
            dlosses = np.where(counts, dloss / total if total else dloss * 0, 0)      # (...)
        # 3. This was losses = - Σ wanted ∘ log_probs.
        dlog_probs = -wanted * dlosses[..., None]                                   # (..., C)
        # 2. wanted does not depend on the logits.
        # 1. This was log_probs = log_softmax(logits). An ignored row learns nothing, whatever lies in it.
        dlogits = np.where(counts[..., None], self.log_softmax.backward(dlog_probs), 0)     # (..., C)
        self.grads = {"losses": dlosses, "log_probs": dlog_probs, "logits": dlogits}
        if self.reduction != "none":
            self.grads["loss"] = dloss
        return dlogits

    FORWARD = (
        ("log_probs", "log softmax(logits)", "... C",
         "The logarithm of the share that each class gets.", "每一类得到的份额的对数。"),
        ("wanted", "class_weights ∘ ((1 − ε) onehot(target) + ε / C) ∘ counts", "... C",
         "What the shares should be: everything for the right class.", "份额应该是多少：全部给正确的那一类。"),
        ("losses", "− Σ_C wanted ∘ log_probs", "...",
         "How surprising is the right answer?", "正确答案有多出人意料？"),
        ("loss", "Σ losses / Σ class_weights[target] ∘ counts", "",
         "The average over all targets that count.", "对所有计入的目标取平均。"),
    )
    BACKWARD = (
        ("dlosses", "dloss ∘ counts / Σ class_weights[target] ∘ counts", "...",
         "Each target has its share in the average.", "每个目标在平均值里占一份。"),
        ("dlog_probs", "− wanted ∘ dlosses", "... C",
         "Only the wanted classes' logarithms were looked at.", "只看了目标类的对数，所以只有它们有梯度。"),
        ("dlogits", "dlog_probs − softmax(logits) ∘ Σ_C dlog_probs", "... C",
         "In sum: what the model said minus what was wanted.", "合起来就是：模型说的减去应该说的。"),
    )
