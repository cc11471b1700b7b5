"""Backward's gradient beside the measured one: how far may they differ, and what if they differ by more?

Every number has its own tolerance, and each part of it is measured, not guessed: how much a sum of such terms loses
by rounding, how uncertain the measurement is, and how much the gradient itself jitters when the last digits of all
inputs are changed. A number that seems wrong is measured again, in another way, before it is called wrong.
"""
import functools
import math
from dataclasses import replace

import numpy as np

from .measure import COMPLEX_STEP, RTOL
from .report import Row

CHOSEN, MOST_AGAIN, JITTERS = 24, 2000, 4


class Judge:
    """Makes the Rows: `row(variable, analytic, measured)`."""

    def __init__(self, ruler, upstreams, atol, rtol):
        self.ruler, self.subject, self.upstreams = ruler, ruler.subject, upstreams
        self.atol, self.rtol, self.eps = atol or 0.0, rtol, np.finfo(ruler.dtype).eps

    def row(self, variable, analytic, measured):
        """The Row of one variable."""
        fast, tolerance = not measured.why, self._own(variable, analytic, measured)
        with np.errstate(all="ignore"):
            jitter, bad = 0.0, ~(np.abs(analytic - measured.numbers["numeric"]) <= tolerance)      # NaN is bad
        if bad.any():
            jitter = 20 * self._pooled(self._rounding(variable, analytic), analytic, measured)
            bad &= ~(np.abs(analytic - measured.numbers["numeric"]) <= tolerance + jitter)
            if bad.any() and np.isfinite(analytic[bad]).any():
                measured = self._again(variable, analytic, measured, np.flatnonzero(bad))
            jitter = 20 * self._pooled(self._rounding(variable, analytic), analytic, measured)
            tolerance = self._own(variable, analytic, measured) + jitter
        numbers = measured.numbers
        # At a corner there is no slope: what lies between the left and the right one is as good as any.
        within = (analytic >= numbers["low"] - tolerance) & (analytic <= numbers["high"] + tolerance)
        row = Row(variable.name, variable.kind, analytic, numbers["numeric"], tolerance, numbers["corner"] & within,
                  error=numbers["error"], why=measured.why, forced=fast and bool(measured.why))
        row.unmeasured = self._unmeasured(variable, analytic, numbers, row)
        return row

    def _own(self, variable, analytic, measured):
        """How far each number may be off by the measurement itself."""
        numbers, exact = measured.numbers, not measured.why
        scale, size = self.ruler.scales[variable.name].reshape(variable.shape), np.abs(numbers["numeric"])
        rtol = self.rtol if self.rtol is not None else RTOL[self.ruler.dtype, exact]
        own = self.atol + rtol * size + 3 * numbers["error"] + 500 * self.eps * numbers["rounding"]
        if exact:                   # 0 may stand for a slope too small for any digit of the outputs: 1 − 1e-20 is 1
            drowned = (analytic == 0) & (size * scale <= 4 * self.eps * numbers["felt"]) & (analytic != 0).any()
            own = own + np.where(drowned, size, 0)
            own = own + 10 * np.finfo(self.ruler.dtype).tiny / COMPLEX_STEP[self.ruler.dtype] / scale   # 0 to the step
        return own

    # ---------------------------------------------------------------------------------------------- a second look

    def _again(self, variable, analytic, measured, bad):
        """The Measured anew, where the numbers at the flat places `bad` seem wrong."""
        numbers, claimed = measured.numbers.reshape(-1), analytic.reshape(-1)
        some = bad
        if bad.size > CHOSEN:
            worst = np.argsort(-np.nan_to_num(np.abs(claimed - numbers["numeric"])[bad], nan=np.inf))
            some = np.unique([*bad[worst[:CHOSEN // 2]], *self.ruler.rng.choice(bad, CHOSEN // 2, replace=False)])
        if measured.why:                    # as uncertain as three measurements are apart
            others = [self.ruler.one_by_one(variable, some, stretch=stretch)["numeric"] for stretch in (0.37, 1.9)]
            values = np.array([numbers["numeric"][some], *others])
            clear = ~numbers["corner"][some] & np.isfinite(values).all(axis=0)
            some, values = some[clear], values[:, clear]
            numbers["error"][some] = np.maximum(numbers["error"][some], np.ptp(values, axis=0))
            numbers["numeric"][some] = np.median(values, axis=0)
            return measured
        slow = self.ruler.one_by_one(variable, some)
        resolved = 4 * slow["error"] + 1e-6 * np.abs(slow["numeric"])
        wrong = np.abs(numbers["numeric"][some] - slow["numeric"]) > resolved
        if (wrong & ~slow["corner"]).any() and not (np.abs(slow["numeric"]) <= resolved)[wrong].all():
            return self.ruler.slowly(variable, "single numbers, measured by central differences, differ from what the "
                                     "complex step gives")
        if slow["corner"].any():
            numbers[bad[:MOST_AGAIN]] = self.ruler.one_by_one(variable, bad[:MOST_AGAIN])
            return measured
        close = some[np.abs(claimed[some] - slow["numeric"]) <= resolved]
        if close.size:                      # within what differences can see: is it but the rounding of a long way?
            spread = np.zeros(variable.size)
            spread[close] = [max(3e-9 / 7 * numbers["rounding"][i], self._spread_of_step(variable, i)) for i in close]
            measured.numbers["error"] += 7 * self._pooled(spread.reshape(variable.shape), analytic, measured)
        return measured

    # ------------------------------------------------------------------------------------------------- rounding

    def _spread_of_step(self, variable, i):
        """How much the complex step's slope of number i changes with the last digits of all inputs."""
        ruler, slopes = self.ruler, []
        h = COMPLEX_STEP[ruler.dtype] * ruler.scales[variable.name][i]
        for _ in range(4):
            for other in self.subject.variables.values():
                row = self._jittered(other, self.eps).astype(np.result_type(ruler.dtype, np.complex64))
                row[i if other is variable else []] += 1j * h
                ruler.complex.put(other, row)
            slopes.append(float(ruler.complex.forward().imag @ ruler.weights) / h)
        ruler.back(ruler.complex, self.subject.variables)
        return np.ptp(slopes)

    def _jittered(self, variable, eps):
        turns = self.ruler.rng.choice([-4, -2, -1, 1, 2, 4], variable.size)
        return (variable.values * (1 + turns * eps)).astype(variable.values.dtype)

    def jitter(self, eps):
        """({variable: gradient}, {variable: how far it changes}) when all inputs change by a few eps of themselves."""
        spread, first = {}, None
        for k in range(JITTERS + 1):
            copy = self.subject.copy()
            for variable in self.subject.variables.values():
                copy.put(variable, self._jittered(variable, eps) if k else variable.values)
            copy.forward()
            times = 1.0 if self.subject.is_loss else 1 + 1e-3 * k
            found = copy.backward([(u * times).astype(u.dtype) for u in self.upstreams])
            first = first or found
            with np.errstate(all="ignore"):
                for name, g in found.items():
                    # A gradient that does not follow the upstream is compared as it is: the stretch is no rounding.
                    apart = np.minimum(np.abs(g / times - first[name]), np.abs(g - first[name]))
                    spread[name] = np.maximum(spread.get(name, 0.0), np.where(np.isfinite(apart), apart, 0))
        return first, spread

    @functools.cached_property
    def _spread(self):
        return self.jitter(self.eps)[1]

    def _rounding(self, variable, analytic):
        """How much each gradient changes with the last digits of the inputs; 0 where that is more than rounding."""
        spread = self._spread.get(variable.name, np.zeros(variable.shape))
        unit, sizes = self.ruler.unit / self.ruler.scales[variable.name].reshape(variable.shape), _size(analytic)
        allowed = math.sqrt(self.eps) * np.maximum(sizes, np.minimum(sizes.max(initial=0), unit))     # half the digits
        return np.where(spread <= np.maximum(allowed, 1e-2 * self.ruler.least * unit), spread, 0.0)

    @staticmethod
    def _pooled(spread, analytic, measured):
        """For each number the largest spread among those that are not much larger than it."""
        size = np.maximum(np.abs(analytic), np.abs(measured.numbers["numeric"]))
        order = np.argsort(size, axis=None)
        largest = np.maximum.accumulate(spread.reshape(-1)[order])
        reach = np.searchsorted(size.reshape(-1)[order], 10 * size.reshape(-1), side="right") - 1
        return largest[np.maximum(reach, 0)].reshape(size.shape)

    # ----------------------------------------------------------------------------------- corners, and what is unclear

    def ties(self, rows):
        """Tied numbers that move together stay tied: then there is a slope, and their gradients' sum must be it."""
        skipping = [i for i, row in enumerate(rows) if row.skipped.any()]
        for some in [[i] for i in skipping] + [skipping] * (len(skipping) > 1):
            values = [self.subject.variables[rows[i].name].values for i in some]
            skipped = [rows[i].skipped.reshape(-1) for i in some]
            for value in np.unique(np.concatenate([v[s] for v, s in zip(values, skipped, strict=True)]))[:20]:
                groups = {rows[i].name: s & (v == value) for i, v, s in zip(some, values, skipped, strict=True)}
                texts = self._tied(value, groups, {rows[i].name: rows[i] for i in some})
                rows = [texts.get(row.name, row) for row in rows]
        return rows

    def _tied(self, value, groups, rows):
        """{name: its Row, corrected} of these numbers, all of one value, if backward's sum for them is wrong."""
        count, size = sum(int(group.sum()) for group in groups.values()), float(np.abs(value)) or 1.0
        if count < 2:
            return {}
        found = self.ruler.central({name: group * size for name, group in groups.items()}, enough=1e-5)
        slope, error = (number / size for number in found.of_loss(self.ruler.weights))
        claimed = sum(float(rows[name].analytic.reshape(-1)[group].sum()) for name, group in groups.items())
        unclear = found.corner.any() or not error <= 1e-3 * max(abs(slope), abs(claimed))
        if unclear or abs(claimed - slope) <= 4 * error + 1e-5 * abs(slope):
            return {}
        changed = {}
        for name, group in groups.items():
            row, group = rows[name], group.reshape(rows[name].shape)
            numeric = np.where(group, row.analytic + (slope - claimed) / count, row.numeric)
            changed[name] = replace(row, numeric=numeric, skipped=row.skipped & ~group, note=(
                f"{count} numbers are tied at {value:.4g}; moved together they change the loss by {slope:.4g}, and "
                f"backward hands them {claimed:.4g} in all"))
        return changed

    def _unmeasured(self, variable, analytic, numbers, row):
        """Where the measurement is too uncertain to say anything about what backward claims."""
        scale = self.ruler.scales[variable.name].reshape(variable.shape)
        with np.errstate(all="ignore"):
            size = np.maximum(np.abs(analytic), np.abs(np.nan_to_num(numbers["numeric"])))
            coarse = ~(numbers["error"] <= 0.05 * size) & ~row.skipped & (row.excess <= 1)
            if not coarse.any():
                return coarse
            claims = np.abs(analytic) > np.maximum(100 * self._rounding(variable, analytic),
                                                   self.ruler.least * numbers["felt"] / scale)
            matters = ~(numbers["error"] * scale <= 1e-5 * numbers["unit"])
            coarse &= ~(size + numbers["error"] <= self.atol)      # whatever it is, the atol that was given covers it
        return coarse & (claims | matters) & ~(numbers["error"] == 0)


def _size(gradient):
    return np.abs(np.nan_to_num(gradient, posinf=0, neginf=0))
