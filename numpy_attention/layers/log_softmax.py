"""LogSoftmax: the logarithm of softmax's shares, without ever computing the shares first.

log(exp(x) / Σ exp(x)) = x − log Σ exp(x). Written like this, a share too small for a floating-point number still has
its proper logarithm, and a loss made of logarithms stays finite. The row's maximum is subtracted first, as in softmax.
"""
import numpy as np

from ..engine.layer import Layer
from ..engine.shapes import check_rows


class LogSoftmax(Layer):
    """x − log Σ exp(x) over the last axis: the logarithms of shares that sum to 1.

    Shapes: logits and log_probs (..., C).
    Raises: ValueError for a number instead of rows.

    A logit of -inf gets the log-probability -inf; so do all of a row that is -inf altogether.

    >>> na.LogSoftmax()([[0., 1000.]])
    array([[-1000.,     0.]])
    >>> np.exp(na.LogSoftmax()([0., 1., 2.])).round(4)
    array([0.09  , 0.2447, 0.6652])

    Source: Blanchard, Higham and Higham 2021, on why to shift by the maximum.
    """

    def forward(self, logits):
        check_rows("logits", logits, "C")
        # 1. Shift each row so that its largest logit is 0: no exp can overflow then. (A row of -inf stays.)
        highest = logits.real.max(axis=-1, keepdims=True, initial=-np.inf)          # (..., 1)
        shifted = logits - np.where(highest == -np.inf, 0, highest)                 # (..., C)
        # 2. Subtract the logarithm of the sum of all shares, which is at least exp(0) = 1.
        total = np.exp(shifted).sum(axis=-1, keepdims=True)                         # (..., 1)
        log_probs = shifted - np.log(np.where(total == 0, 1, total))                # (..., C)
        self.cache = {"logits": logits, "log_probs": log_probs}
        return log_probs

    def backward(self, dlog_probs):
        # 2. and 1. In the forward pass this was log_probs = logits - log Σ exp(logits). The slope of log Σ exp with
        # respect to one logit is that class's share, so every logit also gets what all the others sent, in its share.
        probs = np.exp(self.cache["log_probs"])                                     # (..., C)
        dlogits = dlog_probs - probs * dlog_probs.sum(axis=-1, keepdims=True)       # (..., C)
        self.grads = {"log_probs": dlog_probs, "logits": dlogits}
        return dlogits

    FORWARD = (
        ("log_probs", "logits − max − log Σ exp(logits − max)", "... C",
         "Turn each row of scores into logarithms of shares.", "把每一行分数变成份额的对数。"),
    )
    BACKWARD = (
        ("dlogits", "dlog_probs − exp(log_probs) ∘ Σ dlog_probs", "... C",
         "Raising one logit lowers all the others' shares, each in proportion to its own.",
         "一个分数升高，所有份额都按各自的比例让出一些。"),
    )
