"""Heads: why there are many, how many keys and values they need, and whether all of them matter."""
import numpy as np

from ..measure import head_costs, head_scores
from ..tasks import Offsets
from .claim import at_least, at_most, claim, learn


@claim("One head answers four questions at once badly, four heads well, with the same number of parameters.",
       {"accuracy of one head": at_most(0.8), "accuracy of four heads": at_least(0.95),
        "parameters, four heads less one head": at_most(0),
        "each head's weight on a question of its own": at_least(0.4)})
def many_questions(seed):
    one = learn("offsets", heads=1, steps=500, measure_every=100, seed=seed)
    four = learn("offsets", heads=4, steps=500, measure_every=100, seed=seed)
    return {"accuracy of one head": one.accuracy, "accuracy of four heads": four.accuracy,
            "parameters, four heads less one head": four.parameters - one.parameters,
            "each head's weight on a question of its own": four.history["gold mass"][-1].min()}


@claim("A single head answers two questions at once better than one of them alone would allow: by unequal shares.",
       {"accuracy, where answering one question gives 0.56": at_least(0.6),
        "share of the two places together": at_least(0.75),
        "the larger share less the smaller": at_least(0.05)})
def unequal_shares(seed):
    run = learn(Offsets(offsets=(1, 2)), heads=1, steps=1000, stop_at=0.99, measure_every=100, seed=seed)
    run.model(*run.held_out.inputs)
    gold, weights = run.held_out.gold > 0, run.model.attentions()[0].weights
    shares = (weights * gold).sum(axis=-1)                                  # (N, K, L)
    return {"accuracy, where answering one question gives 0.56": run.accuracy,
            "share of the two places together": shares.sum(axis=1).mean(),
            "the larger share less the smaller": np.ptp(shares, axis=1).mean()}


@claim("Four query heads that share one key/value head are as good, with a quarter of the keys and values to keep.",
       {"accuracy with 4 key/value heads": at_least(0.95), "with 2": at_least(0.95), "with 1": at_least(0.95),
        "keys and values kept, 1 over 4": at_most(0.25)})
def shared_keys(seed):
    runs = {n: learn("offsets", kv_heads=n, steps=500, stop_at=0.99, measure_every=50, seed=seed)
            for n in (4, 2, 1)}
    kept = {n: run.model.attentions()[0].cache["K"].size for n, run in runs.items()}
    return {"accuracy with 4 key/value heads": runs[4].accuracy, "with 2": runs[2].accuracy,
            "with 1": runs[1].accuracy, "keys and values kept, 1 over 4": kept[1] / kept[4]}


@claim("Sharp is not important: of sixteen heads many can be switched off one by one, as sharp as they are.",
       {"heads of 16 that cost less than 10 %": at_least(6), "the dearest of the 16": None,
        "sharpness, 0 to 1, of the sharpest that cost less than 10 %": at_least(0.5),
        "where each layer has one head, the cheaper one's cost": at_least(0.2)})
def removable_heads(seed):
    many = learn("induction", d_model=64, heads=8, steps=200, measure_every=100, seed=seed)
    two = learn("induction", steps=200, measure_every=100, seed=seed)
    batch = many.task.batch(300, rng=[seed, 9])
    costs, spread = head_costs(many.model, batch), head_scores(many.model, batch)["entropy"]
    widest = np.log(np.arange(1, many.task.length + 1)).mean()              # all keys alike, at every place
    return {"heads of 16 that cost less than 10 %": (costs < 0.1).sum(), "the dearest of the 16": costs.max(),
            "sharpness, 0 to 1, of the sharpest that cost less than 10 %": 1 - spread[costs < 0.1].min() / widest,
            "where each layer has one head, the cheaper one's cost": head_costs(two.model, batch).min()}
