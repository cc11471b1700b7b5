"""What does each head do? Five habits that heads are known for, each as one number for every head.

A previous-token head looks at the token before. A duplicate head looks at earlier places of the same token. An
induction head looks at what came *behind* the same token last time, and so copies: it is found on random tokens said
twice, where nothing else could help. A head that has nothing to say parks its attention on one place, usually the
first: a sink.
"""
import numpy as np

from ..engine.arguments import generator, size
from ..training import prefix_match_score, previous_token_score
from .edits import read


def head_scores(model, ids):
    """{habit: (layers, H)}, each between 0 and 1: the share of a head's attention that goes where the habit says.

    "previous": to the token before. "induction": to what followed earlier places of the same token. "duplicate": to
    those places themselves. "first token": to place 0, from place 1 on. "sink": to the one place that most is paid to,
    by those after it. "induction" and "duplicate" are NaN where no token repeats: give repeated_tokens.

    What it does not prove: that a head does nothing else, or that the model needs what it does; a high score says where
    a head looked in *this* text.

    >>> from numpy_attention.models import head_scores, repeated_tokens
    >>> model = na.training.ToyModel(16, 20, layers=2, heads=2, causal=True, rng=0)
    >>> scores = head_scores(model, repeated_tokens(16, 8, rng=0))
    >>> {name: values.shape for name, values in scores.items()}             # doctest: +NORMALIZE_WHITESPACE
    {'previous': (2, 2), 'induction': (2, 2), 'duplicate': (2, 2), 'first token': (2, 2), 'sink': (2, 2)}

    Source: Olsson et al. 2022 (previous, induction), Wang et al. 2023 (duplicate), Xiao et al. 2024 (sink).
    """
    _, twin = read(model, ids)
    ids = np.atleast_2d(ids)
    layers = [attention.weights for attention in twin.attentions()]
    return {name: np.stack([score(weights, ids) for weights in layers]) for name, score in SCORES.items()}


def repeated_tokens(vocab, length, *, times=2, batch=1, avoid=(), rng=0):
    """Random tokens, all different where there are enough, said several times: (batch, times · length).

    >>> from numpy_attention.models import repeated_tokens
    >>> ids = repeated_tokens(50, 4)
    >>> bool((ids[:, :4] == ids[:, 4:]).all()), ids.shape
    (True, (1, 8))
    """
    rng = generator(rng)
    vocab, length, times, batch = (size(name, value) for name, value in (
        ("vocab", vocab), ("length", length), ("times", times), ("batch", batch)))
    known = np.setdiff1d(np.arange(vocab), avoid)
    if not known.size:
        raise ValueError(f"avoid must leave some of the {vocab} tokens; got {avoid!r}")
    rows = [rng.choice(known, length, replace=length > len(known)) for _ in range(batch)]
    return np.tile(np.array(rows), times)


def strongest(scores, count=3):
    """The heads with the highest scores, as (layer, head, score), from scores (layers, H).

    >>> from numpy_attention.models import strongest
    >>> strongest(np.array([[0.1, 0.9], [0.5, np.nan]]), 2)
    [(0, 1, 0.9), (1, 0, 0.5)]
    """
    order = np.argsort(-np.nan_to_num(scores, nan=-np.inf).ravel(), kind="stable")[:count]
    return [(*map(int, np.unravel_index(i, scores.shape)), float(scores.ravel()[i])) for i in order]


def _duplicate(weights, ids):
    """The share that goes to earlier places of the same token, over the places that have one: (H,)."""
    same = np.tril(ids[:, :, None] == ids[:, None, :], -1)                      # (N, L, S)
    asked = same.any(axis=-1)
    share = (weights * same[:, None]).sum(axis=-1)                              # (N, H, L)
    total = (share * asked[:, None]).sum(axis=(0, 2))
    return np.divide(total, asked.sum(), out=np.full(total.shape, np.nan), where=asked.any())


def _previous(weights, ids):
    return previous_token_score(weights) if ids.shape[1] > 1 else np.full(weights.shape[1], np.nan)


def _first(weights, ids):
    return weights[:, :, 1:, 0].mean(axis=(0, 2)) if ids.shape[1] > 1 else np.full(weights.shape[1], np.nan)


def _sink(weights, ids):
    """For each place the mean share it gets from those after it; the largest of these. At least 3 must come after."""
    L = ids.shape[1]
    if L < 4:
        return np.full(weights.shape[1], np.nan)
    after = np.tril(np.ones((L, L)), -1)
    received = (weights * after).sum(axis=2) / np.maximum(after.sum(axis=0), 1)  # (N, H, S)
    return received[..., :L - 3].max(axis=-1).mean(axis=0)


SCORES = {"previous": _previous, "induction": prefix_match_score, "duplicate": _duplicate, "first token": _first,
          "sink": _sink}
