"""Writing: a trained ToyModel goes on with a text, one token at a time, with a KV cache in every block.

The model only ever answers which token comes next. Asked again and again, with its own answers behind the text, it
writes. Old keys and values do not change under a causal mask, so each step computes the new token only. Where a learned
table of positions comes to its end, the text moves back by one place for each new token, and all of them are read anew.
"""
import numpy as np

from ..layers.variants.kv_cache import KVCache


def reading(model, ids, more):
    """A generator: the logits behind `ids`, (V,); for every id that is sent, the logits behind that one.

    Args: model: a causal ToyModel with "learned", "sinusoidal", "rotary" or no positions. ids: the tokens so far, (L,).
        more: how many will be sent at most.
    A model with a learned table of positions sees the last tokens only, as many as the table has places.
    Raises: ValueError if the model is not causal.

    >>> model = na.training.ToyModel(10, 12, causal=True, rng=0)
    >>> from numpy_attention.training.writing import reading
    >>> answers = reading(model, [1, 2, 3], 1)
    >>> behind_three, behind_four = next(answers), answers.send(4)
    >>> bool(np.allclose(behind_four, model([[1, 2, 3, 4]])[0, -1], atol=1e-5))
    True
    """
    whole = len(ids) + more
    if model.causal is not True or model.kind == "alibi":
        raise ValueError("only a causal model without ALiBi writes with a cache")
    if model.kind == "learned" and whole > (places := len(model.positions.params["W"])):
        yield from reading_anew(model, ids, places)
    caches = [KVCache(block.attention, whole, batch=1) for block in model.blocks]
    new = list(ids)
    seen = 0
    while True:
        # Positions are added to rows; the rows before are only needed to know where the new ones stand.
        embedded = model.embedding(np.array([[0] * seen + new]))
        placed = (model.positions(embedded) if model.positions else embedded)[:, seen:]
        stream, seen = placed, seen + len(new)
        for block, cache in zip(model.blocks, caches, strict=True):
            stream = one_block(block, cache, stream)
        new = [int((yield model.unembedding(stream)[0, -1]))]


def reading_anew(model, ids, places):
    """The same without a cache: each time the last `places` tokens are read."""
    ids = list(ids)
    while True:
        ids.append(int((yield model([ids[-places:]])[0, -1])))


def one_block(block, cache, x):
    """A Block for new tokens only: its attention reads the cache."""
    heard = x + cache.step(block.norm(x) if block.norm else x)
    if not block.feed_forward:
        return heard
    return heard + block.feed_forward(block.second_norm(heard) if block.second_norm else heard)
