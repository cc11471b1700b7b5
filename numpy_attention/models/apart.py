"""A model read apart: the same parameters, but caches of its own.

Whoever only wants to look (generate a text, read a stream through the last norm) must not disturb what the model keeps
of its last forward, because backward goes back through that.
"""
import copy

from ..engine.layer import Layer


def apart(layer):
    """A copy that shares the parameters; what it reads leaves the caches of the original alone.

    >>> from numpy_attention.models.apart import apart
    >>> layer = na.Linear(3, 2, rng=0)
    >>> x = np.ones((1, 3))
    >>> bool((apart(layer)(x) == layer(x)).all()), apart(layer).params is layer.params
    (True, True)
    """
    twin = copy.copy(layer)
    twin.cache, twin.grads = {}, {}
    for name, value in vars(layer).items():
        if isinstance(value, Layer):
            setattr(twin, name, apart(value))
        elif isinstance(value, list):
            setattr(twin, name, [apart(item) if isinstance(item, Layer) else item for item in value])
    return twin
