"""check_gradients: does backward say what forward does?

The loss is Σ upstream ∘ out with a random upstream gradient. Random, because a constant one hides mistakes: rows of
softmax weights sum to 1, so Σ out would not depend on the scores at all, and any backward that returns 0 would pass.
"""
import numbers
import time
from functools import partial

import numpy as np

from . import conduct
from .callee import Finding, callee
from .choose import choose, choose_upstream
from .diagnosis import diagnose
from .directional import claimed, directions, measured
from .frozen import FrozenGlobals
from .near import largest
from .numeric import central_differences, complex_step
from .remarks import remarks
from .report import GradientReport
from .row import Row
from .subject import Subject


def check_gradients(layer, *inputs, upstream=None, method="auto", rng=0, atol=None, rtol=None, dtype=np.float64,
                    params=None, rules=True, **keywords):
    """Compare every gradient that `layer.backward` returns with a measured one, element by element.

    Args:
        layer: any layer with forward(*inputs) and backward(dout), ours or yours; or a pair of functions
            (forward, backward) in the style out, cache = forward(x, w) and dx, dw = backward(dout, cache).
            It is copied and stays as it is, as do the inputs.
        inputs: what forward takes. keywords: its options, such as mask=.
        upstream: the gradient to send into backward, of the output's shape; random (from rng) unless given.
        method: "complex" (complex step, exact), "central" (extrapolated central differences), "directional" (all
            numbers at once) or "auto", which takes the complex step if forward allows it.
        atol, rtol: an element passes if |analytic - numeric| <= atol + rtol |numeric|. By default 1e-10 for rtol and
            1e-12 of the largest gradient for atol (complex step), 1e-6 and 1e-8 (central differences).
        dtype: precision of the measurement; None for that of the layer, with tolerances to match.
        params: where your layer keeps its learned arrays, if not in dictionaries `params` and `grads`:
            {"W": "dW"} for layer.W and layer.dW.
        rules: whether to verify also what else is expected of a backward: 0 for 0, the same when called twice, linear
            in the upstream gradient, shapes and precisions, nothing of the caller's changed.

    Returns: GradientReport; print it, or call .assert_ok() in a test.
    Raises: TypeError/ValueError for what is no layer, or an upstream of the wrong shape. What is wrong with
        the layer itself is said by the report.

    >>> mha = na.MultiHeadAttention(6, 2, rng=0)
    >>> query, memory = np.random.default_rng(1).standard_normal((2, 1, 3, 6))
    >>> report = na.check_gradients(mha, query, memory)
    >>> report.ok, report.elements
    (True, 204)

    Source: Squire & Trapp 1998 (complex step); Richardson 1911 (extrapolated differences).
    """
    started = time.perf_counter()
    its = callee(layer)
    for name, value in (("atol", atol), ("rtol", rtol)):
        if value is not None and not (isinstance(value, numbers.Real) and value >= 0):
            raise ValueError(f"{name} must be a number, at least 0; got {value!r}")
    if params is not None and not isinstance(params, dict | list | tuple):
        raise TypeError(f"params must name arrays and their gradients, such as {{'W': 'dW'}}; got {params!r}")
    rng = np.random.default_rng(rng)
    report = GradientReport(its.name, again=partial(_step_curve, layer, *inputs, **keywords))
    with FrozenGlobals() as frozen_globals:
        def subject(dtype):
            return Subject(its, inputs, keywords, dtype=dtype, params=params, frozen_globals=frozen_globals)
        try:
            _fill(report, subject, upstream, method, rng, atol, rtol, dtype, rules)
        except Finding as finding:
            report.problem = str(finding)
    report.seconds = time.perf_counter() - started
    return report


def _fill(report, make_subject, upstream, method, rng, atol, rtol, dtype, rules):
    given = make_subject(None)
    kind = given.out.dtype if given.out.dtype.kind == "f" else np.dtype(float)
    report.lines = conduct.lines(given, rng.standard_normal(given.out.shape).astype(kind), rng, rules)
    if not report.lines[0].ok:
        raise Finding("not repeatable, so nothing could be compared")
    subject = given if dtype is None or given.is_all(np.dtype(dtype)) else make_subject(np.dtype(dtype))
    upstream, how = choose_upstream(subject, upstream, rng)
    weights = upstream.astype(float).reshape(-1)
    chosen = choose(subject, method, weights, rng)
    analytic = subject.backward(upstream)
    report.method, report.reason = chosen.title, chosen.reason
    report.settings = {"step": chosen.step, "dtype": _precision(subject, dtype), "upstream": how, "atol": atol,
                       "rtol": chosen.rtol if rtol is None else rtol}
    rows = _all_at_once if chosen.name == "directional" else _one_by_one
    started = time.perf_counter()
    report.rows = rows(subject, analytic, weights, chosen, report.settings, rng)
    report.settings["seconds"] = time.perf_counter() - started
    report.warnings = remarks(subject, report, upstream, how)
    report.diagnosis = diagnose(subject, report, upstream)


def _step_curve(*arguments, **options):
    from .steps import step_curve
    return step_curve(*arguments, **options)


def _precision(subject, dtype):
    if subject.converted:
        return f"{np.dtype(dtype)} copy of a {' and '.join(sorted(subject.converted))} layer"
    return " and ".join(sorted({str(v.original.dtype) for v in subject.variables.values()}))


def _one_by_one(subject, analytic, weights, chosen, settings, _):
    """A row for each variable, every element nudged by itself."""
    measure = complex_step if chosen.by_complex_step else central_differences
    numeric = {name: measure(subject, variable, weights) for name, variable in subject.variables.items()}
    _set_atol(settings, chosen, largest(*(g for g, _ in numeric.values())), weights, subject.out)
    return [Row(name, v.kind, np.asarray(analytic[name], float), numeric[name][0], settings["atol"], settings["rtol"],
                numeric[name][1]) for name, v in subject.variables.items()]


def _set_atol(settings, chosen, size, weights, out):
    """Unless given, atol is a share of the largest gradient, or of the loss's terms if all gradients are tiny."""
    if settings["atol"] is None:
        settings["atol"] = float(chosen.atol * max(size, 0.1 * largest(weights * out.reshape(-1)), 1e-300))


def _all_at_once(subject, analytic, weights, chosen, settings, rng):
    """One row for all variables together; if it fails or was only approximate, one for each of them as well."""
    along = directions(subject, rng)
    everything = {"all at once": along, **{name: {name: along[name]} for name in along}}
    rows = []
    for name, some in everything.items():
        slope, kink = measured(subject, some, weights, chosen.by_complex_step)
        claim, size = claimed(analytic, some)
        _set_atol(settings, chosen, size if np.isfinite(size) else 0.0, weights, subject.out)
        count = sum(d.size for d in some.values())
        rows.append(Row(name, "all" if len(rows) == 0 else "direction", np.array(claim), np.array(slope),
                        settings["atol"], settings["rtol"], np.array(kink), count,
                        (count,) if len(rows) == 0 else subject.variables[name].shape))
        if rows[0].ok and chosen.by_complex_step:
            break
    return rows
