"""How a layer should behave besides computing right: the further lines of the report.

Each rule is one function that returns (passed, sentence). They run on the arrays as they were given, in their own
precision, and on fresh copies of the layer.
"""
import inspect
import sys
from typing import NamedTuple

import numpy as np

from .gradients import slots
from .layer_under_test import Finding
from .measure import Ruler
from .subject import same_bits


class Line(NamedTuple):
    """One rule, whether it was kept, and what was seen."""

    name: str
    ok: bool
    text: str


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

    def differ(self, others, tolerance):
        """Names of the gradients that are not those of the first run."""
        return [a.name for (a, mine), (_, other) in zip(self.first, others, strict=False)
                if not close(mine, other, tolerance * (largest(mine) + 1e-2 * self.size))]

    def shaken(self, i, dout, gradient):
        """How far gradient i moves when the upstream is stretched a little and it is shrunk again: its rounding."""
        moves = []
        for times in (1.001, 0.999):        # enough for other roundings, and too little to excuse a curve
            found = self.again([(d * times).astype(d.dtype) for d in dout])[i][1] / times
            moves.append(largest(found - gradient) if found.shape == gradient.shape else 0.0)
        return max(moves)

    @property
    def size(self):
        """The largest gradient of all."""
        return largest(*(g for _, g in self.first))

    @property
    def rounding(self):
        """What may be lost when sums are taken in another order."""
        return 1e4 * max(np.finfo(d.dtype).eps for d in self.dout)


def lines(given, dout, rng, all_rules=True):
    """The rules' Lines, in order. Without the first nothing can be compared, so it is always looked at."""
    found = [repeatable(given)]
    if not found[0].ok:
        return found
    trial, sent = given.copy(), [d.copy() for d in dout]
    trial.forward()
    before = trial.changed()
    seen = Seen(given, trial, dout, sent, trial.each(sent), before, rng)
    for rule in RULES[:len(RULES) if all_rules else 1]:
        if given.is_loss and rule in (zero, linear):
            continue
        try:
            found.append(rule(seen))
        except Finding as error:
            found.append(Line(TITLES[rule], False, str(error)))
    return found


def repeatable(given):
    """Two calls on the same input, the random numbers being the same, must give the same output."""
    trial, again = given.copy(), given.copy()
    first = trial.forward()
    drawn = f"; the draws of {', '.join(given.drawn_from)} are held still" if given.drawn_from else ""
    for other, words in ((again.forward(), "two calls"), (trial.forward(restore=bool(trial.changed())),
                                                          "the first and the second call")):
        if other.shape != first.shape:
            return Line("repeatable", False, f"{words} give outputs of shapes {first.shape} and {other.shape}")
        if not np.array_equal(first, other, equal_nan=True):
            with np.errstate(all="ignore"):
                apart = np.nanmax(np.abs(np.asarray(first, float) - other))
            return Line("repeatable", False, f"{words} on the same input differ by {apart:.3g}: forward depends on a "
                        "hidden state, on the time or on random numbers from elsewhere: there is no slope to measure")
    return Line("repeatable", True, f"two calls give the same output{drawn}")


def shapes(seen):
    """Every gradient has the shape of what it belongs to."""
    wrong = [f"d{m.name} is {g.shape}, should be {m.array.shape}" for m, g in seen.first if g.shape != m.array.shape]
    return Line("shapes", not wrong, "; ".join(wrong) or "every gradient has its tensor's shape")


def dtypes(seen):
    """A float32 layer has float32 gradients: the precision of the tensor itself or of the output."""
    wrong = [f"d{m.name} is {g.dtype}, should be {m.array.dtype}" for m, g in seen.first
             if g.dtype not in (m.array.dtype, *(o.dtype for o in seen.trial.outs))]
    return Line("dtypes", not wrong, "; ".join(wrong) or "every gradient has its tensor's precision")


def twice(seen):
    """A second backward gives the same again, or a layer that adds up says so by a zero_grad."""
    second = seen.again(seen.dout, seen.trial)
    changed = [(a, x, y) for (a, x), (_, y) in zip(seen.first, second, strict=False) if not close(x, y, 0)]
    if len(second) == len(seen.first) and not changed:
        return Line("backward twice", True, "gives the same gradients")
    doubled = all(close(2 * x, y, 1e-6 * largest(y)) for _, x, y in changed)
    how = "twice as much (added up, not replaced; offer zero_grad())" if doubled else "something else"
    return Line("backward twice", False, f"gives {how} for {', '.join(a.name for a, *_ in changed)}")


def zero(seen):
    """Backward of 0 is 0."""
    found = seen.again([np.zeros_like(d) for d in seen.dout])
    wrong = [m.name for m, g in found if not (g == 0).all()]
    return Line("backward of 0", not wrong, f"is not 0 for {', '.join(wrong)}" if wrong else "is 0")


def linear(seen):
    """Backward of a sum is the sum of the backwards: the chain rule knows nothing else."""
    other = [seen.rng.standard_normal(d.shape).astype(d.dtype) for d in seen.dout]
    second = seen.again(other)
    sum_of_both = [2 * a - b for a, b in zip(seen.dout, other, strict=True)]
    both = seen.again(sum_of_both)
    wrong = []
    for i, ((m, a), (_, b), (_, c)) in enumerate(zip(seen.first, second, both, strict=False)):
        size = seen.rounding * (largest(a, b) + 1e-2 * seen.size)
        if a.shape != b.shape or a.shape != c.shape or not (np.abs(c - (2 * a - b)) <= size).all():
            size += 10 * sum(seen.shaken(i, dout, g) for dout, g in ((seen.dout, a), (other, b), (sum_of_both, c)))
            if a.shape != b.shape or a.shape != c.shape or not (np.abs(c - (2 * a - b)) <= size).all():
                wrong.append(m.name)
    text = f"not for {', '.join(wrong)}" if wrong else "backward(2a − b) = 2 backward(a) − backward(b)"
    return Line("linear in upstream", not wrong, text)


def forgets(seen):
    """The same gradients after a run on other inputs and with other parameters: nothing is left from that call."""
    learned = [v for v in seen.given.variables.values() if v.kind == "parameter"]
    for change in OTHER:
        trial = seen.given.copy()
        inputs = [s for s in slots(trial.arguments, trial.keywords, seen.given.names) if s.array.dtype.kind == "f"]
        kept = [s.array.copy() for s in inputs]
        for s in inputs:
            s.array[...] = other(s.array, change)
        for v in learned:
            trial.put(v, v.values * np.asarray(1.01, v.values.dtype))
        try:
            out = trial.forward()
            trial.each([d if seen.given.is_loss else other(d, 1.5) for d in seen.dout])
        except Finding:
            continue
        if np.isfinite(out).all():
            break
    else:
        return Line("forgets earlier calls", True, "not tried: forward takes no other inputs of these shapes")
    for s, before in zip(inputs, kept, strict=True):
        s.array[...] = before
    for v in learned:
        trial.put(v, v.values)
    trial.forward(restore=bool(trial.changed()))
    wrong = seen.differ(seen.again(seen.dout, trial), seen.rounding)
    text = (f"after a call with other numbers the gradient of {', '.join(wrong)} is another one: something is left "
            "from the earlier call (a cache made once and never renewed?)") if wrong else (
        "other inputs and parameters before make no difference")
    return Line("forgets earlier calls", not wrong, text)


OTHER = -1.5, 1.5, 1.01


def other(array, factor):
    """Other numbers of the same kind and size: in another order and stretched."""
    turned = array.reshape(-1)[::-1].reshape(array.shape) if factor != 1.01 else array
    return np.where(np.isfinite(turned), turned, array) * np.asarray(factor, array.dtype)


def unchanged(seen):
    """Inputs, parameters and upstream gradient are left bit for bit as they were."""
    changed = seen.before or seen.trial.changed()
    changed = changed + ["upstream"] * (not all(map(same_bits, seen.sent, seen.dout)))
    text = f"{', '.join(changed)} changed: somebody else may still need it" if changed else (
        "inputs, parameters and upstream, bit for bit")
    return Line("left unchanged", not changed, text)


def unchanged_after_exception(seen):
    """The same after an exception inside forward, at whichever line."""
    trial, stops = seen.given.copy(), 0
    for _ in interrupted(trial):
        stops += 1
        changed = trial.changed()
        if changed and not seen.before:
            return Line("after an exception", False, f"{', '.join(changed)} changed when forward stopped half-way")
    where = "its one line" if stops == 1 else f"each of {stops} lines"
    return Line("after an exception", True, f"still unchanged (forward stopped at {where})" if stops else
                "not tried: forward has no lines of Python to stop at")


def same_in_its_precision(given, subject, upstreams, judge):
    """In float32 the gradients are those of float64, as far as float32 can tell."""
    try:
        copy = given.copy()
        copy.forward()
        found = copy.backward([u.astype(o.dtype) for u, o in zip(upstreams, copy.outs, strict=True)])
    except Finding as error:
        return Line("in its own precision", False, str(error))
    reference, spreads = judge.jittered(np.finfo(np.float32).eps)
    wrong = []
    with np.errstate(all="ignore"):
        for name in subject.variables:
            if name not in found:
                continue
            exact, spread = reference[name], spreads[name]
            allowed = 1e-3 * np.abs(exact) + 1e-4 * np.abs(exact).max(initial=0) + 100 * spread
            if not (np.abs(found[name] - exact) <= allowed).all():
                wrong.append(name)
    kinds = " and ".join(sorted(subject.converted))
    text = (f"in {kinds} the gradient of {', '.join(wrong)} is another one than in {np.dtype(subject.dtype)}" if wrong
            else f"in {kinds} the same gradients, as far as its digits go")
    return Line("in its own precision", not wrong, text)


def _slope_of(slopes, weights):
    """(the median of several measurements of the loss's slope, how far they can be trusted)."""
    measured, error = np.median([s.of_loss(weights) for s in slopes], axis=0)
    return measured, error + np.ptp([s.of_loss(weights)[0] for s in slopes])


def _fits(terms, slopes, weights):
    """Do backward's terms add up to the measured slope?"""
    measured, error = _slope_of(slopes, weights)
    return abs(float(terms.sum()) - measured) <= 4 * error + 1e-5 * abs(measured) + 1e-7 * float(np.abs(terms).sum())


def right_elsewhere(subject, rng):
    """Along one random direction, backward is right at other inputs, too: it did not remember the first ones."""
    title = "at other inputs"
    inputs = [s for s in slots(subject.arguments, subject.keywords, subject.names) if s.array.dtype.kind == "f"]
    for change in OTHER:
        there = subject.at({id(s.array): other(s.array, change) for s in inputs})
        if there is None:
            break
        try:
            copy = there.copy()
            if not np.isfinite(copy.forward()).all():
                continue
            upstreams = there.random_upstreams(rng) if not there.is_loss else [np.ones((), there.outs[0].dtype)]
            found = copy.backward([u.copy() for u in upstreams])
            ruler = Ruler(there, np.concatenate([u.reshape(-1) for u in upstreams]).astype(float), rng, False)
            along = ruler.directions({})[0]
            terms = np.concatenate([found[name].reshape(-1) * v for name, v in along.items()])
            slopes = [ruler.central(along)]
            if not _fits(terms, slopes, ruler.weights):
                slopes += [ruler.central(along, stretch=stretch) for stretch in (0.37, 1.9)]
        except Finding:
            continue
        measured, error = _slope_of(slopes, ruler.weights)
        if any(s.corner.any() for s in slopes) or not error <= 1e-3 * np.abs(terms).sum():
            continue
        wrong = not _fits(terms, slopes, ruler.weights)
        text = (f"backward claims a slope of {terms.sum():.4g} along a random direction, measured is {measured:.4g}: "
                "does it answer from an earlier call?") if wrong else "right along a random direction"
        return Line(title, not wrong, text)
    return Line(title, True, "not tried: forward takes no other inputs of these shapes, or is too rough there")


RULES = (shapes, dtypes, twice, zero, linear, forgets, unchanged, unchanged_after_exception)
TITLES = dict(zip(RULES, ("shapes", "dtypes", "backward twice", "backward of 0", "linear in upstream",
                          "forgets earlier calls", "left unchanged", "after an exception"), strict=True))


def close(a, b, apart):
    """Equal up to this difference; NaN is equal to NaN."""
    return a.shape == b.shape and bool(np.isclose(a, b, rtol=0, atol=apart, equal_nan=True).all())


def largest(*arrays):
    """The largest magnitude among the finite numbers, 0 if there are none."""
    return max((float(np.abs(a).max(initial=0, where=np.isfinite(a))) for a in arrays), default=0.0)


class Stop(Exception):
    """Raised in place of forward's next line: what a full memory or a wrong shape may do to a layer at any time."""


def interrupted(trial, most=60):
    """Run forward once for each of its lines, stopping before it; yield after every stop.

    Python tells a trace function about every line that it is about to execute. Ours raises at the first line of
    forward, in the next run at the second one, and so on, so that each line gets its turn to be the one that fails.
    """
    function = trial.subject.under_test.functions(trial.layer)[0]
    code = getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    for line in range(1, most + 1):
        if code is None or not _stopped(trial, code, line):
            return
        yield line


def _stopped(trial, code, line):
    """Run forward, stopping when it comes to its `line`th different line; False if it ends earlier."""
    seen = set()

    def trace(frame, event, _):
        if frame.f_code is not code:
            return None
        if event == "line":
            seen.add(frame.f_lineno)
            if len(seen) == line:
                raise Stop
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        trial.forward()
    except Finding as error:
        return isinstance(error.__cause__, Stop)
    finally:
        sys.settrace(before)
    return False
