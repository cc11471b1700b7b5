"""Reads attention maps in the forms people have them: arrays of rank 2 to 4, a list of layers, a layer, a trace."""

import numpy as np

from ..masks import fit_mask

FORMS = "(L, S), (H, L, S), (N, H, L, S), or a list with one such array per layer"


def to_array(value, name):
    """``value`` as a NumPy array of real numbers; tensors of other libraries are detached first."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if "bfloat16" in str(value.dtype) else value
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array, its rows differ in length: {error}") from None
    if array.dtype == object or not (np.issubdtype(array.dtype, np.number) or array.dtype == bool):
        raise TypeError(f"{name} must hold real numbers, not {array.dtype}")
    if np.iscomplexobj(array):
        raise TypeError(f"{name} must hold real numbers, not {array.dtype}: plot {name}.real")
    return array.astype(float) if array.dtype.kind in "bui" or array.dtype.itemsize < 4 else array


def find(source, name):
    """The array called ``name`` in a layer, a trace or a dictionary; any other source is itself the array.

    >>> find({"weights": [[1.0]]}, "weights")
    array([[1.]])
    """
    if hasattr(source, "cache") and hasattr(source, "grads"):
        found = {**source.cache, **{f"d{key}": gradient for key, gradient in source.grads.items()}}
        if name not in found:
            call = "backward" if name.startswith("d") else "forward"
            raise ValueError(f"{type(source).__name__} holds no {name!r}: call its {call} first")
        source = found[name]
    elif hasattr(source, "query_tokens"):
        source = source[name].value
    elif isinstance(source, dict):
        source = source[name]
    return to_array(source, name)


def is_holder(source):
    """Whether ``source`` holds several named arrays (a layer, a trace, a dictionary) rather than being one."""
    return isinstance(source, dict) or hasattr(source, "query_tokens") or hasattr(source, "cache")


def one_head(array, name, *, head=0, batch=0, symbols="L S"):
    """One matrix out of an array (L, S), (H, L, S) or (N, H, L, S).

    >>> one_head(np.zeros((2, 3, 4, 5)), "scores").shape
    (4, 5)
    """
    L, S = symbols.split()
    if not 2 <= array.ndim <= 4:
        raise ValueError(f"{name} must be ({L}, {S}), (H, {L}, {S}) or (N, H, {L}, {S}); it is {array.shape}")
    for axis, index, word in ((-4, batch, "batch"), (-3, head, "head")):
        if array.ndim >= -axis:
            size = array.shape[axis]
            if not -size <= index < size:
                raise ValueError(f"{word}={index} is out of range: {name} {array.shape} has {size} along that axis")
            array = np.take(array, index, axis)
    return array


def read_layers(source, *, batch=0, averaged=False, name="weights"):
    """Attention maps as a list of layers, each an array (H, L, S).

    Args:
        source: (L, S), (H, L, S) or (N, H, L, S) array, a list of them (one per layer), a layer or a trace.
        batch: which item of the batch, where there is a batch axis.
        averaged: the heads have been averaged away, so that rank 3 means (N, L, S).
    """
    layers = source if isinstance(source, (list, tuple)) and _holds_maps(source) else [source]
    if not len(layers):
        raise ValueError(f"{name} is an empty list: expected {FORMS}")
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
