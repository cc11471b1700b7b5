"""Heads: why there are many, how many keys and values they need, and whether all of them matter."""
import numpy as np

from ..measure import head_costs, head_scores
from ..tasks import Offsets
from .claim import at_least, at_most, claim, learn


@claim("Without a feed-forward layer one head answers four questions at once badly, four heads answer them exactly, "
       "with the same number of parameters.",
       "没有前馈层时，一个头同时回答四个问题答不好，四个头全对，参数一样多。",
       given="4 offsets on a ring of 12 letters of 8; one layer, D = 32, attention alone, 500 steps of Adam at 0.01",
       margins={"accuracy of one head": at_most(0.8), "accuracy of four heads": at_least(0.95),
                "parameters, four heads less one head": at_most(0),
                "each head's weight on a question of its own": at_least(0.4)},
       often="k questions need k heads.",
       refuted="Two heads answer four questions at 0.9 to 0.95 after 3,000 steps, and with a feed-forward layer one "
               "head reaches 0.96: patient-head, and the attack with a feed-forward layer.")
def many_questions(seed):
    one = learn("offsets", heads=1, steps=500, measure_every=100, seed=seed)
    four = learn("offsets", heads=4, steps=500, measure_every=100, seed=seed)
    return {"accuracy of one head": one.accuracy, "accuracy of four heads": four.accuracy,
            "parameters, four heads less one head": four.parameters - one.parameters,
            "each head's weight on a question of its own": four.history["gold mass"][-1].min()}


@claim("Two questions on one head: 0.6 after 300 steps, nearly all right after 3,000. With two heads it takes 100.",
       "一个头两个问题：300 步时 0.6 出头，3000 步时几乎全对；两个头只要 100 步。",
       given="2 offsets on a ring of 12 letters of 8; one layer, D = 32, attention alone, Adam at 0.01 and the usual "
             "start; at a third of the rate 0.7 to 0.8 after 3,000 steps, from half the start 0.6",
       margins={"one head, 300 steps": at_most(0.8), "one head, 3000 steps": at_least(0.95),
                "two heads, steps to 99 %": at_most(300)},
       often="With fewer heads than questions it is not learned.",
       refuted="At this rate it is, ten times as late and more, by unequal shares.")
def patient_head(seed):
    two_questions = Offsets(offsets=(1, 2))
    one = learn(two_questions, heads=1, steps=3000, measure_every=300, seed=seed)
    two = learn(two_questions, heads=2, steps=300, stop_at=0.99, seed=seed)
    return {"one head, 300 steps": one.history["accuracy"][1], "one head, 3000 steps": one.accuracy,
            "two heads, steps to 99 %": two.steps_to(0.99)}


@claim("A single head answers two questions at once better than one of them alone would allow: by unequal shares.",
       "一个头同时回答两个问题，比只会其中一个要好：靠的是不相等的份额。",
       given="2 offsets on a ring of 12 letters of 8; one layer, D = 32, attention alone, 1,000 steps of Adam at 0.01",
       margins={"accuracy, where answering one question gives 0.56": at_least(0.6),
                "share of the two places together": at_least(0.75),
                "the larger share less the smaller": at_least(0.05)})
def unequal_shares(seed):
    run = learn(Offsets(offsets=(1, 2)), heads=1, steps=1000, stop_at=0.99, measure_every=100, seed=seed)
    run.model(*run.held_out.inputs)
    gold, weights = run.held_out.gold > 0, run.model.attentions()[0].weights
    shares = np.stack([(weights * gold[:, k:k + 1]).sum(axis=-1).mean(axis=1) for k in range(2)], axis=1)   # (N, K, L)
    return {"accuracy, where answering one question gives 0.56": run.accuracy,
            "share of the two places together": shares.sum(axis=1).mean(),
            "the larger share less the smaller": np.ptp(shares, axis=1).mean()}


@claim("On this task four query heads that share one key/value head are as good as four with their own, with a quarter "
       "of the keys and values to keep.",
       "在这个任务上，四个查询头共用一个键值头，成绩和各用各的一样好，要存的键和值只有四分之一。",
       given="4 offsets on a ring of 12 letters of 8; one layer of four heads, D = 32, at most 500 steps of Adam at "
             "0.01",
       margins={"accuracy with 4 key/value heads": at_least(0.95), "with 2": at_least(0.95), "with 1": at_least(0.95),
                "keys and values kept, 1 over 4": at_most(0.25)})
def shared_keys(seed):
    runs = {n: learn("offsets", kv_heads=n, steps=500, stop_at=0.99, measure_every=50, seed=seed)
            for n in (4, 2, 1)}
    kept = {n: run.model.attentions()[0].cache["K"].size for n, run in runs.items()}
    return {"accuracy with 4 key/value heads": runs[4].accuracy, "with 2": runs[2].accuracy,
            "with 1": runs[1].accuracy, "keys and values kept, 1 over 4": kept[1] / kept[4]}


@claim("Of sixteen heads many can be switched off one by one, as sharp as they are: they stand in for each other.",
       "十六个头里有很多可以一个一个地关掉，哪怕它们很尖：它们互为备份。",
       given="induction, two layers of eight heads, D = 64, 200 steps of Adam at 0.01",
       margins={"heads of 16 that cost less than 10 %": at_least(6), "the costliest of the 16": None,
                "sharpness, 0 to 1, of the sharpest that cost less than 10 %": at_least(0.5),
                "where each layer has one head, the cheaper one's cost": at_least(0.2)})
def removable_heads(seed):
    many = learn("induction", d_model=64, heads=8, steps=200, measure_every=100, seed=seed)
    two = learn("induction", steps=200, measure_every=100, seed=seed)
    batch = many.task.batch(300, rng=[seed, 9])
    costs, spread = head_costs(many.model, batch), head_scores(many.model, batch)["entropy"]
    widest = np.log(np.arange(1, many.task.length + 1)).mean()              # all keys alike, at every place
    return {"heads of 16 that cost less than 10 %": (costs < 0.1).sum(), "the costliest of the 16": costs.max(),
            "sharpness, 0 to 1, of the sharpest that cost less than 10 %": 1 - spread[costs < 0.1].min() / widest,
            "where each layer has one head, the cheaper one's cost": head_costs(two.model, batch).min()}


@claim("Here the costliest head of the first layer is its sharpest, or as good as: compare heads of one layer.",
       "在这里的第一层之内，最要紧的头就是最尖的头，或者几乎是：要比，就在同一层里比。",
       given="induction, two layers of four heads, D = 64, at most 300 steps of Adam at 0.01",
       margins={"layer of the costliest head": at_most(0),
                "its entropy less that of the sharpest of its layer, nats": at_most(0.15),
                "its entropy less that of the most blurred of layer 1, nats": at_least(0)},
       often="Sharp does not mean important.",
       refuted="Between layers that is so; within this first layer the sharpest head is the one that matters.")
def sharpest_of_its_layer(seed):
    run = learn("induction", heads=4, d_model=64, steps=300, stop_at=0.995, seed=seed)
    costs, spread = head_costs(run.model, run.held_out), head_scores(run.model, run.held_out)["entropy"]
    costliest = np.unravel_index(costs.argmax(), costs.shape)
    return {"layer of the costliest head": costliest[0],
            "its entropy less that of the sharpest of its layer, nats": spread[costliest] - spread[costliest[0]].min(),
            "its entropy less that of the most blurred of layer 1, nats": spread[costliest] - spread[1].max()}
