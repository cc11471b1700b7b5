"""The V-curve: how the error of a numerical derivative depends on the step.

A long step sees the curve bend, a short one drowns in rounding: between the two, differences have a best step, and it
is another one for float32 and for float64, for one-sided and for central differences. The complex step subtracts
nothing, so its error just falls to the last digit and stays there.

Source: Press et al., Numerical Recipes, section 5.7; Squire & Trapp 1998.
"""
from typing import NamedTuple

import numpy as np

from .callee import callee
from .choose import choose_upstream
from .subject import Subject

STEPS = tuple(10.0 ** -k for k in range(1, 17))
MOST = 48               # numbers nudged


class StepCurve(NamedTuple):
    """`errors`: {way: largest relative error at each of `steps`}; `.plot()` draws it."""

    tensor: str
    steps: tuple
    errors: dict

    def best(self):
        """{way: (the best step, its error)}."""
        return {way: min(zip(errors, self.steps, strict=True))[::-1] for way, errors in self.errors.items()}

    def __str__(self):
        best = self.best()
        return "\n".join([f"Error of d{self.tensor} at the best step",
                          *(f"  {way:<22} {error:.1e} at {step:.0e}" for way, (step, error) in best.items())])

    def plot(self, **options):
        """Error against step, both on logarithmic scales; returns a matplotlib Figure."""
        from .picture import plot_steps
        return plot_steps(self, **options)


def step_curve(layer, *inputs, tensor=None, rng=0, steps=STEPS, **keywords):
    """Measure one tensor's gradient with many steps, against what backward says (which should be right).

    Args: tensor: which variable, the first unless named. steps: to try. Others as in check_gradients.
    Returns: StepCurve with "float64 central", "float64 one-sided", the same for float32, and "complex step".
    Raises: ValueError for an unknown tensor.

    >>> Q, K, V = np.random.default_rng(0).standard_normal((3, 3, 4))
    >>> curve = step_curve(na.ScaledDotProductAttention(), Q, K, V)
    >>> [bool(curve.best()[way][1] < limit) for way, limit in (("complex step", 1e-14), ("float64 central", 1e-9))]
    [True, True]
    """
    its, errors = callee(layer), {}
    upstream, reference = None, None
    for dtype in (np.float64, np.float32):
        subject = Subject(its, inputs, keywords, dtype=np.dtype(dtype))
        name = next(iter(subject.variables)) if tensor is None else tensor
        if name not in subject.variables:
            raise ValueError(f"there is no tensor {name!r}; there are {', '.join(subject.variables)}")
        if upstream is None:
            upstream, _ = choose_upstream(subject, None, np.random.default_rng(rng))
            reference = np.asarray(subject.backward(upstream)[name], float).reshape(-1)[:MOST]
        weights = upstream.reshape(-1).astype(float)

        def error(slopes, reference=reference):
            return float(np.abs(slopes - reference).max() / np.abs(reference).max())

        word = np.dtype(dtype).name
        for way, low in (("one-sided", 0), ("central", -1)):
            errors[f"{word} {way}"] = [error(_slopes(subject, name, weights, h, low)) for h in steps]
        if dtype is np.float64:
            subject.use(np.complex128)
            errors["complex step"] = [error(_complex_slopes(subject, name, weights, h)) for h in steps]
    return StepCurve(name, tuple(steps), errors)


def _slopes(subject, name, weights, h, low):
    values, found = subject.variables[name].values, []
    for i, kept in enumerate(values[:MOST].copy()):
        values[i] = kept + h
        above = subject.forward().reshape(-1)
        values[i] = kept + low * h
        below = subject.forward().reshape(-1)
        values[i] = kept
        found.append(weights @ (above - below) / (h * (1 - low)))
    return np.array(found, float)


def _complex_slopes(subject, name, weights, h):
    values, found = subject.variables[name].values, []
    for i, kept in enumerate(values[:MOST].copy()):
        values[i] = kept + 1j * h
        found.append(weights @ subject.forward().imag.reshape(-1) / h)
        values[i] = kept
    return np.array(found)
