"""Depth: what one layer of attention can do, and what takes two.

One layer moves what a token *is*. Two layers can move what a token has *found*: the first writes something into each
row, the second looks for it. Foretelling a sequence that repeats itself is the smallest job that needs this.
"""
import numpy as np

from ..measure import accuracy
from ..tasks import Induction
from .claim import at_least, at_most, claim, learn


@claim("About 1,500 numbers learn to reverse in a fraction of a second, and their weights lie on the anti-diagonal.",
       {"parameters": at_most(1500), "steps to 99 %": at_most(150), "weight on the anti-diagonal": at_least(0.9),
        "seconds": None}, quick=True)
def reversal(seed):
    run = learn("reverse", stop_at=0.99, seed=seed)
    return {"parameters": run.parameters, "steps to 99 %": run.steps_to(0.99), "seconds": run.seconds,
            "weight on the anti-diagonal": run.history["gold mass"][-1].item()}


@claim("One layer cannot find what followed earlier; two layers learn it, in about a hundred steps.",
       {"accuracy of one layer, as many steps": at_most(0.8), "accuracy of two layers": at_least(0.95),
        "steps of two layers to 99 %": at_most(300), "seconds": None, "parameters of two layers": at_most(10_000)},
       quick=True)
def induction(seed):
    two = learn("induction", stop_at=0.99, seed=seed)
    one = learn("induction", layers=1, steps=two.step, measure_every=100, seed=seed)
    return {"accuracy of one layer, as many steps": one.accuracy, "accuracy of two layers": two.accuracy,
            "steps of two layers to 99 %": two.steps_to(0.99), "seconds": two.seconds,
            "parameters of two layers": two.parameters}


@claim("More patience does not help the one layer, and a second head beside the first helps it only a little.",
       {"one layer, one head, 1000 steps": at_most(0.8), "one layer, two heads, 1000 steps": at_most(0.9)})
def patience(seed):
    reached = {heads: learn("induction", layers=1, heads=heads, steps=1000, measure_every=500, seed=seed).accuracy
               for heads in (1, 2)}
    return {"one layer, one head, 1000 steps": reached[1], "one layer, two heads, 1000 steps": reached[2]}


@claim("The two heads of induction are learned together: neither is of use without the other.",
       {"correlation of the two scores over time": at_least(0.9),
        "correlation of match score and accuracy": at_least(0.9),
        "steps between their halfway points": at_most(50), "match score at the end": at_least(0.8)})
def rising_together(seed):
    history = learn("induction", lr=3e-3, steps=200, measure_every=10, seed=seed).history
    previous = np.array(history["previous token"])[:, 0, 0]             # of the first layer
    match = np.array(history["prefix match"])[:, 1, 0]                  # of the second
    halfway = [np.argmax(score >= (score[0] + score.max()) / 2) * 10 for score in (previous, match)]
    return {"correlation of the two scores over time": np.corrcoef(previous, match)[0, 1],
            "correlation of match score and accuracy": np.corrcoef(match, history["accuracy"])[0, 1],
            "steps between their halfway points": abs(halfway[0] - halfway[1]), "match score at the end": match[-1]}


@claim("Repeats of one fixed length are learned by a shortcut: look so many places back. Other lengths show it up.",
       {"accuracy of one layer on the fixed length": at_least(0.95), "the same on varying lengths": at_most(0.5)},
       quick=True)
def shortcut(seed):
    run = learn(Induction(periods=(9, 9)), layers=1, steps=100, stop_at=0.99, seed=seed)
    return {"accuracy of one layer on the fixed length": run.accuracy,
            "the same on varying lengths": accuracy(run.model, Induction().batch(200, rng=seed))}
