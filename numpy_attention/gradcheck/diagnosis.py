"""What is wrong, in plain words: a mistake in a backward pass leaves a pattern in the numbers.

Each pattern is one function that looks at a tensor that failed and says a sentence, or nothing. The first that has
something to say is believed. With sizes that are all different even a bare ratio gives its author away: 0.5 is 1/N
when only N is 2.
"""
import itertools

import numpy as np

from .callee import Finding
from .hidden import only_hidden
from .ratios import name_of, sizes
from .story import story


def diagnose(subject, report, upstream):
    """Sentences about the rows that failed, tensors with the same fault together."""
    failed = [row for row in report.rows if not row.ok and row.kind in ("input", "parameter")]
    if not failed:
        return []
    try:
        trial = subject.trial()
        raw = subject.returned.gradients(trial, upstream)
    except Finding:
        return []
    grads = getattr(trial.callee.layer, "grads", None)
    evidence = Evidence(subject, raw, {k: g for k, g in (grads.items() if isinstance(grads, dict) else ())
                                       if isinstance(g, np.ndarray)}, sizes(subject, trial))
    found = {}
    for row in failed:
        text = next(filter(None, (pattern(row, evidence) for pattern in PATTERNS)), None)
        found.setdefault(text, []).append(row.name)
    unexplained = found.pop(None, [])
    texts = story(trial, subject, upstream) + [f"{_listed(names)}: {text}" for text, names in found.items()]
    return texts or [f"{_listed(unexplained)}: no simple pattern; look at the worst element first"]


class Evidence:
    """What the patterns may look at besides the row."""

    def __init__(self, subject, raw, grads, symbols):
        self.subject, self.raw, self.grads, self.sizes = subject, raw, grads, symbols


def wrong_shape(row, evidence):
    """A bias that was broadcast forward has to be summed over the same axes backward."""
    for where, places in evidence.subject.variables[row.name].members:
        gradient = evidence.raw.get(where)
        if gradient is None or gradient.shape == (row.shape if places is None else places.shape):
            continue
        extra = gradient.ndim - len(row.shape)
        if extra > 0 and gradient.shape[extra:] == row.shape:
            total = gradient.sum(axis=tuple(range(extra)))
            if _near(total, row.numeric, row):
                axes = " and ".join(map(str, range(extra)))
                return (f"the gradient has shape {gradient.shape}, the tensor {row.shape}: sum it over "
                        f"ax{'i' if extra == 1 else 'e'}s {axes}, along which the tensor was broadcast")
        if gradient.ndim >= 2 and _near(gradient.swapaxes(-1, -2), row.numeric, row):
            return "the gradient is transposed"
        return f"the gradient has shape {gradient.shape}, the tensor {row.shape}"
    return None


def not_a_number(row, _):
    bad = ~np.isfinite(row.analytic)
    if bad.any():
        return f"backward gives NaN or infinity {'everywhere' if bad.all() else 'at some elements'}"
    if not np.isfinite(row.numeric).all():
        return "forward itself gives NaN or infinity when this is nudged"
    return None


def only_kinks(row, _):
    if row.skipped.all():
        return "every element lies at a kink, where there is no slope to compare with: check it at other numbers"
    return None


def nothing_or_too_much(row, _):
    if not row.analytic.any():
        return "backward gives 0, but the output does depend on it: a path is missing"
    if np.abs(row.numeric).max() <= row.atol:
        return "backward gives a gradient, but the output does not depend on it (or forward reads another copy of it)"
    return None


def constant_ratio(row, evidence):
    """Wrong by one factor everywhere."""
    large = np.abs(row.numeric) > 1e-3 * np.abs(row.numeric).max()
    ratios = row.analytic[large] / row.numeric[large]
    ratio = float(np.median(ratios))
    if np.abs(ratios - ratio).max() <= max(1e-6, 10 * row.rtol) * abs(ratio) and _near(
            row.analytic, ratio * row.numeric, row):
        return f"every element is {ratio:.4g} times what it should be{name_of(ratio, evidence.sizes)}"
    return None


def paths(row, evidence):
    """One tensor felt along several ways: is one of them left out, or counted twice?"""
    parts = {name: g for name, g in evidence.grads.items() if g.shape == row.shape and name != row.name}
    for count in (1, 2):
        for names in itertools.combinations(parts, count):
            some = sum(parts[name] for name in names)
            if _near(row.analytic + some, row.numeric, row):
                return f"the path through {' and '.join(names)} is missing: add its gradient"
            if _near(row.analytic - some, row.numeric, row):
                return f"the path through {' and '.join(names)} is counted twice"
    return None


def wrong_order(row, _):
    """The right numbers at the wrong places."""
    if row.analytic.ndim >= 2 and row.shape[-1] == row.shape[-2] and _near(
            row.analytic.swapaxes(-1, -2), row.numeric, row):
        return "transposed: the last two axes are swapped"
    if _near(np.sort(row.analytic, axis=None), np.sort(row.numeric, axis=None), row):
        return "the right numbers in the wrong places: a reshape where axes should be swapped, or swapped axes"
    return None


def hidden_cells(row, evidence):
    return only_hidden(row, evidence.subject)


def rows_not_zero(row, _):
    """Softmax and LayerNorm do not feel a shift of a whole row."""
    if row.numeric.ndim < 1 or row.shape[-1] < 2:
        return None
    sums, size = row.numeric.sum(axis=-1), np.abs(row.numeric).sum(axis=-1)
    if (np.abs(sums) <= 10 * row.atol + 10 * row.rtol * size).all() and not (
            np.abs(row.analytic.sum(axis=-1)) <= 1e-3 * size).all():
        return ("each row of the measured gradient sums to 0, since shifting a whole row changes nothing; yours does "
                "not: the term that takes the mean out is missing")
    return None


def confined(row, _):
    """Only some rows, columns or heads are wrong."""
    wrong = row.excess > 1
    if wrong.sum() == 1 and wrong.size > 1:
        return f"only the element {row.worst} is wrong"
    limits = []
    for axis, length in enumerate(wrong.shape):
        bad = np.flatnonzero(wrong.any(axis=tuple(a for a in range(wrong.ndim) if a != axis)))
        if len(bad) <= length / 2:
            limits.append(f"index {', '.join(map(str, bad[:4]))}{' ...' * (len(bad) > 4)} of axis {axis}")
    return f"wrong only at {' and '.join(limits)}" if limits else None


PATTERNS = (wrong_shape, only_kinks, not_a_number, nothing_or_too_much, constant_ratio, paths, wrong_order,
            hidden_cells, confined, rows_not_zero)


def _near(a, b, row):
    return a.shape == b.shape and bool((np.abs(a - b) <= 10 * (row.atol + row.rtol * np.abs(b))).all())


def _listed(names):
    return ", ".join(names[:6]) + f" and {len(names) - 6} more" * (len(names) > 6)
