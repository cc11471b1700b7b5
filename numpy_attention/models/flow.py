"""Attention through all layers: two ways to turn many maps into one.

Rollout follows attention down through the layers: half of a row comes from where its heads look, half from the row
itself, and so on to the bottom. Gradient × attention asks the answer: a weight counts as far as changing it would
change the answer, and only where more of it would help.
"""
import numpy as np

from .edits import read
from .question import dlogits_of


def rollout(model, ids):
    """(N, L, L): how much of each row comes from each token, if every layer were half attention and half itself.

    What it does not prove: that the token was used. It follows where attention goes and not what is carried; values,
    feed-forward layers and the sizes of what is added are left out.

    >>> from numpy_attention.models import rollout
    >>> flow = rollout(na.training.ToyModel(10, 8, layers=2, causal=True, rng=0), [[1, 2, 3]])
    >>> bool(np.allclose(flow.sum(axis=-1), 1)), float(flow[0, 0, 1])
    (True, 0.0)

    Source: Abnar and Zuidema 2020, "Quantifying Attention Flow in Transformers", section 3.
    """
    _, twin = read(model, ids)
    layers = [attention.weights.mean(axis=1) for attention in twin.attentions()]        # (N, L, L)
    itself = np.eye(layers[0].shape[-1])
    flow = itself
    for weights in layers:
        step = weights + itself
        flow = step / step.sum(axis=-1, keepdims=True) @ flow
    return flow


def gradient_attention(model, ids, word, place=-1):
    """(layers, N, L, L): max(0, weights ∘ d logit / d weights), the mean over the heads of each layer.

    Args: word, place: whose logit, where; the place counts among all places.

    What it does not prove: importance in general. A gradient tells what a tiny change would do, here, to this logit;
    a saturated head hardly has one, though the model may depend on it.

    >>> from numpy_attention.models import gradient_attention
    >>> gradient_attention(na.training.ToyModel(10, 8, layers=2, causal=True, rng=0), [[1, 2, 3]], word=4).shape
    (2, 1, 3, 3)

    Source: Chefer, Gur and Wolf 2021, "Generic Attention-model Explainability", equation (5).
    """
    logits, twin = read(model, ids)
    twin.backward(dlogits_of(logits, word, place))
    return np.stack([np.maximum(attention.weights * attention.grads["weights"], 0).mean(axis=1)
                     for attention in twin.attentions()])
