"""Clipping: no single step may be too large.

Now and then a batch gives a gradient far larger than all others, and one such step can undo the work of many. All
gradients together are seen as one long vector; if it is longer than allowed, it is shortened, its direction unchanged.
"""
import math

import numpy as np


def clip_grad_norm(layer, max_norm):
    """Scale all gradients of the layer's parameters so that their common norm is at most max_norm.

    The norm is that of all gradients as one vector, √(Σ g²). They are scaled by min(1, max_norm / (norm + 1e-6)).

    Args: layer: any layer, after backward. max_norm: not negative; math.inf only measures.
    Returns: the norm before clipping, a float.
    Raises: RuntimeError before any backward, FloatingPointError if a gradient is not finite; nothing changes then.

    >>> layer = na.Linear(1, 2, rng=0)
    >>> _ = layer([[0.]]), layer.backward([[3., 4.]])
    >>> na.clip_grad_norm(layer, 1.0)
    5.0
    >>> layer.grads["b"].round(3)
    array([0.6, 0.8])

    Source: Pascanu, Mikolov and Bengio 2013, algorithm 1.
    """
    if isinstance(max_norm, (bool, str)) or not np.isscalar(max_norm) or not max_norm >= 0:
        raise ValueError(f"max_norm must be a number that is not negative; got {max_norm!r}")
    grads = layer.named_grads()
    if missing := sorted(set(layer.named_params()) - set(grads)):
        raise RuntimeError(f"{missing[0]} has no gradient yet: run forward and backward before clipping")
    largest = 0.0
    for name, g in grads.items():
        if not np.isfinite(g).all():
            raise FloatingPointError(f"the gradient of {name} holds NaN or infinity: nothing was clipped")
        largest = max(largest, float(np.abs(g).max(initial=0)))
    if largest == 0:
        return 0.0
    # Divided by the largest first, so that no square overflows.
    norm = largest * math.sqrt(sum(float(np.square(g / largest, dtype=np.float64).sum()) for g in grads.values()))
    scale = min(1.0, max_norm / (norm + 1e-6))
    for owner in _with_sublayers(layer):
        for name in owner.params:
            owner.grads[name] = owner.grads[name] * scale
    return norm


def _with_sublayers(layer):
    yield layer
    for inner in layer.sublayers().values():
        yield from _with_sublayers(inner)
