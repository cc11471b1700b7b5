"""All numbers at once: one nudge of everything along a random direction.

Backward claims a gradient g; then moving all numbers along a direction v must change the loss by Σ g ∘ v. One
measurement therefore checks a million numbers together. It is like the last digit of a sum: a single wrong gradient
shows, because v is random and nothing cancels; which one it is remains open, so a failure is followed by one
measurement for each tensor.
"""
import numpy as np

from .numeric import COMPLEX_STEP, central_step, complex_of, slopes


def directions(subject, rng):
    """A random direction for each variable, flat, made of standard normals."""
    return {name: rng.standard_normal(v.values.size).astype(v.original.dtype)
            for name, v in subject.variables.items()}


def measured(subject, along, weights, by_complex_step):
    """(the slope of the loss along {name: direction}, whether it has a kink there)."""
    if by_complex_step:
        return _complex(subject, along, weights), False
    here = subject.forward().reshape(-1)
    kept = {name: subject.variables[name].values.copy() for name in along}
    dtype = next(iter(kept.values())).dtype

    def change(nudge):
        nudge = nudge[0]
        for name, direction in along.items():
            subject.variables[name].values[:] = kept[name] + dtype.type(nudge) * direction
        there = subject.forward().reshape(-1)
        for name in along:
            subject.variables[name].values[:] = kept[name]
        return np.array([nudge]), np.array([weights @ (there - here)])

    longest = max(np.abs(direction).max(initial=1e-3) for direction in along.values())
    noise = float(np.finfo(dtype).eps) * float(np.abs(weights) @ np.abs(here))
    (slope,), (kink,) = slopes(change, np.array([central_step(dtype) / longest]), noise)
    return float(slope), bool(kink)


def _complex(subject, along, weights):
    first = subject.variables[next(iter(along))].original.dtype
    h = COMPLEX_STEP[first]
    subject.use(complex_of(first))
    try:
        for name, direction in along.items():
            subject.variables[name].values += 1j * h * direction
        return float(weights @ subject.forward().imag.reshape(-1)) / h
    finally:
        subject.use(None)


def claimed(analytic, along):
    """Σ g ∘ v, and its typical size √Σ (g ∘ v)², against which rounding is judged."""
    products = [np.asarray(analytic[name], float).reshape(-1) * direction for name, direction in along.items()]
    return float(sum(p.sum() for p in products)), float(np.sqrt(sum((p * p).sum() for p in products)))
