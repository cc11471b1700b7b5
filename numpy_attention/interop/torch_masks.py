"""Masks from and to PyTorch, where True means one thing in one function and the opposite in another.

Here a boolean mask says who may attend. So it does in F.scaled_dot_product_attention: True shows. In
nn.MultiheadAttention and all of nn.Transformer*, attn_mask, src_mask, tgt_mask, memory_mask and every
key_padding_mask say who may not: True hides. The names below say which one is meant. A float mask is added to the
scores in both; here that is a bias, and its -inf, which hides, becomes a mask.
"""
import numpy as np

from ..engine.arguments import rectangular, size
from ..engine.mask_and_bias import fit_mask


def masks_from_torch_true_hides(attn_mask=None, key_padding_mask=None, *, num_heads=None):
    """Masks for torch.nn.MultiheadAttention and torch.nn.Transformer*, as options for our layers.

    Args:
        attn_mask: (L, S) or (N·H, L, S); bool, True = hidden, or floats to be added. src_mask and the others too.
        key_padding_mask: (N, S), or (S,) for a single sequence; bool, True = hidden, or floats to be added.
        num_heads: H, needed for an attn_mask of three axes.

    Returns: {"mask": ..., "bias": ...}, either may be None: `mha(x, **masks)`.
    Raises: ValueError/TypeError for other shapes and for whole numbers, which PyTorch refuses as well.

    is_causal has no counterpart: it is only a hint there, and the mask has to be given all the same.
    A query from which everything is hidden gives zeros here, NaN in some of PyTorch's paths.

    >>> future = np.triu(np.ones((3, 3), bool), k=1)            # what PyTorch calls a causal mask
    >>> masks = na.interop.masks_from_torch_true_hides(future)
    >>> bool((masks["mask"] == na.causal_mask(3)).all()), masks["bias"]
    (True, None)
    """
    found = []
    if attn_mask is not None:
        mask, bias = _split("attn_mask", attn_mask, hides=True)
        found.append([_per_head(part, num_heads) for part in (mask, bias)])
    if key_padding_mask is not None:
        mask, bias = _split("key_padding_mask", key_padding_mask, hides=True)
        found.append([_keys_only(part) for part in (mask, bias)])
    masks = [mask for mask, _ in found if mask is not None]
    biases = [bias for _, bias in found if bias is not None]
    return {"mask": np.logical_and(*masks) if len(masks) == 2 else masks[0] if masks else None,
            "bias": np.add(*biases) if len(biases) == 2 else biases[0] if biases else None}


def masks_from_torch_true_shows(attn_mask, *, rank=4):
    """A mask for torch.nn.functional.scaled_dot_product_attention, as options for our attention.

    Args:
        attn_mask: bool, True = may attend, or floats to be added; any shape that broadcasts to the scores.
        rank: number of axes of Q. PyTorch lines axes up from the right, so that (H, L, S) beside a Q of four axes is
            one mask a head, where a mask of three axes is one a sequence here.

    Returns: {"mask": ..., "bias": ...}, either may be None: `attention(Q, K, V, **masks)`.

    >>> masks = na.interop.masks_from_torch_true_shows(np.tril(np.ones((2, 3, 3), bool)))
    >>> masks["mask"].shape
    (1, 2, 3, 3)
    """
    if attn_mask is None:
        return {"mask": None, "bias": None}
    mask, bias = _split("attn_mask", attn_mask, hides=False)
    given = np.ndim(attn_mask)
    if given > rank:
        raise ValueError(f"attn_mask has {given} axes, more than Q's rank = {rank}")
    axes = max(given, 2) if given < 3 else rank
    lead = (1,) * (axes - given)
    return {name: None if part is None else part.reshape(lead + part.shape)
            for name, part in (("mask", mask), ("bias", bias))}


def mask_to_torch_true_hides(mask, shape):
    """One of our masks as attn_mask for torch.nn.MultiheadAttention and torch.nn.Transformer*: True = hidden.

    Args: mask: boolean, True = may attend. shape: (N, H, L, S), the shape of the weights.
    Returns: bool (L, S) if the mask is the same for all sequences and heads, otherwise (N·H, L, S).

    >>> na.interop.mask_to_torch_true_hides(na.causal_mask(2), (1, 1, 2, 2))
    array([[False,  True],
           [False, False]])
    """
    if mask is None:
        return None
    if len(shape) != 4:
        raise ValueError(f"shape must be that of the weights, (N, H, L, S); got {tuple(shape)}")
    N, H, L, S = shape
    hidden = ~fit_mask(mask, (N, H, L, S))
    if hidden.ndim == 2:
        return np.broadcast_to(hidden, (L, S)).copy()
    return np.broadcast_to(hidden, (N, H, L, S)).reshape(N * H, L, S)


def mask_to_torch_true_shows(mask, shape):
    """One of our masks as attn_mask for torch.nn.functional.scaled_dot_product_attention: True = may attend.

    Args: mask: boolean, True = may attend. shape: (N, H, L, S), the shape of the weights.
    Returns: bool, (L, S) or of four axes, of which some may be 1.

    >>> na.interop.mask_to_torch_true_shows(na.padding_mask([1, 2], 2), (2, 3, 4, 2)).shape
    (2, 1, 1, 2)
    """
    return fit_mask(mask, tuple(shape))


def _split(name, given, *, hides):
    """A boolean or float mask of PyTorch's as (mask, bias) in our sense; what says nothing is None."""
    array = rectangular(name, given)
    if array.dtype == bool:
        return (~array if hides else array.copy()), None
    if array.dtype.kind != "f":
        raise TypeError(f"{name} must be boolean, or floats to be added to the scores; got {array.dtype}: "
                        "use .astype(bool) if it holds 0 and 1")
    if np.isnan(array).any() or (array == np.inf).any():
        raise ValueError(f"{name} holds NaN or +inf, which cannot be added to scores")
    shown = array != -np.inf
    bias = np.where(shown, array, 0)
    return (None if shown.all() else shown), (bias if shown.all() or bias.any() else None)


def _per_head(array, num_heads):
    """(N·H, L, S) -> (N, H, L, S); (L, S) stays."""
    if array is None or array.ndim == 2:
        return array
    if array.ndim != 3:
        raise ValueError(f"attn_mask must have shape (L, S) or (N·H, L, S); got {array.shape}")
    if num_heads is None or len(array) % size("num_heads", num_heads):
        raise ValueError(f"attn_mask has shape (N·H, L, S) = {array.shape}: give num_heads = H, a divisor of "
                         f"{len(array)}; got {num_heads}")
    return array.reshape(-1, num_heads, *array.shape[1:])


def _keys_only(array):
    """(N, S) -> (N, 1, 1, S), and (S,) -> (1, S)."""
    if array is None:
        return None
    if array.ndim not in (1, 2):
        raise ValueError(f"key_padding_mask must have shape (N, S), or (S,) for a single sequence; got {array.shape}")
    return array[:, None, None, :] if array.ndim == 2 else array[None]
