"""Schedules: the learning rate as a function of the step.

At first the running means of Adam know nothing yet and large steps do harm, so the rate rises slowly: the warm-up.
Towards the end, small steps let the parameters settle. A schedule is a function; give it to an optimizer as its lr:

    na.Adam(model, lr=na.warmup_cosine(1e-3, warmup=100, total=2000))

Steps count from 1, the first update.
"""
import functools
import math

from ..engine.arguments import count, positive, size, whole


def warmup_cosine(peak, *, warmup, total, final=0.0):
    """Up in a straight line to `peak` at step `warmup`, then down half a cosine to `final` at step `total`.

    Args: peak, final: learning rates. warmup, total: step numbers, 0 <= warmup < total. After total it stays at final.
    Returns: a function of the step (1 at first), which raises ValueError for steps before the first.
    Raises: ValueError/TypeError for step numbers or rates that make no sense.

    >>> lr = na.warmup_cosine(1.0, warmup=2, total=6)
    >>> [round(lr(step), 4) for step in range(1, 8)]
    [0.5, 1.0, 0.8536, 0.5, 0.1464, 0.0, 0.0]

    Source: Loshchilov and Hutter 2017, equation (5), one period, after a warm-up.
    """
    warmup, total = whole("warmup", warmup), whole("total", total)
    if not 0 <= warmup < total:
        raise ValueError(f"warmup and total must satisfy 0 <= warmup < total; got warmup = {warmup}, total = {total}")
    peak, final = positive("peak", peak), positive("final", final)
    return functools.partial(_warmup_cosine, peak=peak, warmup=warmup, total=total, final=final)


def _warmup_cosine(step, *, peak, warmup, total, final):
    if first_or_later(step) <= warmup:
        return peak * step / warmup
    done = min(1.0, (step - warmup) / (total - warmup))         # 0 at the peak, 1 at the end
    return final + (peak - final) * (1 + math.cos(math.pi * done)) / 2


def warmup_inverse_sqrt(peak, *, warmup):
    """Up in a straight line to `peak` at step `warmup`, then down with 1 / √step, for as long as you like.

    Args: peak: learning rate; the paper's is 1 / √(d_model · warmup). warmup: step number, at least 1.
    Returns: a function of the step (1 at first), which raises ValueError for steps before the first.
    Raises: ValueError/TypeError for a step number or rate that makes no sense.

    >>> lr = na.warmup_inverse_sqrt(1.0, warmup=4)
    >>> [lr(1), lr(4), lr(16), lr(64)]
    [0.25, 1.0, 0.5, 0.25]

    Source: Vaswani et al. 2017, equation (3).
    """
    return functools.partial(_warmup_inverse_sqrt, peak=positive("peak", peak), warmup=size("warmup", warmup))


def _warmup_inverse_sqrt(step, *, peak, warmup):
    return peak * min(first_or_later(step) / warmup, math.sqrt(warmup / step))


def warmup_constant(peak, *, warmup):
    """Up in a straight line to `peak` at step `warmup`, then constant: what train() does with a plain lr.

    Args: peak: learning rate. warmup: step number; 0 for no warm-up.
    Returns: a function of the step (1 at first), which raises ValueError for steps before the first.

    >>> from numpy_attention.training.schedules import warmup_constant
    >>> lr = warmup_constant(1.0, warmup=4)
    >>> [lr(1), lr(4), lr(16)]
    [0.25, 1.0, 1.0]
    """
    return functools.partial(_warmup_constant, peak=positive("lr", peak), warmup=count("warmup", warmup))


def _warmup_constant(step, *, peak, warmup):
    return peak * min(1.0, first_or_later(step) / max(warmup, 1))


def first_or_later(step):
    """`step` as an int that is at least 1, or an error: before the first update there is no rate."""
    step = whole("step", step)
    if step < 1:
        raise ValueError(f"step must be at least 1: steps count from 1, the first update; got {step}")
    return step
