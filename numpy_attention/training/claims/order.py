"""Order: positions of each kind, what a causal mask tells by itself, and where heads look when nothing matches."""
import numpy as np

from ...masks import causal_mask
from ..measure import accuracy
from ..tasks import Induction
from .claim import at_least, at_most, claim, learn


@claim("Weights must sum to 1, so heads learn a parking place: the first token, as long as nothing matches.",
       {"second layer's weight on <s>, nothing matches": at_least(0.6),
        "the same, once something matches": at_most(0.2),
        "asked only where it can know: nothing matches": at_most(0.5), "accuracy": at_least(0.9)})
def sink(seed):
    def weights_on_first(everywhere):
        run = learn(Induction(L=21, bos=True, everywhere=everywhere), heads=2, steps=300, measure_every=100, seed=seed)
        batch = Induction(L=21, bos=True).batch(200, rng=[seed, 9])
        reached = accuracy(run.model, batch)
        on_first = run.model.attentions()[1].weights[..., 0].mean(axis=1)               # (N, L), both heads alike
        searching = ~batch.counts & (np.arange(21) > 0)
        return on_first[searching].mean(), on_first[batch.counts].mean(), reached

    (parked, matched, reached), (idle, _, _) = weights_on_first(True), weights_on_first(False)
    return {"second layer's weight on <s>, nothing matches": parked, "the same, once something matches": matched,
            "asked only where it can know: nothing matches": idle, "accuracy": reached}


@claim("A mask that is off by one makes training look better at first, but what is learned is to look at the answer.",
       {"steps to 85 % with the leak": at_most(50), "steps that the leak saves": at_least(10),
        "accuracy of the first once nothing leaks": at_most(0.5)})
def leaking_mask(seed):
    honest, leaking = (learn("induction", causal=mask, steps=120, stop_at=0.85, measure_every=10, seed=seed)
                       for mask in (True, one_too_far))
    leaking.model.causal = True
    return {"steps to 85 % with the leak": leaking.step, "steps that the leak saves": honest.step - leaking.step,
            "accuracy of the first once nothing leaks": accuracy(leaking.model, leaking.held_out)}


def one_too_far(L):
    """A causal mask that shows the next token, too; only the last place has none to be shown."""
    return causal_mask(L, offset=1)


@claim("A causal mask carries some order by itself: without any positions most of induction is learned.",
       {"accuracy without positions": at_least(0.75), "the same read on 40 tokens": None})
def no_positions(seed):
    run = learn("induction", positions="none", steps=600, stop_at=0.99, measure_every=100, seed=seed)
    return {"accuracy without positions": run.accuracy, "the same read on 40 tokens": accuracy(run.model, twice(seed))}


@claim("Trained on 20 tokens, read on 40: rotary positions carry over. What others do depends on many things.",
       {"rotary, on 20": at_least(0.95), "rotary, on 40": at_least(0.8),
        "sinusoidal, on 20": at_least(0.95), "sinusoidal, on 40": None, "alibi, on 20": None, "alibi, on 40": None})
def longer(seed):
    found = {}
    for kind in ("rotary", "sinusoidal", "alibi"):
        run = learn("induction", positions=kind, steps=300, stop_at=0.99, measure_every=50, seed=seed)
        found |= {f"{kind}, on 20": run.accuracy, f"{kind}, on 40": accuracy(run.model, twice(seed))}
    return found


def twice(seed):
    """Exercises twice as long as those of the training."""
    return Induction(L=40).batch(200, rng=[seed, 9])
