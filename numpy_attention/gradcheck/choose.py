"""Which way of measuring: the exact one where the layer allows it, and everything at once where there is too much.

The complex step is exact, but only for a forward that treats complex numbers as the smooth functions they are meant
to be. `abs`, a comparison, `.real` or an array made as float would silently give wrong slopes. So it is tried along
one random direction for each tensor, against central differences, before it is trusted.
"""
import warnings
from typing import NamedTuple

import numpy as np

from .callee import Finding
from .directional import directions, measured
from .near import near
from .numeric import COMPLEX_STEP, central_step, complex_of

MANY = 20_000           # numbers beyond which "auto" nudges them all at once
METHODS = ("auto", "complex", "central", "directional")
TOLERANCE = {           # (atol as a share of the largest gradient, rtol)
    (np.dtype(np.float64), True): (1e-12, 1e-10), (np.dtype(np.float64), False): (1e-8, 1e-6),
    (np.dtype(np.float32), True): (1e-5, 1e-4), (np.dtype(np.float32), False): (3e-3, 3e-2),
}


class Method(NamedTuple):
    """How the slopes are measured, and why so."""

    name: str               # "complex", "central" or "directional"
    by_complex_step: bool
    title: str
    step: str
    reason: str
    atol: float             # a share of the largest gradient
    rtol: float


def choose(subject, wanted, weights, rng):
    """The Method for this subject."""
    if wanted not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}; got {wanted!r}")
    dtype = np.result_type(*(v.original.dtype for v in subject.variables.values()))
    if (dtype, True) not in TOLERANCE:
        raise ValueError(f"gradients are measured in float64 or float32, not in {dtype}: give dtype=np.float64, the "
                         "default, or np.float32")
    obstacle = "asked for" if wanted == "central" else _obstacle(subject, weights, rng)
    if wanted == "complex" and obstacle:
        raise ValueError(f"the complex step cannot be used here, because {obstacle}; method='auto' takes central "
                         "differences instead")
    numbers = sum(v.values.size for v in subject.variables.values())
    by_complex_step = obstacle is None
    title = "complex step" if by_complex_step else "extrapolated central differences"
    step = f"h = {COMPLEX_STEP[dtype]:.0e}" if by_complex_step else f"h = {central_step(dtype):.0e} max(1, |x|)"
    reason = "as asked for" if wanted != "auto" else (
        "forward takes complex numbers, so slopes are exact" if by_complex_step else f"because {obstacle}")
    name = "complex" if by_complex_step else "central"
    if wanted == "directional" or (wanted == "auto" and numbers > MANY):
        name, title = "directional", f"all at once along a random direction, by {title}"
        reason += f"; {numbers:,} numbers are too many to nudge one by one" * (wanted == "auto")
    return Method(name, by_complex_step, title, step, reason, *TOLERANCE[dtype, by_complex_step])


def _obstacle(subject, weights, rng):
    """Why the complex step cannot be used, in words; None if it can."""
    along = directions(subject, rng)
    if not _obstacle_along(subject, "everything", along, weights):
        return None
    each = (_obstacle_along(subject, name, {name: along[name]}, weights) for name in along)
    return next(filter(None, each), None) or _obstacle_along(subject, "everything", along, weights)


def _obstacle_along(subject, name, along, weights):
    here = subject.forward().reshape(-1)
    dtype = subject.variables[next(iter(along))].original.dtype
    loose = float(np.finfo(dtype).eps) ** 0.35
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            subject.use(complex_of(dtype))
            for variable, direction in along.items():
                subject.variables[variable].values += 1j * COMPLEX_STEP[dtype] * direction
            out = subject.forward().reshape(-1)
    except Finding as error:
        return f"forward does not take complex numbers ({error})"
    finally:
        subject.use(None)
    central, kink = measured(subject, along, weights, by_complex_step=False)
    if kink:
        return f"the output has a kink along {name}"
    size = float(np.abs(weights) @ np.abs(here))
    exact = float(weights @ out.imag) / COMPLEX_STEP[dtype]
    if out.dtype.kind != "c" and abs(central) > loose * size:
        return f"forward drops the imaginary part of {name}"
    if not near(out.real, here, loose):
        return "forward computes something else with complex numbers"
    if abs(exact - central) > loose * (abs(exact) + abs(central) + size):
        return (f"along {name} it gives {exact:.4g} and central differences {central:.4g}: a kink, or abs, a "
                "comparison or the like in forward")
    return None


def choose_upstream(subject, given, rng):
    """(the upstream gradient, how it came about)."""
    kind = subject.out.dtype if subject.out.dtype.kind == "f" else np.dtype(float)
    if subject.is_loss:
        return np.ones((), kind), "1, the loss itself"
    if given is None:
        return rng.standard_normal(subject.out.shape).astype(kind), "random"
    given = np.asarray(given)
    if given.dtype.kind not in "fiu" or given.shape != subject.out.shape:
        raise ValueError(f"upstream must hold floats and have the shape of the output, {subject.out.shape}; got "
                         f"{given.dtype} {given.shape}")
    return given.astype(kind), "as given"
