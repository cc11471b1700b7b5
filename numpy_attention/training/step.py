"""One training step, all of it: forward, loss, backward, update.

This is what happens a hundred times, and nothing else happens. Everything before it is preparation, everything after it
is looking at the result.
"""
import inspect

import numpy as np

from .optimizers import clip_grad_norm


def training_step(model, batch, loss, optimizer, *, clip=1.0):
    """Let the model try one batch of exercises, and move its parameters so that it would have done better.

    Args: model: any layer that turns *batch.inputs into logits. batch: as from Task.batch. loss: CrossEntropyLoss with
        ignore_index=-1. optimizer: made for the model. clip: how long all gradients together may be at most.

    Returns: the loss before the update.
    Raises: Diverged, before anything is changed, if a number is not finite any more.

    >>> task, model = na.training.task("reverse"), na.training.ToyModel(10, 8, rng=0)
    >>> loss, optimizer = na.CrossEntropyLoss(ignore_index=-1), na.Adam(model, lr=0.01)
    >>> batch = task.batch(64, rng=0)
    >>> values = [na.training.training_step(model, batch, loss, optimizer) for _ in range(30)]
    >>> bool(values[-1] < values[0] / 2)
    True
    """
    # 1. Forward: what does the model answer?
    logits = model(*batch.inputs)                           # (N,L) -> (N,L,C)
    # 2. Loss: how surprising are the right answers to it?
    value = loss(logits, batch.labels)                      # (N,L,C) (N,L) -> ()
    if not np.isfinite(value):
        raise Diverged(f"the loss is {value}", origin_in_forward(model))
    # 3. Backward: how would the loss change with each number of the model?
    dlogits = loss.backward()                               # (N,L,C)
    model.backward(dlogits)                                 # fills every layer's grads
    # 4. Update: every parameter takes a small step downhill.
    try:
        clip_grad_norm(model, clip)
    except FloatingPointError as error:
        raise Diverged(str(error), origin_in_backward(model)) from None
    optimizer.step()
    return value


class Diverged(ArithmeticError):
    """A loss or gradient that is not finite; from then on it would spread to every number of the model.

    The loss is the last to show it. What helps is the first: the layer that was handed finite numbers and gave others.
    Attributes: why, origin (that layer and its tensor), step, run (None outside one).

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
