"""Reads attention maps in the forms people have them: arrays of rank 2 to 4, a list of layers, a layer, a trace."""

import numpy as np

from ..engine.mask_and_bias import fit_mask
from .sources import find, is_holder

FORMS = "(L, S), (H, L, S), (N, H, L, S), or a list with one such array per layer"


def read_layers(source, *, batch=0, averaged=False, name="weights"):
    """Attention maps as a list of layers, each an array (H, L, S).

    Args:
        source: (L, S), (H, L, S) or (N, H, L, S) array, a list of them (one per layer), a layer or a trace.
        batch: which item of the batch, where there is a batch axis.
        averaged: the heads have been averaged away, so that rank 3 means (N, L, S).
    """
    layers = source if isinstance(source, (list, tuple)) and _holds_maps(source) else [source]
    return [_heads(find(layer, name), batch, averaged, name if len(layers) == 1 else f"{name}[{index}]")
            for index, layer in enumerate(layers)]


def _holds_maps(items):
    return all(is_holder(item) or getattr(item, "ndim", 0) >= 2 for item in items) and len(items) > 0


def _heads(array, batch, averaged, name):
    ranks = {2: "(L, S)", 3: "(N, L, S)" if averaged else "(H, L, S)", 4: "(N, H, L, S)"}
    if averaged and array.ndim == 4:
        raise ValueError(f"{name} {array.shape} still has its heads (N, H, L, S): leave averaged=True away")
    if array.ndim not in ranks:
        last = ["N", "H", "L", "S"]
        named = ["?"] * (array.ndim - 4) + last[max(0, 4 - array.ndim) :]
        reading = ", ".join(f"{n} = {size}" for n, size in zip(named, array.shape, strict=True)) or "a single number"
        fix = ": pass list(weights) for layers" if array.ndim == 5 else ""
        raise ValueError(f"{name} must be {FORMS}; it is {array.shape}, read from the right as {reading}{fix}")
    if array.ndim == 4 or (averaged and array.ndim == 3):
        if not -len(array) <= batch < len(array):
            raise ValueError(f"batch={batch} is out of range: {name} {array.shape} is {ranks[array.ndim]} with "
                             f"N = {len(array)}")
        array = array[batch]
    return array if array.ndim == 3 else array[None]


def read_hidden(mask, shape, *, batch=0):
    """The cells a mask hides, (H, L, S), from a keep mask of rank 2 (L, S), 3 (N, L, S) or 4 (N, H, L, S).

    >>> read_hidden(np.array([[True, False]]), (1, 1, 2)).tolist()
    [[[False, True]]]
    """
    if mask is None:
        return None
    N = len(mask) if np.ndim(mask) > 2 else 1
    seen = np.broadcast_to(fit_mask(mask, (N, *shape)), (N, *shape))
    return ~seen[batch if N > 1 else 0]


def hidden_cells(mask, shape, *, head=0, batch=0):
    """The cells a mask hides from one head, (L, S); None without a mask."""
    if mask is None:
        return None
    heads = np.shape(mask)[1] if np.ndim(mask) == 4 else 1
    return read_hidden(mask, (heads, *shape), batch=batch)[head if heads > 1 else 0]
