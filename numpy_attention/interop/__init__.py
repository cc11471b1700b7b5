"""Parameters and masks from and to other libraries and files.

>>> layer = na.TransformerEncoderLayer(8, 2, 16, rng=0)
>>> state = na.interop.to_torch(layer)                                  # a dict of arrays, under PyTorch's names
>>> same = na.interop.from_torch(na.TransformerEncoderLayer(8, 2, 16), state)
>>> x = np.ones((1, 3, 8))
>>> bool((same(x) == layer(x)).all())
True
"""
from ..models import open_model, to_huggingface
from .files import load, save
from .torch_masks import (
    mask_to_torch_true_hides,
    mask_to_torch_true_shows,
    masks_from_torch_true_hides,
    masks_from_torch_true_shows,
)
from .torch_state import from_torch, grads_to_torch, to_torch

__all__ = [
    "from_torch",
    "grads_to_torch",
    "load",
    "mask_to_torch_true_hides",
    "mask_to_torch_true_shows",
    "masks_from_torch_true_hides",
    "masks_from_torch_true_shows",
    "open_model",
    "save",
    "to_huggingface",
    "to_torch",
]
