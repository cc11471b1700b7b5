"""How a layer should behave besides computing right: the further lines of the report.

Each rule is one function that says whether it was kept, and what was seen. They run on the arrays as they were given,
in their own precision, and on fresh copies of the layer.
"""
import inspect
import sys
from typing import NamedTuple

import numpy as np

from .gradients import OTHER, other
from .layer_under_test import Finding
from .measure import Ruler
from .subject import same_bits

MOST_LINES = 60                 # of forward, at which it is stopped


class Line(NamedTuple):
    """One rule, whether it was kept, and what was seen."""

    name: str
    ok: bool
    text: str

    @classmethod
    def of(cls, name, rule, *seen):
        """What the rule says; what the layer does instead of an answer breaks it."""
        try:
            return cls(name, *rule(*seen))
        except Finding as error:
            return cls(name, False, str(error))


class Seen(NamedTuple):
    """What the rules look at: the Subject in its own precision, and one run of it with random upstream gradients."""

    given: object
    trial: object
    dout: list                  # as it was sent
    sent: list                  # as backward left it
    first: list                 # [(member, gradient)]
    before: list                # what had changed before backward
    rng: np.random.Generator

    def again(self, dout, trial=None):
        """The gradients once more, from a fresh copy unless one is given."""
        if trial is None:
            trial = self.given.copy()
            trial.forward()
        return trial.each([d.copy() for d in dout])

    def shaken(self, i, dout, gradient):
        """How far gradient i moves when the upstream is stretched a little and it is shrunk again: its rounding."""
        moves = []
        for times in (1 + 1e-6, 1 - 1e-6):  # enough for other roundings, and too little to excuse a curve
            found = self.again([(d * times).astype(d.dtype) for d in dout])[i][1] / times
            moves.append(largest(found - gradient) if found.shape == gradient.shape else 0.0)
        return max(moves)

    def lost(self, *gradients):
        """What may be lost when the sums in these gradients are taken in another order."""
        size = largest(*gradients) + 1e-2 * largest(*(g for _, g in self.first))
        return 1e4 * max(np.finfo(d.dtype).eps for d in self.dout) * size


def lines(given, dout, rng, all_rules=True):
    """The rules' Lines, in order. Without the first nothing can be compared, so it is always looked at."""
    found = [Line.of("repeatable", repeatable, given)]
    if not found[0].ok:
        return found
    trial, sent = given.copy(), [d.copy() for d in dout]
    trial.forward()
    before = trial.changed()
    seen = Seen(given, trial, dout, sent, trial.each(sent), before, rng)
    rules = RULES if all_rules else {"shapes": shapes}
    return found + [Line.of(name, rule, seen) for name, rule in rules.items()
                    if not (given.is_loss and rule in (zero, linear))]


def repeatable(given):
    """Two calls on the same input, the random numbers being the same, must give the same output."""
    trial, again = given.copy(), given.copy()
    first = trial.forward()
    for out, words in ((again.forward(), "two calls"), (trial.forward(restore=bool(trial.changed())),
                                                        "the first and the second call")):
        if out.shape != first.shape:
            return False, f"{words} give outputs of shapes {first.shape} and {out.shape}"
        if not np.array_equal(first, out, equal_nan=True):
            apart = np.nanmax(np.abs(np.asarray(first, float) - out))
            return False, (f"{words} on the same input differ by {apart:.3g}: forward depends on a hidden state, on "
                           "the time or on random numbers from elsewhere: there is no slope to measure")
    drawn = f"; the draws of {', '.join(given.drawn_from)} are held still" if given.drawn_from else ""
    return True, f"two calls give the same output{drawn}"


def shapes(seen):
    """Every gradient has the shape of what it belongs to."""
    wrong = [f"d{m.name} is {g.shape}, should be {m.array.shape}" for m, g in seen.first if g.shape != m.array.shape]
    return not wrong, "; ".join(wrong) or "every gradient has its tensor's shape"


def dtypes(seen):
    """A float32 layer has float32 gradients: the precision of the tensor itself or of the output, float32 at least."""
    fine = {kind for o in seen.trial.outs for kind in (o.dtype, np.result_type(o.dtype, np.float32))}
    wrong = [f"d{m.name} is {g.dtype}, should be {m.array.dtype}" for m, g in seen.first
             if g.dtype not in {m.array.dtype, *fine}]
    return not wrong, "; ".join(wrong) or "every gradient has its tensor's precision"


def twice(seen):
    """A further backward gives the same again, or a layer that adds up says so by a zero_grad."""
    for _ in range(3):
        later = seen.again(seen.dout, seen.trial)
        changed = [(a, x, y) for (a, x), (_, y) in zip(seen.first, later, strict=False) if not close(x, y, 0)]
        if changed or len(later) != len(seen.first):
            break
    else:
        return True, "gives the same gradients"
    doubled = all(close(2 * x, y, 1e-6 * largest(y)) for _, x, y in changed)
    how = "twice as much (added up, not replaced; offer zero_grad())" if doubled else "something else"
    return False, f"gives {how} for {', '.join(a.name for a, *_ in changed)}"


def zero(seen):
    """Backward of 0 is 0."""
    found = seen.again([np.zeros_like(d) for d in seen.dout])
    return kept([m.name for m, g in found if g.any()], "is not 0 for {}", "is 0")


def linear(seen):
    """Backward of a sum is the sum of the backwards, of large ones, too: the chain rule knows nothing else."""
    large = [(seen.rng.standard_normal(d.shape) * min(1e6, 1e-3 / np.finfo(d.dtype).eps)).astype(d.dtype)
             for d in seen.dout]
    douts = seen.dout, large, [2 * a - b for a, b in zip(seen.dout, large, strict=True)]
    wrong = []
    for i, ((m, a), (_, b), (_, c)) in enumerate(zip(seen.first, *map(seen.again, douts[1:]), strict=False)):
        if not a.shape == b.shape == c.shape or not (
                close(2 * a - b, c, seen.lost(a, b)) or close(2 * a - b, c, seen.lost(a, b) + 10 * sum(
                    seen.shaken(i, dout, g) for dout, g in zip(douts, (a, b, c), strict=True)))):
            wrong.append(m.name)
    return kept(wrong, "not for {}", "backward(2a − b) = 2 backward(a) − backward(b)")


def forgets(seen):
    """The same gradients after a run on other inputs and with other parameters: nothing is left from that call."""
    for change in OTHER:
        trial = seen.given.elsewhere(change, 1.01).copy()
        try:
            out = trial.forward()
            trial.each([d if seen.given.is_loss else other(d, 1.5) for d in seen.dout])
        except Finding:
            continue
        if np.isfinite(out).all():
            break
    else:
        return True, "not tried: forward takes no other inputs of these shapes"
    for v in (*seen.given.variables.values(), *seen.given.others.values()):
        trial.put(v, v.values)
    trial.forward(restore=bool(trial.changed()))
    wrong = [a.name for (a, mine), (_, its) in zip(seen.first, seen.again(seen.dout, trial), strict=False)
             if not close(mine, its, seen.lost(mine))]
    return kept(wrong, "after a call with other numbers the gradient of {} is another one: something is left from the "
                "earlier call (a cache made once and never renewed?)", "other inputs and parameters before make no "
                "difference")


def unchanged(seen):
    """Inputs, parameters and upstream gradient are left bit for bit as they were."""
    changed = seen.before or seen.trial.changed()
    changed = changed + ["upstream"] * (not all(map(same_bits, seen.sent, seen.dout)))
    return kept(changed, "{} changed: somebody else may still need it", "inputs, parameters and upstream, bit for bit")


def unchanged_after_exception(seen):
    """The same after an exception inside forward, at whichever line."""
    trial, stops = seen.given.copy(), 0
    while stops < MOST_LINES and _stopped(trial, stops + 1):
        stops += 1
        changed = trial.changed()
        if changed and not seen.before:
            return False, f"{', '.join(changed)} changed when forward stopped half-way"
    where = "its one line" if stops == 1 else f"each of {stops} lines"
    return True, (f"still unchanged (forward stopped at {where})" if stops else
                  "not tried: forward has no lines of Python to stop at")


class Stop(Exception):
    """Raised in place of forward's next line: what a full memory or a wrong shape may do to a layer at any time."""


def _stopped(trial, line):
    """Run forward, stopping when it comes to its `line`th different line; False if it ends earlier.

    Python tells a trace function about every line that it is about to execute; ours raises there.
    """
    function = trial.subject.under_test.functions(trial.layer)[0]
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    seen, before = set(), sys.gettrace()

    def trace(frame, event, _):
        if frame.f_code is not code:
            return None
        if event == "line":
            seen.add(frame.f_lineno)
            if len(seen) == line:
                raise Stop
        return trace

    sys.settrace(trace)
    try:
        trial.forward()
    except Finding as error:
        return isinstance(error.__cause__, Stop)
    finally:
        sys.settrace(before)
    return False


def same_in_its_precision(given, subject, upstreams, judge):
    """In float32 the gradients are those of float64, as far as float32 can tell."""
    copy = given.copy()
    copy.forward()
    found = copy.backward([u.astype(o.dtype) for u, o in zip(upstreams, copy.outs, strict=True)])
    reference, spreads = judge.jitter(np.finfo(np.float32).eps)
    wrong = []
    for name in subject.variables:
        exact, spread = reference[name], spreads[name]
        allowed = 1e-3 * np.abs(exact) + 1e-4 * np.abs(exact).max(initial=0) + 100 * spread
        if name in found and not (np.abs(found[name] - exact) <= allowed).all():
            wrong.append(name)
    kinds = " and ".join(sorted(subject.converted))
    return kept(wrong, f"in {kinds} the gradient of {{}} is another one than in {np.dtype(subject.dtype)}",
                f"in {kinds} the same gradients, as far as its digits go")


def right_elsewhere(subject, rng):
    """Along one random direction, backward is right at other inputs, too: it did not remember the first ones."""
    for change in OTHER:
        there = subject.elsewhere(change)
        try:
            copy = there.copy()
            if not np.isfinite(copy.forward()).all():
                continue
            upstreams = there.random_upstreams(rng)
            found = copy.backward([u.copy() for u in upstreams])
            ruler = Ruler(there, upstreams, rng, use_complex=False)
            along = ruler.directions({})[0]
            terms = np.concatenate([found[name].reshape(-1) * v for name, v in along.items()])
            slopes = [ruler.central(along)]
            wrong, *_ = _apart(terms, slopes, ruler.weights)
            if wrong:
                slopes += [ruler.central(along, stretch=stretch) for stretch in (0.37, 1.9)]
        except Finding:
            continue
        wrong, measured, error = _apart(terms, slopes, ruler.weights)
        if any(s.corner.any() for s in slopes) or not error <= 1e-3 * np.abs(terms).sum():
            continue
        return not wrong, (f"backward claims a slope of {terms.sum():.4g} along a random direction, measured is "
                           f"{measured:.4g}: does it answer from an earlier call?" if wrong else
                           "right along a random direction")
    return True, "not tried: forward takes no other inputs of these shapes, or is too rough there"


def _apart(terms, slopes, weights):
    """(do backward's terms add up to another slope than the median of those measured, that median, its error)."""
    each = np.array([s.of_loss(weights) for s in slopes])
    measured, error = np.median(each, axis=0)
    error += np.ptp(each[:, 0])
    allowed = 4 * error + 1e-5 * abs(measured) + 1e-7 * float(np.abs(terms).sum())
    return not abs(float(terms.sum()) - measured) <= allowed, measured, error


RULES = {"shapes": shapes, "dtypes": dtypes, "backward twice": twice, "backward of 0": zero,
         "linear in upstream": linear, "forgets earlier calls": forgets, "left unchanged": unchanged,
         "after an exception": unchanged_after_exception}


def kept(wrong, bad, good):
    """(whether nothing is wrong, what to say)."""
    return not wrong, bad.format(", ".join(wrong)) if wrong else good


def close(a, b, apart):
    """Equal up to this difference; NaN is equal to NaN."""
    return a.shape == b.shape and bool(np.isclose(a, b, rtol=0, atol=apart, equal_nan=True).all())


def largest(*arrays):
    """The largest magnitude among the finite numbers, 0 if there are none."""
    return max((float(np.abs(a).max(initial=0, where=np.isfinite(a))) for a in arrays), default=0.0)
