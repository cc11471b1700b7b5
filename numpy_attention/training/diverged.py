"""When training breaks: a number became infinite or NaN, and it spreads to everything that is computed from it.

The loss is the last to show it. What helps is the first: the layer that was handed finite numbers and gave back others.
"""
import inspect

import numpy as np


class Diverged(ArithmeticError):
    """A loss or gradient that is not finite. Attributes: why, origin (layer and tensor), step, run (None outside one).

    >>> str(na.training.Diverged("the loss is nan", "blocks.0.attention: scores", step=7))
    'step 7: the loss is nan; it began at blocks.0.attention: scores. A smaller lr may help'
    """

    def __init__(self, why, origin, step=None, run=None):
        self.why, self.origin, self.step, self.run = why, origin, step, run
        super().__init__(why, origin, step)

    def __str__(self):
        step = "" if self.step is None else f"step {self.step}: "
        return f"{step}{self.why}; it began at {self.origin}. A smaller lr may help"


def origin_in_forward(model):
    """Where the first number that is not finite came from, as "layer: tensor"."""
    for name, array in model.named_params().items():
        if bad(array):
            return f"the parameter {name}, in an earlier update"
    return _first(model, "", lambda layer: layer.cache, reverse=False) or "the loss itself"


def origin_in_backward(model):
    """The same for gradients, from the loss downwards."""
    return _first(model, "", lambda layer: layer.grads, reverse=True) or "the loss's gradient"


def _first(layer, path, tensors, reverse):
    """The first layer on the way that turned finite numbers into others; the innermost one."""
    held = tensors(layer)
    spoilt = [name for name, array in held.items() if bad(array)]
    if not spoilt or any(bad(held.get(name)) for name in _handed_in(layer, reverse)):
        return None
    inner = list(layer.sublayers().items())
    for name, sublayer in reversed(inner) if reverse else inner:
        if found := _first(sublayer, f"{path}{name}.", tensors, reverse):
            return found
    what = f"d{spoilt[0]}" if reverse else spoilt[0]
    return f"{path.rstrip('.') or type(layer).__name__}: {what}"


def _handed_in(layer, reverse):
    """The names of what the layer was given: forward its inputs, backward the gradient of its output."""
    if reverse:
        return list(layer.cache)[-1:]
    return [p.name for p in inspect.signature(layer.forward).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]


def bad(array):
    """Does it hold a number that is not finite?"""
    return isinstance(array, np.ndarray) and array.dtype.kind in "fc" and not np.isfinite(array).all()
