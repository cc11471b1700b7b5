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
import warnings

import numpy as np

from .callee import Finding
from .near import near
from .stacked import copies, outputs

COMPLEX_STEP = {np.dtype(np.float64): 1e-20, np.dtype(np.float32): 1e-10}     # its square must not matter


def complex_of(dtype):
    return np.result_type(dtype, np.complex64)


def central_step(dtype):
    return float(np.finfo(dtype).eps) ** 0.2


def complex_step(subject, variable, weights):
    """(dLoss/d(variable), no kinks) for Loss = Σ weights ∘ out, weights flat."""
    gradient, h = np.empty(variable.values.size), COMPLEX_STEP[variable.original.dtype]
    _be_complex(subject, variable, h)
    values = variable.values
    for some in _portions(subject, values.size):
        gradient[some] = outputs(subject, variable, _nudged(values, some, 1j * h)).imag @ weights
    subject.use(None)
    return (gradient / h).reshape(variable.shape), np.zeros(variable.shape, bool)


def _be_complex(subject, variable, h):
    """Make this variable complex, and all others only if need be: real numbers are faster.

    A forward that keeps its result in an array made like its input loses a nudge of W if the input is real.
    """
    def moved(only):
        subject.use(complex_of(variable.original.dtype), only=only)
        variable.values += 1j * h
        out = subject.forward()
        variable.values.imag = 0
        return out

    everywhere = moved(only=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            here = moved(only=variable.name)
        except Finding:
            here = everywhere.real
    if not near(here.imag, everywhere.imag, 1e-6):
        subject.use(complex_of(variable.original.dtype))


def central_differences(subject, variable, weights):
    """(the same by extrapolated central differences, True at the elements where the output has a kink)."""
    values, gradient = variable.values, np.empty(variable.values.size)
    kinked, here = np.zeros(values.size, bool), subject.forward().reshape(-1)
    noise = np.finfo(values.dtype).eps * float(np.abs(weights) @ np.abs(here))
    for some in _portions(subject, values.size):
        def change(nudges, some=some):
            """(how far each number really moved, how far the loss did): only what differs is added up."""
            rows = _nudged(values, some, nudges)
            moved = rows[np.arange(len(some)), some].astype(float) - values[some]
            return moved, (outputs(subject, variable, rows) - here) @ weights
        longest = central_step(values.dtype) * np.maximum(1.0, np.abs(values[some].astype(float)))
        gradient[some], kinked[some] = slopes(change, longest, noise)
    return gradient.reshape(variable.shape), kinked.reshape(variable.shape)


def slopes(change, h, noise):
    """(the slopes of functions at 0, whether each has a kink there), from their `change(nudges)` in steps around h.

    A smooth curve looks straighter the closer one looks: halve h, and the two one-sided slopes differ half as much,
    while their mean hardly moves. Where that is not so, the steps are too long (a corner lies near, the curve is
    wild), so shorter ones are tried. What still does not look straight is a corner at this very place.
    """
    found, odd = np.zeros(len(h)), np.ones(len(h), bool)
    for shorter in (1, 30, 1000):
        (mean, bend), (mean_half, bend_half) = (_two_sided(change, h / shorter / part) for part in (1, 2))
        found = np.where(odd, (4 * mean_half - mean) / 3, found)
        oddness = np.abs(mean - mean_half) + np.abs(bend_half - bend / 2)
        odd &= oddness > 1e-3 * (np.abs(mean) + np.abs(bend)) + 30 * noise * shorter / h    # NaN is no kink: it fails
        if not odd.any():
            break
    return found, odd


def _two_sided(change, h):
    """(mean, difference) of the slopes to the right and to the left."""
    (right, up), (left, down) = change(h), change(-h)
    return (up - down) / (right - left), up / right - down / left


def _portions(subject, size):
    """The numbers 0 ... size - 1 in portions that may be nudged together."""
    return np.array_split(np.arange(size), -(-size // copies(subject))) if size else []


def _nudged(values, some, nudges):
    """A row of the values for each of the numbers `some`, that number being nudged."""
    rows = np.repeat(values[None], len(some), axis=0)
    rows[np.arange(len(some)), some] += np.asarray(nudges).astype(rows.dtype)
    return rows
