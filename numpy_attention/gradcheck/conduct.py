"""How a layer should behave besides computing right: the further lines of the report.

Each rule is one function that returns (passed, sentence). They run on the arrays as they were given, in their own
precision, and on fresh copies of the layer.
"""
from typing import NamedTuple

import numpy as np

from . import parameters
from .callee import Finding
from .interrupt import interrupted


class Line(NamedTuple):
    """One rule, whether it was kept, and what was seen."""

    name: str
    ok: bool
    text: str


def lines(given, dout, rng, all_rules=True):
    """The rules' Lines, in order. `given` is the Subject in its own precision; `dout` a random upstream gradient.

    Without the first two rules nothing could be compared, so these are always looked at.
    """
    found = [repeatable(given)]
    rules = [shapes, dtypes, twice, zero, linear, unchanged, unchanged_after_exception]
    for rule in rules[:len(rules) if all_rules else 1] if found[0].ok else []:
        if given.is_loss and rule in (zero, linear):
            continue
        try:
            found.append(rule(given, dout, rng))
        except Finding as error:
            found.append(Line(rule.__name__, False, str(error)))
    return found


def repeatable(given):
    """Two calls on the same input, the random numbers being the same, must give the same output."""
    trial, again = given.trial(), given.trial()
    trial.frozen.rewind()
    given.globals.rewind()
    drawn = f"; the draws of {', '.join(given.drawn_from)} are held still" if given.drawn_from else ""
    for other, words in ((again.out, "two calls"), (trial.forward(), "the first and the second call")):
        if other.shape != trial.out.shape:
            return Line("repeatable", False, f"{words} give outputs of shapes {trial.out.shape} and {other.shape}")
        if not np.array_equal(trial.out, other, equal_nan=True):
            apart = np.nanmax(np.abs(np.asarray(trial.out, float) - other))
            return Line("repeatable", False, f"{words} on the same input differ by {apart:.3g}: forward depends on a "
                        "hidden state or on random numbers from elsewhere, so there is no slope to measure")
    return Line("repeatable", True, f"two calls give the same output{drawn}")


def shapes(given, dout, _):
    """Every gradient has the shape of what it belongs to."""
    gradients = _gradients(given, given.trial(), dout)
    wrong = [f"d{_title(given, where)} is {g.shape}, should be {given.array_of(where).shape}"
             for where, g in gradients.items() if g.shape != given.array_of(where).shape]
    missing = [f"{name} has no gradient" for name in given.returned.missing]
    return Line("shapes", not wrong + missing, "; ".join(wrong + missing) or "every gradient has its tensor's shape")


def dtypes(given, dout, _):
    """A float32 layer has float32 gradients: the precision of the tensor itself or of the output."""
    trial = given.trial()
    gradients, out = _gradients(given, trial, dout), trial.out.dtype
    wrong = [f"d{_title(given, where)} is {g.dtype}, should be {given.array_of(where).dtype}"
             for where, g in gradients.items() if g.dtype not in (given.array_of(where).dtype, out)]
    return Line("dtypes", not wrong, "; ".join(wrong) or "every gradient has its tensor's precision")


def twice(given, dout, _):
    """A second backward gives the same again, or a layer that adds up says so by a zero_grad."""
    trial = given.trial()
    first, second = _gradients(given, trial, dout), _gradients(given, trial, dout)
    changed = [_title(given, where) for where, g in first.items() if not _same(g, second[where])]
    if not changed:
        return Line("backward twice", True, "gives the same gradients")
    doubled = all(_same(2 * first[where], second[where]) for where in first if _title(given, where) in changed)
    how = "twice as much (added up, not replaced; offer zero_grad())" if doubled else "something else"
    return Line("backward twice", False, f"gives {how} for {', '.join(changed)}")


def zero(given, dout, _):
    """Backward of 0 is 0."""
    wrong = [_title(given, where) for where, g in _gradients(given, given.trial(), np.zeros_like(dout)).items()
             if not (g == 0).all()]
    return Line("backward of 0", not wrong, f"is not 0 for {', '.join(wrong)}" if wrong else "is 0")


def linear(given, dout, rng):
    """Backward of a sum is the sum of the backwards: the chain rule knows nothing else."""
    other = rng.standard_normal(dout.shape).astype(dout.dtype)
    first, second = _gradients(given, given.trial(), dout), _gradients(given, given.trial(), other)
    both = _gradients(given, given.trial(), 2 * dout - other)
    size = max(np.abs(g).max(initial=0) for g in [*first.values(), *second.values()])
    wrong = [_title(given, where) for where, g in both.items()
             if not _near(g, 2 * first[where] - second[where], 1e4 * np.finfo(dout.dtype).eps * size)]
    text = f"not for {', '.join(wrong)}" if wrong else "backward(2a − b) = 2 backward(a) − backward(b)"
    return Line("linear in upstream", not wrong, text)


def unchanged(given, dout, _):
    """Inputs, parameters and upstream gradient are left bit for bit as they were."""
    trial, sent = given.trial(), dout.copy()
    changed = _changed(given, trial)
    _gradients(given, trial, sent)
    changed = changed or _changed(given, trial) + ["upstream"] * (not _same(sent, dout))
    text = f"{', '.join(changed)} changed" if changed else "inputs, parameters and upstream, bit for bit"
    return Line("left unchanged", not changed, text)


def unchanged_after_exception(given, *_):
    """The same after an exception inside forward, at whichever line."""
    trial, stops = given.trial(), 0
    for _ in interrupted(trial.callee, trial.arguments, trial.keywords):
        stops += 1
        changed = _changed(given, trial)
        if changed:
            return Line("after an exception", False, f"{', '.join(changed)} changed when forward stopped half-way")
    return Line("after an exception", True, f"still unchanged (forward stopped at each of {stops} lines)" if stops else
                "not tried: forward has no lines of Python to stop at")


def _changed(given, trial):
    """The names of arguments and parameters that are not as they were given."""
    pairs = [*zip(given.names, trial.arguments, given.arguments, strict=True),
             *((name, trial.keywords[name], kept) for name, kept in given.keywords.items())]
    pairs += [(p.name, parameters.follow(trial.callee.layer, p.path), parameters.follow(given.pristine.layer, p.path))
              for p in given.returned.arrays if isinstance(p, parameters.Parameter)]
    return [name for name, now, before in pairs if not _same(now, before)]


def _same(a, b):
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    return True


def _near(a, b, tolerance):
    return a.shape == b.shape and bool((np.abs(a - b) <= tolerance).all())


def _title(given, where):
    return given.returned.arrays[where][0]


def _gradients(given, trial, dout):
    """{where: gradient}, copied, because a layer may write into its old arrays later."""
    return {where: g.copy() for where, g in given.returned.gradients(trial, dout).items()}
