"""What the page needs to compute by itself: the statement of the run, as data.

Every step with its formula as a tree, every tensor with its full numbers (float64, base64), and what may be changed.
engine.js executes it; at load the page computes everything again and compares it with these numbers. A step whose
formula cannot be executed is shown. What the forward pass would make of it cannot be changed, because that could not
be followed; on the way back its numbers are not known after a change.
"""
import base64

import numpy as np

from ..words.colours import GRADIENTS, MAPS, SIGNED, WEIGHTS
from .formula import names
from .influence import influence
from .made import Part, made
from .why import GIVEN, HIDDEN, LESS, UNSTATED

MOST_NUMBERS, MOST_STEPS = 60_000, 120
UPSTREAM = "upstream gradient"
# The symbols of the learned matrices of a multi-head attention; their gradients have the same shapes.
LEARNED = {"W_Q": "D H·d_k", "W_K": "D H·d_k", "W_V": "D H·d_v", "W_O": "H·d_v D",
           "b_Q": "H·d_k", "b_K": "H·d_k", "b_V": "H·d_v", "b_O": "D"}


def live(trace):
    """The data of a trace that can be changed in the page; None if it is too large, or nothing in it may be changed."""
    arrays = {step.name: step.value for step in trace}
    arrays |= {name: array for name, array in trace.run.constants.items() if name not in arrays}
    if sum(np.size(array) for array in arrays.values()) > MOST_NUMBERS or len(trace) > MOST_STEPS:
        return None
    if any(np.asarray(array).dtype.kind not in "fbiu" for array in arrays.values()):
        return None
    parts = {step.name: made(trace, step.name) for step in trace}
    used = {name for step in trace if parts[step.name] is not None for name in names(step.tree)}
    editable = [name for name, array in arrays.items() if name in used and np.size(array) and _handed_in(trace, name)
                and np.asarray(array).dtype.kind == "f"]
    sentences = [step for step in trace if parts[step.name] is None and step.formula not in ("given", UPSTREAM)]
    depends = influence(trace, editable, sentences) if sentences else {}
    locked = {name for step in sentences if step.direction == "forward" for name in depends[step.name]}
    editable = [name for name in editable if name not in locked]
    if not editable:
        return None
    shown = used | {step.name for step in trace}
    gradients = {name: _gradient(learned) for name, learned in trace.run.learned.items()}
    return {
        "steps": [_step(step, parts[step.name], depends.get(step.name)) for step in trace],
        "locked": sorted(locked),
        "tensors": {name: _tensor(trace, name, array) for name, array in arrays.items() if name in shown},
        "editable": editable, "gradients": gradients, "resizable": _resizable(trace, parts),
        "shapes": {name: LEARNED[key].split() for name, gradient in gradients.items() if (key := name) in LEARNED
                   for name in (name, gradient)},
        "tokens": {symbol: list(tokens) for symbol in "LS" if (tokens := trace.tokens(symbol)) is not None},
        "words": {key: {"zh": words.zh, "en": words.en} for key, words in
                  (("given", GIVEN), ("hidden", HIDDEN), ("unstated", UNSTATED), ("less", LESS))},
        "maps": MAPS, "weights": WEIGHTS, "signed": SIGNED, "gradient": GRADIENTS,
    }


def _handed_in(trace, name):
    """Is it an argument, a learned array or the upstream gradient, and nothing that the layer makes by itself?"""
    if name not in trace or trace[name].formula == UPSTREAM:
        return name in trace or name in trace.run.learned
    return trace[name].formula == "given" and (trace.run.layer is None or bool(trace.run.roles.get(name)))


def _gradient(learned):
    """"query_proj.W" -> "query_proj.dW"."""
    layer, dot, short = learned.rpartition(".")
    return f"{layer}{dot}d{short}"


def _resizable(trace, parts):
    """Do the formulas hold for another sentence as well? "heads": Q, K, V are given; "tokens": x and matrices."""
    givens = {step.name for step in trace if parts[step.name] is None} - {"mask"}
    constants = set(trace.run.constants)
    if any(parts[step.name] is None and step.formula not in ("given", UPSTREAM) for step in trace):
        return ""
    if givens == {"Q", "K", "V", "dheads"} and not constants and trace["Q"].value.ndim == 2:
        return "heads"
    one = givens == {"x", "dout"} and constants <= set(LEARNED) and {"Q", "weights", "out"} <= {s.name for s in trace}
    return "tokens" if one and trace["Q"].shape[-3] == trace["K"].shape[-3] and trace["x"].shape[0] == 1 else ""


def _step(step, part, depends):
    found = {"name": step.name, "short": step.short_name, "direction": step.direction, "formula": step.formula,
             "zh": step.note_zh, "en": step.note_en, "code": step.code, "where": step.where, "lesson": step.lesson}
    if part is None:
        return found if depends is None else found | {"depends": depends}
    return found | {"tree": tree_of(part), "names": names(step.tree)}


def tree_of(part):
    """A part as lists that JSON can hold.

    >>> from numpy_attention.walkthrough.made import made
    >>> tree_of(made(na.worked_example("by-hand").trace(), "product"))
    ['matmul', ['name', 'Q'], ['transposed', ['name', 'K']]]
    """
    if part.head == "name":
        return ["name", part.parts[0]]
    if part.head == "number":
        return ["number", float(part.value), *part.parts[1:]]
    tree = [part.head, *(tree_of(inner) for inner in part.parts if isinstance(inner, Part))]
    return [*tree, list(part.value.shape)] if part.head == "fit" else tree


def _tensor(trace, name, array):
    array = np.asarray(array)
    symbols = trace[name].symbols.split()[-array.ndim:] if name in trace and array.ndim else []
    whole = np.ascontiguousarray(array, dtype="<f8")
    return {"shape": list(array.shape), "symbols": [""] * (array.ndim - len(symbols)) + symbols,
            "data": base64.b64encode(whole.tobytes()).decode()}
