"""One training step, all of it: forward, loss, backward, update.

This is what happens a hundred times, and nothing else happens. Everything before it is preparation, everything after it
is looking at the result.
"""
import numpy as np

from .clipping import clip_grad_norm
from .diverged import Diverged, origin_in_backward, origin_in_forward


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
