"""Measurements: what does a head do, and does it matter?

A heat map is looked at, a measurement can be compared. Each takes the weights of one attention layer, (N, H, L, S), and
gives one number for each head. Whether a head matters is another question than what its map looks like: for that it is
switched off, and what is lost is counted.
"""
import contextlib

import numpy as np

from ..engine.arguments import is_whole, listed
from ..measures import row_entropy
from .tasks.repeats import prefix_matches


def accuracy(model, batch):
    """The share of right answers among the places where one is asked for.

    >>> batch = na.training.task("reverse").batch(500, rng=0)
    >>> model = na.training.ToyModel(10, 8, rng=0)
    >>> 0 < na.training.accuracy(model, batch) < 0.3            # untrained: about one in ten
    True
    """
    right = read(model, batch).argmax(axis=-1) == batch.targets
    return float(right[batch.counts].mean())


def read(model, batch):
    """The model's logits for a batch, without dropout; what it draws when it trains is not touched by measuring it."""
    training = model.training
    try:
        return model.eval()(*batch.inputs)
    finally:
        model.train(training)


def previous_token_score(weights):
    """How much of its attention each head pays to the token just before: the mean over all places but the first, (H,).

    >>> na.training.previous_token_score(np.eye(4, k=-1)[None, None])
    array([1.])

    Source: Olsson et al. 2022, "previous token heads".
    """
    return np.diagonal(weights, offset=-1, axis1=-2, axis2=-1).mean(axis=(0, -1))


def prefix_match_score(weights, tokens):
    """How much attention goes to what followed earlier places of the same token: the mean over all repeats, (H,).

    A place counts when its token stood somewhere earlier; NaN when no token repeats.

    >>> tokens = np.array([[5, 7, 9, 5]])               # the second 5 should look at 7, at place 1
    >>> weights = np.array([0., 0.6, 0.4, 0.])[None, None, None].repeat(4, axis=2)
    >>> na.training.prefix_match_score(weights, tokens)
    array([0.6])

    Source: Olsson et al. 2022, "prefix matching".
    """
    return gold_mass(weights, prefix_matches(tokens)[:, None])[:, 0]


def gold_mass(weights, gold):
    """How much attention goes where a perfect head looks: (H, K), for each head and question.

    Args: weights (N, H, L, S). gold (N, K, L, S), above 0 where a perfect head looks; empty rows do not count.

    >>> batch = na.training.task("shift", L=5).batch(3, rng=0)
    >>> na.training.gold_mass(np.full((3, 2, 5, 5), 0.2), batch.gold)
    array([[0.2],
           [0.2]])
    """
    cells = (gold > 0).astype(weights.dtype)
    asked = (gold > 0).any(axis=-1).sum(axis=(0, 2))                    # (K,), how many rows count
    mass = np.einsum("nhls,nkls->hk", weights, cells)                   # (H, K)
    return np.divide(mass, asked, out=np.full(mass.shape, np.nan, mass.dtype), where=asked > 0)


def entropy(weights):
    """How spread each head's attention is, in nats: 0 for one key, log S for all alike; the mean over queries, (H,).

    >>> na.training.entropy(np.full((1, 1, 2, 4), 0.25)).round(4)           # log 4
    array([1.3863])

    Source: Shannon 1948, section 6.
    """
    return row_entropy(weights).mean(axis=(0, -1))


@contextlib.contextmanager
def head_off(model, layer, head):
    """Switch one head off while in the with-block: what it found is not added to the stream.

    Args: layer, head: counted from 0.
    Raises: ValueError/TypeError if there is no such head.

    >>> model = na.training.ToyModel(10, 8, heads=2, rng=0)
    >>> ids = [[1, 2, 3]]
    >>> before = model(ids)
    >>> with na.training.head_off(model, 0, 1):
    ...     without = model(ids)
    >>> bool(np.allclose(before, without)), bool((model(ids) == before).all())
    (False, True)

    Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?".
    """
    (layer, head), = head_pairs("layer, head", [(layer, head)], model)
    attention = model.attentions()[layer]
    proj, H = attention.output_proj, attention.split.num_heads
    W = proj.params["W"]
    rows = np.arange(len(W)) // (len(W) // H) == head               # head h fills rows h·d_v to (h+1)·d_v of W_O
    proj.params["W"] = np.where(rows[:, None], W.dtype.type(0), W)
    try:
        yield model
    finally:
        proj.params["W"] = W


def head_pairs(name, heads, model):
    """`heads` as (layer, head) pairs of the model, each once; or an error."""
    numbers = [attention.split.num_heads for attention in model.attentions()]
    there = {(layer, head) for layer, most in enumerate(numbers) for head in range(most)}
    found = []
    for pair in listed(name, heads, "(layer, head) pairs"):
        if not (isinstance(pair, list | tuple | np.ndarray) and all(map(is_whole, pair)) and tuple(pair) in there):
            raise ValueError(f"{name} must name heads of this model, as (layer, head) from {min(there)} to "
                             f"{max(there)}; got {pair!r}")
        found.append(tuple(map(int, pair)))
    return list(dict.fromkeys(found))


def head_costs(model, batch):
    """What switching each head off costs in accuracy, (layers, H).

    >>> batch = na.training.task("reverse").batch(50, rng=0)
    >>> na.training.head_costs(na.training.ToyModel(10, 8, layers=2, heads=4, rng=0), batch).shape
    (2, 4)
    """
    whole = accuracy(model, batch)
    costs = []
    for layer, attention in enumerate(model.attentions()):
        for head in range(attention.split.num_heads):
            with head_off(model, layer, head):
                costs.append(whole - accuracy(model, batch))
    return np.reshape(costs, (len(model.attentions()), -1))


def head_scores(model, batch):
    """All measurements of all heads on one batch, by name, each (layers, H).

    "entropy" always; "gold mass", the best over the questions, where the task knows it; "previous token" and
    "prefix match" for self-attention.

    >>> batch = na.training.task("induction").batch(50, rng=0)
    >>> scores = na.training.head_scores(na.training.ToyModel(16, 20, layers=2, causal=True, rng=0), batch)
    >>> {name: values.shape for name, values in scores.items()}
    {'entropy': (2, 1), 'gold mass': (2, 1), 'previous token': (2, 1), 'prefix match': (2, 1)}
    """
    read(model, batch)
    return scores_after_forward(model, batch)


def scores_after_forward(model, batch):
    """head_scores of a model that has just read the batch."""
    S = batch.inputs[-1].shape[1]           # keys of the exercise; extra keys stand behind them
    layers = [attention.weights[..., :S] for attention in model.attentions()]
    scores = {"entropy": [entropy(weights) for weights in layers]}
    if batch.gold is not None:
        scores["gold mass"] = [gold_mass(weights, batch.gold).max(axis=1) for weights in layers]
    if len(batch.inputs) == 1:
        scores["previous token"] = [previous_token_score(weights) for weights in layers]
        scores["prefix match"] = [prefix_match_score(weights, batch.inputs[0]) for weights in layers]
    return {name: np.stack(values) for name, values in scores.items()}
