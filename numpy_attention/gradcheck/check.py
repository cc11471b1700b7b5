"""check_gradients: does backward say what forward does?

The loss is Σ upstream ∘ out with a random upstream gradient. Random, because a constant one hides mistakes: rows of
softmax weights sum to 1, so Σ out would not depend on the scores at all, and any backward that returns 0 would pass.
"""
import warnings

import numpy as np

from .numeric import COMPLEX_STEP, central_differences, complex_step
from .report import GradientReport, Row
from .subject import Subject

METHODS = {"complex": ("complex step", complex_step, 1e-12, 1e-10),
           "central": ("central differences, Richardson", central_differences, 1e-8, 1e-6)}


def check_gradients(layer, *inputs, upstream=None, method="auto", rng=0, atol=None, rtol=None, **keywords):
    """Compare every gradient that `layer.backward` returns with a measured one, element by element.

    Args:
        layer: any layer; it is copied and stays as it is.
        inputs: what forward takes. keywords: its options, such as mask=.
        upstream: the gradient to send into backward; random (from rng) unless given. Same shape as the output.
        method: "complex" (exact; needs a forward that accepts complex numbers), "central", or "auto".
        atol, rtol: an element passes if |analytic - numeric| <= atol + rtol · |numeric|. By default 1e-10 for rtol
            and, for atol, 1e-12 times the largest gradient (complex step), or 1e-6 and 1e-8 (central differences).

    Returns: GradientReport; print it, or call .assert_ok() in a test.

    >>> mha = na.MultiHeadAttention(6, 2, rng=0)
    >>> query, memory = np.random.default_rng(1).standard_normal((2, 1, 3, 6))
    >>> report = na.check_gradients(mha, query, memory)
    >>> report.ok, report.elements
    (True, 204)

    Source: Squire & Trapp 1998 (complex step); Richardson 1911 (extrapolated differences).
    """
    if method not in ("auto", *METHODS):
        raise ValueError(f"method must be 'auto', {', '.join(map(repr, METHODS))}; got {method!r}")
    subject = Subject(layer, inputs, keywords)
    if upstream is None:
        upstream = np.random.default_rng(rng).standard_normal(subject.shape) if not subject.is_loss else np.ones(())
    upstream = np.asarray(upstream, dtype=np.float64)
    if upstream.shape != subject.shape:
        raise ValueError(f"upstream must have the shape of the output, {subject.shape}; got {upstream.shape}")
    analytic = subject.backward(upstream)
    reason = "as asked for"
    if method == "auto":
        obstacle = _obstacle(subject)
        method, reason = ("central", obstacle) if obstacle else ("complex", "forward accepts complex numbers")
    title, derivative, default_atol, default_rtol = METHODS[method]
    subject.use(np.complex128 if method == "complex" else np.float64)
    numeric = {name: derivative(subject, variable, upstream) for name, variable in subject.variables.items()}
    scale = max((np.abs(g).max(initial=0.0) for g in numeric.values()), default=0.0)
    atol = default_atol * (scale if np.isfinite(scale) and scale else 1.0) if atol is None else atol
    rtol = default_rtol if rtol is None else rtol
    rows = [Row(name, variable.kind, analytic[name], numeric[name], atol, rtol)
            for name, variable in subject.variables.items()]
    return GradientReport(subject.name, title, reason, rows)


def _obstacle(subject):
    """Why the complex step cannot be used here, in words; None if it can."""
    plain = subject.forward()
    subject.use(np.complex128)
    try:
        for variable in subject.variables.values():
            kept = variable.values.copy()
            variable.values[:] = kept + 1j * COMPLEX_STEP
            with warnings.catch_warnings():
                warnings.simplefilter("error", np.exceptions.ComplexWarning)
                out = subject.forward()
            variable.values[:] = kept
            if not np.allclose(out.real, plain, rtol=1e-9, atol=1e-9, equal_nan=True):
                return "forward gives other values for complex numbers"
            if out.dtype.kind != "c":
                return f"forward drops the imaginary part of {variable.name}"
    except Exception as error:
        return f"forward does not accept complex numbers: {type(error).__name__}"
    finally:
        subject.use(np.float64)
    return None
