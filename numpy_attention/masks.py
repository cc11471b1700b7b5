"""Masks: who may look at whom.

A mask is boolean and True means "may attend". Its rank decides what its axes are, never a coincidence of sizes:

    (L, S)          one pattern for every sequence and head
    (N, L, S)       one for each sequence
    (N, H, L, S)    one for each sequence and head

An axis of size 1 stands for all. Masks are combined with `&`. What should be *added* to the scores is not a mask
but a `bias`, made of floats, with the same ranks.
"""
import numpy as np

from .engine.arguments import count, place, rectangular


def causal_mask(L, S=None, *, offset=None):
    """Query i sees key j when j <= i + offset: nobody looks into the future.

    Args:
        L: number of queries. S: number of keys, L unless given.
        offset: how many keys came before the first query. 0 when L = S. It must be given when S differs from L,
            because two readings are common: 0 aligns at the top left, S - L at the bottom right (a KV cache).

    Returns: bool (L, S).
    Raises: ValueError if S differs from L and no offset is given; TypeError for sizes that are not whole numbers.

    >>> na.causal_mask(3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    >>> na.causal_mask(2, 5, offset=3).astype(int)
    array([[1, 1, 1, 1, 0],
           [1, 1, 1, 1, 1]])

    Source: Vaswani et al. 2017, section 3.2.3.
    """
    return window_mask(L, S, left=None, right=0, offset=offset)


def window_mask(L, S=None, *, left, right, offset=None):
    """Query i sees the keys from i + offset - left to i + offset + right, itself included.

    Args:
        L, S, offset: as in causal_mask.
        left, right: how many keys before and after its own place a query sees; None for all of them.
            `left=2, right=0` shows three keys: two earlier ones and its own.

    Returns: bool (L, S).
    Raises: ValueError for a negative reach, an offset or reach beyond 2**62, or a missing offset when S differs from L.

    >>> na.window_mask(4, left=1, right=0).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])

    Source: Beltagy et al. 2020 (Longformer), section 3.1.
    """
    L = count("L", L)
    S = L if S is None else count("S", S)
    if offset is None and S != L:
        raise ValueError(f"offset must be given when S differs from L (L = {L}, S = {S}): offset=0 aligns the first "
                         f"query with the first key (top left); offset={S - L}, that is S - L, aligns the last query "
                         "with the last key (bottom right, as with a KV cache)")
    own = np.arange(L)[:, None] + (0 if offset is None else place("offset", offset))
    key = np.arange(S)
    mask = np.ones((L, S), dtype=bool)
    if left is not None:
        mask &= key >= own - place("left", count("left", left))
    if right is not None:
        mask &= key <= own + place("right", count("right", right))
    return mask


def padding_mask(lengths, S):
    """Hides the keys behind each sequence's end. Padding hides keys, never queries.

    Args:
        lengths: (N,) whole numbers, how many keys of each sequence are real; or bool (N, S), True where real.
        S: number of keys.

    Returns: bool (N, 1, 1, S), to be combined with others by `&`.
    Raises: ValueError for lengths outside 0..S or a wrong shape; TypeError for other dtypes.

    >>> na.padding_mask([1, 3], 3)[:, 0, 0].astype(int)
    array([[1, 0, 0],
           [1, 1, 1]])
    """
    S = count("S", S)
    lengths = rectangular("lengths", lengths)
    if lengths.dtype == bool:
        if lengths.ndim != 2 or lengths.shape[1] != S:
            raise ValueError(f"a boolean padding must have shape (N, S) with S = {S}; got {lengths.shape}")
        return lengths[:, None, None, :].copy()
    if lengths.dtype.kind not in "iu" and lengths.size:
        raise TypeError(f"lengths must be whole numbers, one for each sequence; got dtype {lengths.dtype}")
    if lengths.ndim != 1:
        raise ValueError(f"lengths must have shape (N,), one length for each sequence; got {lengths.shape}")
    if lengths.size and (lengths.min() < 0 or lengths.max() > S):
        raise ValueError(f"lengths must lie in 0..S = 0..{S}; got {lengths.min()}..{lengths.max()}")
    return (np.arange(S) < lengths[:, None])[:, None, None, :]
