"""check_gradients: does backward say what forward does?

The loss is Σ upstream ∘ out with a random upstream gradient. Random, because a constant one hides mistakes: rows of
softmax weights sum to 1, so Σ out would not depend on the scores at all, and any backward that returns 0 would pass.

A verdict rests on two measurements that share no assumption (measure.py); what was not measured is named in the
headline; what else is expected of a backward is in rules.py.
"""
import numbers
import time
import warnings
from functools import partial

import numpy as np

from ..engine.arguments import generator
from .diagnosis import diagnose
from .layer_under_test import Clock, Finding, layer_under_test
from .measure import COMPLEX_STEP, RTOL, Ruler
from .remarks import remarks, unchecked
from .report import GradientReport, Row
from .rules import Line, lines, right_elsewhere, same_in_its_precision
from .slopes import BASE
from .step_curve import step_curve
from .subject import Subject
from .verdict import Judge

METHODS = ("auto", "complex", "central", "directional")
MANY = 20_000           # numbers beyond which "auto" nudges them all at once


def check_gradients(layer, *inputs, upstream=None, method="auto", rng=0, atol=None, rtol=None, dtype=np.float64,
                    params=None, rules=True, seconds=60, progress=None, **keywords):
    """Compare every gradient that `layer.backward` returns with a measured one, element by element.

    Args:
        layer: any layer with forward(*inputs) and backward(dout), ours or yours; or a pair of functions
            (forward, backward) in the style out, cache = forward(x, w) and dx, dw = backward(dout, cache).
            It is copied and stays as it is, as do the inputs.
        inputs: what forward takes. keywords: its options, such as mask=.
        upstream: the gradient to send into backward, of the output's shape; random (from rng) unless given.
        method: "auto" (complex step where central differences confirm it), "complex" (that or an error), "central"
            (central differences number by number) or "directional" (all numbers at once, for large layers).
        atol, rtol: an element passes if |analytic - numeric| <= atol + rtol |numeric| + its own rounding, which is
            measured. By default atol is 0 and rtol 1e-10 (complex step) or 1e-7 (central differences).
        dtype: precision of the measurement; None for that of the layer, with tolerances to match.
        params: where your layer keeps its learned arrays, if backward leaves their gradients in an unusual place:
            {"W": "slope"} for layer.W and layer.slope.
        rules: whether to verify also what else is expected of a backward: 0 for 0, the same when called twice or after
            other inputs, linear in the upstream gradient, shapes and precisions, nothing of the caller's changed.
        seconds: how long a single call of forward or backward may take. progress: a function that is told where a long
            check is, in a few words, every five seconds.

    Returns: GradientReport; print it, or call .assert_ok() in a test.
    Raises: TypeError/ValueError for what is no layer, or an upstream of the wrong shape. What is wrong with
        the layer itself is said by the report.

    >>> mha = na.MultiHeadAttention(6, 2, rng=0)
    >>> query, memory = np.random.default_rng(1).standard_normal((2, 1, 3, 6))
    >>> report = na.check_gradients(mha, query, memory)
    >>> report.ok, report.elements
    (True, 204)

    Source: Squire & Trapp 1998 (complex step); Richardson 1911, Ridders 1982 (extrapolated differences).
    """
    started, clock = time.perf_counter(), Clock(seconds, progress)
    under_test = layer_under_test(layer, clock)
    for name, value in (("atol", atol), ("rtol", rtol)):
        if value is not None and not (isinstance(value, numbers.Real) and value >= 0):
            raise ValueError(f"{name} must be a number, at least 0; got {value!r}")
    if params is not None and not isinstance(params, dict | list | tuple):
        raise TypeError(f"params must name arrays and their gradients, such as {{'W': 'dW'}}; got {params!r}")
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}; got {method!r}")
    report = GradientReport(under_test.name, again=partial(step_curve, layer, *inputs, **keywords))
    with np.errstate(all="ignore"), warnings.catch_warnings(), clock.running():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", np.exceptions.ComplexWarning)
        try:
            _fill(report, partial(Subject, under_test, inputs, keywords, params=params), upstream, method,
                  generator(rng), atol, rtol, dtype, rules)
        except Finding as finding:
            report.problem = str(finding)
        finally:
            if under_test.held:         # generators that no copy can have to itself are given back as they were
                under_test.held.rewind()
    report.seconds = time.perf_counter() - started
    return report


def _fill(report, subject_in, upstream, method, rng, atol, rtol, dtype, rules):
    given = subject_in(dtype=None)
    kinds = {np.dtype(m.array.dtype) for v in given.variables.values() for m, _ in v.members}
    report.lines = lines(given, given.random_upstreams(rng), rng, rules)
    report.unchecked = unchecked(given)
    if not report.lines[0].ok:
        raise Finding("not repeatable, so nothing could be compared")
    subject, narrow = given, ""
    if dtype is not None and given.converted_by(dtype):
        try:
            subject = subject_in(dtype=np.dtype(dtype))
        except Finding as finding:
            if kinds != {np.dtype(np.float32)}:
                raise
            narrow = f"measured in float32, to about 3 digits, for in {np.dtype(dtype)} {finding}"
    upstreams, how = _upstreams(subject, upstream, rng)
    kind = np.result_type(*(v.values.dtype for v in subject.variables.values()))
    if kind not in COMPLEX_STEP:
        raise ValueError(f"gradients are measured in float64 or float32, not in {kind}: give dtype=np.float64, the "
                         "default, or np.float32")
    ruler = Ruler(subject, upstreams, rng, use_complex=method != "central")
    copy = subject.copy()
    copy.forward()
    analytic = {name: np.array(g, float) for name, g in copy.backward([u.copy() for u in upstreams]).items()}
    report.settings = {"step": "", "dtype": _precision(subject, dtype), "upstream": how, "atol": atol or 0.0,
                       "rtol": rtol}
    judge = Judge(ruler, upstreams, atol, rtol)
    started = time.perf_counter()
    numbers_in_all = sum(v.size for v in subject.variables.values())
    if method == "directional" or (method == "auto" and numbers_in_all > MANY):
        report.rows = _all_at_once(ruler, analytic, atol, rtol)
    else:
        report.rows = _one_by_one(ruler, judge, analytic)
    report.settings["seconds"] = time.perf_counter() - started
    doubts = [row.why for row in report.rows if row.why]
    if method == "complex" and doubts:
        raise ValueError(f"the complex step cannot be used here, because {doubts[0]}; method='auto' takes central "
                         "differences instead")
    _how(report, ruler, method, numbers_in_all)
    report.warnings = [narrow] * bool(narrow) + remarks(subject, ruler, report, upstreams, how)
    if rules and subject is not given:
        report.lines.append(Line.of("in its own precision", same_in_its_precision, given, subject, upstreams, judge))
    if rules and all(row.ok for row in report.rows):
        report.lines.append(Line.of("at other inputs", right_elsewhere, subject, rng))
    report.diagnosis = diagnose(subject, report, upstreams)


def _one_by_one(ruler, judge, analytic):
    """A row for each variable, every element nudged by itself."""
    ruler.survey(analytic)
    measured = {name: ruler.measure(v) for name, v in ruler.subject.variables.items()}
    ruler.unit = max([ruler.unit, *(float(np.abs(np.nan_to_num(m.numbers["numeric"].reshape(-1))) @ ruler.scales[name])
                                    for name, m in measured.items())])
    return judge.ties([judge.row(v, analytic[name], measured[name]) for name, v in ruler.subject.variables.items()])


def _all_at_once(ruler, analytic, atol, rtol):
    """One row for all variables together; if it fails or is only approximate, one for each of them as well."""
    claimed = ruler.directions({})
    variables, rows = ruler.subject.variables, []
    for name, some in {"all at once": tuple(variables), **{name: (name,) for name in variables}}.items():
        along = [{key: directions[key] for key in some} for directions in claimed]
        terms = [np.concatenate([(analytic[key].reshape(-1) * d[key]) for key in some]) for d in along]
        claim, size = np.array([t.sum() for t in terms]), np.array([np.sqrt(t @ t) for t in terms])
        seconds = [ruler.central(d, enough=1e-6 if ruler.complex is not None else 3e-8) for d in along]
        numeric, error = (np.array(values) for values in zip(*(s.of_loss(ruler.weights) for s in seconds), strict=True))
        corner, why = np.array([s.corner.any() for s in seconds]), ruler.obstacle
        ruler.learn(seconds)
        if ruler.complex is not None:
            firsts = [ruler.exact(d) for d in along]
            why = ruler.doubt(firsts, seconds)
            if not why:
                numeric, error = np.array([ruler.weights @ first for first in firsts]), np.zeros(len(along))
                corner[:] = False
        share = RTOL[ruler.dtype, not why] if rtol is None else rtol
        tolerance = (atol or 0.0) + share * np.abs(numeric) + 3 * error
        tolerance = tolerance + np.finfo(ruler.dtype).eps * (5e3 * size + 50 * ruler.unit)
        count = sum(variables[key].size for key in some)
        row = Row(name, "all" if not rows else "direction", claim, numeric, tolerance, corner, count,
                  (count,) if not rows else variables[name].shape, error=error, why=why)
        unsure = ~(error <= 0.05 * np.maximum(size, 1e-6 * ruler.unit))
        row.unmeasured = unsure & ~corner & (row.excess <= 1)
        rows.append(row)
        if rows[0].ok and not rows[0].why:
            break
    return rows


def _how(report, ruler, method, count):
    """How the slopes were measured, in words."""
    slow = {}
    for row in report.rows:
        if row.why:
            slow.setdefault(row.why, []).append(row.name)
    exact = not all(row.why for row in report.rows)
    report.method = " and ".join(["complex step"] * exact + ["central differences"] * bool(slow))
    report.settings["step"] = (f"h from {BASE:.0e} |x|, as short or long as each number needs" if slow else
                               f"h = {COMPLEX_STEP[ruler.dtype]:.0e} |x|")
    if report.settings["rtol"] is None:
        report.settings["rtol"] = RTOL[ruler.dtype, not slow]
    report.reason = "; ".join(f"{', '.join(names)}: {why}" if exact or len(slow) > 1 else f"because {why}"
                              for why, names in slow.items())
    if not slow or ruler.obstacle == "asked for":
        report.reason = "as asked for" if slow else "confirmed by central differences along random directions"
    if report.rows and report.rows[0].kind == "all":
        report.method = f"all at once along random directions, by {report.method}"
        report.reason += f"; {count:,} numbers are too many to nudge one by one" * (method == "auto")


def _upstreams(subject, given, rng):
    """(the upstream gradients, how they came about)."""
    drawn = subject.random_upstreams(rng)
    if subject.is_loss:
        return drawn, "1, the loss itself"
    if given is None:
        return drawn, "random"
    several = given if len(drawn) > 1 and isinstance(given, list | tuple) else [given]
    several = [np.asarray(one) for one in several]
    for one, own in zip(several, drawn, strict=len(several) == len(drawn)):
        if one.dtype.kind not in "fiu" or one.shape != own.shape:
            raise ValueError(f"upstream must hold floats and have the shape of the output, {own.shape}; got "
                             f"{one.dtype} {one.shape}")
    return [one.astype(own.dtype) for one, own in zip(several, drawn, strict=True)], "as given"


def _precision(subject, dtype):
    if subject.converted:
        return f"{np.dtype(dtype)} copy of a {' and '.join(sorted(subject.converted))} layer"
    return " and ".join(sorted({str(v.values.dtype) for v in subject.variables.values()}))
