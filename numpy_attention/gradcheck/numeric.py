"""Derivatives by measuring: nudge a number, look how the output moves.

Central differences nudge by +h and by -h: (f(x+h) - f(x-h)) / 2h, with an error that shrinks like h². Two step sizes
combined, (4 D(h/2) - D(h)) / 3, cancel that term too (Richardson). The price is a compromise: for a small h the two
values are nearly equal and their difference is mostly rounding. The best h here is about ε^(1/5), ε being the
precision of the numbers: 7e-4 for float64, 0.04 for float32.

The complex step nudges by ih instead: f(x + ih) = f(x) + ih f'(x) - ..., so f'(x) = Im f(x + ih) / h. Nothing is
subtracted, so h can be as small as 1e-20 and the result is exact to the last digits. It needs a forward made of
smooth functions that accept complex numbers.

Sources: Richardson 1911; Squire & Trapp 1998; Martins, Sturdza & Alonso 2003.
"""
import numpy as np

COMPLEX_STEP = {np.dtype(np.float64): 1e-20, np.dtype(np.float32): 1e-10}     # its square must not matter


def complex_of(dtype):
    return np.result_type(dtype, np.complex64)


def central_step(dtype):
    return float(np.finfo(dtype).eps) ** 0.2


def complex_step(subject, variable, weights):
    """(dLoss/d(variable), no kinks) for Loss = Σ weights ∘ out, weights flat; the subject carries complex numbers."""
    values, gradient = variable.values, np.empty(variable.values.size)
    h = COMPLEX_STEP[values.real.dtype]
    for i, kept in enumerate(values):
        values[i] = kept + 1j * h
        gradient[i] = weights @ subject.forward().imag.reshape(-1)
        values[i] = kept
    return (gradient / h).reshape(variable.shape), np.zeros(variable.shape, bool)


def central_differences(subject, variable, weights):
    """(the same by extrapolated central differences, True at the elements where the output has a kink)."""
    values, gradient = variable.values, np.empty(variable.values.size)
    kinked, here = np.zeros(values.size, bool), subject.forward().reshape(-1)
    for i, kept in enumerate(values):
        def change(nudge, i=i, kept=kept):
            """(how far the number really moved, how far the loss did): only what differs is added up."""
            values[i] = kept + nudge
            moved, there = float(values[i]) - float(kept), subject.forward().reshape(-1)
            values[i] = kept
            return moved, float(weights @ (there - here))
        noise = np.finfo(values.dtype).eps * float(np.abs(weights) @ np.abs(here))
        gradient[i], kinked[i] = slope(change, central_step(values.dtype) * max(1.0, abs(float(kept))), noise)
    return gradient.reshape(variable.shape), kinked.reshape(variable.shape)


def slope(change, h, noise):
    """(the slope of a function at 0, whether it has a kink there), from its `change(nudge)` in steps around h.

    A smooth curve looks straighter the closer one looks: halve h, and the two one-sided slopes differ half as much,
    while their mean hardly moves. Where that is not so, the steps are too long (a corner lies near, the curve is
    wild), so shorter ones are tried. What still does not look straight is a corner at this very place.
    """
    for h in (h, h / 30, h / 1000):                     # noqa: B020
        (mean, bend), (mean_half, bend_half) = _two_sided(change, h), _two_sided(change, h / 2)
        found = (4 * mean_half - mean) / 3
        oddness = abs(mean - mean_half) + abs(bend_half - bend / 2)
        if not oddness > 1e-3 * (abs(mean) + abs(bend)) + 30 * noise / h:       # NaN is no kink: it has to fail
            return found, False
    return found, True


def _two_sided(change, h):
    """(mean, difference) of the slopes to the right and to the left."""
    (right, up), (left, down) = change(h), change(-h)
    return (up - down) / (right - left), up / right - down / left
