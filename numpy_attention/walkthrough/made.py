"""How a step is made: its formula with all the numbers in it, for whole arrays and for single cells.

`made(trace, step)` executes the formula. If the result is not what the layer computed, there is nothing to tell, and
it is None: the formula is the one description of a step, and it is only shown where it holds. Every part of the
formula keeps its own value, so that a single cell can be followed down to the cells that it was made from.
"""
import weakref
from itertools import product
from typing import NamedTuple

import numpy as np

from .formula import names
from .operations import OPERATIONS, fit

_known = weakref.WeakKeyDictionary()       # what is known of each trace, once it has been asked for


class Part(NamedTuple):
    """A part of a formula: its sign, what stands in it (parts, a name, a number), and its value."""

    head: str
    parts: tuple
    value: np.ndarray


def made(trace, which):
    """The formula of a step with its numbers, or None: it is given, cannot be read, or does not give the numbers.

    >>> trace = na.worked_example("by-hand").trace()
    >>> product = made(trace, "product")
    >>> product.head, product.value[0].tolist()
    ('matmul', [0.0, 2.0, 4.0])
    """
    step = trace[which]
    known = _known.setdefault(trace, {})
    if step.name not in known:
        found = None if step.tree is None else _tried(trace, step)
        known[step.name] = found
    return known[step.name]


def _tried(trace, step):
    try:
        found = fitted(step.tree, values(trace, names(step.tree)), step.shape)
    except (ValueError, TypeError, IndexError, KeyError):       # other axes than the formula means
        return None
    arrays = [step.value, *(np.asarray(trace.run.constants[name] if name in trace.run.constants else trace[name].value)
                            for name in names(step.tree))]
    size = max(np.abs(a[np.isfinite(a)]).max(initial=0) for a in arrays)
    tolerance = size * np.finfo(step.value.dtype if step.value.dtype.kind in "fc" else float).eps ** 0.6
    holds = np.allclose(found.value, step.value, rtol=0, atol=tolerance, equal_nan=True)
    return found if holds else None


def values(trace, which):
    """{name: array} of steps and constants."""
    return {name: trace.run.constants[name] if name in trace.run.constants else trace[name].value for name in which}


def fitted(tree, arrays, shape):
    """The whole tree as parts, in the shape of its step."""
    part = build(tree, arrays)
    return part if np.shape(part.value) == shape else Part("fit", (part,), fit(part.value, shape))


def build(tree, arrays):
    """A tree as parts with their values."""
    head, *inside = tree
    if head == "name":
        return Part(head, (inside[0],), np.asarray(arrays[inside[0]]))
    if head == "number":
        return Part(head, tuple(inside), np.asarray(inside[0]))
    parts = tuple(build(part, arrays) for part in inside)
    if head == "matmul" and not all(part.value.ndim for part in parts):
        head = "times"                                  # a number and a matrix
    with np.errstate(all="ignore"):
        return Part(head, parts, np.asarray(OPERATIONS[head](*(part.value for part in parts))))


def execute(trace, roots):
    """All steps of a trace again by their formulas, from other givens and constants: {name: array}.

    Args: roots: {name: array} of what is given; whatever is missing there is as in the trace.

    >>> again = execute(na.worked_example("by-hand").trace(), {"V": np.ones((3, 4))})
    >>> again["heads"][0].round(12).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    arrays = {step.name: step.value for step in trace} | trace.run.constants | roots
    for step in trace:
        if made(trace, step.name) is not None:
            arrays[step.name] = fitted(step.tree, arrays, step.shape).value
    return arrays


def onwards(trace, name):
    """A function from another value of a forward tensor to the result, by all formulas that come after it.

    Raises: ValueError if one of them cannot be executed.
    """
    later = [step for step in trace.forward[trace.index(name) + 1:] if step.formula != "given"]
    unknown = [step.name for step in later if made(trace, step.name) is None]
    if unknown:
        raise ValueError(f"{name} cannot be nudged by itself: {unknown[0]} comes after it, and its cells are not "
                         "stated; check the gradient of an input instead")
    before = {step.name: step.value for step in trace.forward} | trace.run.constants

    def run(value):
        arrays, moved = before | {name: value}, {name}
        for step in later:
            if not moved.isdisjoint(names(step.tree)):
                arrays[step.name] = fitted(step.tree, arrays, step.shape).value
                moved.add(step.name)
        return arrays[trace.forward[-1].name]

    return run


def reads(part, places):
    """{name: [places along each axis]} of the cells that the cell(s) at `places` are made from.

    `places` has a list of places for each axis of the part's value.

    >>> reads(made(na.worked_example("by-hand").trace(), "product"), [[0], [2]])
    {'Q': [[0], [0, 1, 2, 3]], 'K': [[2], [0, 1, 2, 3]]}
    """
    if part.head == "name":
        return {part.parts[0]: places}
    found = {}
    for inner, where in inside(part, places):
        for name, there in reads(inner, where).items():
            before = found.get(name)
            found[name] = there if before is None else [sorted({*a, *b}) for a, b in zip(before, there, strict=True)]
    return found


def inside(part, places):
    """(inner part, its places) for each part that the cells at `places` of a part are made from."""
    head, parts = part.head, [inner for inner in part.parts if isinstance(inner, Part)]
    if head == "number":
        return []
    if head == "matmul" and all(inner.value.ndim for inner in parts):
        a, b = parts
        *lead, i, j = places if a.value.ndim > 1 and b.value.ndim > 1 else [*places[:-1], [0], places[-1]]
        inner_axis = list(range(a.value.shape[-1]))
        return [(a, _broadcast([*lead, i, inner_axis], a.value.shape, part.value.shape)),
                (b, _broadcast([*lead, inner_axis, j], b.value.shape, part.value.shape))]
    if head == "transposed":
        where = [*places[:-2], places[-1], places[-2]]
        return [(parts[0], where[-parts[0].value.ndim:] if parts[0].value.ndim > 1 else [places[0]])]
    if head == "split":
        (*lead, h, rows, columns), width = places, part.value.shape[-1]
        return [(parts[0], [*lead, rows, sorted(x * width + y for x, y in product(h, columns))])]
    if head == "merge":
        (*lead, rows, columns), width = places, parts[0].value.shape[-1]
        return [(parts[0], [*lead, sorted({j // width for j in columns}), rows, sorted({j % width for j in columns})])]
    if head in ("sum", "total", "mean", "max") and len(parts) == 1:
        return [(parts[0], [*places[:-1], list(range(parts[0].value.shape[-1]))])]
    if head == "softmax":
        where = [*places[:-1], list(range(part.value.shape[-1]))]
        return [(inner, _broadcast(where, inner.value.shape, part.value.shape)) for inner in parts]
    if head == "fit":
        return [(parts[0], spread(places, part.value.shape, parts[0].value.shape))]
    if head in ("join", "first", "behind", "repeat", "rows", "scatter", "onehot", "turn", "all", "heads_axis"):
        return [(inner, _moved(head, k, places, inner.value.shape, parts)) for k, inner in enumerate(parts)
                if inner.head != "number"]
    if head == "times" and parts[0].value.shape[:-1] == parts[1].value.shape != ():     # a number for each row
        return [(parts[0], places), (parts[1], places[:-1])]
    return [(inner, _broadcast(places, inner.value.shape, part.value.shape)) for inner in parts]


def _moved(head, k, places, shape, parts):
    """The places of an operand of the rarer operations; where in doubt, all of an axis."""
    everything = [list(range(size)) for size in shape]
    if head == "join":
        rows, start = places[-2], sum(inner.value.shape[-2] for inner in parts[:k])
        mine = [row - start for row in rows if 0 <= row - start < shape[-2]]
        return _broadcast([*places[:-2], mine, places[-1]], shape, None)
    if head in ("first", "behind"):
        if k:
            return [[] for _ in shape]
        rows = places[-2] if head == "first" else [parts[1].value.shape[-2]]
        return [*places[:-2], rows, places[-1]]
    if head == "repeat":
        times = int(parts[1].value) // shape[-3]
        return [*places[:-3], sorted({h // times for h in places[-3]}), *places[-2:]]
    if head == "rows" and k == 0:
        ids = parts[1].value[np.ix_(*places[:parts[1].value.ndim])]
        return [sorted({int(i) for i in ids.ravel()}), *places[parts[1].value.ndim:]]
    if head in ("rows", "onehot"):
        return places[:len(shape)]
    if head == "turn":
        pairs = sorted({pair(parts, j)[0] for j in places[-1]} - {None})
        if k:
            return _broadcast([*places[:-1], pairs], shape, None)
        both = {j for there in places[-1] for j in pair(parts, there)[1:]}
        return [*places[:-1], sorted(both)]
    return everything


def pair(parts, j):
    """(number of the pair, its first column, its second) of column j of what is turned; (None, j) if it is not."""
    half, interleaved = parts[1].value.shape[-1], bool(parts[3].value)
    if j >= 2 * half:
        return None, j
    number = j // 2 if interleaved else j % half
    return (number, 2 * number, 2 * number + 1) if interleaved else (number, number, number + half)


def spread(places, shape, inner):
    """The places in an array that was fitted: whole axes that were added up, groups, the place of a repeated axis."""
    if len(inner) == len(shape) + 1 and inner[-1] == 1 and inner[:-1] == shape:
        return [*places, [0]]
    lead = [list(range(size)) for size in inner[:max(0, len(inner) - len(shape))]]
    found = []
    for axis in range(-min(len(inner), len(shape)), 0):
        size, given = inner[axis], places[axis]
        if size == shape[axis]:
            found.append(given)
        elif size == 1:
            found.append([0])
        else:
            group = size // shape[axis]
            found.append([place * group + k for place in given for k in range(group)])
    return [*lead, *found]


def _broadcast(places, shape, whole):
    """Places in an operand of `shape`: an axis of 1 stands for all, a head for its group."""
    if not shape:
        return []
    found = []
    for axis in range(-min(len(shape), len(places)), 0):
        size, given = shape[axis], places[axis]
        if size == 1:
            found.append([0] if given else [])
        elif whole is not None and -axis <= len(whole) and axis < -2 and size < whole[axis]:
            found.append(sorted({place * size // whole[axis] for place in given}))
        else:
            found.append(given)
    return found
