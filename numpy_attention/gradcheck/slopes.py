"""One slope, by plain central differences that know how far they can be trusted.

Nudge by +h and by −h: D(h) = (f(x+h) − f(x−h)) / 2h has an error that shrinks like h², so (4 D(h/2) − D(h)) / 3
cancels it (Richardson). How good is that? What the two D's differ by shows the bend that is left; f(x+h) + f(x−h) −
2 f(x), which should shrink to a quarter when h is halved, shows rounding and corners. Both make up the estimated error.

The step follows the function. If the error is too large, shorter steps are tried (a corner lies near, the curve is
wild), and longer ones where rounding drowns the difference (a small slope on a large output). A longer step is believed
only where its slope lies within the error of the shorter one.

Every output has a slope, an error and a best step of its own, so that an output of 1e9 does not drown one of 1e-9.

Sources: Richardson 1911; Ridders 1982; Moré and Wild 2012 (noise from differences).
"""
import itertools
from typing import NamedTuple

import numpy as np

from .layer_under_test import Finding

BASE, RATIO = 2e-4, 16.0
SHORTEST, LONGEST = -6, 10          # powers of RATIO: from 1e-11 to 2e8 times the natural scale


class Slope(NamedTuple):
    """For each output: the slope, its estimated error, and the slopes to the left and right where they differ."""

    value: np.ndarray
    error: np.ndarray
    corner: np.ndarray          # True where left and right slopes differ at the shortest steps, too
    left: np.ndarray
    right: np.ndarray
    felt: np.ndarray            # the outputs that feel the nudge
    level: int                  # the power of RATIO that was best

    def of_loss(self, weights):
        """(slope, error) of Σ weights ∘ out."""
        return float(weights @ self.value), float(np.abs(weights) @ self.error)


def slope(at, here, weights, eps, level=0, enough=3e-8, units=0.0, stretch=1.0):
    """The Slope of `at(t) -> (t as it really was, output)` at t = 0, where the output is `here`.

    Args: weights: of the outputs in the loss; the search ends when the loss's slope is known to `enough` of itself, or
        to 1e-10 of what those outputs that feel this number can move by, `units`. eps: their `grain`.
        level: the power of RATIO to begin with; `stretch` makes all steps so much longer.
    """
    weights, levels, best = np.abs(weights), [], None
    apart = np.zeros(here.size, bool)           # outputs that do not feel this number at all

    def size():
        return float(weights @ best[1])

    def good():
        known = np.where(np.isfinite(best[0]), np.abs(best[0]), 0)
        if len(levels) > 1 and (best[3] & (weights > 0)).any():
            return False                        # a slope that no other step confirms may be chance
        return size() <= max(1e-10 * float(weights @ np.where(felt, units, 0)), enough * float(weights @ known))

    def step(k):
        nonlocal best
        new = _look(at, here, eps, BASE * stretch * RATIO ** k)
        levels.append(new)
        best = _best(levels, here, apart)
        return float(weights @ np.where(apart, 0, new.floor))

    rounding = step(level)
    still = (levels[0].value == 0) & (levels[0].gap == 0)
    felt = ~still
    if not good() and float(weights @ np.where(still, levels[0].floor, 0)) > 0.1 * size():
        apart = still & _far(at, here)
        felt, rounding, best = ~apart, float(weights @ np.where(apart, 0, levels[0].floor)), _best(levels, here, apart)
    if not good() and not rounding > 0.3 * size():
        for k in range(level - 1, SHORTEST - 1, -1):
            rounding = step(k)
            if good() or rounding > size():
                break
    if not good():
        for k in range(level + 1, LONGEST + 1):
            before = size()
            step(k)
            if good() or (not size() < 0.7 * before and k > 0):
                break
    corner, left, right, error = _corners(levels, best)
    worst = int(np.argmax(weights * np.where(np.isfinite(best[1]), best[1], 0))) if here.size else 0
    h = best[2][worst] if here.size and np.isfinite(best[2][worst]) else BASE
    return Slope(best[0], error, corner, left, right, felt, min(2, round(np.log(h / BASE / stretch) / np.log(RATIO))))


class Look(NamedTuple):
    """What one pair of steps, h and h/2, shows."""

    h: float
    value: np.ndarray
    error: np.ndarray
    floor: np.ndarray           # the part of the error that is the output's own rounding
    gap: np.ndarray             # right minus left slope at h/2
    mean: np.ndarray            # the slope from −h to h
    rough: np.ndarray           # the part of the error that is rounding inside, or a corner


def _look(at, here, eps, h):
    means, gaps, outs = [], [], []
    for part in (h, h / 2):
        try:
            (right, up), (left, down) = at(part), at(-part)
        except Finding:                         # outside of what forward takes
            right = left = 0
        if not right or not left or up.shape != here.shape or down.shape != here.shape:
            nothing = np.full(here.size, np.nan)            # or too short to change the number at all
            return Look(h, nothing, np.full(here.size, np.inf), np.zeros(here.size), nothing, nothing, nothing)
        means.append((up - down) / (right - left))
        gaps.append((up - here) / right - (down - here) / left)
        outs.append(np.maximum(np.abs(up), np.abs(down)))
    outs = np.maximum(*outs)
    floor = 2 * eps * outs / h
    rough = np.abs(gaps[0] - 2 * gaps[1])
    felt = (rough > 0) & np.isfinite(rough) & (outs > 0)
    if felt.sum() > 2:                          # what is rough by chance alone is as rough as the others
        middle = np.sort(rough[felt] / outs[felt])[felt.sum() // 2]
        rough = np.where(felt, np.maximum(rough, 0.5 * middle * outs), rough)
    error = 0.1 * np.abs(means[0] - means[1]) + rough + floor
    value = (4 * means[1] - means[0]) / 3
    return Look(h, value, np.where(np.isfinite(value), error, np.inf), floor, gaps[1], means[0], rough)


def grain(out):
    """How fine the outputs are, as a share of themselves: float64's eps, or float32's if they all fit that."""
    if out.dtype == np.float32:
        return float(np.finfo(np.float32).eps)
    mantissa = np.frexp(out[np.isfinite(out) & (out != 0)])[0]
    short = (mantissa * 2.0 ** 24 == np.round(mantissa * 2.0 ** 24)).all()
    plain = (mantissa * 2.0 ** 12 == np.round(mantissa * 2.0 ** 12)).mean() > 0.5 if mantissa.size else True
    whole = (out == np.round(out)).all()        # stairs of 1, not the roundings of float32
    return float(np.finfo(np.float32 if short and not plain and not whole else np.float64).eps)


def _far(at, here):
    """The outputs that stay the same, bit for bit, however far one goes."""
    same = np.ones(here.size, bool)
    for t in (1.0, -2.0, 1e4, -1e4):
        try:
            same &= at(t)[1] == here
        except (Finding, ValueError):
            continue
    return same


def _best(levels, here, apart):
    """(slope, error, step, whether no other look confirms it) of the most trustworthy look, output by output.

    A shorter step replaces a longer one if its error is smaller, or if the longer one lies outside of it. Rounding seen
    at a step is there at all longer ones, too, even if chance hides it; and a piece of stairs as fine as float32's,
    flat or not, is rounding, and says nothing about the slope.
    """
    if len(levels) == 1:
        look = levels[0]
        return look.value, np.where(apart, 0, look.error), np.full(here.size, look.h), np.zeros(here.size, bool)
    levels, noise, errors = sorted(levels, key=lambda look: look.h), np.zeros(here.size), []
    for i, look in enumerate(levels):
        flat, moves, seen = (look.value == 0) & (look.gap == 0), np.zeros(here.size), np.zeros(here.size, int)
        for longer, longest in reversed(list(zip(levels[i + 1:], levels[i + 2:], strict=False))):
            alike = longer.mean * longest.mean > 0.5 * np.maximum(longer.mean ** 2, longest.mean ** 2)
            alike &= longest.error < 0.2 * np.abs(longest.mean)
            steps = np.abs(longer.mean - look.value)        # of the stairs, where two longer looks agree on a slope
            alike &= (steps > 0.1 * np.abs(longer.mean)) & (flat | (steps > 2 * look.error))
            moves, seen = np.where(alike, steps * 2 * longer.h, moves), seen + alike
        size = np.maximum(np.abs(here), np.abs(levels[-1].mean))
        stairs = ~apart & (moves <= 4e-6 * size) & (flat | (seen > 1))      # once may be a corner nearby
        noise = np.maximum(noise, np.where(stairs, moves, 0))
        noise = np.maximum(noise, np.where(np.isfinite(look.rough), look.rough, 0) * look.h)
        errors.append(np.where(apart, 0, np.maximum(look.error, noise / look.h)))
    value, error, h = levels[-1].value, errors[-1], np.full(here.size, levels[-1].h)
    for look, its in zip(levels[-2::-1], errors[-2::-1], strict=True):
        outside = ~(np.abs(look.value - value) <= 2 * (its + error))
        take = np.isfinite(its) & ((its < error) | outside)
        value, error, h = np.where(take, look.value, value), np.where(take, its, error), np.where(take, look.h, h)
    apart = np.full(here.size, np.inf)          # how far the nearest other look is
    for look, its in zip(levels, errors, strict=True):
        other = np.maximum(np.abs(look.value - value) - 2 * its, 0)
        apart = np.where((look.h != h) & np.isfinite(other), np.minimum(apart, other), apart)
    alone = apart > 2 * error
    return value, np.where(alone & np.isfinite(apart), np.maximum(error, apart), error), h, alone


def _corners(levels, best):
    """Where left and right slopes keep apart however short the step is: a corner at this very place.

    Returns: (where, left slope, right slope, error of the value, or of the two).
    """
    value, error, *_ = best
    sides = np.full(value.size, np.inf)         # the error of the best two sides so far
    levels = sorted((look for look in levels if np.isfinite(look.gap).all()), key=lambda look: look.h)
    corner, left, right = np.zeros(value.size, bool), value.copy(), value.copy()
    smooth = np.zeros(value.size, bool)         # a shorter step has shown that there is none
    for shorter, longer in itertools.pairwise(levels):
        size = np.abs(longer.gap)
        smooth |= (np.abs(shorter.gap) < 0.5 * size) & (10 * shorter.floor < 0.5 * size)
        gap = np.abs(shorter.gap)
        new = (gap > 10 * shorter.floor) & (np.abs(shorter.gap - longer.gap) <= 0.1 * gap)
        new &= (error > 1e-4 * gap) & ~smooth & (shorter.h <= BASE)
        apart = 4 * shorter.floor + np.abs(shorter.gap - longer.gap)
        better = new & (apart < sides)
        left = np.where(better, shorter.value - shorter.gap / 2, left)
        right = np.where(better, shorter.value + shorter.gap / 2, right)
        sides = np.where(better, apart, sides)
        corner |= new
    return corner, left, right, np.where(corner, sides, error)
