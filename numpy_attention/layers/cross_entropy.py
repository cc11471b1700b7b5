"""Cross-entropy: how surprised the model is by the right answer.

The model gives every class a share; the loss is minus the logarithm of the share that the right class got: 0 if that
was everything, large if it was next to nothing. Its gradient is the simplest in the whole field: what the model said
minus what it should have said.
"""
import numpy as np

from ..engine.layer import Layer
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

    Shapes: logits (..., C), target whole numbers (...), loss () or (...).
    Raises: TypeError for targets that are not whole numbers, ValueError for targets outside 0..C-1 or other shapes.

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
    integer_inputs = ("target",)

    def __init__(self, *, class_weights=None, ignore_index=-100, label_smoothing=0.0, reduction="mean"):
        super().__init__()
        if reduction not in REDUCTIONS:
            raise ValueError(f"reduction must be one of {', '.join(REDUCTIONS)}; got {reduction!r}")
        if not np.isscalar(label_smoothing) or isinstance(label_smoothing, str) or not 0 <= label_smoothing <= 1:
            raise ValueError(f"label_smoothing must lie in 0..1; got {label_smoothing!r}")
        if class_weights is not None:
            class_weights = np.array(class_weights, dtype=np.float64)
            if class_weights.ndim != 1 or not ((class_weights >= 0) & (class_weights < np.inf)).all():
                raise ValueError("class_weights must have shape (C,) and hold numbers that are not negative; "
                                 f"got {class_weights}")
        if isinstance(ignore_index, bool) or not isinstance(ignore_index, int | np.integer):
            raise TypeError(f"ignore_index must be a whole number; got {ignore_index!r}")
        self.class_weights, self.ignore_index = class_weights, int(ignore_index)
        self.label_smoothing, self.reduction = float(label_smoothing), reduction
        self.log_softmax = LogSoftmax()

    def forward(self, logits, target):
        target = self._checked(target, logits)
        counts = target != self.ignore_index                                        # (...), bool
        # 1. The logarithm of every class's share.
        log_probs = self.log_softmax(logits)                                        # (..., C)
        # 2. What was wanted instead.
        wanted, importance = self._wanted(target, counts, logits)                   # (..., C), (...)
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
        # 4. loss = Σ losses / Σ importance
        if self.reduction == "none":
            dlosses = dloss
        else:
            total = importance.sum() if self.reduction == "mean" else 1
            dlosses = np.where(counts, dloss / total if total else 0, 0)      # (...)
        # 3. losses = - Σ wanted ∘ log_probs
        dlog_probs = -wanted * dlosses[..., None]                                   # (..., C)
        # 2. wanted does not depend on the logits.
        # 1. Through the log-softmax. An ignored row learns nothing, whatever lies in it.
        dlogits = np.where(counts[..., None], self.log_softmax.backward(dlog_probs), 0)     # (..., C)
        self.grads = {"losses": dlosses, "log_probs": dlog_probs, "logits": dlogits}
        if self.reduction != "none":
            self.grads["loss"] = dloss
        return dlogits

    def _wanted(self, target, counts, logits):
        """(..., C), what each share should be times what it counts; and (...), what each target counts."""
        C, dtype = logits.shape[-1], logits.real.dtype
        class_weights = np.ones(C) if self.class_weights is None else self.class_weights
        elsewhere = self.label_smoothing / C
        place = np.where(counts, target, 0)
        onehot = np.arange(C) == place[..., None]                                   # (..., C)
        wanted = np.where(onehot, (class_weights * (1 - self.label_smoothing + elsewhere)).astype(dtype),
                          (class_weights * elsewhere).astype(dtype))
        wanted[~counts] = 0
        return wanted, np.where(counts, class_weights[place], 0).astype(dtype)

    def _checked(self, target, logits):
        target = np.array(target)
        if target.size == 0:
            target = target.astype(np.intp)
        if target.dtype.kind not in "iu":
            raise TypeError(f"target must hold whole numbers, one class for each row; got dtype {target.dtype}")
        if logits.ndim < 1 or logits.shape[-1] < 1 or target.shape != logits.shape[:-1]:
            raise ValueError("logits must have shape (..., C), the classes last, and target the same without C: "
                             f"logits are {logits.shape}, target is {target.shape}")
        C = logits.shape[-1]
        if self.class_weights is not None and len(self.class_weights) != C:
            raise ValueError(f"class_weights must have shape (C,) = ({C},); got {self.class_weights.shape}")
        wrong = target[(target != self.ignore_index) & ((target < 0) | (target >= C))]
        if wrong.size:
            raise ValueError(f"target must lie in 0..{C - 1} (C = {C}), or be ignore_index = {self.ignore_index}; "
                             f"got {wrong[0]}")
        return target
