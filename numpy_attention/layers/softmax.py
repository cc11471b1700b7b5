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

    FORWARD = (
        ("weights", "exp(scores − max) / Σ exp(scores − max)", "... S",
         "Turn each row of scores into shares that sum to 1.", "把每一行分数变成总和为 1 的份额。"),
    )
    BACKWARD = (
        ("dscores", "weights ∘ (dweights − Σ weights ∘ dweights)", "... S",
         "A share can only grow at the others' cost, so each row of gradients sums to 0.",
         "一份变大，别的就得变小，所以每一行梯度加起来是 0。"),
    )

    reuse = False       # set by a layer that needs its scores no longer: weights and gradients may take their memory

    def forward(self, scores, *, mask=None):
        if scores.ndim < 1:
            raise ValueError(f"scores must have shape (..., S); got {scores.shape}")
        mask = mask if mask is None else fit_mask(mask, scores.shape)
        seen = np.ascontiguousarray(scores) if mask is None else np.where(mask, scores, -np.inf)
        weights = seen if self.reuse or mask is not None else np.empty_like(seen)
        by_rows(_shares, seen, weights)
        self.keep(scores=None if self.reuse else scores, mask=mask, weights=weights)
        return weights

    def backward(self, dweights):
        mask, weights = self.cache.get("mask"), self.cache["weights"]
        felt = dweights if mask is None else np.where(mask, dweights, 0)       # not even NaN crosses a hidden cell
        if "scores" not in self.cache:
            by_rows(_shares_backward, weights, felt, felt)
            self.grads = {"scores": felt}
            return felt
        dscores = np.empty(felt.shape, np.result_type(weights, felt))
        by_rows(_shares_backward, weights, np.ascontiguousarray(felt), dscores)
        self.grads = {"weights": dweights, "scores": dscores}
        return dscores


# The two formulas write into arrays that are there already: for long rows, fresh memory costs more than the numbers.

def _shares(seen, weights):
    """weights = exp(seen − max) / Σ exp(seen − max), row by row."""
    lowest = np.finfo(weights.dtype).min                                # finite, so that a row of -inf gives no NaN
    highest = np.maximum.reduce(seen.real, axis=-1, keepdims=True, initial=lowest)
    np.exp(np.subtract(seen, highest, out=weights), out=weights)        # the largest becomes exp(0) = 1
    total = np.add.reduce(weights, axis=-1, keepdims=True)
    total += total == 0                                                 # a row that sees nothing stays 0
    weights /= total


def _shares_backward(weights, dweights, dscores):
    """dscores = weights ∘ (dweights − Σ weights ∘ dweights), row by row."""
    row_term = np.einsum("...s,...s->...", weights, dweights)[..., None]
    np.subtract(dweights, row_term, out=dscores)
    dscores *= weights
