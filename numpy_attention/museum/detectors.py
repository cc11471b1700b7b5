"""The five detectors. Each looks at a layer in its own way and says what it saw, or nothing.

Golden numbers see what is computed and are blind to the gradient. A gradient check sees whether backward belongs to
forward and is blind to a forward that computes the wrong thing. Symmetries need no numbers at all. Neither makes the
others superfluous, which is what the matrix shows.
"""
import copy

import numpy as np

from ..gradcheck import check_gradients
from .rooms import CAUSAL, X, normal

CLOSE = {"rtol": 1e-7, "atol": 1e-9}


def golden_numbers(layer, room):
    """Output and weights against numbers worked out separately; after eval(), for dropout has no fixed numbers."""
    layer = copy.deepcopy(layer).eval()
    for inputs, options in room.calls:
        found, (expected, weights) = layer(*inputs, **options), room.expected(layer, inputs, options)
        if not np.allclose(found, expected, **CLOSE):
            return f"the output is off by up to {np.abs(found - expected).max():.2g}"
        if weights is not None and not np.allclose(layer.weights, weights, **CLOSE):
            return f"the weights are off by up to {np.abs(layer.weights - weights).max():.2g}"
    return None


def row_sums(layer, room):
    """Each row of weights sums to 1, or to 0 where a query may see nothing; None for layers without weights."""
    for inputs, options in room.calls:
        layer(*inputs, **options)
        sums, sees = layer.weights.sum(axis=-1), options.get("mask", np.ones(1, bool)).any(axis=-1)
        if not np.allclose(sums, np.broadcast_to(sees, sums.shape), rtol=0, atol=1e-9):
            return f"a row of weights sums to {sums.flat[np.abs(sums - sees).argmax()]:.3g}"
    return None


def causality_probe(layer, room):
    """Under a causal mask, changing the last token must not change what comes before it."""
    layer = copy.deepcopy(layer).eval()
    changed = X.copy()
    changed[:, -1] += normal(*X[:, -1].shape, seed=1)
    before, after = layer(X, mask=CAUSAL)[:, :-1], layer(changed, mask=CAUSAL)[:, :-1]
    if not np.allclose(before, after, rtol=0, atol=1e-12):
        return f"the past changes by {np.abs(before - after).max():.2g} when the last token does"
    return None


def permutation(layer, room):
    """Without a mask, other order in, same other order out: attention does not know the tokens' places."""
    layer, order = copy.deepcopy(layer).eval(), np.roll(np.arange(X.shape[1]), 1)
    found, expected = layer(X[:, order]), layer(X)[:, order]
    if not np.allclose(found, expected, **CLOSE):
        return f"permuting the tokens changes outputs by {np.abs(found - expected).max():.2g}"
    return None


def gradient_check(layer, room):
    """All gradients against measured ones, with masks; which differ, or which rule of a good backward is broken."""
    for inputs, options in room.gradient_calls:
        report = check_gradients(layer, *inputs, **options, method="directional")
        if not report.ok:
            wrong = [row.name for row in report.rows if not row.ok and row.kind != "all"]
            broken = [f"{line.name}: {line.text}" for line in report.lines if not line.ok]
            return report.problem or f"wrong: {', '.join(wrong)}" * bool(wrong) or "; ".join(broken)
    return None


def diagnosis(layer, room):
    """What the gradient check has to say about a layer, in sentences; element by element, so that it knows more."""
    for inputs, options in room.gradient_calls:
        report = check_gradients(layer, *inputs, **options)
        if not report.ok:
            return report.diagnosis + [f"{line.name}: {line.text}" for line in report.lines if not line.ok]
    return []


DETECTORS = {"golden numbers": golden_numbers, "row sums": row_sums, "causality probe": causality_probe,
             "permutation": permutation, "gradient check": gradient_check}


def applies(detector, room):
    """Can this detector say anything about this kind of layer?"""
    if detector == "row sums":
        return room.attends and hasattr(type(room.make()), "weights")
    return room.attends or detector in ("golden numbers", "gradient check")


def alarm(detector, layer, room):
    """What the detector says, "" for nothing; an exception is an alarm as well."""
    try:
        with np.errstate(all="ignore"):
            return DETECTORS[detector](layer, room) or ""
    except Exception as error:
        return f"{type(error).__name__}: {error}"
