"""Measuring the gradient of one variable: a fast way, a second opinion, and the slow way where the two part.

Fast: the complex step. f(x + ih) = f(x) + ih f'(x) − ..., so f'(x) = Im f(x + ih) / h. Nothing is subtracted, h can be
1e-20 and the result is exact to the last digits; and a layer that handles a batch can be run on many nudged copies,
stacked along a new first axis. But `abs`, a comparison, an array made as float, a forward that mixes its batch would
silently give wrong slopes.

Second opinion: along some directions, all numbers of the variable moving at once, the same slopes by central
differences (slopes.py) of the layer alone, unstacked, in real numbers, for every output by itself. It shares no
assumption with the fast way. Where the two differ by more than the estimated error, the fast way is not believed.

Slow: central differences, number by number.

Sources: Squire & Trapp 1998; Martins, Sturdza & Alonso 2003 (complex step).
"""
import functools
from dataclasses import dataclass, replace

import numpy as np

from .layer_under_test import Finding
from .slopes import Slope, slope

COMPLEX_STEP = {np.dtype(np.float64): 1e-20, np.dtype(np.float32): 1e-10}     # its square must not matter
RTOL = {(np.dtype(np.float64), True): 1e-10, (np.dtype(np.float64), False): 1e-7,
        (np.dtype(np.float32), True): 1e-4, (np.dtype(np.float32), False): 1e-3}
MOST_NUMBERS, MOST_COPIES = 12_000, 24    # of a stack: beyond that, matrix products start threads that wait
DIRECTIONS = 2


@dataclass
class Measured:
    """The gradient of one variable as measured.

    `numeric`, its estimated `error`, and `rounding`: Σ |terms| of each number's slope, of which some digits are lost;
    `size`, `unit`: how large those outputs are that feel the number, and how far they can move;
    `corner`, `low`, `high`: where left and right slopes differ, and how far; `exact`: by the complex step; `why` not.
    """

    numeric: np.ndarray
    error: np.ndarray
    rounding: np.ndarray
    corner: np.ndarray
    low: np.ndarray
    high: np.ndarray
    size: np.ndarray
    unit: np.ndarray
    exact: bool = False
    why: str = ""

    def shaped(self, shape):
        """The same, every array in this shape."""
        return replace(self, **{name: getattr(self, name).reshape(shape) for name in ARRAYS})

    def patched(self, places, other):
        """The same, with the numbers at these flat places as measured by another."""
        flat = {name: getattr(self, name).reshape(-1).copy() for name in ARRAYS}
        for name, values in flat.items():
            values[places] = getattr(other, name)
        return replace(self, **flat).shaped(self.numeric.shape)


ARRAYS = "numeric", "error", "rounding", "corner", "low", "high", "size", "unit"


class Ruler:
    """Measures slopes of Σ weights ∘ out of one Subject; `weights` is flat."""

    def __init__(self, subject, weights, rng, use_complex=True):
        self.subject, self.weights, self.rng = subject, weights, rng
        self.real, self.level, self.surveyed = subject.copy(), {}, {}
        self.unit, self.units = 0.0, 0.0        # how much the loss, and each output, moves with a whole variable
        self.here, self.shapes = self.real.forward(), subject.shapes
        self.dtype = np.result_type(*(v.values.dtype for v in subject.variables.values()))
        self.first = 0 if self.dtype == np.float64 else 2       # the step to begin with
        self.complex, self.obstacle = None, "" if use_complex else "asked for"
        if use_complex:
            self._try_complex()
        self.scales = {name: v.scale() for name, v in subject.variables.items()}

    def _try_complex(self):
        try:
            self.complex = self.subject.copy(complex_variables=True)
            for variable in self.subject.variables.values():
                self.complex.put(variable, variable.values.astype(np.result_type(self.dtype, np.complex64)))
            out = self.complex.forward()
        except (Finding, TypeError) as error:
            self.complex, self.obstacle = None, f"forward does not take complex numbers ({error})"
            return
        if out.shape != self.here.shape or not np.allclose(out.real, self.here, rtol=1e-6, atol=0, equal_nan=True):
            self.complex, self.obstacle = None, "forward computes something else with complex numbers"

    # ------------------------------------------------------------------------------------------ along directions

    def directions(self, claimed):
        """[{variable: direction}] along which numbers of every size count: in proportion to their own size, and such
        that each moves the loss alike, if `claimed` {variable: gradient} is true."""
        found = []
        for kind in range(DIRECTIONS):
            along = {}
            for name, scale in self.scales.items():
                draw = self.rng.choice([-1.0, 1.0], scale.size) * self.rng.uniform(0.5, 1.5, scale.size)
                if kind and name in claimed:
                    effect = np.abs(np.nan_to_num(claimed[name].reshape(-1), posinf=0, neginf=0)) * scale
                    felt = np.sort(effect[effect > 0])
                    small = felt[len(felt) // 10] if len(felt) else 1
                    draw *= np.clip(small / np.maximum(effect, 1e-300), 1e-14, 1)
                along[name] = draw * scale * np.isfinite(self.subject.variables[name].values)
            found.append(along)
        return found

    def central(self, along, enough=1e-6, stretch=1.0):
        """The Slope along {variable: direction}."""
        variables, copy = self.subject.variables, self.real

        def at(t):
            for name, direction in along.items():
                values = variables[name].values
                copy.put(variables[name], (values + t * direction).astype(values.dtype))
            out = copy.forward()
            return t, np.asarray(out, float)
        try:
            key = tuple(along)
            found = slope(at, self.here_as_floats(), self.weights, self.level.get(key, self.first), enough,
                          self.units, stretch)
            self.level[key] = min(found.level, self.first)
            return found
        finally:
            self._back(copy, along)

    def here_as_floats(self):
        return self.here if self.here.dtype.kind == "f" else self.here.astype(float)

    def exact(self, along):
        """The same by the complex step, every output's slope; None if forward refuses."""
        h, variables = COMPLEX_STEP[self.dtype], self.subject.variables
        try:
            for name, direction in along.items():
                self.complex.put(variables[name], variables[name].values + 1j * h * direction)
            out = self.complex.forward()
            return out.imag / h if out.dtype.kind == "c" else np.zeros(out.size)
        except Finding:
            return None
        finally:
            self._back(self.complex, along)

    def _back(self, copy, names):
        for name in names:
            copy.put(self.subject.variables[name], self.subject.variables[name].values)

    def agree(self, exact, central):
        """Do both give the same slope for every output; the error as a share of the slopes."""
        weights = np.abs(self.weights)
        apart = np.abs(exact - central.value)
        allowed = 4 * central.error + 1e-6 * np.abs(central.value) + 1e-10 * self.units
        same = (apart <= allowed) | (~np.isfinite(exact) & ~np.isfinite(central.value)) | (weights == 0)
        size = max(float(weights @ np.abs(exact)), 1e-7 * self.unit)
        error = float(weights @ np.where(np.isfinite(central.error), central.error, 0))
        if same.all() and error > 0.05 * size:          # slopes of next to nothing? then what moves farther away counts
            size = max(size, 1e-8 * float(weights @ self.far))
        return bool(same.all()), error / (size or 1)

    # ------------------------------------------------------------------------------------------ number by number

    def survey(self, claimed):
        """Both measurements of every variable along its directions: how large slopes are, and whether the two agree."""
        directions = self.directions(claimed)
        for name in self.subject.variables:
            along = [{name: d[name]} for d in directions]
            seconds = [self.central(d) for d in along]
            if not all(np.isfinite(s.value[np.isfinite(self.here)]).all() for s in seconds):
                own = self.subject.variables[name].scale(own=True)      # out of what forward takes: shorter nudges
                along = [{name: d[name] * own / self.scales[name]} for d in along]
                self.scales[name], seconds = own, [self.central(d) for d in along]
            firsts = [self.exact(d) for d in along] if self.complex is not None else []
            self.surveyed[name] = along, firsts, seconds
            self.learn(seconds)
        if not self.unit:
            self.units, self.unit = self.far, float(np.abs(self.weights) @ self.far)

    @functools.cached_property
    def far(self):
        """How far each output moves when all numbers change by as much as they are; for where nothing moves nearby."""
        moves, variables = np.zeros(self.here.size), self.subject.variables
        along = self.directions({})[0]
        for t in (-3.0, -1.0, 1.0, 3.0):
            for name, direction in along.items():
                values = variables[name].values
                self.real.put(variables[name], (values + t * direction).astype(values.dtype))
            try:
                change = np.abs(self.real.forward() - self.here)
                moves = np.maximum(moves, np.where(np.isfinite(change), change, 0))
            except (Finding, ValueError):
                continue
            finally:
                self._back(self.real, variables)
        return moves

    def learn(self, seconds):
        """Note how large slopes are."""
        for second in seconds:
            size = np.abs(second.value)
            moves = np.where(np.isfinite(size) & (second.error <= 0.1 * size), size, 0)
            self.unit = max(self.unit, float(np.abs(self.weights) @ moves))
            self.units = np.maximum(self.units, moves)

    def measure(self, variable):
        """The Measured gradient of a variable."""
        along, firsts, seconds = self.surveyed[variable.name]
        why = self.obstacle
        if self.complex is not None:
            why = self.doubt(firsts, seconds)
            for way in self._ways(variable, along[0]) if not why else ():
                found = self._by_complex_step(variable, way)
                if found is not None and all(self._adds_up(found.numeric.reshape(-1), d[variable.name], first)
                                             for d, first in zip(along, firsts, strict=True)):
                    return found
                why = ("the slopes of single numbers do not add up to the slope of all at once: there is a corner, or "
                       "forward mixes its batch")
        return self.slowly(variable, why)

    def _adds_up(self, numeric, v, first):
        size = float(np.abs(numeric) @ np.abs(v) + np.abs(self.weights) @ np.abs(first)) + 1e-2 * self.unit
        return abs(numeric @ v - self.weights @ first) <= 500 * np.finfo(self.dtype).eps * size

    def doubt(self, firsts, seconds):
        """Why the complex step is not to be believed; "" if it is."""
        for first, second in zip(firsts, seconds, strict=True):
            if first is None or first.shape != second.value.shape:
                return "forward does not take complex numbers"
            same, share = self.agree(first, second)
            if same and share <= 0.05:
                continue
            a, b = self.weights @ first, self.weights @ second.value
            if same:
                return f"the second measurement is too coarse to confirm it, ±{share:.0%}"
            if abs(a) <= 1e-9 * abs(b):
                return "forward drops the imaginary part"
            if second.corner.any():
                return "the output has a corner here"
            return (f"it gives {a:.4g} along a random direction, central differences {b:.4g}: abs, a comparison or the "
                    "like")
        return ""

    def _ways(self, variable, along):
        """The ways to nudge many numbers in one run that may be safe here, and last the one that always is."""
        if variable.kind == "input":
            return self._new_axis, self._along_batch, None
        columns = self.shapes[0][-1:]
        if len(self.shapes) == 1 and columns == variable.shape[-1:] and variable.size > columns[0] > 1:
            first = np.arange(variable.size) % columns[0] == 0
            felt = self.exact({variable.name: along[variable.name] * first})
            if felt is not None and not felt.reshape(-1, *columns)[:, 1:].any():
                return self._columns, None
        return (None,)

    def _by_complex_step(self, variable, way):
        h, size, scale = COMPLEX_STEP[self.dtype], variable.size, self.scales[variable.name]
        numeric, rounding, moved = np.empty(size), np.empty(size), np.empty(size)
        weights, absolute = self.weights, np.abs(self.weights)
        K = max(3, min(MOST_COPIES, MOST_NUMBERS // max(1, self.here.size + size)))
        K = 1 if way is None else variable.shape[-1] if way == self._columns else K
        values = variable.values.astype(np.result_type(self.dtype, np.complex64))
        try:
            for some in (slice(i, min(i + K, size)) for i in range(0, size, K)):
                nudges = 1j * h * scale[some]
                outs = (way or self._columns)(variable, values, some, nudges)
                if outs is None:
                    return None
                slopes = outs.imag / nudges.imag[:, None]
                if way == self._columns:                        # each number moves its own column of the output
                    slopes = np.where(np.arange(K)[:, None] == np.arange(self.here.size) % K, slopes, 0)
                numeric[some], rounding[some] = slopes @ weights, np.abs(slopes) @ absolute
                moved[some] = (slopes != 0) @ (absolute * np.abs(self.here))
        except Finding:
            return None
        finally:
            self._back(self.complex, [variable.name])
        no = np.zeros(size, bool)
        return Measured(numeric, 0.0 * rounding, rounding, no, numeric.copy(), numeric.copy(), moved, 0.0 * rounding,
                        True).shaped(variable.shape)

    def _columns(self, variable, values, some, nudges):
        """The output, all these numbers nudged at once."""
        values[some] += nudges
        self.complex.put(variable, values)
        values[some] = variable.values[some]
        return self.complex.forward()[None]

    def _new_axis(self, variable, values, some, nudges):
        """The outputs of copies of the input, each nudged elsewhere, along a new first axis: (K, ...)."""
        return self._together(variable, values, some, nudges, lambda copies: copies)

    def _along_batch(self, variable, values, some, nudges):
        """The same along the batch, (K, N, ...) -> (K·N, ...), of arrays that have the batch axis of the output."""
        def stack(copies):
            if copies.ndim < 2 or copies.shape[1] != self.shapes[0][0]:
                return copies[0]
            return copies.reshape(len(copies) * copies.shape[1], *copies.shape[2:])
        return self._together(variable, values, some, nudges, stack)

    def _together(self, variable, values, some, nudges, stack):
        """The outputs for copies of the input, each nudged elsewhere, run together; None if forward refuses."""
        copy, K = self.complex, len(nudges)
        if len(self.shapes) != 1 or not self.shapes[0] or not copy.plain:
            return None
        rows = np.repeat(values[None], K, axis=0)
        rows[np.arange(K), np.arange(len(values))[some]] += nudges
        nudged = {id(copy.memo[id(m.array)]): rows.reshape(K, *m.array.shape) if places is None else rows[:, places]
                  for m, places in variable.members}

        def stacked(given):
            if id(given) in nudged:
                return stack(nudged[id(given)])
            alike = isinstance(given, np.ndarray) and given.ndim and not (given.dtype == bool and given.ndim < 3)
            return stack(np.repeat(given[None], K, axis=0)) if alike else given
        try:
            copy.held.rewind()
            copy.run([stacked(a) for a in copy.arguments], {name: stacked(a) for name, a in copy.keywords.items()})
        except Finding:
            return None
        fits = copy.outs[0].shape == stack(np.empty((K, *self.shapes[0]))).shape
        return copy.outs[0].reshape(K, -1) if fits else None

    def slowly(self, variable, why):
        """The Measured gradient by central differences, and why so."""
        return self.one_by_one(variable, range(variable.size), why).shaped(variable.shape)

    def one_by_one(self, variable, places, why="", stretch=1.0):
        """The numbers at these flat places by central differences, flat."""
        count = len(places)
        found = Measured(*(np.empty(count) for _ in range(3)), np.zeros(count, bool),
                         *(np.empty(count) for _ in range(4)), False, why)
        weights = self.weights
        for k, i in enumerate(places):
            one = self._one(variable, i, stretch)
            found.numeric[k], found.error[k] = one.of_loss(weights)
            found.rounding[k] = float(np.abs(weights) @ np.abs(one.value))
            absolute = np.where(one.felt, np.abs(weights), 0)
            found.size[k], found.unit[k] = absolute @ np.abs(self.here), absolute @ np.maximum(
                self.units, 1e-2 * self.far)
            felt = one.corner & (weights != 0)
            ends = np.where(felt, [one.left * weights, one.right * weights], one.value * weights)
            found.low[k], found.high[k] = ends.min(axis=0).sum(), ends.max(axis=0).sum()
            found.corner[k] = felt.any() and found.high[k] - found.low[k] > 1e-6 * found.rounding[k]
            if found.corner[k]:
                found.numeric[k] = (found.low[k] + found.high[k]) / 2
        return found

    def jitter(self, variable, eps=None):
        """The variable's numbers, their last digits changed."""
        eps = eps or np.finfo(variable.values.dtype).eps
        turns = self.rng.choice([-4, -2, -1, 1, 2, 4], variable.size)
        return (variable.values * (1 + turns * eps)).astype(variable.values.dtype)

    def spread(self, variable, i):
        """How much the complex step's slope of number i changes with the last digits of all inputs."""
        h, copy, slopes = COMPLEX_STEP[self.dtype] * self.scales[variable.name][i], self.complex, []
        for _ in range(4):
            for other in self.subject.variables.values():
                row = self.jitter(other).astype(np.result_type(self.dtype, np.complex64))
                row[i if other is variable else []] += 1j * h
                copy.put(other, row)
            slopes.append(float(copy.forward().imag @ self.weights) / h)
        self._back(copy, self.subject.variables)
        return np.ptp(slopes)

    def _one(self, variable, i, stretch):
        copy, values, scale = self.real, variable.values.copy(), self.scales[variable.name][i]
        kept = values[i]
        if not np.isfinite(kept):                       # −inf stays what it is when it is nudged
            nothing, no = np.zeros(self.here.size), np.zeros(self.here.size, bool)
            return Slope(nothing, nothing, no, nothing, nothing, no, self.first)

        def at(t):
            values[i] = kept + t * scale
            moved = (float(values[i]) - float(kept)) / scale
            copy.put(variable, values)
            return moved, np.asarray(copy.forward(), float)
        try:
            found = slope(at, self.here_as_floats(), self.weights, self.level.get(variable.name, self.first),
                          units=self.units, stretch=stretch)
        finally:
            self._back(copy, [variable.name])
        self.level[variable.name] = min(found.level, self.first)
        return found._replace(value=found.value / scale, error=found.error / scale, left=found.left / scale,
                              right=found.right / scale)
