"""Parameters that are about to be replaced need neither random numbers nor memory.

A layer draws its parameters from a generator. Hollow is one whose numbers are all the same 0, in a single cell of
memory, whatever shape is asked for: a model of any size is built in an instant, and then given the numbers from a file.
"""
import numpy as np


class Hollow(np.random.Generator):
    """A generator that draws nothing.

    >>> from numpy_attention.models.hollow import Hollow
    >>> layer = na.Linear(4000, 50000, rng=Hollow(), dtype=np.float32)
    >>> layer.params["W"].shape, layer.params["W"].strides
    ((4000, 50000), (0, 0))
    """

    def __init__(self):
        super().__init__(np.random.PCG64(0))

    def standard_normal(self, size=None, dtype=np.float64, out=None):
        """An array of that shape in which every number is the same cell."""
        return np.broadcast_to(np.zeros((), dtype), size).view(_OneCell)


class _OneCell(np.ndarray):
    """It stays hollow when a layer scales it or changes its dtype."""

    def __truediv__(self, other):
        return self

    __mul__ = __rmul__ = __truediv__

    def astype(self, dtype, *more, **options):
        return np.broadcast_to(np.zeros((), dtype), self.shape)
