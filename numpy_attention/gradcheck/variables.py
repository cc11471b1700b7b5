"""Numbers that may be nudged, and the places where a layer sees them.

Most often one array is one variable. But attention is called with query = key = value, and then nudging a number of
the query nudges the key and the value as well: the slope that is measured is the sum of three gradients. Arrays that
share memory, whole or in part, are therefore one variable: a flat row of the numbers that exist, and for every array
the places of its numbers in that row.
"""
import numpy as np


class Variable:
    """`values` is the flat row of numbers; `members` are pairs (where, places) of the arrays made from it.

    `where` is the number of an argument, the name of a keyword or a Parameter. `places` is an index array of that
    array's shape, or None where the array simply is the row.
    """

    def __init__(self, name, kind, row, shape, members):
        self.name, self.kind, self.shape, self.members = name, kind, tuple(shape), members
        self.original = row
        self.use(None)

    def use(self, dtype):
        """Carry the numbers as `dtype`; None for their own, in the very array that a layer may hold elsewhere, too."""
        row = self.original if dtype is None else self.original.astype(dtype)
        self.values = row.reshape(-1)
        self.stacking = None                        # how copies can be run together, see stacked.py; not known yet

    def array(self, places=None):
        """The array that a member sees."""
        return self.values.reshape(self.shape) if places is None else self.values[places]

    def fits(self, gradient, places=None):
        """Has the gradient the shape of the member it belongs to, and are there numbers in it?"""
        return gradient.dtype.kind in "fciu" and gradient.shape == (self.shape if places is None else places.shape)

    def total(self, gradients):
        """The row's gradient from (gradient or None, places) of its members: where they share a number, they add up."""
        total = np.zeros(self.shape, np.result_type(*(g for g, _ in gradients if g is not None)))
        for gradient, places in gradients:
            if gradient is not None:
                np.add.at(total, ... if places is None else places, gradient)
        return total


def variables(arrays, memory):
    """One Variable for each group of arrays that share memory.

    `arrays`: {where: (name, array)}; `memory`: {where: what the caller gave}, of which `array` may be a copy.
    """
    groups = []
    for where in arrays:
        touching = [group for group in groups if any(_overlap(memory[where], memory[other]) for other in group)]
        together = [other for group in touching for other in group] + [where]
        groups = [group for group in groups if group not in touching] + [together]
    return [_variable([(where, *arrays[where], memory[where]) for where in group]) for group in groups]


def _variable(group):
    wheres, names, found, memory = zip(*group, strict=True)
    if len(group) == 1:
        return Variable(names[0], "input", np.array(found[0], order="C"), found[0].shape, [(wheres[0], None)])
    cells, numbered = np.unique(np.concatenate([_addresses(a).reshape(-1) for a in memory]), return_inverse=True)
    numbered = np.split(numbered, np.cumsum([a.size for a in found])[:-1])
    places = [inverse.reshape(a.shape) for inverse, a in zip(numbered, found, strict=True)]
    if all(p.shape == places[0].shape and (p == places[0]).all() for p in places) and cells.size == found[0].size:
        members = [(where, None) for where in wheres]
        return Variable("=".join(names), "input", np.array(found[0], order="C"), found[0].shape, members)
    row = np.empty(cells.size, found[0].dtype)
    for its, array in zip(places, found, strict=True):
        row[its] = array
    return Variable("+".join(names), "input", row, row.shape, list(zip(wheres, places, strict=True)))


def _overlap(a, b):
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return a is b
    return a.dtype == b.dtype and np.shares_memory(a, b)


def _addresses(array):
    """Where in memory each number of the array lies."""
    if not isinstance(array, np.ndarray):
        array = np.asarray(array)
    address = np.array(array.__array_interface__["data"][0])
    for length, stride in zip(array.shape, array.strides, strict=True):
        address = address[..., None] + np.arange(length) * stride
    return address
