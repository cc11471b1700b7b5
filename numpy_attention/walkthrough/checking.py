"""The gradient check of one step: is this tensor's gradient, as the trace holds it, what nudging the tensor says?

An input or a learned array is nudged in the layer itself, which then runs forward again. A tensor in between is nudged
where it stands, and the steps after it are computed again from their formulas (made.py): a second, independent way to
the result. Of a large tensor a sample of numbers is nudged.
"""
import numpy as np

from ..engine.layer import Layer
from ..gradcheck import check_gradients
from .made import onwards

MOST_NUDGED = 100


def check(trace, which):
    """Check the gradient of one step of a trace numerically; for a forward step, the gradient of its tensor.

    Returns: GradientReport with one row.
    Raises: LookupError if the trace has no such gradient; ValueError if the run cannot be repeated.
    """
    step = trace[which]
    name = tensor_of(step)
    gradient = gradient_of(trace, step)
    if gradient.formula == "upstream gradient":
        raise LookupError(f"{gradient.name} is the upstream gradient: it is given, there is nothing to check")
    last = trace.forward[-1]
    known = {**trace.run.arguments, **trace.run.parameters}
    if name in trace and name not in known:
        known[name] = trace[name].value
    if name not in known:
        raise LookupError(f"{gradient.name} is one of several gradients of one array, which are added up later: "
                          "check their sum")
    value = known[name]
    if name not in trace or trace[name].formula == "given":
        run = _again(trace, name, last)
    else:
        run = onwards(trace, name)
    sample = _sample(gradient.value)
    alone = Alone(run, value, gradient.value, sample)
    upstream = trace[f"d{last.name}"].value
    nudged = value if len(sample) == value.size else value.reshape(-1)[sample]
    report = check_gradients(alone, nudged, upstream=upstream, rules=False)
    if not report.ok:       # a gradient that is 0 but for rounding is measured against the others
        size = max(np.abs(other.value).max(initial=0) for other in trace.backward)
        atol = max(report.rows[0].atol, 1e-12 * size)
        report = check_gradients(alone, nudged, upstream=upstream, rules=False, atol=atol)
    report.unchecked = []       # the rest of the run is held still on purpose: one tensor is in question
    report.warnings = [warning for warning in report.warnings if not warning.startswith("not checked")]
    report.layer = f"{gradient.name} in {trace.title}"
    report.rows[0].name = gradient.name
    if len(sample) < value.size:
        report.reason += f"; a sample of {len(sample)} of its {value.size} numbers"
    return report


def gradient_of(trace, step):
    """The backward step that holds the gradient of a forward step; a backward step is its own.

    >>> trace = na.worked_example("by-hand").trace()
    >>> gradient_of(trace, trace["weights"]).name
    'dweights'
    """
    if step.direction == "backward":
        return step
    if not len(trace.backward):
        raise LookupError("the trace has no backward half: call layer.backward(dout) before na.trace(layer)")
    name = f"{step.name.removesuffix(step.short_name)}d{step.short_name}"
    if name not in trace:
        raise LookupError(f"{step.name} has no gradient of its own here")
    return trace[name]


def tensor_of(step):
    """The name of the tensor that a step holds, or holds the gradient of: "query_proj.W" for "query_proj.dW"."""
    layer, short = step.name.removesuffix(step.short_name), step.short_name
    return layer + (short.removeprefix("d") if step.direction == "backward" else short)


class Alone(Layer):
    """One tensor seen as the only input of all that comes after it; backward hands out the gradient in question."""

    def __init__(self, run, value, gradient, sample):
        super().__init__()
        self.parts = run, value, gradient, sample

    def forward(self, t):
        run, value, _, sample = self.parts
        whole = value.astype(t.dtype).reshape(-1)
        whole[sample] = t.reshape(-1)
        out = run(whole.reshape(value.shape))
        self.cache = {"t": t, "out": out}
        return out

    def backward(self, dout):
        _, _, gradient, sample = self.parts
        self.grads = {"t": gradient.reshape(-1)[sample].reshape(self.cache["t"].shape)}
        return self.grads["t"]


def _again(trace, name, last):
    """The layer's own forward with this tensor replaced, if it gives the traced result at all."""
    forward = trace.run.again()
    if not np.allclose(forward(), last.value, rtol=1e-5, atol=1e-8, equal_nan=True):
        raise ValueError("the layer, run again on the traced inputs, gives another result: dropout draws anew in "
                         "training (layer.eval() switches it off), or the layer was changed since")
    return lambda value: forward(name, value)


def _sample(gradient):
    """Which numbers are nudged: all of a small tensor; of a large one a sample, half of it with gradients not 0."""
    if gradient.size <= MOST_NUDGED:
        return np.arange(gradient.size)
    rng, live = np.random.default_rng(0), np.flatnonzero(gradient)
    some = rng.choice(gradient.size, MOST_NUDGED // 2, replace=False)
    return np.unique([*some, *rng.choice(live, min(len(live), MOST_NUDGED // 2), replace=False)])
