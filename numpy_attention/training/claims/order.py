"""Order: positions of each kind, what a causal mask tells by itself, and where heads look when nothing matches."""
import numpy as np

from ...masks import causal_mask
from .. import alter
from ..measure import accuracy
from ..tasks import Induction
from .claim import at_least, at_most, claim, learn


@claim("Heads learn a parking place: the first token, as long as nothing matches.",
       "没有匹配的时候，头会把注意力停在第一个词元上。",
       given="induction behind <s>, asked at every place, two layers of two heads, D = 32, 300 steps of Adam at 0.01",
       margins={"second layer's weight on <s>, nothing matches": at_least(0.6),
                "the same, once something matches": at_most(0.2),
                "asked only where it can know: nothing matches": at_most(0.5), "accuracy": at_least(0.9)})
def sink(seed):
    parked, matched, reached = weights_on_first(seed)
    idle, _, _ = weights_on_first(seed, everywhere=False)
    return {"second layer's weight on <s>, nothing matches": parked, "the same, once something matches": matched,
            "asked only where it can know: nothing matches": idle, "accuracy": reached}


@claim("They park because weights must sum to 1: with an empty key to leave their weight at, less of it goes to <s>.",
       "停车是因为权重之和必须是 1：给一个空的键让它放权重，放在 <s> 上的就少了。",
       given="as in sink, with one more key and value of zeros in each layer",
       margins={"weight on <s>, nothing matches, with an empty key": at_most(0.75),
                "weight on the empty key, nothing matches": at_least(0.2), "accuracy": at_least(0.9)})
def empty_key(seed):
    on_first, _, reached, on_empty = weights_on_first(seed, change=alter.empty_key)
    return {"weight on <s>, nothing matches, with an empty key": on_first,
            "weight on the empty key, nothing matches": on_empty, "accuracy": reached}


def weights_on_first(seed, *, everywhere=True, change=None):
    """Train behind <s>; the second layer's mean weight on <s> while nothing matches, once it does, and the accuracy.

    With an extra key there is a fourth number: the weight on it while nothing matches.
    """
    run = learn(Induction(L=21, bos=True, everywhere=everywhere), heads=2, steps=300, measure_every=100, alter=change,
                seed=seed)
    batch = Induction(L=21, bos=True).batch(200, rng=[seed, 9])
    reached = accuracy(run.model, batch)
    weights = run.model.attentions()[1].weights.mean(axis=1)                    # (N, L, S), all heads alike
    searching = ~batch.counts & (np.arange(21) > 0)
    found = weights[searching, 0].mean(), weights[batch.counts, 0].mean(), reached
    return found if weights.shape[-1] == 21 else (*found, weights[searching, -1].mean())


@claim("A mask that is off by one makes training look better at first, but what is learned is to look at the answer.",
       "掩码错开一位，训练开始时成绩反而更好，学到的却是偷看答案。",
       given="induction, two layers of one head, D = 32, Adam at 0.01 (at 0.003 the leak needs 80 steps, and still "
             "saves 40)",
       margins={"steps to 85 % with the leak": at_most(50), "steps that the leak saves": at_least(10),
                "accuracy of the first once nothing leaks": at_most(0.5)})
def leaking_mask(seed):
    honest, leaking = (learn("induction", causal=mask, steps=200, stop_at=0.85, measure_every=10, seed=seed)
                       for mask in (True, one_too_far))
    leaking.model.causal = True
    return {"steps to 85 % with the leak": leaking.step, "steps that the leak saves": honest.step - leaking.step,
            "accuracy of the first once nothing leaks": accuracy(leaking.model, leaking.held_out)}


def one_too_far(L):
    """A causal mask that shows the next token, too; only the last place has none to be shown."""
    return causal_mask(L, offset=1)


@claim("A causal mask carries some order by itself: two layers without any positions learn most of induction; without "
       "the mask they do not.",
       "因果掩码本身就带有顺序：两层没有任何位置编码，也学得会大半个归纳；去掉掩码就不行。",
       given="two layers of one head, D = 32, 600 steps of Adam at 0.01",
       margins={"without positions": at_least(0.75), "the same read on 40 tokens": None,
                "without positions and without the mask": at_most(0.5)})
def no_positions(seed):
    def run(**options):
        return learn("induction", positions="none", steps=600, stop_at=0.99, measure_every=100, seed=seed, **options)

    masked, unmasked = run(), run(causal=False)
    return {"without positions": masked.accuracy, "the same read on 40 tokens": accuracy(masked.model, twice(seed)),
            "without positions and without the mask": unmasked.accuracy}


@claim("Trained on 20 tokens, read on 40: rotary positions carry over. What others do depends on the rate and the "
       "steps.",
       "在 20 个词元上训练，拿 40 个来考：旋转位置编码带得过去；别的要看学习率和步数。",
       given="induction, two layers of one head, D = 32, at most 300 steps of Adam at 0.01",
       margins={"rotary, on 20": at_least(0.95), "rotary, on 40": at_least(0.8),
                "sinusoidal, on 20": at_least(0.95), "sinusoidal, on 40": None, "alibi, on 20": None,
                "alibi, on 40": None},
       often="Rotary positions reach further than all others.",
       refuted="At 0.003 fixed waves are as good: 0.94 to 0.98 on 40 tokens, against 0.97 to 0.98.")
def longer(seed):
    found = {}
    for kind in ("rotary", "sinusoidal", "alibi"):
        run = learn("induction", positions=kind, steps=300, stop_at=0.99, measure_every=50, seed=seed)
        found |= {f"{kind}, on 20": run.accuracy, f"{kind}, on 40": accuracy(run.model, twice(seed))}
    return found


def twice(seed):
    """Exercises twice as long as those of the training."""
    return Induction(L=40).batch(200, rng=[seed, 9])
