"""A caller's mask and bias, fitted to the scores.

The rank decides what the axes are, never a coincidence of sizes: (L, S), (N, L, S) or (N, H, L, S), where an axis of
size 1 stands for all. What comes out broadcasts to the scores.
"""
import numpy as np

from .arguments import rectangular


def fit_mask(mask, shape):
    """A caller's mask, checked and shaped so that it broadcasts to the scores' `shape`; None stays None."""
    if mask is None:
        return None
    mask = rectangular("mask", mask)
    if mask.dtype != bool:
        raise TypeError(f"mask must be boolean (True = may attend), got {mask.dtype}: "
                        "use mask.astype(bool) if it holds 0 and 1, or bias= if it holds floats to be added; "
                        "na.causal_mask and na.padding_mask make the usual ones")
    return fit("mask", mask.copy(), shape)


def fit_bias(bias, shape, dtype=np.float64):
    """A caller's additive bias, checked and shaped like a mask; in the precision `dtype` unless it is complex."""
    if bias is None:
        return None
    bias = rectangular("bias", bias)
    if bias.dtype.kind not in "fc":
        raise TypeError(f"bias is added to the scores and must be floats, got {bias.dtype}: "
                        "use mask= for a boolean pattern, or bias.astype(float) if you mean to add it")
    return fit("bias", bias.astype(bias.dtype if bias.dtype.kind == "c" else dtype), shape)


def take_mask_and_bias(mask, bias, shape, dtype):
    """The caller's mask, fitted to the scores' `shape`, and bias, checked and in `dtype`, as arrays of our own.

    A bias of -inf hides a cell as surely as a mask does, so such cells join the mask.
    """
    if mask is None and bias is None:
        return None, None
    mask = fit_mask(mask, shape)
    if bias is None:
        return mask, None
    fitted = fit_bias(bias, shape, dtype)
    if np.isneginf(fitted.real).any():
        seen = fitted.real > -np.inf
        mask = seen if mask is None else mask & seen
    return mask, fitted.reshape(np.shape(bias))


def without_batch(fit, array, shape):
    """A mask or bias of a single sequence, checked against the `shape` (1, H, L, S) and freed of the axis N."""
    if array is None:
        return None
    fitted = fit(array, shape)
    return fitted[0] if fitted.ndim == 4 else fitted


def gather(weights, rows, mask):
    """weights @ rows, in which a weight of exactly 0 takes nothing: 0 · NaN is 0 when the NaN is hidden."""
    if mask is None or np.isfinite(rows).all():
        return weights @ rows
    finite = np.isfinite(rows)
    clean = weights @ np.where(finite, rows, 0)
    touched = (weights != 0).astype(float) @ (~finite).astype(float) > 0
    return np.where(touched, np.nan, clean)


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
