"""What a model is asked about: which texts, which place in them, which word, measured how.

All ways of looking inside take the same few arguments. Here each of them becomes one form, or an error that names it.
"""
import numpy as np

from ..engine.arguments import count, listed, rectangular, whole


def texts(ids):
    """ids as an array (N, L), or (L,) for one text, with at least one token."""
    ids = rectangular("ids", ids)
    if ids.ndim not in (1, 2) or not ids.size:
        raise ValueError(f"ids must have shape (N, L) or (L,), with at least one token; got {ids.shape}")
    return ids


def one_text(name, ids):
    """ids as (1, L): a single text."""
    ids = rectangular(name, ids)
    if ids.shape[:-1] not in ((), (1,)) or not ids.ndim or not ids.size or ids.dtype.kind not in "iu":
        raise ValueError(f"{name} must be one text, ids of shape (L,) or (1, L); got {ids.dtype} of shape {ids.shape}")
    return np.atleast_2d(ids)


def id_rows(name, rows):
    """Several texts, which may differ in length, as lists of ids."""
    return [[count(f"an id of the {name}", word) for word in listed(name, row, "ids")] for row in rows]


def place_of(place, L):
    """A place of L, counted from 0; a negative one counts from the end."""
    if not -L <= whole("place", place) < L:
        raise ValueError(f"place must lie in {-L}..{L - 1}, since the text has L = {L} tokens; got {place}")
    return place % L


def words_of(word, V):
    """[(id, sign)] of a word, or of a pair of which the second is taken off the first."""
    words = rectangular("word", word).ravel().tolist()
    if len(words) not in (1, 2):
        raise ValueError(f"word must be an id, or a pair of ids for the difference of their logits; got {word!r}")
    for each in words:
        if not 0 <= whole("word", each) < V:
            raise ValueError(f"word must lie in 0..{V - 1}, since the model knows V = {V} words; got {each}")
    return list(zip(words, (1, -1), strict=False))


def logit_of(logits, word, place=-1):
    """(N, L, V) -> (N,): the logit of a word at a place, or of a pair of words the difference."""
    place = place_of(place, logits.shape[1])
    return sum(sign * logits[:, place, one] for one, sign in words_of(word, logits.shape[-1]))


def dlogits_of(logits, word, place=-1):
    """The gradient of logit_of, (N, L, V): 1 there, −1 at a second word, 0 elsewhere."""
    upstream, place = np.zeros_like(logits), place_of(place, logits.shape[1])
    for one, sign in words_of(word, logits.shape[-1]):
        upstream[:, place, one] += sign
    return upstream


def measured(measure, logits, *, together=False):
    """What a measure makes of logits (n, L, V): a number for each text, (n,), or one for all together, ()."""
    if not callable(measure):
        raise TypeError(f"measure must be a function of logits (n, L, V), such as logit_difference(3, 5); "
                        f"got {measure!r}")
    found, count = np.asarray(measure(logits)), 1 if together else len(logits)
    if found.dtype.kind not in "fiub" or found.size != count:
        raise ValueError(f"measure must turn logits (n, L, V) = {logits.shape} into {count} number{'s'[:count > 1]}, "
                         f"{'one for all texts' if together else 'one for each text'}; it gave {found.dtype} of shape "
                         f"{found.shape}")
    return found.reshape(() if together else count)
