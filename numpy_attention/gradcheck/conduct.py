"""How a layer should behave besides computing right: the further lines of the report.

Each rule is one function that returns (passed, sentence). They run on the arrays as they were given, in their own
precision, and on fresh copies of the layer.
"""
from typing import NamedTuple

import numpy as np

from . import parameters
from .callee import Finding
from .interrupt import interrupted
from .near import largest


class Line(NamedTuple):
    """One rule, whether it was kept, and what was seen."""

    name: str
    ok: bool
    text: str


class Seen(NamedTuple):
    """What the rules look at: the Subject in its own precision, and one run of it with a random upstream gradient."""

    given: object
    trial: object
    dout: np.ndarray            # as it was sent
    sent: np.ndarray            # as backward left it
    first: dict                 # the gradients
    before: list                # what had changed before backward
    rng: np.random.Generator


def lines(given, dout, rng, all_rules=True):
    """The rules' Lines, in order. Without the first two nothing could be compared, so these are always looked at."""
    found = [repeatable(given)]
    if not found[0].ok:
        return found
    trial, sent = given.trial(), dout.copy()
    before = _changed(given, trial)
    seen = Seen(given, trial, dout, sent, _gradients(given, trial, sent), before, rng)
    for rule in RULES[:len(RULES) if all_rules else 1]:
        if given.is_loss and rule in (zero, linear):
            continue
        try:
            found.append(rule(seen))
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


def shapes(seen):
    """Every gradient has the shape of what it belongs to."""
    wrong = [f"d{_title(seen.given, where)} is {g.shape}, should be {seen.given.array_of(where).shape}"
             for where, g in seen.first.items() if g.shape != seen.given.array_of(where).shape]
    missing = [f"{name} has no gradient" for name in seen.given.returned.missing]
    return Line("shapes", not wrong + missing, "; ".join(wrong + missing) or "every gradient has its tensor's shape")


def dtypes(seen):
    """A float32 layer has float32 gradients: the precision of the tensor itself or of the output."""
    wrong = [f"d{_title(seen.given, where)} is {g.dtype}, should be {seen.given.array_of(where).dtype}"
             for where, g in seen.first.items()
             if g.dtype not in (seen.given.array_of(where).dtype, seen.trial.out.dtype)]
    return Line("dtypes", not wrong, "; ".join(wrong) or "every gradient has its tensor's precision")


def twice(seen):
    """A second backward gives the same again, or a layer that adds up says so by a zero_grad."""
    second = _gradients(seen.given, seen.trial, seen.dout.copy())
    changed = {where: g for where, g in seen.first.items() if not _same(g, second[where])}
    if not changed:
        return Line("backward twice", True, "gives the same gradients")
    doubled = all(_same(2 * g, second[where]) for where, g in changed.items())
    how = "twice as much (added up, not replaced; offer zero_grad())" if doubled else "something else"
    names = ", ".join(_title(seen.given, where) for where in changed)
    return Line("backward twice", False, f"gives {how} for {names}")


def zero(seen):
    """Backward of 0 is 0."""
    found = _gradients(seen.given, seen.given.trial(), np.zeros_like(seen.dout))
    wrong = [_title(seen.given, where) for where, g in found.items() if not (g == 0).all()]
    return Line("backward of 0", not wrong, f"is not 0 for {', '.join(wrong)}" if wrong else "is 0")


def linear(seen):
    """Backward of a sum is the sum of the backwards: the chain rule knows nothing else."""
    other = seen.rng.standard_normal(seen.dout.shape).astype(seen.dout.dtype)
    first, second = seen.first, _gradients(seen.given, seen.given.trial(), other.copy())
    both = _gradients(seen.given, seen.given.trial(), 2 * seen.dout - other)
    size = largest(*first.values(), *second.values())
    wrong = [_title(seen.given, where) for where, g in both.items()
             if not _near(g, 2 * first[where] - second[where], 1e4 * np.finfo(seen.dout.dtype).eps * size)]
    text = f"not for {', '.join(wrong)}" if wrong else "backward(2a − b) = 2 backward(a) − backward(b)"
    return Line("linear in upstream", not wrong, text)


def unchanged(seen):
    """Inputs, parameters and upstream gradient are left bit for bit as they were."""
    changed = seen.before or _changed(seen.given, seen.trial)
    changed = changed + ["upstream"] * (not _same(seen.sent, seen.dout))
    text = f"{', '.join(changed)} changed" if changed else "inputs, parameters and upstream, bit for bit"
    return Line("left unchanged", not changed, text)


def unchanged_after_exception(seen):
    """The same after an exception inside forward, at whichever line."""
    trial, stops = seen.given.trial(), 0
    for _ in interrupted(trial.callee, trial.arguments, trial.keywords):
        stops += 1
        changed = _changed(seen.given, trial)
        if changed:
            return Line("after an exception", False, f"{', '.join(changed)} changed when forward stopped half-way")
    where = "its one line" if stops == 1 else f"each of {stops} lines"
    return Line("after an exception", True, f"still unchanged (forward stopped at {where})" if stops else
                "not tried: forward has no lines of Python to stop at")


RULES = (shapes, dtypes, twice, zero, linear, unchanged, unchanged_after_exception)


def _changed(given, trial):
    """The names of arguments and parameters that are not as they were given."""
    pairs = [*zip(given.names, trial.arguments, given.arguments, strict=True),
             *((name, trial.keywords[name], kept) for name, kept in given.keywords.items())]
    pairs += [(p.name, parameters.follow(trial.callee.layer, p.path), parameters.follow(given.pristine.layer, p.path))
              for p in given.returned.arrays if isinstance(p, parameters.Parameter)]
    return [name for name, now, before in pairs if not _same(now, before)]


def _same(a, b):
    """Equal bit for bit, as arrays; a dictionary of options may be a course's place for running averages."""
    if not isinstance(a, np.ndarray):
        return True
    return isinstance(b, np.ndarray) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def _near(a, b, tolerance):
    return a.shape == b.shape and bool((np.abs(a - b) <= tolerance).all())


def _title(given, where):
    return given.returned.arrays[where][0]


def _gradients(given, trial, dout):
    """{where: gradient}, copied, because a layer may write into its old arrays later."""
    return {where: g.copy() for where, g in given.returned.gradients(trial, dout).items()}
