"""Saliency and loss: which tokens does an answer hang on, and which did the model see coming?"""
import numpy as np

from ..engine.arguments import listed
from .edits import read
from .question import dlogits_of, id_rows


def saliency(model, ids, word, place=-1):
    """(N, L): gradient × input, for each token: how much its row adds to a logit, as far as that is linear.

    Args: word: an id, or a pair of ids for the difference of their logits. place: where the answer is read.

    What it does not prove: what would happen without the token. It is the slope at this text: a logit that has levelled
    off shows small numbers for tokens that it could not do without.

    >>> from numpy_attention.models import saliency
    >>> saliency(na.training.ToyModel(10, 8, layers=2, causal=True, rng=0), [[1, 2, 3]], word=4).shape
    (1, 3)

    Source: Denil et al. 2014; Sundararajan et al. 2017 discuss what it misses.
    """
    logits, twin = read(model, ids)
    twin.backward(dlogits_of(logits, word, place))
    return (twin.cache["embedded"] * twin.grads["embedded"]).sum(axis=-1)


def token_losses(model, ids):
    """(N, L − 1): −log of the share that the model gave each token from what stood before it, in nats.

    What it does not prove: understanding. A token may be easy because it was said before, or because it is frequent.

    >>> from numpy_attention.models import token_losses
    >>> losses = token_losses(na.training.ToyModel(10, 8, causal=True, rng=0), [[1, 2, 3]])
    >>> losses.shape, bool((losses > 0).all())
    ((1, 2), True)
    """
    logits, _ = read(model, ids)
    logits, ids = logits[:, :-1].astype(float), np.atleast_2d(ids)[:, 1:]
    highest = logits.max(axis=-1, keepdims=True)
    total = highest[..., 0] + np.log(np.exp(logits - highest).sum(axis=-1))
    return total - np.take_along_axis(logits, ids[..., None], axis=-1)[..., 0]


def sentence_embeddings(model, sentences, *, normalise=True):
    """(N, D): for each sentence the mean of its tokens' hidden rows; sentences with like meanings lie close together.

    Args: sentences: texts (where model.tokens is there), or lists of ids. normalise: to length 1.

    >>> from numpy_attention.models import Architecture, LanguageModel, sentence_embeddings
    >>> small = Architecture(family="bert", vocab=50, width=8, layers=1, heads=2, hidden=16, places=32, types=2,
    ...                      causal=False, norm_first=False, head="none")
    >>> rows = sentence_embeddings(LanguageModel(small, rng=0), [[3, 1, 4], [1, 5]])
    >>> rows.shape, (rows * rows).sum(axis=1).round(4).tolist()
    ((2, 8), [1.0, 1.0])

    Source: Reimers and Gurevych 2019 (Sentence-BERT), section 3.
    """
    sentences, tokens = listed("sentences", sentences, "texts, or of lists of ids"), getattr(model, "tokens", None)
    if tokens is None and any(isinstance(s, str) for s in sentences):
        raise ValueError("this model came without a tokenizer: give the sentences as ids")
    rows = id_rows("sentences", [tokens.encode(s) if isinstance(s, str) else s for s in sentences])
    if not rows or not all(rows):
        raise ValueError("give at least one sentence, and none that is empty")
    longest = max(map(len, rows))
    ids = np.array([row + [0] * (longest - len(row)) for row in rows])
    real = np.arange(longest) < np.array([[len(row)] for row in rows])
    _, twin = read(model, ids, mask=real[:, None, None, :])
    mean = (twin.cache["hidden"] * real[..., None]).sum(axis=1) / real.sum(axis=1, keepdims=True)
    return mean / np.sqrt((mean * mean).sum(axis=-1, keepdims=True)) if normalise else mean
