"""The V-curve: how the error of a numerical derivative depends on the step.

A long step sees the curve bend, a short one drowns in rounding: between the two, differences have a best step, and it
is another one for float32 and for float64, for one-sided and for central differences. The complex step subtracts
nothing, so its error just falls to the last digit and stays there.

Source: Press et al., Numerical Recipes, section 5.7; Squire & Trapp 1998.
"""
from typing import NamedTuple

import numpy as np

from ..engine.arguments import generator
from ..words.pictures import draw
from .layer_under_test import layer_under_test
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
        return draw("plot_step_curve", self.steps, self.errors, name=f"d{self.tensor}", **options)


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
    errors, upstreams = {}, None
    for dtype in (np.float64, np.float32):
        subject = Subject(layer_under_test(layer), inputs, keywords, dtype=np.dtype(dtype))
        name = next(iter(subject.variables)) if tensor is None else tensor
        if name not in subject.variables:
            raise ValueError(f"there is no tensor {name!r}; there are {', '.join(subject.variables)}")
        if upstreams is None:
            upstreams = subject.random_upstreams(generator(rng))
            copy = subject.copy()
            copy.forward()
            reference = copy.backward(upstreams)[name].reshape(-1)[:MOST]
        weights = np.concatenate([u.reshape(-1) for u in upstreams]).astype(float)

        def error(slopes, reference=reference):
            return float(np.abs(slopes - reference).max() / np.abs(reference).max())

        for way, low in (("one-sided", 0), ("central", -1)):
            errors[f"{np.dtype(dtype).name} {way}"] = [error(_slopes(subject, name, weights, h, low)) for h in steps]
        if dtype is np.float64:
            errors["complex step"] = [error(_slopes(subject, name, weights, 1j * h)) for h in steps]
    return StepCurve(name, tuple(steps), errors)


def _slopes(subject, name, weights, h, low=0):
    """Of the first numbers: from h and `low` times h, or by the complex step if h is imaginary."""
    variable, imaginary, found = subject.variables[name], isinstance(h, complex), []
    copy = subject.copy(complex_variables=imaginary)
    values = variable.values.astype(complex if imaginary else variable.values.dtype)

    def loss(i, nudge):
        values[i] = variable.values[i] + nudge
        copy.put(variable, values)
        values[i] = variable.values[i]
        return copy.forward()

    for i in range(min(MOST, variable.size)):
        if imaginary:
            found.append(loss(i, h).imag @ weights / abs(h))
        else:
            found.append(weights @ (loss(i, h) - loss(i, low * h)) / (h * (1 - low)))
    return np.array(found, float)
