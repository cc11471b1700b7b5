"""Takes attention wherever people have it: bare arrays, a layer, an encoder or model, a trace, a dictionary, a list.

What the source knows is used without being asked again: its tokens, its number of heads, the mask of its last run.
"""

from dataclasses import dataclass

import numpy as np

from ..engine.mask_and_bias import fit_mask
from ..masks import causal_mask
from ..walkthrough import WorkedExample, trace

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


def is_layer(source):
    """Whether ``source`` is a layer: it keeps what it computed, and has gradients after backward."""
    return hasattr(source, "cache") and hasattr(source, "grads")


def is_trace(source):
    """Whether ``source`` is a trace: it names its tokens, and lists the steps of its forward pass."""
    return hasattr(source, "query_tokens") and hasattr(source, "forward")


def is_holder(source):
    """Whether ``source`` holds several named arrays (a layer, a trace, a dictionary) rather than being one."""
    return isinstance(source, dict) or is_layer(source) or is_trace(source) or (
        hasattr(source, "weights") and not isinstance(source, np.ndarray))


def find(source, name):
    """The array called ``name`` in a layer, a trace or a dictionary; any other source is itself the array.

    >>> find({"weights": [[1.0]]}, "weights")
    array([[1.]])
    """
    if is_layer(source):
        source = _in_layer(source, name)
    elif is_trace(source):
        try:
            source = source[name].value
        except KeyError:
            steps = ", ".join(step.name for step in source)
            raise ValueError(f"the trace has not one step {name!r}; it has {steps}") from None
    elif isinstance(source, dict):
        if name not in source:
            raise ValueError(f"the dictionary has no {name!r}; it has {', '.join(source)}")
        source = source[name]
    elif hasattr(source, name) and not isinstance(source, np.ndarray):
        source = getattr(source, name)
    return to_array(source, name)


def _in_layer(layer, name):
    held, key = (layer.grads, name[1:]) if name.startswith("d") else (layer.cache, name)
    if held.get(key) is not None:
        return held[key]
    if layer.cache and hasattr(type(layer), name):      # computed when asked for, as by attention in blocks
        return getattr(layer, name)
    if layer.cache and (inner := attentions(layer)) and inner[0][1] is not layer:
        paths = ", ".join(path for path, _ in inner[:3])
        raise ValueError(f"{type(layer).__name__} holds {len(inner)} attention layers, each with its own {name!r}: "
                         f"hand in one of them ({paths}, …), or use plot_heads, which draws them all")
    call = "backward" if name.startswith("d") else "forward"
    if layer.cache and call == "forward":
        raise ValueError(f"{type(layer).__name__} holds no {name!r}; its last forward kept {', '.join(layer.cache)}")
    raise ValueError(f"{type(layer).__name__} holds no {name!r}: call its {call} first")


def attentions(layer, path=""):
    """The attention layers inside a layer or model, each with its path, in the order in which they are called.

    >>> [path for path, _ in attentions(na.TransformerDecoder(2, 8, 2, rng=0))][:3]
    ['layers.0.self_attn', 'layers.0.cross_attn', 'layers.1.self_attn']
    """
    if hasattr(type(layer), "weights") or "weights" in (layer.cache or {}):
        return [(path, layer)]
    found = []
    for name, inner in layer.sublayers().items():
        found += attentions(inner, f"{path}.{name}".removeprefix("."))
    return found


def read_trace(source):
    """A trace, or the trace of a layer after its forward, or of a worked example; or an error.

    >>> read_trace(na.worked_example("by-hand")).title
    '我 爱 AI'
    """
    if is_trace(source):
        return source
    if is_layer(source) or isinstance(source, WorkedExample):
        return trace(source)
    raise TypeError("trace must be a trace of attention, as na.trace(layer) makes it, or the layer itself; got "
                    + type(source).__name__)


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
    elif given := [name for name, array in zip(names[1:], others, strict=True) if array is not None]:
        raise TypeError(f"{', '.join(given)} must be left away where {names[0]} is a layer, a trace or a dictionary: "
                        "it holds them all")
    return [one_head(find(source, name), name, head=head, batch=batch, shared=name != names[0]) for name in names]


def count_heads(source, name="weights"):
    """How many heads the source has; 1 where it has no axis for them."""
    shape = np.shape(find(source, name))
    return shape[-3] if len(shape) > 2 else 1


def tokens_of(source, query_tokens, key_tokens):
    """The labels given, or else the trace's own."""
    if query_tokens is None and key_tokens is None:
        return getattr(source, "query_tokens", None), getattr(source, "key_tokens", None)
    return query_tokens, key_tokens


def formula_of(source, name):
    """How a trace says that a step was computed; nothing for bare arrays."""
    return pretty(source[name].formula) if is_trace(source) and name in source else ""


def pretty(formula):
    """A formula as it is drawn: √dₖ in one way everywhere.

    >>> pretty("Q Kᵀ / √d_k")
    'Q Kᵀ / √dₖ'
    """
    return formula.replace("√d_k", "√dₖ")


def one_head(array, name, *, head=0, batch=0, shared=False):
    """One matrix out of an array (rows, columns), with axes H, or N and H, before them or not.

    Where it has no such axis there is one of it, or, if ``shared``, the same one for all.

    >>> one_head(np.zeros((2, 3, 4, 5)), "scores").shape
    (4, 5)
    """
    if not 2 <= array.ndim <= 4:
        raise ValueError(f"{name} must be a matrix, with axes H, or N and H, before it or not; it is {array.shape}")
    for axis, index, word in ((-4, batch, "batch"), (-3, head, "head")):
        size = array.shape[axis] if array.ndim >= -axis else 1
        if not -size <= index < size and not (shared and array.ndim < -axis):
            raise ValueError(f"{word}={index} is out of range: {name} {array.shape} has {size} along that axis")
        array = np.take(array, index, axis) if array.ndim >= -axis else array
    return array


@dataclass
class Maps:
    """The attention maps of one layer: ``values`` (h, L, S) of the heads whose numbers are in ``heads``.

    ``hidden`` (h, L, S) is True where a mask hides a cell, None without a mask; ``path`` is the layer's name.
    """

    number: int
    path: str
    values: np.ndarray
    hidden: np.ndarray
    heads: list
    batch_size: int = 1


def read_maps(source, *, mask=None, batch=0, averaged=False, layers=None, heads=None, name="weights"):
    """Attention maps as a list of Maps, one for each layer.

    Args:
        source: (L, S), (H, L, S) or (N, H, L, S) array, a list of them (one per layer), or a layer, an encoder,
            decoder or model, a trace, a dictionary.
        mask: boolean, True where a query may attend; the source's own unless given.
        batch: which item of the batch, where there is a batch axis.
        averaged: the heads have been averaged away, so that rank 3 means (N, L, S).
        layers, heads: which ones: a number or a list of numbers; all unless given.
    """
    sources = _by_layer(source, name)
    found = []
    for index in _chosen(layers, len(sources), "layers"):
        path, one = sources[index]
        called = name if len(sources) == 1 else f"{name}[{index}]"
        array, batches = _heads(find(one, name) if not isinstance(one, np.ndarray) else one, batch, averaged, called)
        hidden = _hidden(one, mask, array.shape, batch)
        keep = _chosen(heads, len(array), "heads")
        found.append(Maps(index, path, array[keep], None if hidden is None else hidden[keep], keep, batches))
    return found


def _by_layer(source, name):
    """The source as (path, something that holds one layer's maps)."""
    if isinstance(source, (list, tuple)) and source and all(
            is_holder(item) or getattr(item, "ndim", 0) >= 2 for item in source):
        return [pair for item in source for pair in _by_layer(item, name)]
    if hasattr(source, "attentions") and callable(source.attentions):
        return [(f"layer {i}", layer) for i, layer in enumerate(source.attentions())]
    if is_layer(source):
        return attentions(source) or [("", source)]
    if is_trace(source):
        steps = [step for step in source if step.short_name == name and step.direction == "forward"]
        return [(steps[0].name, source)] if len(steps) == 1 else [
            (step.name, step.value) for step in steps] or [("", source)]
    return [("", source)]


def _chosen(which, count, word):
    """Numbers of what was asked for, each from 0 to count − 1."""
    if which is None:
        return list(range(count))
    asked = [which] if isinstance(which, (int, np.integer)) else list(which)
    for index in asked:
        if not -count <= index < count:
            raise ValueError(f"{word} {index} is out of range: there are {count}")
    return [int(index) % count for index in asked]


def _heads(array, batch, averaged, name):
    """(H, L, S), and how many items the batch has."""
    ranks = {2: "(L, S)", 3: "(N, L, S)" if averaged else "(H, L, S)", 4: "(N, H, L, S)"}
    array = to_array(array, name)
    if averaged and array.ndim == 4:
        raise ValueError(f"{name} {array.shape} still has its heads (N, H, L, S): leave averaged=True away")
    if array.ndim not in ranks:
        last = ["N", "H", "L", "S"]
        named = ["?"] * (array.ndim - 4) + last[max(0, 4 - array.ndim) :]
        reading = ", ".join(f"{n} = {size}" for n, size in zip(named, array.shape, strict=True)) or "a single number"
        fix = ": pass list(weights) for layers" if array.ndim == 5 else ""
        raise ValueError(f"{name} must be {FORMS}; it is {array.shape}, read from the right as {reading}{fix}")
    batches = 1
    if array.ndim == 4 or (averaged and array.ndim == 3):
        batches = len(array)
    if not -batches <= batch < batches:
        raise ValueError(f"batch={batch} is out of range: {name} {array.shape} is {ranks[array.ndim]} with "
                         f"N = {batches}")
    if array.ndim == 4 or (averaged and array.ndim == 3):
        array = array[batch]
    return (array if array.ndim == 3 else array[None]), batches


def _hidden(source, mask, shape, batch):
    """The cells that a mask hides, (H, L, S); the source's own mask unless one is given."""
    if mask is not None:
        return read_hidden(mask, shape, batch=batch)
    seen = mask_of(source, shape)
    if seen is None:
        return None
    seen = seen[batch if seen.shape[0] > 1 else 0] if seen.ndim == 4 else seen
    return ~np.broadcast_to(seen, shape)


def mask_of(source, shape):
    """Where the queries of the source's last run may look, (L, S) with axes H, or N and H, before or not; or None."""
    if isinstance(source, dict):
        held = source.get("mask")
    elif is_trace(source):
        held = source.run.arguments.get("mask")
        source = source.run.layer
    elif is_layer(source):
        held = source.cache.get("mask")
    else:
        return None
    inner = getattr(source, "attention", source)
    causal = causal_mask(*shape[-2:], offset=inner.offset or 0) if getattr(inner, "causal", False) is True else None
    if held is None:
        return causal
    held = np.asarray(held)
    extra = shape[-1] - held.shape[-1] if held.shape[-1] > 1 else 0     # extra keys stand behind, never hidden
    held = np.pad(held, [(0, 0)] * (held.ndim - 1) + [(0, max(extra, 0))], constant_values=True)
    held = held[:, None] if held.ndim == 3 and len(held) != shape[0] else held
    return held if causal is None else held & causal


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


def hidden_cells(mask, shape, *, head=0, batch=0, source=None):
    """The cells a mask hides from one head, (L, S): the given mask's, or else the source's own; None without one."""
    if mask is not None:
        heads = np.shape(mask)[1] if np.ndim(mask) == 4 else 1
        return read_hidden(mask, (heads, *shape), batch=batch)[head if heads > 1 else 0]
    if not is_holder(source):
        return None
    heads = count_heads(source)
    hidden = _hidden(source, None, (heads, *shape), batch)
    return None if hidden is None else hidden[head]
