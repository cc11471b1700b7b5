"""Parameters from and to PyTorch, as dicts of arrays. PyTorch itself is never imported.

    module = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    mha = na.interop.from_torch(na.MultiHeadAttention(8, 2), module.state_dict())
    module.load_state_dict({name: torch.from_numpy(array) for name, array in na.interop.to_torch(mha).items()})
"""
from collections.abc import Mapping

import numpy as np

from .torch_names import torch_pieces


def from_torch(layer, state_dict, *, prefix=""):
    """Load a PyTorch state dict into a layer that you have built with the same sizes. Returns the layer.

    For Linear, Embedding, LayerNorm, RMSNorm, MultiHeadAttention (torch.nn.MultiheadAttention, with kdim, vdim and
    add_bias_kv), encoder and decoder layers and stacks. A layer of your own is gone through sublayer by sublayer,
    each under your name for it.

    Args:
        layer: build it with the settings that a state dict does not tell, such as num_heads and norm_first.
        state_dict: a dict of arrays, or of anything that np.asarray turns into one.
        prefix: only names that begin with it are looked at, such as "encoder.layers.0.".

    Raises: ValueError/TypeError if names are missing or left over, a shape differs, or a dtype would lose digits.
        Everything is checked first: after an error the layer is as it was.

    >>> state = {"weight": np.array([[1., 2., 3.]]), "bias": np.array([4.])}      # torch keeps (out, in)
    >>> layer = na.interop.from_torch(na.Linear(3, 1), state)
    >>> layer([[1., 1., 1.]])
    array([[10.]])
    """
    if not isinstance(state_dict, Mapping):
        raise TypeError("state_dict must be a dict of arrays, such as module.state_dict(); "
                        f"got {type(state_dict).__name__}")
    pieces = {prefix + name: found for name, found in torch_pieces(layer).items()}
    given = [name for name in state_dict if str(name).startswith(prefix)]
    missing = [name for name in pieces if name not in state_dict]
    unknown = [name for name in given if name not in pieces]
    if missing or unknown:
        raise ValueError(f"the state dict does not fit {type(layer).__name__}: "
                         f"missing {_names(missing)}; not known to this layer {_names(unknown)}"
                         + _elsewhere(pieces, state_dict, prefix))
    arrays = {name: _checked(name, state_dict[name], found) for name, found in pieces.items()}
    for name, found in pieces.items():
        found.write(arrays[name])
    return layer


def to_torch(layer, *, prefix=""):
    """The layer's parameters under PyTorch's names and in its layout: a dict of new arrays.

    Raises: ValueError for what PyTorch has no place for, such as grouped heads in MultiheadAttention.

    >>> state = na.interop.to_torch(na.MultiHeadAttention(8, 2, rng=0))
    >>> {name: array.shape for name, array in state.items()}
    {'in_proj_weight': (24, 8), 'in_proj_bias': (24,), 'out_proj.weight': (8, 8), 'out_proj.bias': (8,)}
    """
    return {prefix + name: pieces.read() for name, pieces in torch_pieces(layer).items()}


def grads_to_torch(layer, *, prefix=""):
    """The gradients of the layer's parameters, as to_torch gives the parameters: to be compared with `.grad`.

    Raises: RuntimeError before any backward; otherwise as to_torch.

    >>> layer = na.Linear(3, 1, rng=0)
    >>> _ = layer([[1., 2., 3.]]), layer.backward([[1.]])
    >>> na.interop.grads_to_torch(layer)["weight"]
    array([[1., 2., 3.]])
    """
    return {prefix + name: pieces.read() for name, pieces in torch_pieces(layer, "grads").items()}


def _checked(name, value, found):
    """The array to load, or an error that says why it cannot be."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, and its mask would be lost: give .filled(0), say")
    try:
        array = np.asarray(value)
    except Exception as error:      # whatever the other library raises, such as for bfloat16 or a tensor on a GPU
        raise TypeError(f"{name} cannot be read as an array, {error}: try tensor.detach().cpu().float()") from error
    shape = found.read().shape
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, PyTorch's layout for this layer; got {array.shape}")
    dtype = found.views[0].dtype
    if array.dtype.kind != "f" or not np.can_cast(array.dtype, dtype, "safe"):
        raise TypeError(f"{name} is {array.dtype} and the layer's parameters are {dtype}: that would lose digits. "
                        f"Build the layer with dtype=np.{array.dtype}, or convert with .astype(np.{dtype})"
                        if array.dtype.kind == "f" else f"{name} must hold floats; got dtype {array.dtype}")
    if not all(view.flags.writeable for view in found.views):
        raise ValueError(f"{name} cannot be loaded: the layer's parameter is read-only; give it a copy of its own")
    return array


def _elsewhere(pieces, state_dict, prefix):
    """A hint, if all that is missing is there in a dict inside of this one, or under a longer name, as wrappers such as
    DataParallel make it.
    """
    inside = next((key for key, value in state_dict.items() if isinstance(value, Mapping) and value
                   and any(hasattr(array, "shape") for array in value.values())), None)
    if inside is not None:
        return f". This looks like a whole checkpoint: give its entry {inside!r}"
    names = [name for name in state_dict if isinstance(name, str)]
    first = next(iter(pieces), "").removeprefix(prefix)
    starts = dict.fromkeys(name.removesuffix(first) for name in names if first and name.endswith(first))
    fitting = [start for start in starts if start != prefix
               and all(start + name.removeprefix(prefix) in state_dict for name in pieces)]
    return f". The names begin with {fitting[0]!r}: give prefix={fitting[0]!r}" if len(fitting) == 1 else (
        f". Several parts fit: give prefix={fitting[0]!r}, or another of {_names(fitting[1:])}" if fitting else "")


def _names(names):
    return ", ".join(map(str, names)) if names else "nothing"
