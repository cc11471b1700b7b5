"""A claim: a sentence that textbooks repeat, a measurement that could prove it wrong, and the margins it must keep.

Each is measured with several seeds, and every seed must keep every margin. Margins are wide, because the numbers move
with the machine and with NumPy; what must not move is the conclusion.
"""
import functools
import math
import operator
import time
from typing import NamedTuple

from ..loop import train
from ..sweeps import outcomes

CLAIMS = {}
SEEDS = (0, 1, 2)


learn = functools.partial(train, progress=False)


class Margin(NamedTuple):
    """A bound that every seed must keep.

    >>> from numpy_attention.training.claims import at_least
    >>> str(at_least(0.95)), at_least(0.95).holds(0.97), at_least(0.95).holds(float("nan"))
    ('≥ 0.95', True, False)
    """

    sign: str
    bound: float

    def holds(self, value):
        return bool({"≥": operator.ge, "≤": operator.le}[self.sign](value, self.bound))

    def __str__(self):
        return f"{self.sign} {self.bound:g}"


def at_least(bound):
    """Every seed must measure at least this."""
    return Margin("≥", bound)


def at_most(bound):
    """Every seed must measure at most this."""
    return Margin("≤", bound)


class Claim(NamedTuple):
    """What is claimed: a name, the sentence, the margins by what is measured, the function of a seed that measures."""

    name: str
    says: str
    margins: dict
    measure: object
    quick: bool


def claim(says, margins, *, quick=False):
    """Decorator: the function of a seed below it measures what `says` claims, as a dict with the names of the margins.

    Args: margins: {what is measured: at_least(...) or at_most(...), or None to tell it only}. quick: cheap enough for
        every test run.
    """
    def register(function):
        name = function.__name__.replace("_", "-")
        CLAIMS[name] = Claim(name, says, margins, function, quick)
        return function
    return register


class Verdict(NamedTuple):
    """What was measured for one claim: values by name, one for each seed; seconds of work."""

    claim: Claim
    values: dict
    seconds: float

    @property
    def holds(self):
        """Did every seed keep every margin?"""
        return all(margin is None or margin.holds(value)
                   for name, margin in self.claim.margins.items() for value in self.values[name])

    def __str__(self):
        lines = [f"{self.claim.name}: {self.claim.says} ({self.seconds:.1f} s)"]
        for name, margin in self.claim.margins.items():
            values = self.values[name]
            kept = "" if margin is None else "holds" if all(map(margin.holds, values)) else "FAILS"
            lines.append(f"    {name:<58}{margin or ''!s:>8}  " + "".join(f"{v:>9.4g}" for v in values) + f"  {kept}")
        return "\n".join(lines)


def check_claims(names=None, *, seeds=SEEDS, executor=None):
    """Measure claims, all unless named, and yield a Verdict for each as it is ready.

    Args: executor: any concurrent.futures.Executor; processes on this machine unless given.
    Raises: ValueError for an unknown claim.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(1) as thread:
    ...     (verdict,) = na.training.check_claims(["gradient-without-scale"], executor=thread)
    >>> verdict.holds
    True
    """
    names = list(CLAIMS if names is None else names)
    if unknown := [name for name in names if name not in CLAIMS]:
        raise ValueError(f"there is no claim {unknown[0]!r}; there are: {', '.join(CLAIMS)}")
    asked = [{"claim": name, "seed": seed} for name in names for seed in seeds]
    found = outcomes(asked, executor, measure=measure_claim)
    for name in names:
        measured = [next(found) for _ in seeds]
        yield Verdict(CLAIMS[name], {what: [values[what] for values, _ in measured] for what in CLAIMS[name].margins},
                      sum(seconds for _, seconds in measured))


def measure_claim(asked):
    """One claim with one seed, wherever this runs: what was measured, and the seconds that it took."""
    began = time.perf_counter()
    values = CLAIMS[asked["claim"]].measure(asked["seed"])
    return {what: math.inf if value is None else float(value) for what, value in values.items()}, \
        time.perf_counter() - began
