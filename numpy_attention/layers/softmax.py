"""Softmax: a row of scores becomes a row of shares.

Exponentiate every score, divide by the row's total: all shares are positive and each row sums to 1. Adding the same
number to a whole row changes nothing, so the row's maximum is subtracted first; then no exponential can overflow.
A hidden cell counts as a score of -∞, a share of 0. A row in which everything is hidden gets shares of 0.
"""
import numpy as np

from ..engine.layer import Layer
from ..engine.mask_and_bias import fit_mask
from ..engine.row_blocks import by_rows


class Softmax(Layer):
    """softmax over the last axis; with a boolean mask, over the cells that are True.

    softmax(scores, *, mask=None) -> weights, both (..., S). The mask is as in numpy_attention.masks.
    A row that is hidden altogether (or -inf altogether) gives zeros and gets gradient 0.

    >>> na.Softmax()([[0., 1., 2.]]).round(4)
    array([[0.09  , 0.2447, 0.6652]])
    >>> na.Softmax()([[1., 1., 1.]], mask=np.array([[True, True, False]]))
    array([[0.5, 0.5, 0. ]])

    Source: Bridle 1990. Backward: the vector-Jacobian product with diag(p) - p pᵀ, without ever building that matrix.
    """

    def forward(self, scores, *, mask=None):
        if scores.ndim < 1:
            raise ValueError(f"scores must have shape (..., S); got {scores.shape}")
        mask = None if mask is None else fit_mask(mask, scores.shape)
        visible = scores if mask is None else np.where(mask, scores, -np.inf)
        weights = by_rows(softmax, visible)                 # (..., S), a block of rows at a time
        self.keep(scores=scores, mask=mask, weights=weights)
        return weights

    def backward(self, dweights):
        # In the forward pass: weights = softmax(scores), row by row.
        mask, weights = self.cache.get("mask"), self.cache["weights"]
        visible = dweights if mask is None else np.where(mask, dweights, 0)    # not even NaN crosses a hidden cell
        dscores = by_rows(softmax_backward, weights, visible)
        self.grads = {"weights": dweights, "scores": dscores}
        return dscores

    FORWARD = (
        ("weights", "exp(scores − max) / Σ exp(scores − max)", "... S",
         "Turn each row of scores into shares that sum to 1.", "把每一行分数变成总和为 1 的份额。"),
    )
    BACKWARD = (
        ("dscores", "weights ∘ (dweights − Σ weights ∘ dweights)", "... S",
         "A share can only grow at the others' cost, so each row of gradients sums to 0.",
         "一份变大，别的就得变小，所以每一行梯度加起来是 0。"),
    )


def softmax(scores):
    """exp(scores − max) / Σ exp(scores − max), row by row."""
    lowest = np.finfo(scores.dtype).min                     # finite, so that a row of -inf gives no NaN
    highest = scores.real.max(axis=-1, keepdims=True, initial=lowest)
    exponentials = np.exp(scores - highest)                 # the largest becomes exp(0) = 1
    total = exponentials.sum(axis=-1, keepdims=True)
    return exponentials / (total + (total == 0))            # a row that sees nothing stays 0


def softmax_backward(weights, dweights):
    """weights ∘ (dweights − Σ weights ∘ dweights), row by row."""
    row_term = (weights * dweights).sum(axis=-1, keepdims=True)
    return weights * (dweights - row_term)
