"""Where a cell comes from: for every step, the cells of other steps that one of its cells was made from.

One row of the table reads like the formula with indices: cell (i, j) of `product` is row i of Q times row j of K.
Letters: n sequence, h head, i row, j column, d width of one head; ":" is a whole row or column. Without a batch or
head axis the leading letters fall away. `why` writes these cells out and the page lights them up; a test computes
every cell again from them. A run whose numbers are not what the table says (a softcap, dropout) has no origins here.
"""
import re
import weakref

import numpy as np

from .cells import Origin, Part

ORIGINS = {
    "Q[n,h,i,j]": ("dot", "query[n,i,:]", "W_Q[:,h*d+j]", "b_Q[h*d+j]"),
    "K[n,h,i,j]": ("dot", "key[n,i,:]", "W_K[:,h*d+j]", "b_K[h*d+j]"),
    "V[n,h,i,j]": ("dot", "value[n,i,:]", "W_V[:,h*d+j]", "b_V[h*d+j]"),
    "product[n,h,i,j]": ("dot", "Q[n,h,i,:]", "K[n,h,j,:]"),
    "scores[n,h,i,j]": ("scale", "product[n,h,i,j]"),
    "biased[n,h,i,j]": ("sum", "capped[n,h,i,j]", "bias[n,h,i,j]"),
    "weights[n,h,i,j]": ("softmax", "biased[n,h,i,j]", "biased[n,h,i,:]"),
    "heads[n,h,i,j]": ("dot", "dropped[n,h,i,:]", "V[n,h,:,j]"),
    "concat[n,i,j]": ("copy", "heads[n,j//d,i,j%d]"),
    "out[n,i,j]": ("dot", "concat[n,i,:]", "W_O[:,j]", "b_O[j]"),
    "dconcat[n,i,j]": ("dot", "dout[n,i,:]", "W_O[j,:]"),
    "dheads[n,h,i,j]": ("copy", "dconcat[n,i,h*d+j]"),
    "dbias[n,h,i,j]": ("copy", "dbiased[n,h,i,j]"),
    "dV[n,h,i,j]": ("dot", "dropped[n,h,:,i]", "dheads[n,h,:,j]"),
    "dweights[n,h,i,j]": ("dot", "dheads[n,h,i,:]", "V[n,h,j,:]"),
    "dscores[n,h,i,j]": ("softmax backward", "weights[n,h,i,j]", "dweights[n,h,i,j]",
                         "weights[n,h,i,:]", "dweights[n,h,i,:]"),
    "dproduct[n,h,i,j]": ("scale", "dscores[n,h,i,j]"),
    "dQ[n,h,i,j]": ("scaled dot", "dscores[n,h,i,:]", "K[n,h,:,j]"),
    "dK[n,h,i,j]": ("scaled dot", "dscores[n,h,:,i]", "Q[n,h,:,j]"),
    "dquery[n,i,j]": ("dot", "dQ[n,:,i,:]", "W_Q[j,:]"),
    "dkey[n,i,j]": ("dot", "dK[n,:,i,:]", "W_K[j,:]"),
    "dvalue[n,i,j]": ("dot", "dV[n,:,i,:]", "W_V[j,:]"),
    "dx[n,i,j]": ("sum", "dquery[n,i,j]", "dkey[n,i,j]", "dvalue[n,i,j]"),
    "dmemory[n,i,j]": ("sum", "dkey[n,i,j]", "dvalue[n,i,j]"),
    "query_proj.dW[i,j]": ("dot", "query[:,:,i]", "dQ[:,j//d,:,j%d]"),
    "key_proj.dW[i,j]": ("dot", "key[:,:,i]", "dK[:,j//d,:,j%d]"),
    "value_proj.dW[i,j]": ("dot", "value[:,:,i]", "dV[:,j//d,:,j%d]"),
    "output_proj.dW[i,j]": ("dot", "concat[:,:,i]", "dout[:,:,j]"),
    "query_proj.db[j]": ("total", "dQ[:,j//d,:,j%d]"),
    "key_proj.db[j]": ("total", "dK[:,j//d,:,j%d]"),
    "value_proj.db[j]": ("total", "dV[:,j//d,:,j%d]"),
    "output_proj.db[j]": ("total", "dout[:,:,j]"),
    "placed[i,j]": ("sum", "embedded[i,j]", "positions[i,j]"),
    "x[n,i,j]": ("copy", "placed[i,j]"),
    "dplaced[i,j]": ("copy", "dx[:,i,j]"),
}
TABLE = {key.partition("[")[0]: (key.partition("[")[2][:-1].split(","), how, parts)
         for key, (how, *parts) in ORIGINS.items()}
# A tensor goes by the first of these names that the run has: x plays three roles, an option that is off is no step.
SAME = {"query": ("query", "x"), "key": ("key", "memory", "x"), "value": ("value", "memory", "x"),
        "biased": ("biased", "capped", "scores"), "capped": ("capped", "scores"), "dropped": ("dropped", "weights"),
        "dbiased": ("dbiased", "dscores")}
PROJECTIONS = {"Q": "query_proj", "K": "key_proj", "V": "value_proj", "O": "output_proj"}
MOST_TRIED = 64

_known = weakref.WeakKeyDictionary()       # the origins of each trace, once they have been asked for


def origin(trace, which, values=None):
    """The Origin of a step of `trace`, or None: it is given, nobody stated it, or its numbers say otherwise.

    >>> made = origin(na.worked_example("by-hand").trace(), "product")
    >>> [part.name for part in made.parts], made.compute((0, 2)).item()
    (['Q', 'K'], 4.0)
    """
    step = trace[which]
    if values:
        return _stated(trace, step, values)
    known = _known.setdefault(trace, {})
    if step.name not in known:
        found = _stated(trace, step, {})
        known[step.name] = found if found is not None and _holds(found, step.value) else None
    return known[step.name]


def _stated(trace, step, values):
    if step.formula in ("given", "upstream gradient"):
        return None
    spellings = step.name, ".".join(step.name.split(".")[-2:]), step.short_name
    name = next((name for name in spellings if name in TABLE), None)
    if name is None:
        return None
    letters, how, stated = TABLE[name]
    prefix, parts = step.name.removesuffix(name), []
    for text in stated:
        operand, axes = re.fullmatch(r"(\w+)\[(.*)\]", text).groups()
        part = _operand(trace, operand, prefix, values)
        if part is None and operand.startswith("b_"):
            continue                                    # a projection without a bias
        if part is None:
            return None
        axes = axes.split(",")
        parts.append(Part(*part, tuple(axes[max(0, len(axes) - part[1].ndim):])))
    query = _operand(trace, "Q", prefix, {}) if how.startswith("scale") else None
    shape = step.shape
    return Origin(tuple(letters[max(0, len(letters) - len(shape)):]), how, tuple(parts), shape,
                  hidden(trace, step) if "softmax" in how else None, query[1].shape[-1] if query else 0)


def hidden(trace, step):
    """True where a mask hides the cell of an L × S step; None without a mask, or for another step."""
    mask = _operand(trace, "mask", step.name.removesuffix(step.short_name), {})
    if mask is None or step.symbols.split()[-2:] != ["L", "S"] or step.short_name in ("mask", "bias", "dbias"):
        return None
    return np.broadcast_to(~mask[1].astype(bool), step.shape)


def _operand(trace, name, prefix, values):
    """(name in the trace, array) of an operand: a step, or a learned matrix of the traced layer."""
    levels = prefix.split(".")[:-1]
    prefixes = ["".join(f"{level}." for level in levels[:n]) for n in range(len(levels), -1, -1)]
    for prefix in prefixes:
        for spelling in SAME.get(name, (name,)):
            full = prefix + spelling
            if full in trace:
                return full, values.get(full, trace[full].value)
    kind, _, role = name.partition("_")
    ending = f"{PROJECTIONS.get(role)}.{kind}"
    found = [array for full, array in trace.run.parameters.items() if f".{full}".endswith(f".{ending}")]
    return (name, found[0]) if len(found) == 1 else None


def _holds(origin, value):
    """Do the stated cells give the step's numbers? Tried at a sample of them."""
    flat = np.unique(np.linspace(0, value.size - 1, min(value.size, MOST_TRIED)).astype(int))
    if not value.size or len(origin.letters) != value.ndim:
        return False
    index = np.unravel_index(flat, value.shape)
    try:
        with np.errstate(all="ignore"):
            found = origin.compute(index)
    except (KeyError, IndexError, ValueError):      # other axes than the table's: a variant
        return False
    size = max(np.abs(a[np.isfinite(a)]).max(initial=0) for a in (value, *(part.array for part in origin.parts)))
    return np.allclose(found, value[index], rtol=0, atol=size * np.finfo(value.dtype).eps ** 0.6, equal_nan=True)
