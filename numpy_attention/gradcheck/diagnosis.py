"""What is wrong, in plain words: a mistake in a backward pass leaves a pattern in the numbers.

If undoing a known mistake turns the whole gradient into the measured one, that was the mistake. It is named only if no
other one fits as well; if none does, or several do, the most telling places are shown instead. With sizes that are all
different even a bare ratio gives its author away: 0.5 is 1/N when only N is 2.
"""
import contextlib
import itertools
import math
import sys
from collections import Counter
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from ..engine.layer import Layer
from ..layers.variants.dropout import Dropout
from .attention_steps import story
from .copies import follow, walk
from .layer_under_test import Finding


class Evidence(NamedTuple):
    """What is looked at besides the row."""

    subject: object
    trial: object           # a copy that has run
    raw: dict               # {member: the gradient that was handed out for it, as it is}
    grads: dict             # the layer's own, by name
    sizes: dict             # {symbol: length}

    def gradients_of(self, row):
        """The gradients that were handed out for a row's tensor, with the shapes that they should have."""
        for member, places in self.subject.variables[row.name].members:
            if member in self.raw:
                yield self.raw[member], row.shape if places is None else places.shape


def diagnose(subject, report, upstreams):
    """Sentences about the rows that failed, tensors with the same fault together."""
    failed = [row for row in report.rows if row.differs and row.kind in ("input", "parameter")]
    if not failed:
        return []
    trial = subject.copy()
    try:
        trial.forward()
        raw = dict(trial.each([u.copy() for u in upstreams]))
    except Finding:
        return []
    grads = follow(trial.layer, ("grads",))
    grads = {str(k): g for k, g in grads.items() if isinstance(g, np.ndarray)} if isinstance(grads, dict) else {}
    evidence, found = Evidence(subject, trial, raw, grads, sizes(subject, trial)), {}
    for row in failed:
        found.setdefault(_cause(row, evidence), []).append(row)
    unexplained = found.pop(None, [])
    texts = story(trial, subject, upstreams) + [f"{_listed(rows)}: {text}" for text, rows in found.items()]
    return texts or [f"{_listed(unexplained)}: no simple pattern. {_telling(unexplained[0])}"]


def _cause(row, evidence):
    """The one sentence that explains this row; None if none does, or more than one."""
    certain = next(filter(None, (look(row, evidence) for look in OBSERVED)), None)
    if certain:
        return certain
    causes = {text for corrected, text in corrections(row, evidence) if _near(corrected, row.numeric, row)}
    causes |= set(filter(None, [hidden_cells(row, evidence)]))
    return causes.pop() if len(causes) == 1 else None if causes else confined(row)


# ------------------------------------------------------------------------- what is plain to see and leaves no choice

def said(row, _):
    """What the verdict already noted."""
    return row.note or None


def wrong_shape(row, evidence):
    """A bias that was broadcast forward has to be summed over the same axes backward."""
    for gradient, shape in evidence.gradients_of(row):
        if gradient.shape == shape:
            continue
        extra = gradient.ndim - len(row.shape)
        if extra > 0 and _near(gradient.sum(axis=tuple(range(extra))), row.numeric, row):
            return (f"the gradient has shape {gradient.shape}, the tensor {row.shape}: sum it over "
                    f"ax{'i' if extra == 1 else 'e'}s {' and '.join(map(str, range(extra)))}, along which the tensor "
                    "was broadcast")
        if gradient.ndim >= 2 and _near(gradient.swapaxes(-1, -2), row.numeric, row):
            return "the gradient is transposed"
        return f"the gradient has shape {gradient.shape}, the tensor {row.shape}"
    return None


def not_a_number(row, _):
    """NaN or infinity where a number belongs."""
    bad = ~np.isfinite(row.analytic)
    return f"backward gives NaN or infinity {'everywhere' if bad.all() else 'at some elements'}" if bad.any() else None


def ran_more_than_once(row, evidence):
    """A layer inside that ran twice in one forward has a cache of its last run only."""
    for path, times in _runs(evidence.trial).items():
        prefix = ".".join(str(step) for step in path if step != "params")
        if times > 1 and row.name.startswith(f"{prefix}."):
            return (f"{prefix} runs {times} times in one forward, but its gradient is that of the last run only: keep "
                    "a cache for each run and add the gradients up")
    return None


def _runs(trial):
    """{path: how often a layer inside ran in one forward}."""
    inner, counts, before = {id(f.thing): f.path for f in walk(trial.layer) if f.path}, Counter(), sys.getprofile()

    def profile(frame, event, _):
        code = frame.f_code
        owner = frame.f_locals.get(code.co_varnames[0]) if event == "call" and code.co_argcount else None
        if id(owner) in inner:
            run = getattr(type(owner), "forward", None) or type(owner).__call__
            counts[inner[id(owner)]] += getattr(getattr(run, "__wrapped__", run), "__code__", None) is code

    sys.setprofile(profile)
    try:
        trial.forward()
    except Finding:
        return {}
    finally:
        sys.setprofile(before)
    return counts


def nothing_or_too_much(row, _):
    """A gradient of 0 where there is one, or one where there is none."""
    if not row.analytic.any():
        return "backward gives 0, but the output does depend on it: a path is missing"
    if (np.abs(row.numeric) <= 2 * row.tolerance).all():
        return "backward gives a gradient, but the output does not depend on it (or forward reads another copy of it)"
    return None


def only_some_digits(row, _):
    """Right to some digits everywhere: not a wrong formula, but a short one of numbers."""
    with np.errstate(all="ignore"):
        apart = np.where(row.excess > 1, row.difference / np.abs(row.numeric), 0)
    if not 0 < float(apart.max()) < 3e-6 or (row.excess > 1).mean() < 0.3:
        return None
    digits = int(0.05 - math.log10(float(apart.max())))
    return (f"agrees to {digits} of 16 digits: is something computed in float32, or a constant written with {digits} "
            "digits?")


OBSERVED = (said, wrong_shape, not_a_number, ran_more_than_once, nothing_or_too_much, only_some_digits)


# ------------------------------------------------------------------------------------------- causes, to be the only one

def corrections(row, evidence):
    """(what backward gave, one known mistake undone; the name of that mistake)."""
    given = row.analytic
    large = np.abs(row.numeric) > 1e-3 * np.abs(row.numeric).max()
    ratios = given[large] / row.numeric[large]
    ratio = float(np.median(ratios))
    if ratio and np.abs(ratios - ratio).max() <= 1e-6 * abs(ratio):
        yield given / ratio, f"every element is {ratio:.4g} times what it should be{name_of(ratio, evidence.sizes)}"

    parts = {name: g for name, g in evidence.grads.items() if g.shape == row.shape and name != row.name and g.any()}
    paths = ((given + sign * sum(parts[name] for name in names), f"the path through {' and '.join(names)} is {what}")
             for count in (1, 2) for names in itertools.combinations(parts, count)
             for sign, what in ((1, "missing: add its gradient"), (-1, "counted twice")))
    yield from itertools.islice((way for way in paths if _near(way[0], row.numeric, row)), 1)   # one sum has many names

    for variable in evidence.subject.variables.values():
        for member, _ in variable.members:
            if variable.name != row.name and member in evidence.raw:
                yield evidence.raw[member], (f"its gradient was handed out as that of {variable.name}: two gradients "
                                             "are swapped")

    in_order = np.empty(given.size)
    in_order[np.argsort(row.numeric, axis=None)] = np.sort(given, axis=None)
    if given.ndim >= 2 and _near(given.swapaxes(-1, -2), row.numeric, row):
        yield given.swapaxes(-1, -2), "transposed: the last two axes are swapped"
    elif given.size > 1:
        yield in_order.reshape(given.shape), ("the right numbers in the wrong places: a reshape where axes should be "
                                              "swapped, or swapped axes")
    if row.shape[-1:] > (1,):                           # softmax and LayerNorm do not feel a shift of a whole row
        yield given - given.mean(axis=-1, keepdims=True), "the mean of each row is not taken out"


def hidden_cells(row, evidence):
    """Wrong only where a mask hides: the blocked cells themselves, keys nobody sees, queries that see nothing."""
    wrong = row.excess > 1
    for mask in evidence.subject.keywords.values():
        if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.ndim < 2 or mask.all():
            continue
        for words, hidden in (("hidden cells", ~mask), ("keys that no query may see", ~mask.any(axis=-2)[..., None]),
                              ("queries that may see no key", ~mask.any(axis=-1)[..., None])):
            for fitted in _fitted(hidden, wrong.shape):
                if fitted.any() and not fitted.all() and not (wrong & ~fitted).any():
                    return f"correct except at {words}: the gradient there has to be exactly 0"
    return None


def _fitted(hidden, shape):
    """The mask broadcast to the tensor's shape, by the same number of axes or by leaving out axes of the heads."""
    while True:
        with contextlib.suppress(ValueError):
            yield np.broadcast_to(hidden, shape)
        if hidden.ndim <= 2:
            return
        hidden = hidden.all(axis=-3) if hidden.ndim > 3 else hidden.all(axis=0)


# --------------------------------------------------------------------------------------- what was seen, without a cause

def confined(row):
    """Only some rows, columns or heads are wrong."""
    wrong = row.excess > 1
    if wrong.sum() == 1 and wrong.size > 1:
        return f"only the element {row.worst} is wrong"
    limits = []
    for axis, length in enumerate(wrong.shape):
        bad = np.flatnonzero(wrong.any(axis=tuple(a for a in range(wrong.ndim) if a != axis)))
        if len(bad) <= length / 2:
            limits.append(f"index {', '.join(map(str, bad[:4]))}{' ...' * (len(bad) > 4)} of axis {axis}")
    if limits:
        return f"wrong only at {' and '.join(limits)}"
    sums, size = row.numeric.sum(axis=-1), np.abs(row.numeric).sum(axis=-1)
    if row.shape[-1:] > (1,) and (np.abs(sums) <= 1e-6 * size).all() and not (
            np.abs(row.analytic.sum(axis=-1)) <= 1e-3 * size).all():
        return ("each row of the measured gradient sums to 0, since shifting a whole row changes nothing; yours does "
                "not: the term that takes the mean out is missing, or wrong")
    return None


def _telling(row):
    """The three worst numbers."""
    shown = []
    for flat in np.argsort(-np.nan_to_num(row.excess, posinf=np.inf), axis=None)[:3]:
        place = tuple(int(i) for i in np.unravel_index(flat, row.shape))
        analytic, numeric, ratio = row.at(place)
        shown.append(f"{place} is {analytic:.4g} by backward, {numeric:.4g} measured (ratio {ratio:.4g})")
    return f"Look at the worst first: in {row.name}, {'; '.join(shown)}"


def _near(a, b, row):
    with np.errstate(all="ignore"):
        return a.shape == b.shape and bool((np.abs(a - b) <= 10 * row.tolerance + 1e-9 * np.abs(b)).all())


def _listed(rows):
    return ", ".join(row.name for row in rows[:6]) + f" and {len(rows) - 6} more" * (len(rows) > 6)


# --------------------------------------------- the name of a ratio: 0.5 is 1/N when N is 2, 2.449 is √d_k when d_k is 6

def sizes(subject, trial):
    """{symbol: length} of the axes: N, L, d_k ... where the layer states its shapes, else x.shape[0] and so on."""
    found = _stated(trial.layer) if isinstance(trial.layer, Layer) else {}
    if not found:
        shapes = {**{name: v.shape for name, v in subject.variables.items() if v.kind == "input"},
                  "out": subject.shapes[0]}
        found = {f"{name}.shape[{axis}]": n for name, shape in shapes.items() for axis, n in enumerate(shape)}
    found = {symbol: found[symbol] for symbol in sorted(found, key=lambda symbol: symbol != "d_k")}    # the usual scale
    found = {symbol: n for symbol, n in found.items() if n > 1}
    kept = next((1 - f.thing.p for f in walk(trial.layer) if isinstance(f.thing, Dropout) and f.thing.p), None)
    return {**found, "1 − p": kept} if kept else found          # a scale that is easily forgotten


def _stated(layer):
    found = {}
    for stage in (*layer.FORWARD, *layer.BACKWARD):
        if isinstance(stage, str):
            found.update(_stated(getattr(layer, stage)) if isinstance(getattr(layer, stage, None), Layer) else {})
            continue
        array = layer.cache.get(stage.name, layer.grads.get(stage.name.removeprefix("d")))
        if isinstance(array, np.ndarray):
            for symbol, n in zip(reversed(stage.shape.split()), reversed(array.shape), strict=False):
                if symbol.isidentifier() and "·" not in symbol:
                    found.setdefault(symbol, n)
    return found


def name_of(ratio, symbols):
    """The ratio in words, to stand after "... times what it should be"; nothing if several names would fit."""
    if not math.isfinite(ratio) or ratio == 0:
        return ""
    if math.isclose(ratio, -1, rel_tol=1e-4):
        return ": the sign is flipped"
    sign = ", and the sign is flipped" if ratio < 0 else ""
    for candidates in (_likely(symbols), _less_likely(symbols)):
        named = [text for value, text in candidates if math.isclose(abs(ratio), value, rel_tol=1e-4)]
        if named:
            break
    first = [text for text in named if "√d_k" in text and "the scale" in text]     # no scale is as common as this one
    named = first[:1] or named
    fraction = Fraction(abs(ratio)).limit_denominator(12)
    if not named and math.isclose(fraction, abs(ratio), rel_tol=1e-5) and fraction != 1:
        named = [str(fraction)]
    if len(named) > 1:
        return f", which could be {' or '.join(text.partition(':')[0] for text in named[:3])}{sign}"
    return f", which is {named[0]}{sign}" if named else sign


def _lengths(symbols):
    """One symbol for each length."""
    return {symbol: n for symbol, n in symbols.items()
            if symbol == next(other for other, m in symbols.items() if m == n) and symbol != "1 − p"}


def _likely(symbols):
    """(value, words) of one length, or of dropout."""
    kept = symbols.get("1 − p")
    if kept:
        yield kept, f"1 − p (p = {1 - kept:g}): the scale 1/(1 − p) of dropout is missing"
        yield 1 / kept, f"1/(1 − p) (p = {1 - kept:g}): the scale of dropout once too often"
    for symbol, n in _lengths(symbols).items():
        same = " = ".join([symbol, *(other for other, m in symbols.items() if m == n and other != symbol)][:3])
        plain = f" (or a plain factor {n})" if n == 2 else ""
        root = math.isqrt(n)
        square = f" (or a plain factor {root})" if root * root == n and symbol != "d_k" else ""
        yield math.sqrt(n), f"√{symbol} ({same} = {n}): the scale 1/√{symbol} is missing{square}"
        yield 1 / math.sqrt(n), f"1/√{symbol} ({same} = {n}): the scale 1/√{symbol} once too often{square}"
        yield 1 / n, f"1/{symbol} ({same} = {n}): a mean where a sum belongs, or the scale twice{plain}"
        yield n, f"{symbol} ({same} = {n}): a sum where a mean belongs, or no scale{plain}"


def _less_likely(symbols):
    """(value, words) of two lengths, or of none."""
    lengths = _lengths(symbols).items()
    for (a, n), (b, m) in itertools.combinations(lengths, 2):
        yield 1 / (n * m), f"1/({a} {b}) ({a} = {n}, {b} = {m}): a mean where a sum belongs"
        yield float(n * m), f"{a} {b} ({a} = {n}, {b} = {m}): a sum where a mean belongs"
    for (a, n), (b, m) in itertools.permutations(lengths, 2):
        yield math.sqrt(n / m), f"√({a} / {b}) ({a} = {n}, {b} = {m}): scaled by the wrong one of two lengths"
    for n in (2, 3, 4):
        yield float(n), f"counted {('twice', 'three times', 'four times')[n - 2]}"
        yield 1 / n, f"a forgotten factor {n}"
