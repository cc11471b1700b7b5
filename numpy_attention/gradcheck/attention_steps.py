"""Attention, step by step: which line of the backward pass is the wrong one?

A layer that keeps `weights`, `scores`, `heads`, Q, K and V in its cache, and the gradients under the same names in
grads, can be asked about every step by itself: is dscores what follows from dweights? And if not, is it what a known
mistake would make of it?
"""
import numpy as np

from .copies import follow
from .layer_under_test import Finding


def story(trial, subject, upstreams):
    """Sentences about the steps of attention that do not follow from the step before; none for other layers."""
    cache, grads = (follow(trial.layer, (name,)) for name in ("cache", "grads"))
    if not isinstance(cache, dict) or not isinstance(grads, dict):
        return _plain_softmax(trial, subject, upstreams)
    known = {**cache, **{f"d{name}": g for name, g in grads.items()}}
    known = {name: a for name, a in known.items() if isinstance(a, np.ndarray)}.get
    softmax = None if known("capped") is not None else softmax_fault(*map(known, ("weights", "dweights", "dscores")))
    shares = "weights" if known("dropped") is None else "dropped"
    steps = [("dscores", softmax),
             ("dV", _transposed(*map(known, ("dV", shares, "dheads")), "weights dheads instead of weightsᵀ dheads")),
             ("dK", _transposed(*map(known, ("dK", "dscores", "Q")), "dscores Q instead of dscoresᵀ Q")),
             *((name, _not_merged(known(name), follow(trial.layer, (proj, "grads", "out")))) for name, proj in (
                 ("dQ", "query_proj"), ("dK", "key_proj"), ("dV", "value_proj")))]
    return [f"{name}: {text}" for name, text in steps if text]


def softmax_fault(weights, dweights, dscores):
    """What is wrong with this gradient of softmax over the last axis, in words; None if nothing is."""
    if any(a is None or a.shape != np.shape(dscores) for a in (weights, dweights, dscores)):
        return None
    felt = np.where(weights == 0, 0, dweights)
    row_term = (weights * felt).sum(axis=-1, keepdims=True)
    if near(dscores, weights * (felt - row_term)):
        return None
    faults = {
        "only the diagonal of the softmax's Jacobian, weights ∘ (1 − weights) ∘ dweights: shares compete, so the row "
        "term is needed: weights ∘ (dweights − Σ weights ∘ dweights)": weights * (1 - weights) * felt,
        "the row term − Σ weights ∘ dweights is missing": weights * felt,
        "passed straight through: the softmax's derivative is missing": dweights,
        "the factor weights is missing": felt - row_term,
        "the sign of the row term is wrong": weights * (felt + row_term),
        "the row term is a mean, not a sum": weights * (felt - row_term / weights.shape[-1]),
    }
    if weights.ndim > 1:
        over_queries = (weights * felt).sum(axis=-2, keepdims=True)
        faults["the row term is summed over the queries, not over the keys"] = weights * (felt - over_queries)
    return next((text for text, wrong in faults.items() if near(dscores, wrong)), None)


def _plain_softmax(trial, subject, upstreams):
    """The same for a softmax written as a function or a layer of somebody's own."""
    out = trial.outs[0]
    if out.ndim == 0 or not np.allclose(out.sum(axis=-1), 1) or (out < 0).any():
        return []
    try:
        found = trial.each([u.copy() for u in upstreams])
    except Finding:
        return []
    texts = [softmax_fault(out, upstreams[0], g) for _, g in found]
    return [f"softmax: {text}" for text in texts if text]


def _transposed(found, left, right, words):
    """Is it left right instead of leftᵀ right? A scale that is wrong as well is left to the ratios."""
    if found is None or left is None or right is None:
        return None
    wrong = _proportional(found, left, right) and not _proportional(found, left.mT, right)
    return f"{words}: the transpose is missing" if wrong else None


def _proportional(found, left, right):
    """Is it a multiple of their product?"""
    try:
        product = left @ right
    except ValueError:                                  # shapes that do not fit
        return False
    size = (product * product).sum()
    return found.shape == product.shape and size > 0 and near(found, product * ((found * product).sum() / size))


def _not_merged(heads, rows):
    """The heads' gradients are sewn together before the projection gets them: with the axes swapped, or without?"""
    if heads is None or rows is None or heads.size != rows.size or heads.ndim < 3:
        return None
    right, wrong = heads.swapaxes(-3, -2).reshape(rows.shape), heads.reshape(rows.shape)
    if near(right, rows) or not near(wrong, rows):
        return None
    return "reshaped straight into rows: swap the axes of heads and tokens first"


def near(a, b):
    """Do they differ by no more than a billionth of the largest number in b?"""
    size = np.abs(b).max(initial=0, where=np.isfinite(b))
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=1e-9 * size, equal_nan=True))
