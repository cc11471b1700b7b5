"""Choosing the next word: the likeliest, or one drawn by lot among the likely ones.

Greedy choice (temperature 0) always takes the likeliest word; such texts soon repeat themselves. Drawing by lot takes
each word as often as the model says. A temperature below 1 sharpens the shares before the draw, one above 1 flattens
them; top_k keeps only the k likeliest words; top_p keeps the fewest words that together have that share.
"""
import numpy as np

from ..engine.arguments import generator, is_number, rectangular, size


def choose(logits, *, temperature=0.0, top_k=None, top_p=None, rng=None):
    """The next ids, (N,), from logits (N, V).

    Args:
        temperature: 0 for the likeliest word. top_k: at most that many words. top_p: in 0 < top_p <= 1.
        rng: seed or np.random.Generator for the draw.
    Raises: ValueError for settings outside of their range.

    >>> from numpy_attention.models import choose
    >>> logits = np.log([[0.1, 0.6, 0.3]])
    >>> choose(logits), choose(logits, temperature=1.0, top_k=1, rng=0)
    (array([1]), array([1]))
    >>> draws = choose(np.repeat(logits, 10_000, axis=0), temperature=1.0, top_p=0.7, rng=0)
    >>> (np.bincount(draws) / 10_000).round(1)
    array([0. , 0.7, 0.3])

    Source: Holtzman et al. 2020 (top-p, section 3.1); Fan et al. 2018 (top-k).
    """
    logits = rectangular("logits", logits)
    if logits.ndim != 2 or logits.dtype.kind not in "fiu" or not logits.size or not np.isfinite(logits.max(-1)).all():
        raise ValueError("logits must be numbers of shape (N, V), without NaN and +inf, and not -inf for all words of "
                         f"a row; got {logits.dtype} of shape {logits.shape}")
    logits, (temperature, top_k, top_p) = logits.astype(float), sampling_settings(temperature, top_k, top_p)
    if temperature == 0:
        return logits.argmax(axis=-1)
    shares = shares_of(logits, temperature)
    order = np.argsort(-shares, axis=-1, kind="stable")                     # the likeliest first
    sorted_shares = np.take_along_axis(shares, order, axis=-1)
    if top_k is not None:
        sorted_shares[:, top_k:] = 0
        sorted_shares /= sorted_shares.sum(axis=-1, keepdims=True)
    if top_p is not None:
        before = np.cumsum(sorted_shares, axis=-1) - sorted_shares
        sorted_shares[before >= top_p] = 0                                  # the likeliest one always stays
    ends = np.cumsum(sorted_shares, axis=-1)
    drawn = generator(rng).random((len(ends), 1)) * ends[:, -1:]
    return np.take_along_axis(order, (ends <= drawn).sum(axis=-1, keepdims=True), axis=-1)[:, 0]


def sampling_settings(temperature, top_k, top_p):
    """(temperature, top_k, top_p) as they are, or an error that names the one which is out of its range."""
    if not is_number(temperature) or temperature < 0:
        raise ValueError(f"temperature must be a number of at least 0; got {temperature!r}")
    if top_p is not None and (not is_number(top_p) or not 0 < top_p <= 1):
        raise ValueError(f"top_p must lie in 0 < top_p <= 1; got {top_p!r}")
    return temperature, top_k if top_k is None else size("top_k", top_k), top_p


def shares_of(logits, temperature=1.0):
    """softmax(logits / temperature) over the last axis, in float64."""
    with np.errstate(over="ignore"):        # beside the likeliest word, one that is far below has a share of 0
        raised = np.exp((logits - logits.max(axis=-1, keepdims=True)) / temperature)
    return raised / raised.sum(axis=-1, keepdims=True)
