"""Which cells of the operands one cell is made of, and how: the arithmetic of a row of the table in origins.py.

A part names an operand and has one expression for each of its axes: a letter is the place of the cell itself, ":" the
whole axis. Index arrays in place of a single cell's numbers give all cells at once.
"""
from typing import NamedTuple

import numpy as np


class Part(NamedTuple):
    """Cells of one operand: its name as in the trace, its numbers, and an expression for each of its axes."""

    name: str
    array: np.ndarray
    axes: tuple


class Origin(NamedTuple):
    """How the cells of a step are made: the letters of its own axes, the operation, the parts of its operands."""

    letters: tuple
    how: str
    parts: tuple
    shape: tuple
    hidden: np.ndarray      # True where a mask hides a key; None without a mask
    d_k: int                # for the division by √d_k; 0 where there is none

    def take(self, part, index):
        """The numbers of a part for the cell `index` (or for index arrays): its free axes become the last one."""
        places = self.places(part, index)
        free = [axis for axis, place in enumerate(places) if place is None]
        fixed = [axis for axis, place in enumerate(places) if place is not None]
        taken = part.array.transpose(fixed + free)[tuple(places[axis] for axis in fixed)]
        if not free:
            return taken
        return taken.reshape(*taken.shape[:taken.ndim - len(free)], -1)

    def places(self, part, index):
        """One place for each axis of a part; None where the whole axis is taken."""
        at = dict(zip(self.letters, index, strict=True))
        h, j, width = at.get("h", 0), at["j"], part.array.shape[-1]
        heads = dict(zip(self.letters, self.shape, strict=True)).get("h", 1)
        at |= {":": None, "h*d+j": h * self.shape[-1] + j, "j//d": j // width, "j%d": j % width}
        places = []
        for axis, size in zip(part.axes, part.array.shape, strict=True):
            place = at[axis] if axis != "h" or size == heads else h * size // heads     # shared keys and values
            places.append(place if place is None or size > 1 else 0 * place)            # an axis of 1 stands for all
        return places

    def compute(self, index):
        """The cell `index` again, from its parts; index arrays that broadcast give all cells at once."""
        taken = [self.take(part, index) for part in self.parts]
        if self.how == "softmax":
            one, row = taken
            if self.hidden is not None:
                one = np.where(self.hidden[index], -np.inf, one)
                row = np.where(self.hidden[index[:-1]], -np.inf, row)
            top = row.real.max(axis=-1)
            top = np.where(np.isfinite(top), top, 0)
            total = np.exp(row - top[..., None]).sum(axis=-1)
            return np.exp(one - top) / np.where(total == 0, 1, total)
        if self.how == "softmax backward":
            weight, felt, weights, all_felt = taken
            if self.hidden is not None:
                felt = np.where(self.hidden[index], 0, felt)
                all_felt = np.where(self.hidden[index[:-1]], 0, all_felt)
            return weight * (felt - (weights * all_felt).sum(axis=-1))
        if self.how in ("dot", "scaled dot"):
            total = (taken[0] * taken[1]).sum(axis=-1) + (taken[2] if len(taken) > 2 else 0)
        elif self.how == "total":
            total = taken[0].sum(axis=-1)
        else:
            total = sum(t.sum(axis=-1) if ":" in p.axes else t for t, p in zip(taken, self.parts, strict=True))
        return total / self.d_k ** 0.5 if self.how.startswith("scale") else total

    def whole(self):
        """All cells at once."""
        return self.compute(np.ix_(*map(range, self.shape)))
