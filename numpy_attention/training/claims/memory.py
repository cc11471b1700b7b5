"""Memory: attention as a dictionary, with the keys beside their values or in different places."""
from ..tasks import Recall
from .claim import at_least, at_most, claim, learn


@claim("Cross-attention learns to look up six facts at once; the weight lies on the slot of the key.",
       {"accuracy": at_least(0.99), "steps to 99 %": at_most(150), "weight on the right slot": at_least(0.9)},
       quick=True)
def recall(seed):
    run = learn("recall", stop_at=0.99, seed=seed)
    return {"accuracy": run.accuracy, "steps to 99 %": run.steps_to(0.99),
            "weight on the right slot": run.history["gold mass"][-1].item()}


@claim("A dictionary needs room: rows of 4 numbers cannot hold 32 keys and values, rows of 16 can.",
       {"accuracy with d_model = 4": at_most(0.8), "with d_model = 16": at_least(0.95)})
def capacity(seed):
    reached = {d: learn(Recall(slots=12, V=32), d_model=d, steps=300, measure_every=100, seed=seed).accuracy
               for d in (4, 16)}
    return {"accuracy with d_model = 4": reached[4], "with d_model = 16": reached[16]}


@claim("The same facts in one stream, key value key value, need a layer that binds them before they can be looked up.",
       {"accuracy of one layer, 600 steps": at_most(0.8), "accuracy of two layers": at_least(0.95),
        "steps of two layers to 99 %": at_most(300)})
def binding(seed):
    one = learn("facts", layers=1, steps=600, measure_every=200, seed=seed)
    two = learn("facts", layers=2, stop_at=0.99, seed=seed)
    return {"accuracy of one layer, 600 steps": one.accuracy, "accuracy of two layers": two.accuracy,
            "steps of two layers to 99 %": two.steps_to(0.99)}
