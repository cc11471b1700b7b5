"""Attention, step by step: which line of the backward pass is the wrong one?

A layer that keeps `weights`, `scores`, `heads`, Q, K and V in its cache, and the gradients under the same names in
grads, can be asked about every step by itself: is dscores what follows from dweights? And if not, is it what a known
mistake would make of it?
"""
import numpy as np

from .copies import follow
from .layer_under_test import Finding

SAME = 1e-9


def story(trial, subject, upstreams):
    """Sentences about the steps of attention that do not follow from the step before; none for other layers."""
    cache, grads = (follow(trial.layer, (name,)) for name in ("cache", "grads"))
    if isinstance(cache, dict) and isinstance(grads, dict):
        known = {**cache, **{f"d{name}": g for name, g in grads.items() if isinstance(g, np.ndarray)}}
        steps = [text for step in (_softmax_step, _value_step, _weights_step) for text in step(known)]
        return steps + _split_steps(trial.layer, known)
    return _plain_softmax(trial, subject, upstreams)


def _softmax_step(known):
    weights, dweights, dscores = (known.get(name) for name in ("weights", "dweights", "dscores"))
    if "capped" in known or any(a is None or a.shape != np.shape(dscores) for a in (weights, dweights, dscores)):
        return []
    text = softmax_fault(weights, dweights, dscores)
    return [f"dscores: {text}"] if text else []


def _value_step(known):
    weights, dheads, dV = (known.get(name) for name in ("dropped", "dheads", "dV"))
    weights = known.get("weights") if weights is None else weights
    if any(a is None for a in (weights, dheads, dV)) or dheads.ndim != weights.ndim or dV.ndim != weights.ndim:
        return []
    if near(dV, _product(weights.mT, dheads), SAME):
        return []
    if near(dV, _product(weights, dheads), SAME):
        return ["dV: weights dheads instead of weightsᵀ dheads: the transpose is missing"]
    return []


def _weights_step(known):
    """dK from dscores: Σ over queries. The scale is left to the ratios."""
    dscores, Q, dK = (known.get(name) for name in ("dscores", "Q", "dK"))
    if any(a is None for a in (dscores, Q, dK)):
        return []
    right, wrong = _product(dscores.mT, Q), _product(dscores, Q)
    if _proportional(dK, right) or not _proportional(dK, wrong):
        return []
    return ["dK: dscores Q instead of dscoresᵀ Q: the transpose is missing"]


def _split_steps(layer, known):
    """The heads' gradients are sewn together before the projection gets them: with the axes swapped, or without?"""
    found = []
    for name, proj in (("dQ", "query_proj"), ("dK", "key_proj"), ("dV", "value_proj")):
        heads, rows = known.get(name), getattr(getattr(layer, proj, None), "grads", {}).get("out")
        if heads is None or rows is None or heads.size != rows.size or heads.ndim < 3:
            continue
        right, wrong = heads.swapaxes(-3, -2).reshape(rows.shape), heads.reshape(rows.shape)
        if near(wrong, rows, SAME) and not near(right, rows, SAME):
            found.append(f"{name}: reshaped straight into rows: swap the axes of heads and tokens first")
    return found


def softmax_fault(weights, dweights, dscores):
    """What is wrong with this gradient of softmax over the last axis, in words; None if nothing is."""
    felt = np.where(weights == 0, 0, dweights)
    row_term = (weights * felt).sum(axis=-1, keepdims=True)
    right = weights * (felt - row_term)
    if near(dscores, right, SAME):
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
    return next((text for text, wrong in faults.items() if near(dscores, wrong, SAME)), None)


def _plain_softmax(trial, subject, upstreams):
    """The same for a softmax written as a function or a layer of somebody's own."""
    out = trial.outs[0]
    if out.ndim == 0 or not np.allclose(out.sum(axis=-1), 1) or (out < 0).any():
        return []
    try:
        found = trial.each([u.copy() for u in upstreams])
    except Finding:
        return []
    texts = [softmax_fault(out, upstreams[0], g) for _, g in found if g.shape == out.shape]
    return [f"softmax: {text}" for text in texts if text]


def _product(a, b):
    """a @ b, or something that is near nothing if the shapes do not allow it."""
    try:
        return a @ b
    except ValueError:
        return np.full(1, np.nan)


def _proportional(a, b):
    """Is a a multiple of b?"""
    if a.shape != b.shape or not (b * b).sum() > 0:
        return False
    return near(a, b * ((a * b).sum() / (b * b).sum()), SAME)


def near(a, b, share):
    """Do a and b, of one shape, differ by no more than this share of the largest number in b?"""
    size = np.abs(b).max(initial=0, where=np.isfinite(b))
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=share * size, equal_nan=True))
