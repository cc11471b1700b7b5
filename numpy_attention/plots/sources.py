"""Finds a named array wherever a caller keeps it: bare, in a layer, in a trace, in a dictionary."""

import numpy as np


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
        held = source.grads if name.startswith("d") else source.cache
        if held.get(name.removeprefix("d")) is None:
            call = "backward" if name.startswith("d") else "forward"
            raise ValueError(f"{type(source).__name__} holds no {name!r}: call its {call} first")
        source = held[name.removeprefix("d")]
    elif hasattr(source, "query_tokens"):
        if name not in source:
            raise ValueError(f"the trace has no step {name!r}; it has {', '.join(step.name for step in source)}")
        source = source[name].value
    elif isinstance(source, dict):
        if name not in source:
            raise ValueError(f"the dictionary has no {name!r}; it has {', '.join(source)}")
        source = source[name]
    elif hasattr(source, name) and not isinstance(source, np.ndarray):
        source = getattr(source, name)
    return to_array(source, name)


def is_holder(source):
    """Whether ``source`` holds several named arrays (a layer, a trace, a dictionary) rather than being one."""
    return isinstance(source, dict) or any(hasattr(source, name) for name in ("query_tokens", "cache", "weights"))


def read_heads(source, names, others, *, head=0, batch=0):
    """One matrix for each name, all from ``source`` (a layer, a trace, a dictionary), or from one array each.

    Args:
        source: the holder, or the array called ``names[0]``.
        names: what is wanted.
        others: the arrays called ``names[1:]``, which must be given when ``source`` is an array.
    """
    if not is_holder(source):
        missing = [name for name, array in zip(names[1:], others, strict=True) if array is None]
        if missing:
            raise TypeError(f"{', '.join(missing)} must be given too, unless {names[0]} is a layer or trace")
        source = dict(zip(names, (source, *others), strict=True))
    return [one_head(find(source, name), name, head=head, batch=batch) for name in names]


def tokens_of(source, query_tokens, key_tokens):
    """The labels given, or else the trace's own."""
    if query_tokens is None and key_tokens is None:
        return getattr(source, "query_tokens", None), getattr(source, "key_tokens", None)
    return query_tokens, key_tokens


def formula_of(source, name):
    """How a trace says that a step was computed; nothing for bare arrays."""
    return source[name].formula if hasattr(source, "query_tokens") and name in source else ""


def one_head(array, name, *, head=0, batch=0):
    """One matrix out of an array (rows, columns), with axes H, or N and H, before them or not.

    >>> one_head(np.zeros((2, 3, 4, 5)), "scores").shape
    (4, 5)
    """
    if not 2 <= array.ndim <= 4:
        raise ValueError(f"{name} must be a matrix, with axes H, or N and H, before it or not; it is {array.shape}")
    for axis, index, word in ((-4, batch, "batch"), (-3, head, "head")):
        if array.ndim >= -axis:
            size = array.shape[axis]
            if not -size <= index < size:
                raise ValueError(f"{word}={index} is out of range: {name} {array.shape} has {size} along that axis")
            array = np.take(array, index, axis)
    return array
