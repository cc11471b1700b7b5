"""Masks: who may look at whom.

A mask is boolean and True means "may attend". Its rank decides what its axes are, never a coincidence of sizes:

    (L, S)          one pattern for every sequence and head
    (N, L, S)       one for each sequence
    (N, H, L, S)    one for each sequence and head

An axis of size 1 stands for all. Masks are combined with `&`. What should be *added* to the scores is not a mask
but a `bias`, made of floats, with the same ranks.
"""
import numpy as np

from .layers.layer import whole


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
    Raises: ValueError for a negative reach, or a missing offset when S differs from L.

    >>> na.window_mask(4, left=1, right=0).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])

    Source: Beltagy et al. 2020 (Longformer), section 3.1.
    """
    L = _count("L", L)
    S = L if S is None else _count("S", S)
    if offset is None and S != L:
        raise ValueError(f"offset must be given when S differs from L (L = {L}, S = {S}): offset=0 aligns the first "
                         f"query with the first key (top left); offset={S - L}, that is S - L, aligns the last query "
                         "with the last key (bottom right, as with a KV cache)")
    place = np.arange(L)[:, None] + (0 if offset is None else whole("offset", offset))
    key = np.arange(S)
    mask = np.ones((L, S), dtype=bool)
    if left is not None:
        mask &= key >= place - _count("left", left)
    if right is not None:
        mask &= key <= place + _count("right", right)
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
    S = _count("S", S)
    lengths = _array("lengths", lengths)
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


def fit_mask(mask, shape):
    """A caller's mask, checked and shaped so that it broadcasts to the scores' `shape`; None stays None."""
    if mask is None:
        return None
    mask = _array("mask", mask)
    if mask.dtype != bool:
        raise TypeError(f"mask must be boolean (True = may attend), got {mask.dtype}: "
                        "use mask.astype(bool) if it holds 0 and 1, or bias= if it holds floats to be added; "
                        "na.causal_mask and na.padding_mask make the usual ones")
    return fit("mask", mask.copy(), shape)


def fit_bias(bias, shape, dtype=np.float64):
    """A caller's additive bias, checked and shaped like a mask; in the precision `dtype` unless it is complex."""
    if bias is None:
        return None
    bias = _array("bias", bias)
    if bias.dtype.kind not in "fc":
        raise TypeError(f"bias is added to the scores and must be floats, got {bias.dtype}: "
                        "use mask= for a boolean pattern, or bias.astype(float) if you mean to add it")
    return fit("bias", bias.astype(bias.dtype if bias.dtype.kind == "c" else dtype), shape)


def take_mask_and_bias(mask, bias, shape, dtype):
    """The caller's mask, fitted to the scores' `shape`, and bias, checked and in `dtype`, as arrays of our own.

    A bias of -inf hides a cell as surely as a mask does, so such cells join the mask.
    """
    mask = fit_mask(mask, shape)
    if bias is None:
        return mask, None
    fitted = fit_bias(bias, shape, dtype)
    if np.isneginf(fitted.real).any():
        seen = fitted.real > -np.inf
        mask = seen if mask is None else mask & seen
    return mask, fitted.reshape(np.shape(bias))


def sum_like(dbiased, bias):
    """The gradient of a bias that was added to the scores: summed over the axes for which it stood in."""
    fitted = fit("bias", bias, dbiased.shape)
    dbias = dbiased.sum(axis=tuple(range(dbiased.ndim - fitted.ndim)))
    alone = tuple(axis for axis, size in enumerate(fitted.shape) if size == 1)
    return dbias.sum(axis=alone, keepdims=True).reshape(bias.shape)


def fit(name, array, shape):
    """`array`, checked and with an axis for the heads where it has none, so that it broadcasts to `shape`."""
    axes = ("N", "H", "L", "S") if len(shape) == 4 else ("N", "L", "S")[-len(shape):]
    if len(shape) > 4:
        axes = tuple(f"B{i}" for i in range(len(shape) - 2)) + ("L", "S")
    allowed = [axes[-2:], *([("N", "L", "S")] if len(shape) == 4 else []), *([axes] if len(shape) > 2 else [])]
    mine = next((these for these in allowed if len(these) == array.ndim), None)
    if mine is None:
        wanted = " or ".join(f"({', '.join(these)})" for these in allowed)
        raise ValueError(f"{name} must have shape {wanted}; got {array.shape}")
    expected = tuple(shape[axes.index(axis)] for axis in mine)
    if any(have not in (1, want) for have, want in zip(array.shape, expected, strict=True)):
        raise ValueError(f"{name} must have shape ({', '.join(mine)}) = {expected}, where 1 stands for all; "
                         f"got {array.shape}{_padding_hint(array, shape)}")
    return array[:, None] if len(mine) == 3 and len(shape) == 4 else array


def _padding_hint(array, shape):
    if array.ndim == 2 and len(shape) > 2 and array.shape[0] == shape[0]:
        return f". To hide the padding keys of each sequence, (N, S): padding_mask(..., S={shape[-1]})"
    return ""


def _count(name, value):
    number = whole(name, value)
    if number < 0:
        raise ValueError(f"{name} must not be negative, got {number}")
    return number


def _array(name, given):
    try:
        return np.asarray(given)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array: {error}") from None
