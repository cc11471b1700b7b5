"""Arrays of one's own to step through, from an .npz file that np.savez wrote.

    np.savez("mine.npz", Q=Q, K=K, V=V)                     one attention
    np.savez("mine.npz", x=x, W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O, num_heads=2)

Besides: query and memory, or query, key and value, instead of x; biases b_Q b_K b_V b_O; mask (True = may attend) and
bias; dheads or dout, the upstream gradient (drawn at random unless given); tokens, or query_tokens and key_tokens.
"""
from pathlib import Path

import numpy as np

from ..engine.arguments import size
from ..layers.multi_head import MultiHeadAttention
from ..layers.variants.scaled_dot_product import ScaledDotProductAttention
from ..words.npz import KINDS, Npz, read_ordinary
from .reading import read_trace

MATRICES = {"W_Q": "query_proj", "W_K": "key_proj", "W_V": "value_proj", "W_O": "output_proj"}
INPUTS = (("x",), ("query", "memory"), ("query", "key", "value"))
MOST = 1 << 30          # bytes; nobody steps through more
BESIDES = ("mask", "bias", "dheads", "dout", "tokens", "query_tokens", "key_tokens", "num_heads")


def trace_file(path, *, num_heads=None, tokens=None, backward=True):
    """The trace of the attention whose arrays lie in an .npz file.

    Raises: ValueError or OSError with one sentence about what is wrong with the file or its arrays.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/mine.npz", Q=np.eye(2), K=np.eye(2), V=np.eye(2))
    ...     trace_file(folder + "/mine.npz", backward=False)
    <Trace of mine.npz: 7 steps, Q, K, V, product, scores, weights, heads>
    """
    arrays = read(path)
    if any(name in arrays for name in MATRICES):
        layer, inputs = _multi_head(arrays, num_heads)
        last, allowed = "dout", {*MATRICES, *(f"b_{name[2:]}" for name in MATRICES), *inputs}
    else:
        missing = [name for name in "QKV" if name not in arrays]
        if missing:
            lacks = f", but not {', '.join(missing)}" if arrays else ""
            raise ValueError(f"{Path(path).name} holds {_names(arrays)}{lacks}: it wants Q, K and V, or x (or "
                             "query, memory; or query, key, value) with W_Q, W_K, W_V and W_O")
        layer, inputs = ScaledDotProductAttention(), {name: arrays[name] for name in "QKV"}
        last, allowed = "dheads", set("QKV")
    unknown = [name for name in arrays if name not in allowed and name not in BESIDES]
    if unknown:
        raise ValueError(f"{Path(path).name} holds {', '.join(unknown)}, for which there is no use here; it may hold "
                         f"{', '.join(sorted(allowed))} and {', '.join(BESIDES)}")
    options = {name: arrays[name] for name in ("mask", "bias") if name in arrays}
    out = layer(*inputs.values(), **options)
    if backward:
        random = np.random.default_rng(0).standard_normal(out.shape)
        layer.backward(arrays.get(last, random))
    labels = {name: _labels(arrays[name]) for name in ("tokens", "query_tokens", "key_tokens") if name in arrays}
    return read_trace(layer, **(labels if tokens is None else {"tokens": tokens}), title=Path(path).name)


def read(path):
    """{name: array} of an .npz file; ValueError or OSError, in a sentence, for anything else."""
    path = Path(path)
    try:
        arrays = Npz(read_ordinary(path, MOST)).read()
    except FileNotFoundError:
        raise ValueError(f"there is no file {path}") from None
    except ValueError as error:
        raise ValueError(f"{path.name} cannot be read: {error}") from None
    for name, array in arrays.items():
        text = name in ("tokens", "query_tokens", "key_tokens")
        if not text and array.dtype.kind not in "biufc":
            raise ValueError(f"{path.name}: {name} must hold numbers; got {KINDS[array.dtype.kind]}")
        if text and array.ndim > 1:
            raise ValueError(f"{path.name}: {name} must be a row of labels, one for each token; got {array.shape}")
    return arrays


def _labels(array):
    """Labels as text: bytes are read as UTF-8, as everybody writes it."""
    return [token.decode(errors="replace") if isinstance(token, bytes) else str(token)
            for token in np.atleast_1d(array).tolist()]


def _real(name, array):
    """An array of real numbers as float64, or an error: a complex one would lose half of it."""
    if array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold real numbers; got dtype {array.dtype}")
    return array.astype(float)


def _whole(name, value):
    """A whole number of at least 1, from an option or from an array of one number."""
    value = np.asarray(value)
    if value.size != 1 or value.dtype.kind not in "iuf" or value != np.floor(value):
        raise ValueError(f"{name} must be one whole number; got {value.tolist()}")
    return size(name, int(value.item()))


def _multi_head(arrays, num_heads):
    """The layer with the file's matrices, and its inputs by name."""
    missing = [name for name in MATRICES if name not in arrays]
    if missing:
        raise ValueError(f"of W_Q, W_K, W_V and W_O the file lacks {', '.join(missing)}")
    names = next((names for names in reversed(INPUTS) if all(name in arrays for name in names)), None)
    if names is None:
        raise ValueError(f"the file holds {_names(arrays)}: besides the matrices it wants x, or query and memory, "
                         "or query, key and value")
    W = {name: _real(name, arrays[name]) for name in MATRICES}
    for name, matrix in W.items():
        if matrix.ndim != 2:
            raise ValueError(f"{name} must be a matrix (in, out); got {matrix.shape}")
    for name, role in zip(("W_Q", "W_K", "W_V"), (names[0], names[min(1, len(names) - 1)], names[-1]), strict=True):
        if arrays[role].ndim and arrays[role].shape[-1] != len(W[name]):
            hint = f": transpose it, as PyTorch stores (out, in): {name}.T" if (
                arrays[role].shape[-1] == W[name].shape[1]) else ""
            raise ValueError(f"{name} {W[name].shape} must have as many rows as {role} {arrays[role].shape} has "
                             f"columns{hint}")
    H = _whole("num_heads", num_heads if num_heads is not None else arrays.get("num_heads", 1))
    for name in ("W_Q", "W_K", "W_V"):
        if H < 1 or W[name].shape[1] % H:
            raise ValueError(f"the {W[name].shape[1]} columns of {name} cannot be cut into num_heads = {H} equal heads")
    D, width = W["W_Q"].shape
    if W["W_K"].shape[1] != width:
        raise ValueError(f"W_Q {W['W_Q'].shape} and W_K {W['W_K'].shape} must have as many columns: they are compared")
    if W["W_O"].shape != (W["W_V"].shape[1], D):
        raise ValueError(f"W_O must have shape (H·d_v, D) = {(W['W_V'].shape[1], D)}; got {W['W_O'].shape}")
    biased = any(f"b_{name[2:]}" in arrays for name in MATRICES)
    layer = MultiHeadAttention(D, H, d_k=width // H, d_v=W["W_V"].shape[1] // H, kdim=len(W["W_K"]),
                               vdim=len(W["W_V"]), bias=biased, rng=0)
    for name, matrix in W.items():
        params = getattr(layer, MATRICES[name]).params
        params["W"] = matrix
        given = _real(f"b_{name[2:]}", arrays.get(f"b_{name[2:]}", np.zeros(matrix.shape[1])))
        if given.shape != (matrix.shape[1],):
            raise ValueError(f"b_{name[2:]} must have shape ({matrix.shape[1]},), a number for each column of {name}; "
                             f"got {given.shape}")
        if biased:
            params["b"] = given
    return layer, {name: arrays[name] for name in names}


def _names(arrays):
    return ", ".join(arrays) or "no arrays"
