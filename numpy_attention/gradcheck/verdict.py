"""Backward's gradient beside the measured one: how far may they differ, and what if they differ by more?

Every number has its own tolerance, and each part of it is measured, not guessed: how much a sum of such terms loses
by rounding, how uncertain the measurement is, and how much the gradient itself jitters when the last digits of all
inputs are changed. A number that seems wrong is measured again, in another way, before it is called wrong.
"""
from dataclasses import replace

import numpy as np

from .measure import COMPLEX_STEP, RTOL
from .report import Row

CHOSEN, MOST_AGAIN, JITTERS = 24, 2000, 4


class Judge:
    """Makes the Rows: `row(variable, analytic, measured)`."""

    def __init__(self, ruler, upstreams, atol, rtol):
        self.ruler, self.subject, self.upstreams = ruler, ruler.subject, upstreams
        self.atol, self.rtol, self._spread = atol or 0.0, rtol, None

    def row(self, variable, analytic, measured):
        """The Row of one variable."""
        was_exact = measured.exact
        bad = self._bad(variable, analytic, measured)
        if bad.any() and np.isfinite(analytic[bad]).any():
            measured = self._again(variable, analytic, measured, bad)
        tolerance = self.tolerance(variable, analytic, measured, bad.any())
        row = Row(variable.name, variable.kind, analytic, measured.numeric, tolerance, self._skipped(
            analytic, measured, tolerance), error=measured.error, why=measured.why, exact=measured.exact)
        row.unmeasured = self._unmeasured(variable, analytic, measured, row)
        if was_exact and not measured.exact:
            row.forced = True
        return row

    def tolerance(self, variable, analytic, measured, jitter=True):
        """How far each number may be off."""
        own = self._own(variable, analytic, measured)
        if jitter:
            own = own + 20 * pooled(self._rounding(variable, analytic), np.maximum(np.abs(analytic), np.abs(
                measured.numeric)))
        return own

    def _own(self, variable, analytic, measured):
        """The tolerance that the measurement itself asks for."""
        rtol = self.rtol if self.rtol is not None else RTOL[self.ruler.dtype, measured.exact]
        eps, scale = np.finfo(self.ruler.dtype).eps, self.ruler.scales[variable.name].reshape(variable.shape)
        own = self.atol + rtol * np.abs(measured.numeric) + 3 * measured.error + 500 * eps * measured.rounding
        if measured.exact:          # 0 may stand for a slope too small for any digit of the outputs: 1 − 1e-20 is 1
            drowned = (analytic == 0) & (np.abs(measured.numeric) * scale <= 4 * eps * measured.size)
            own = own + np.where(drowned & (analytic != 0).any(), np.abs(measured.numeric), 0)
            own = own + 10 * np.finfo(self.ruler.dtype).tiny / COMPLEX_STEP[self.ruler.dtype] / scale   # 0 to the step
        return own

    def _bad(self, variable, analytic, measured, more=0.0):
        own = self._own(variable, analytic, measured) + more
        return ~(np.abs(analytic - measured.numeric) <= own)            # NaN is bad

    # ---------------------------------------------------------------------------------------------- a second look

    def _again(self, variable, analytic, measured, bad):
        """The same, the doubtful numbers measured anew."""
        jitter = 20 * pooled(self._rounding(variable, analytic), np.maximum(np.abs(analytic), np.abs(measured.numeric)))
        bad = np.flatnonzero(self._bad(variable, analytic, measured, jitter))
        if not bad.size:
            return measured
        excess = np.abs(analytic - measured.numeric).reshape(-1)[bad]
        some = bad if bad.size <= CHOSEN else np.unique([
            *bad[np.argsort(-np.nan_to_num(excess, nan=np.inf))[:CHOSEN // 2]],
            *self.ruler.rng.choice(bad, CHOSEN // 2, replace=False)])
        if measured.exact:
            slow = self.ruler.one_by_one(variable, some)
            a, fast = analytic.reshape(-1)[some], measured.numeric.reshape(-1)[some]
            resolved = 4 * slow.error + 1e-6 * np.abs(slow.numeric)
            wrong = np.abs(fast - slow.numeric) > resolved
            if (wrong & ~slow.corner).any() and not (np.abs(slow.numeric) <= resolved)[wrong].all():
                why = "single numbers, measured by central differences, differ from what the complex step gives"
                return self.ruler.slowly(variable, why)
            if slow.corner.any():
                places = bad[:MOST_AGAIN]
                return measured.patched(places, self.ruler.one_by_one(variable, places))
            close = np.abs(a - slow.numeric) <= resolved
            if close.any():                 # within what differences can see: is it but the rounding of a long way?
                own = np.isin(np.arange(variable.size), some[close])
                spread = np.where(own, 3e-9 / 7 * measured.rounding.reshape(-1), 0)
                for i in some[close]:
                    spread[i] = max(spread[i], self.ruler.spread(variable, i))
                measured.error = measured.error + 7 * pooled(spread.reshape(variable.shape),
                                                             np.maximum(np.abs(analytic), np.abs(measured.numeric)))
            return measured
        others = [self.ruler.one_by_one(variable, some, stretch=stretch) for stretch in (0.37, 1.9)]
        for k, i in enumerate(some):
            at = np.unravel_index(i, variable.shape)
            values = [measured.numeric[at], *(other.numeric[k] for other in others)]
            if not measured.corner[at] and np.isfinite(values).all():       # as uncertain as the three are apart
                measured.error[at] = max(measured.error[at], np.ptp(values))
                measured.numeric[at] = np.median(values)
        return measured

    # ------------------------------------------------------------------------------------------------- rounding

    def _rounding(self, variable, analytic):
        """How much each gradient changes with the last digits of the inputs; 0 where that is more than rounding."""
        if self._spread is None:
            _, self._spread = self.jittered(np.finfo(self.ruler.dtype).eps)
        spread = self._spread.get(variable.name, np.zeros(variable.shape))
        scale = self.ruler.scales[variable.name].reshape(variable.shape)
        with np.errstate(all="ignore"):
            size = np.abs(np.nan_to_num(analytic, posinf=0, neginf=0)).max(initial=0)
            allowed = 1e-4 * np.maximum(np.abs(np.nan_to_num(analytic)), np.minimum(size, self.ruler.unit / scale))
        return np.where(spread <= np.maximum(allowed, 1e-12 * self.ruler.unit / scale), spread, 0.0)

    def jittered(self, eps):
        """({variable: gradient}, {variable: how far it changes}) when all inputs change by a few eps of themselves."""
        spread, first = {}, None
        for k in range(JITTERS + 1):
            copy = self.subject.copy()
            for variable in self.subject.variables.values():
                copy.put(variable, self.ruler.jitter(variable, eps) if k else variable.values)
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

    # ----------------------------------------------------------------------------------- corners, and what is unclear

    def _skipped(self, analytic, measured, tolerance):
        """At a corner there is no slope: what lies between the left and the right one is as good as any."""
        inside = (analytic >= measured.low - tolerance) & (analytic <= measured.high + tolerance)
        return measured.corner & inside

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

    def _unmeasured(self, variable, analytic, measured, row):
        """Where the measurement is too uncertain to say anything about what backward claims."""
        scale = self.ruler.scales[variable.name].reshape(variable.shape)
        with np.errstate(all="ignore"):
            size = np.maximum(np.abs(analytic), np.abs(np.nan_to_num(measured.numeric)))
            coarse = ~(measured.error <= 0.05 * size) & ~row.skipped & (row.excess <= 1)
            if not coarse.any():
                return coarse
            claims = np.abs(analytic) > np.maximum(100 * self._rounding(variable, analytic),
                                                   1e-10 * measured.size / scale)
            matters = ~(measured.error * scale <= 1e-5 * measured.unit)
            coarse &= ~(size + measured.error <= self.atol)     # whatever it is, the atol that was given covers it
        return coarse & (claims | matters) & ~(measured.error == 0)


def pooled(spread, size):
    """For each number the largest spread among those that are not much larger than it."""
    order = np.argsort(size, axis=None)
    largest = np.maximum.accumulate(spread.reshape(-1)[order])
    reach = np.searchsorted(size.reshape(-1)[order], 10 * size.reshape(-1), side="right") - 1
    return largest[np.maximum(reach, 0)].reshape(size.shape)
