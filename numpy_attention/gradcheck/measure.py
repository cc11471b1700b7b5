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
from dataclasses import dataclass

import numpy as np

from .layer_under_test import Finding
from .slopes import grain, slope

COMPLEX_STEP = {np.dtype(np.float64): 1e-20, np.dtype(np.float32): 1e-10}     # its square must not matter
RTOL = {(np.dtype(np.float64), True): 1e-10, (np.dtype(np.float64), False): 1e-7,
        (np.dtype(np.float32), True): 1e-4, (np.dtype(np.float32), False): 1e-3}
MOST_NUMBERS, MOST_COPIES = 12_000, 24    # of a stack: beyond that, matrix products start threads that wait
DIRECTIONS = 2
NUMBER = np.dtype([*((name, float) for name in ("numeric", "error", "rounding", "felt", "unit", "low", "high")),
                   ("corner", bool)])


@dataclass
class Measured:
    """The gradient of one variable as measured, and `why` not by the complex step; "" if so.

    Each of the `numbers` has its slope `numeric` with the estimated `error`; `rounding`: Σ |terms| of the slope, of
    which some digits are lost; `felt`, `unit`: how large those outputs are that feel the number, and how far they can
    move; `corner`, `low`, `high`: where left and right slopes differ, and how far.
    """

    numbers: np.ndarray
    why: str = ""


class Ruler:
    """Measures slopes of Σ weights ∘ out of one Subject; the weights are its upstream gradients, flat."""

    def __init__(self, subject, upstreams, rng, use_complex=True):
        self.subject, self.rng = subject, rng
        self.weights = np.concatenate([u.reshape(-1) for u in upstreams]).astype(float)
        self.real, self.level, self.surveyed = subject.copy(), {}, {}
        self.unit, self.units = 0.0, 0.0        # how much the loss, and each output, moves with a whole variable
        here = self.real.forward()
        self.here, self.shapes = here if here.dtype.kind == "f" else here.astype(float), subject.shapes
        self.eps = grain(self.here)
        self.dtype = np.result_type(*(v.values.dtype for v in subject.variables.values()))
        self.first = 0 if self.dtype == np.float64 else 2       # the step to begin with
        self.least = max(1e-10, 50 * np.finfo(self.dtype).eps)  # as a share of how far things move: next to nothing
        self.complex, self.obstacle = None, "" if use_complex else "asked for"
        if use_complex:
            self._try_complex()
        self.scales = {name: v.scale() for name, v in subject.variables.items()}

    def _try_complex(self):
        try:
            self.complex = self.subject.copy(complex_variables=True)
            out = self.complex.forward()
            eps, size = np.finfo(self.dtype).eps, np.abs(self.here).max(initial=0, where=np.isfinite(self.here))
            if out.shape == self.here.shape and np.allclose(out.real, self.here, rtol=max(1e-6, 1e4 * eps),
                                                            atol=100 * eps * size, equal_nan=True):
                return
            self.obstacle = "forward computes something else with complex numbers"
        except (Finding, TypeError) as error:
            self.obstacle = f"forward does not take complex numbers ({error})"
        self.complex = None

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

    def _moved(self, copy, along, t):
        """The output, the variables moved by t times their directions."""
        for name, direction in along.items():
            variable = self.subject.variables[name]
            moved = variable.values + t * direction
            copy.put(variable, moved if isinstance(t, complex) else moved.astype(variable.values.dtype))
        try:
            return copy.forward()
        finally:
            self.back(copy, along)

    def central(self, along, enough=1e-6, stretch=1.0):
        """The Slope along {variable: direction}, by differences."""
        key = tuple(along)
        found = slope(lambda t: (t, np.asarray(self._moved(self.real, along, t), float)), self.here, self.weights,
                      self.eps, self.level.get(key, self.first), enough, self.units, stretch)
        self.level[key] = min(found.level, self.first)
        return found

    def exact(self, along):
        """The same by the complex step, every output's slope; None if forward refuses."""
        h = COMPLEX_STEP[self.dtype]
        try:
            return self._moved(self.complex, along, 1j * h).imag / h
        except Finding:
            return None

    def back(self, copy, names):
        """The values of these variables in a copy, as they were."""
        for name in names:
            copy.put(self.subject.variables[name], self.subject.variables[name].values)

    def agree(self, exact, central):
        """Do both give the same slope for every output; the error as a share of the slopes."""
        weights = np.abs(self.weights)
        apart = np.abs(exact - central.value)
        allowed = 4 * central.error + 1e-6 * np.abs(central.value) + self.least * self.units
        same = (apart <= allowed) | (~np.isfinite(exact) & ~np.isfinite(central.value)) | (weights == 0)
        size = max(float(weights @ np.abs(exact)), 1e3 * self.least * self.unit)
        error = float(weights @ np.where(np.isfinite(central.error), central.error, 0))
        if same.all() and error > 0.05 * size:          # slopes of next to nothing? then what moves farther away counts
            size = max(size, 1e-8 * float(weights @ self.far))
        return bool(same.all()), error / (size or 1)

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
        moves, along = np.zeros(self.here.size), self.directions({})[0]
        for t in (-3.0, -1.0, 1.0, 3.0):
            try:
                change = np.abs(self._moved(self.real, along, t) - self.here)
                moves = np.maximum(moves, np.where(np.isfinite(change), change, 0))
            except (Finding, ValueError):
                continue
        return moves

    def learn(self, seconds):
        """Note how large slopes are."""
        for second in seconds:
            size = np.abs(second.value)
            moves = np.where(np.isfinite(size) & (second.error <= 0.1 * size), size, 0)
            self.unit = max(self.unit, float(np.abs(self.weights) @ moves))
            self.units = np.maximum(self.units, moves)

    # ------------------------------------------------------------------------------------------ number by number

    def measure(self, variable):
        """The Measured gradient of a variable."""
        along, firsts, seconds = self.surveyed[variable.name]
        why = self.obstacle or self.doubt(firsts, seconds)
        for way in self._ways(variable, along[0]) if not why else ():
            numbers = self._by_complex_step(variable, way)
            if numbers is not None and all(self._adds_up(numbers["numeric"], d[variable.name], first)
                                           for d, first in zip(along, firsts, strict=True)):
                return Measured(numbers.reshape(variable.shape))
        return self.slowly(variable, why or "the slopes of single numbers do not add up to the slope of all at once: "
                           "there is a corner, or forward mixes its batch")

    def _adds_up(self, numeric, v, first):
        size = float(np.abs(numeric) @ np.abs(v) + np.abs(self.weights) @ np.abs(first)) + 1e-2 * self.unit
        return abs(numeric @ v - self.weights @ first) <= 500 * np.finfo(self.dtype).eps * size

    def _ways(self, variable, along):
        """The ways to nudge many numbers in one run that may be safe here, and last the one that always is."""
        if variable.kind == "input":
            return self._new_axis, self._along_batch, self._alone
        columns = self.shapes[0][-1:]
        if len(self.shapes) == 1 and columns == variable.shape[-1:] and variable.size > columns[0] > 1:
            first = np.arange(variable.size) % columns[0] == 0
            felt = self.exact({variable.name: along[variable.name] * first})
            if felt is not None and not felt.reshape(-1, *columns)[:, 1:].any():
                return self._columns, self._alone
        return (self._alone,)

    def _by_complex_step(self, variable, way):
        """All its numbers, in portions; None if forward refuses."""
        size, nudges = variable.size, 1j * COMPLEX_STEP[self.dtype] * self.scales[variable.name]
        numbers, absolute = np.zeros(size, NUMBER), np.abs(self.weights)
        K = variable.shape[-1] if way == self._columns else max(
            3, min(MOST_COPIES, MOST_NUMBERS // max(1, self.here.size + size)))
        try:
            for some in (slice(i, min(i + K, size)) for i in range(0, size, K)):
                outs = way(variable, some, nudges[some])
                if outs is None:
                    return None
                slopes, found = outs.imag / nudges.imag[some, None], numbers[some]
                found["numeric"][:], found["rounding"][:] = slopes @ self.weights, np.abs(slopes) @ absolute
                found["felt"][:] = (slopes != 0) @ (absolute * np.abs(self.here))
        except Finding:
            return None
        finally:
            self.back(self.complex, [variable.name])
        numbers["low"][:] = numbers["high"][:] = numbers["numeric"]
        return numbers

    def _alone(self, variable, some, nudges):
        """The outputs, one number nudged at a time: (K, size of the output)."""
        values = variable.values.astype(np.result_type(self.dtype, np.complex64))
        outs = np.empty((len(nudges), self.here.size), values.dtype)
        for out, i, nudge in zip(outs, range(variable.size)[some], nudges, strict=True):
            values[i] += nudge
            self.complex.put(variable, values)
            out[:] = self.complex.forward()
            values[i] = variable.values[i]
        return outs

    def _columns(self, variable, some, nudges):
        """The same in one run, where each number moves its own column of the output alone."""
        values = variable.values.astype(np.result_type(self.dtype, np.complex64))
        values[some] += nudges
        self.complex.put(variable, values)
        own = np.arange(len(nudges))[:, None] == np.arange(self.here.size) % len(nudges)
        return np.where(own, self.complex.forward(), 0)

    def _new_axis(self, variable, some, nudges):
        """The outputs of copies of the input, each nudged elsewhere, along a new first axis: (K, ...)."""
        return self._together(variable, some, nudges, lambda copies: copies)

    def _along_batch(self, variable, some, nudges):
        """The same along the batch, (K, N, ...) -> (K·N, ...), of arrays that have the batch axis of the output."""
        def stack(copies):
            if copies.ndim < 2 or copies.shape[1] != self.shapes[0][0]:
                return copies[0]
            return copies.reshape(len(copies) * copies.shape[1], *copies.shape[2:])
        return self._together(variable, some, nudges, stack)

    def _together(self, variable, some, nudges, stack):
        """The outputs for copies of the input, each nudged elsewhere, run together; None if forward refuses."""
        copy, K = self.complex, len(nudges)
        if len(self.shapes) != 1 or not self.shapes[0] or not copy.plain:
            return None
        rows = np.repeat(variable.values[None], K, axis=0).astype(np.result_type(self.dtype, np.complex64))
        rows[np.arange(K), np.arange(variable.size)[some]] += nudges
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
        return Measured(self.one_by_one(variable, range(variable.size)).reshape(variable.shape), why)

    def one_by_one(self, variable, places, stretch=1.0):
        """The numbers at these flat places by central differences, flat."""
        numbers, weights, absolute = np.zeros(len(places), NUMBER), self.weights, np.abs(self.weights)
        scale = self.scales[variable.name]
        for number, i in zip(numbers, places, strict=True):
            if not np.isfinite(variable.values[i]):     # −inf stays what it is when it is nudged
                continue
            one = self._one(variable, i, stretch)
            number["numeric"], number["error"] = (value / scale[i] for value in one.of_loss(weights))
            number["rounding"] = float(absolute @ np.abs(one.value)) / scale[i]
            felt = np.where(one.felt, absolute, 0)
            number["felt"], number["unit"] = felt @ np.abs(self.here), felt @ np.maximum(self.units, 1e-2 * self.far)
            corner = one.corner & (weights != 0)
            ends = np.where(corner, [one.left * weights, one.right * weights], one.value * weights) / scale[i]
            number["low"], number["high"] = ends.min(axis=0).sum(), ends.max(axis=0).sum()
            number["corner"] = corner.any() and number["high"] - number["low"] > 1e-6 * number["rounding"]
            if number["corner"]:
                number["numeric"] = (number["low"] + number["high"]) / 2
        return numbers

    def _one(self, variable, i, stretch):
        """The Slope of one number, in units of its scale."""
        values, kept, scale = variable.values.copy(), float(variable.values[i]), self.scales[variable.name][i]

        def at(t):
            values[i] = kept + t * scale
            self.real.put(variable, values)
            return (float(values[i]) - kept) / scale, np.asarray(self.real.forward(), float)
        try:
            found = slope(at, self.here, self.weights, self.eps, self.level.get(variable.name, self.first),
                          units=self.units, stretch=stretch)
        finally:
            self.back(self.real, [variable.name])
        self.level[variable.name] = min(found.level, self.first)
        return found
