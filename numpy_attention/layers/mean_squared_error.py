"""Mean squared error: how far off, squared, on average.

Squaring counts a large error far more than a small one, and makes the gradient proportional to the error itself.
"""
import numpy as np

from ..engine.arguments import one_of
from ..engine.layer import Layer
from ..engine.shapes import check_same_shape

REDUCTIONS = ("mean", "sum", "none")


class MeanSquaredError(Layer):
    """(prediction − target)², averaged over all numbers.

    loss(prediction, target) -> a number; loss.backward() -> dprediction, dtarget

    Args: reduction: "mean", "sum", or "none" for one square per number; then backward needs dsquares.

    Shapes: prediction and target (...), the same. loss () or (...).
    Raises: ValueError if the shapes differ: nothing is broadcast.
    The mean over nothing is 0.

    >>> loss = na.MeanSquaredError()
    >>> float(loss([[1., 2.]], [[1., 5.]]))
    4.5
    >>> dprediction, dtarget = loss.backward()
    >>> dprediction
    array([[ 0., -3.]])

    Source: Gauss 1809.
    """

    def __init__(self, *, reduction="mean"):
        super().__init__()
        self.reduction = one_of("reduction", reduction, REDUCTIONS)

    def forward(self, prediction, target):
        check_same_shape("prediction", prediction, "target", target)
        # 1. How far off?
        error = prediction - target                     # (...)
        # 2. Squared.
        squares = error * error                         # (...)
        self.cache = {"prediction": prediction, "target": target, "error": error, "squares": squares}
        if self.reduction == "none":
            return squares
        # 3. On average, or in sum.
        self.cache["loss"] = loss = squares.sum() / self._count()
        return loss

    def backward(self, dloss=1):
        error = self.cache["error"]
        # 3. In the forward pass this was loss = Σ squares / count.
        dsquares = dloss if self.reduction == "none" else np.broadcast_to(dloss / self._count(), error.shape)
        # 2. This was squares = error², and the slope of a square is twice its root.
        derror = 2 * error * dsquares                   # (...)
        # 1. This was error = prediction - target.
        dprediction = derror
        dtarget = -derror
        self.grads = {"squares": dsquares, "error": derror, "prediction": dprediction, "target": dtarget}
        if self.reduction != "none":
            self.grads["loss"] = dloss
        return dprediction, dtarget

    def _count(self):
        return max(self.cache["squares"].size, 1) if self.reduction == "mean" else 1

    FORWARD = (
        ("error", "prediction − target", "...",
         "How far off is each number?", "每个数差了多少？"),
        ("squares", "error²", "...",
         "Count large errors more.", "误差越大，算得越重。"),
        ("loss", "Σ squares / count", "",
         "The average.", "取平均。"),
    )
    BACKWARD = (
        ("dsquares", "dloss / count", "...",
         "Each square has an equal share in the average.", "每个平方在平均值里占同样的一份。"),
        ("derror", "2 error ∘ dsquares", "...",
         "The slope of a square is twice its root.", "平方的导数是它的根的两倍。"),
        ("dprediction", "derror", "...",
         "Pull the prediction towards the target.", "把预测值拉向目标。"),
        ("dtarget", "−derror", "...",
         "The target came in with a minus.", "目标带着负号进来，所以梯度也变号。"),
    )
