"""Derivatives by measuring: nudge a number, look how the output moves.

Central differences nudge by +h and by -h: (f(x+h) - f(x-h)) / 2h, with an error that shrinks like h². Two step sizes
combined, (4 D(h/2) - D(h)) / 3, cancel that term too (Richardson). The price is a compromise: for small h the two
values are nearly equal and their difference is mostly rounding.

The complex step nudges by ih instead: f(x + ih) = f(x) + ih f'(x) - ..., so f'(x) = Im f(x + ih) / h. Nothing is
subtracted, so h can be as small as 1e-20 and the result is exact to the last digits. It needs a forward made of
smooth functions that accept complex numbers.

Sources: Richardson 1911; Squire & Trapp 1998; Martins, Sturdza & Alonso 2003.
"""
import numpy as np

COMPLEX_STEP = 1e-20


def complex_step(subject, variable, upstream):
    """dLoss/d(variable), element by element, for Loss = Σ upstream ∘ out. The subject must carry complex numbers."""
    values, gradient = variable.values, np.empty(variable.values.size)
    weights = upstream.reshape(-1)
    for i, kept in enumerate(values):
        values[i] = kept + 1j * COMPLEX_STEP
        gradient[i] = weights @ subject.forward().imag.reshape(-1)
        values[i] = kept
    return (gradient / COMPLEX_STEP).reshape(variable.shape)


def central_differences(subject, variable, upstream):
    """The same by Richardson's extrapolation of central differences."""
    values, gradient = variable.values, np.empty(variable.values.size)
    weights = upstream.reshape(-1)
    step = np.finfo(values.dtype).eps ** 0.2
    for i, kept in enumerate(values):
        widest = step * max(1.0, abs(kept))
        slopes = []
        for h in (widest, widest / 2):
            values[i] = kept + h
            above, right = subject.forward(), values[i]
            values[i] = kept - h
            below, left = subject.forward(), values[i]
            slopes.append(weights @ (above - below).reshape(-1) / (right - left))
        values[i] = kept
        gradient[i] = (4 * slopes[1] - slopes[0]) / 3
    return gradient.reshape(variable.shape)
