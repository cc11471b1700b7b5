"""A claim: a sentence, the measurement that could prove it wrong, the margins it must keep, and what it depends on.

Each is measured with several seeds, and every seed must keep every margin. Margins are wide, because the numbers move
with the machine and with NumPy; what must not move is the conclusion.

A measurement shows that something *can* be learned. That it cannot be takes a proof, so a claim says "did not learn it
in 1,000 steps" and names its conditions; where textbooks say more, the claim tells what refutes it. `attack` measures
the same claims under other conditions: all training in here goes through `learn`, which an attack can change.
"""
import contextlib
import contextvars
import math
import operator
import time
from typing import NamedTuple

from ..loop import train
from ..run import model_for
from ..sweeps import outcomes
from ..tasks import task as make_task

CLAIMS = {}
SEEDS = (0, 1, 2)
OF_THE_TRAINING = ("steps", "stop_at", "measure_every", "warmup", "optimizer", "batch_size", "clip")


class Attack(NamedTuple):
    """Other conditions for every training run of a claim; each part takes what was and gives what is instead.

    task: the task. sizes: the model's sizes by name. training: steps, lr and the like. start: a factor on every
    parameter that is not trained yet.
    """

    name: str
    task: object = staticmethod(lambda task: task)
    sizes: object = staticmethod(dict)
    training: object = staticmethod(dict)
    start: float = 1.0


UNCHANGED = Attack("as stated")
_attack, _runs = contextvars.ContextVar("attack", default=UNCHANGED), contextvars.ContextVar("runs")


@contextlib.contextmanager
def under(attack):
    """While in the with-block, every model and every run of a claim is as the attack wants it; gives a list of them."""
    before, seen = _attack.set(attack), _runs.set([])
    try:
        yield _runs.get()
    finally:
        _attack.reset(before)
        _runs.reset(seen)


def built(made, seed, **sizes):
    """An untrained model for a task, as `train` would make it."""
    attack = _attack.get()
    made = attack.task(make_task(made))
    model = model_for(made, rng=[seed, 0], **attack.sizes({**made.model, **sizes}))
    for params in (layer.params for layer in every_layer(model)):
        for name in params if attack.start != 1 else ():
            params[name] = params[name] * params[name].dtype.type(attack.start)
    _runs.get([]).append(made.name)
    return model


def learn(made, *, seed, alter=None, lr=0.01, **options):
    """Train as `train` does, in silence. alter: a function that changes the untrained model first, by hand."""
    attack, made = _attack.get(), make_task(made)
    training = {name: options.pop(name) for name in OF_THE_TRAINING if name in options}
    model = built(made, seed, **options)
    if alter is not None:
        alter(model)
    training = attack.training({"steps": made.steps, "lr": lr, **training})
    run = train(attack.task(made), model, seed=seed, progress=False, **training)
    if run.stopped == "interrupted":        # half a measurement is none
        raise KeyboardInterrupt
    return run


def every_layer(layer):
    """A layer and all that it is made of."""
    yield layer
    for part in layer.sublayers().values():
        yield from every_layer(part)


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
    """What is claimed.

    name; says, says_zh: the sentence. given: the conditions under which it was measured. margins: by what is measured.
    measure: the function of a seed. often, refuted: what is often said instead, and why that does not hold; or "".
    quick: cheap enough for every test run.
    """

    name: str
    says: str
    says_zh: str
    given: str
    margins: dict
    measure: object
    often: str = ""
    refuted: str = ""
    quick: bool = False


def claim(says, says_zh, *, given, margins, often="", refuted="", quick=False):
    """Decorator: the function of a seed below it measures what `says` claims, as a dict with the names of the margins.

    Args: margins: {what is measured: at_least(...) or at_most(...), or None to tell it only}; the others as in Claim.
    """
    def register(function):
        name = function.__name__.replace("_", "-")
        CLAIMS[name] = Claim(name, says, says_zh, given, margins, function, often, refuted, quick)
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
        return not self.broken

    @property
    def broken(self):
        """The names of the margins that a seed did not keep."""
        return [name for name, margin in self.claim.margins.items()
                if margin is not None and not all(map(margin.holds, self.values[name]))]

    def __str__(self):
        lines = [f"{self.claim.name}: {self.claim.says} ({self.seconds:.1f} s)"]
        for name, margin in self.claim.margins.items():
            kept = "" if margin is None else "FAILS" if name in self.broken else "holds"
            numbers = "".join(f"{v:>9.4g}" for v in self.values[name])
            lines.append(f"    {name:<58}{margin or ''!s:>8}  {numbers}  {kept}")
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
    names = known(names)
    asked = [{"claim": name, "seed": seed} for name in names for seed in seeds]
    found = outcomes(asked, executor, measure=measure_claim)
    for name in names:
        measured = [next(found) for _ in seeds]
        yield Verdict(CLAIMS[name], {what: [values[what] for values, _ in measured] for what in CLAIMS[name].margins},
                      sum(seconds for _, seconds in measured))


def known(names):
    """These names of claims, all unless given; or an error that lists them."""
    names = list(CLAIMS if names is None else names)
    if unknown := [name for name in names if name not in CLAIMS]:
        raise ValueError(f"there is no claim {unknown[0]!r}; there are: {', '.join(CLAIMS)}")
    return names


def measure_claim(asked):
    """One claim with one seed, wherever this runs: what was measured, and the seconds that it took."""
    began = time.perf_counter()
    values = CLAIMS[asked["claim"]].measure(asked["seed"])
    return {what: math.inf if value is None else float(value) for what, value in values.items()}, \
        time.perf_counter() - began
