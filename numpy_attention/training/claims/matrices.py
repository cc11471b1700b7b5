"""Matrices: why the scores are divided by √d_k, and why queries and keys have a matrix each."""
import numpy as np

from ...layers.cross_entropy import CrossEntropyLoss
from ..run import model_for
from ..tasks import Reverse, task
from .claim import at_least, at_most, claim, learn


@claim("Without 1/√d_k, heads of width 64 do not learn induction; an easy task like reversal does not care.",
       {"induction, with the scale": at_least(0.95), "induction, without": at_most(0.8),
        "reversal, with": at_least(0.99), "reversal, without": at_least(0.99)})
def scale(seed):
    def reached(name, factor, **options):
        return learn(name, d_k=64, scale=factor, steps=300, stop_at=0.99, seed=seed, **options).accuracy

    return {"induction, with the scale": reached("induction", None), "induction, without": reached("induction", 1.0),
            "reversal, with": reached("reverse", None, d_model=32, lr=3e-3),
            "reversal, without": reached("reverse", 1.0, d_model=32, lr=3e-3)}


@claim("It is not that the gradient vanishes at the start: without the scale, that of W_Q is larger at first.",
       {"gradient of W_Q at step 0, without over with": at_least(1.2)}, quick=True)
def gradient_without_scale(seed):
    batch, sizes = task("reverse").batch(64, rng=seed), []
    for factor in (1.0, None):
        model, loss = model_for(task("reverse"), d_model=32, d_k=64, scale=factor, rng=seed), CrossEntropyLoss()
        loss(model(*batch.inputs), batch.targets)
        model.backward(loss.backward())
        sizes.append(np.linalg.norm(model.attentions()[0].query_proj.grads["W"]))
    return {"gradient of W_Q at step 0, without over with": sizes[0] / sizes[1]}


@claim("With W_Q = W_K scores are symmetric: partners that look at each other are learned, a left neighbour is not.",
       {"reversal, tied": at_least(0.99), "left neighbour, tied": at_most(0.95),
        "left neighbour, a matrix each": at_least(0.99)}, quick=True)
def tied(seed):
    def reached(made, **options):
        return learn(made, d_model=32, steps=125, stop_at=0.99, seed=seed, **options).accuracy

    return {"reversal, tied": reached(Reverse(L=10), tied=True), "left neighbour, tied": reached("shift", tied=True),
            "left neighbour, a matrix each": reached("shift")}
