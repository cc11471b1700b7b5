"""What the signs of a formula do to whole arrays: with these a trace can be computed again from its own formulas.

The page has the same table in JavaScript (engine.js); a test lets both compute every example.
"""
import math

import numpy as np

from ..layers.activations import normal_share, sigmoid
from ..layers.variants.rotary import turn


def evaluate(tree, values):
    """The value of a tree. Args: values: the arrays of its names.

    >>> from numpy_attention.walkthrough.formula import parse
    >>> evaluate(parse("2 x + b"), {"x": np.array([1., 2.]), "b": 10})
    array([12., 14.])
    """
    head, *parts = tree
    if head == "name":
        return values[parts[0]]
    if head == "number":
        return parts[0]
    with np.errstate(all="ignore"):
        return OPERATIONS[head](*(evaluate(part, values) if isinstance(part[0], str) else part for part in parts))


def matmul(a, b):
    """a @ b; a number multiplies all; key and value heads that several query heads share stand for each of them."""
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return a * b
    b = b[None] if b.ndim == 1 else b
    if a.ndim == b.ndim > 2 and a.shape[-3] != b.shape[-3] and 1 not in (a.shape[-3], b.shape[-3]):
        heads = max(a.shape[-3], b.shape[-3])
        a, b = (np.repeat(x, heads // x.shape[-3], axis=-3) for x in (a, b))
    return a @ b


def times(a, b):
    """Number by number; a number for each row stands for all of its row."""
    if np.ndim(a) == np.ndim(b) + 1 > 1 and a.shape[:-1] == b.shape:
        b = b[..., None]
    return a * b


def transposed(x):
    """The last two axes swapped; a single row becomes a column."""
    return x[:, None] if x.ndim == 1 else x.mT


def softmax(x, mask=None):
    """Each row as shares that sum to 1; what the mask hides gets 0, and so does all of a row that sees nothing."""
    x = x if mask is None else np.where(mask, x, -np.inf)
    top = x.real.max(axis=-1, keepdims=True, initial=-np.inf)
    powers = np.exp(x - np.where(top == -np.inf, 0, top))
    total = powers.sum(axis=-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def split(x, heads):
    """(..., L, H·d) -> (..., H, L, d)."""
    return x.reshape(*x.shape[:-1], int(heads), x.shape[-1] // int(heads)).swapaxes(-2, -3)


def merge(x):
    """(..., H, L, d) -> (..., L, H·d)."""
    x = x.swapaxes(-2, -3)
    return x.reshape(*x.shape[:-2], -1)


def fit(value, shape):
    """`value` in the shape of its step: what was shared or spread out is added up, what is missing is repeated."""
    value = np.asarray(value)
    if value.ndim > len(shape) and value.shape[-1] == 1 and value.shape[:-1] == shape:
        return value[..., 0]
    while value.ndim > len(shape):
        value = value.sum(axis=0)
    for axis in range(-value.ndim, 0):
        size = shape[axis]
        if value.shape[axis] > size and value.shape[axis] % max(size, 1) == 0:       # a group of heads, or all rows
            groups = (*value.shape[:axis], size, value.shape[axis] // size, *value.shape[axis:][1:])
            value = value.reshape(groups).sum(axis=axis)
    return np.broadcast_to(value, shape)


def join(x, *more):
    """x, and behind its rows more rows; `fit_rows` adds those of zeros."""
    rows = [np.broadcast_to(row, (*x.shape[:-2], *row.shape[-2:])) for row in more]
    return np.concatenate([x, *rows], axis=-2)


def rows(table, ids):
    """One row of the table for each id; of a single number that number. An id below 0, one to ignore, gets 0."""
    found = np.asarray(table)[np.maximum(ids, 0)] if np.ndim(table) else np.full(np.shape(ids), table)
    return np.where((ids < 0).reshape(ids.shape + (1,) * (found.ndim - ids.ndim)), 0, found)


def scatter(rows, ids, table):
    """Each row added where the table has its id; 0 elsewhere. An id below 0 is one to ignore."""
    found = np.zeros_like(table)
    np.add.at(found, ids[ids >= 0], rows[ids >= 0])
    return found


OPERATIONS = {
    "plus": lambda a, b: a + b,
    "minus": lambda a, b: a - b,
    "times": times,
    "over": lambda a, b: a / b,
    "negative": lambda a: -a,
    "squared": lambda a: a * a,
    "root": np.sqrt,
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "Φ": normal_share,
    "φ": lambda x: np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
    "σ": sigmoid,
    "matmul": matmul,
    "transposed": transposed,
    "sum": lambda x: x.sum(axis=-1, keepdims=True),             # a row
    "total": lambda x: x.sum(axis=-1, keepdims=True),
    "all": lambda x: np.sum(x),
    "gather": lambda x: x,                                      # fit adds up what the step's shape lacks
    "mean": lambda x: x.mean(axis=-1, keepdims=True),
    "max": lambda x, *other: np.where(x.real > other[0], x, other[0]) if other else x.max(axis=-1, keepdims=True),
    "softmax": softmax,
    "split": split,
    "merge": merge,
    "fit": fit,
    "pass_where": lambda dout, x: np.where(x.real > 0, dout, 0),
    "rows": rows,
    "scatter": scatter,
    "heads_axis": lambda x: x[:, None],
    "onehot": lambda target, C: (np.arange(int(C)) == np.asarray(target)[..., None]) * 1.0,
    "turn": lambda x, cos, sin, interleaved: turn(x, cos, sin, bool(interleaved)),
    "join": join,
    "first": lambda x, like: x[..., :like.shape[-2], :],
    "behind": lambda x, like: x[..., like.shape[-2]:like.shape[-2] + 1, :],
    "repeat": lambda x, heads: np.repeat(x, int(heads) // x.shape[-3], axis=-3),
}
