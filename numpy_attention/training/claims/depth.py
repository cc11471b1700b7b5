"""Depth: what one layer of attention does, what two do, and at what price one does it too.

One layer moves what a token *is*. Two layers can move what a token has *found*: the first writes something into each
row, the second looks for it. Foretelling a sequence that repeats itself is the usual example; but "two layers learn it"
is a measurement, and "one layer cannot" is refuted by setting its parameters by hand.
"""
import numpy as np

from .. import alter, by_hand
from ..measure import accuracy
from ..tasks import Induction, Jumps
from .claim import at_least, at_most, claim, learn


@claim("About 1,500 numbers learn to reverse in a second or so, and their weight lies mostly on the anti-diagonal.",
       "大约 1500 个数一秒左右就学会倒序，权重大多落在反对角线上。",
       given="8 letters of 10, one layer of one head, D = 16, Adam at 0.01; five seeds: 0.87 to 0.98 of the weight, "
             "under attack 0.84 and more",
       margins={"parameters": at_most(1500), "steps to 99 %": at_most(150),
                "weight on the anti-diagonal": at_least(0.8), "seconds": None}, quick=True)
def reversal(seed):
    run = learn("reverse", stop_at=0.99, seed=seed)
    return {"parameters": run.parameters, "steps to 99 %": run.steps_to(0.99), "seconds": run.seconds,
            "weight on the anti-diagonal": run.history["gold mass"][-1].max()}


@claim("Two layers of one head learn induction in one to two hundred steps; one layer of one head does not, in as "
       "many.",
       "两层各一个头，一两百步就学会归纳；一层一个头，同样的步数学不会。",
       given="blocks of 4 to 10 letters of 16, 20 are read; D = 32, learned positions, no feed-forward layer, Adam at "
             "0.01",
       margins={"accuracy of one layer, as many steps": at_most(0.8), "accuracy of two layers": at_least(0.95),
                "steps of two layers to 99 %": at_most(300), "seconds": None,
                "parameters of two layers": at_most(10_000)},
       often="One layer cannot find what followed earlier: induction needs two layers.",
       refuted="induction-by-hand, look-up-by-hand: one layer can, with two heads on this task and with a head for "
               "each place on any.", quick=True)
def induction(seed):
    two = learn("induction", stop_at=0.99, seed=seed)
    one = learn("induction", layers=1, steps=two.step, measure_every=100, seed=seed)
    return {"accuracy of one layer, as many steps": one.accuracy, "accuracy of two layers": two.accuracy,
            "steps of two layers to 99 %": two.steps_to(0.99), "seconds": two.seconds,
            "parameters of two layers": two.parameters}


@claim("On sequences of 20 patience does not help one layer of one head, not in 2,000 steps; a second head helps it, "
       "late.",
       "长度 20 时，一层一个头练 2000 步也没有用；加一个头有用，只是来得很晚。",
       given="as in induction: learned positions, D = 32, Adam at 0.01 and the usual start; on sequences of 40 one "
             "head reaches 0.8 in 2,000 steps; at three times the rate two heads stay at 0.5 to 0.7, from half the "
             "start at 0.5 with one of three seeds",
       margins={"one layer, one head, 2000 steps": at_most(0.7), "one layer, two heads, 300 steps": at_most(0.65),
                "one layer, two heads, 5000 steps": at_least(0.6)},
       often="More patience does not help the one layer.",
       refuted="With two heads it does: 0.44 to 0.49 after 300 steps, 0.68 to 0.81 after 5,000, with five seeds.")
def patience(seed):
    one = learn("induction", layers=1, steps=2000, measure_every=1000, seed=seed)
    two = learn("induction", layers=1, heads=2, steps=5000, measure_every=300, seed=seed)
    return {"one layer, one head, 2000 steps": one.accuracy,
            "one layer, two heads, 300 steps": two.history["accuracy"][1],
            "one layer, two heads, 5000 steps": two.accuracy}


@claim("One layer with two heads set by hand answers every question of induction: the letter not seen for longest.",
       "一层两个头，手工设好参数，归纳任务全对：找最久没有出现的那个字母。",
       given="as in induction, no training; attention alone",
       margins={"accuracy": at_least(1.0), "parameters": at_most(9_856)}, quick=True)
def induction_by_hand(seed):
    model = by_hand.induction_by_hand()
    return {"accuracy": accuracy(model, Induction().batch(2000, rng=seed)),
            "parameters": sum(p.size for p in model.named_params().values())}


@claim("One layer with a pair of heads for each place, set by hand, looks up what followed, in any sequence of that "
       "length.",
       "一层里给每个位置配一对头，手工设好参数，这个长度的任何序列都查得到「上次后面是什么」。",
       given="20 letters are read: 38 heads; no training",
       margins={"accuracy on jumps": at_least(1.0), "accuracy on induction": at_least(1.0),
                "heads": at_most(38)}, quick=True)
def look_up_by_hand(seed):
    model = by_hand.look_up_by_hand()
    return {"accuracy on jumps": accuracy(model, Jumps().batch(50, rng=seed)),
            "accuracy on induction": accuracy(model, Induction().batch(50, rng=seed)), "heads": model.heads}


@claim("Where the letter least recently seen is not the answer, two layers learn it and one layer of four heads does "
       "not, in five times the steps.",
       "如果「最久没出现的字母」不是答案，两层学得会；一层四个头练五倍的步数也没有学会。",
       given="the task jumps; two layers of one head, D = 32; one layer of four heads, D = 64; Adam at 0.003",
       margins={"accuracy of two layers, 300 steps": at_least(0.95),
                "accuracy of one layer, four heads, 1500 steps": at_most(0.75)},
       often="One layer cannot do it.", refuted="look-up-by-hand: with 38 heads it can, in sequences of 20.")
def jumps(seed):
    two = learn("jumps", lr=3e-3, steps=300, measure_every=100, seed=seed)
    one = learn("jumps", layers=1, heads=4, d_model=64, lr=3e-3, steps=1500, measure_every=500, seed=seed)
    return {"accuracy of two layers, 300 steps": two.accuracy,
            "accuracy of one layer, four heads, 1500 steps": one.accuracy}


@claim("A previous-token head makes induction faster and more exact. It is not indispensable: a first layer that looks "
       "everywhere alike tells the second enough.",
       "前一词元头让归纳学得更快更准，但不是非有不可：第一层只做平均，第二层也够用。",
       given="two layers of one head, D = 32, Adam at 0.003; the first layer is frozen, once at the plain average and "
             "once at the previous token; from twice the usual start the average gets to 0.78 to 0.97",
       margins={"first layer averages: accuracy after 1500 steps": at_least(0.95),
                "steps to 90 %: first layer averages": at_most(1500), "the same: both are learned": at_most(250),
                "the same: first layer looks at the previous token": at_most(200),
                "steps saved by the previous-token head": at_least(50),
                "correlation of accuracy with the step number, both learned": None},
       often="The two heads of induction are learned together: neither is of use without the other.",
       refuted="Freeze the first layer at the plain average: the second is learned all the same. Two curves that rise "
               "once always correlate, also with the step number.")
def previous_token_head(seed):
    def run(steps, looks=None):
        return learn("induction", lr=3e-3, steps=steps, measure_every=10, seed=seed,
                     alter=looks and (lambda model: alter.freeze_first_layer(model, looks)))

    free, average, previous = run(250), run(1500, alter.everywhere), run(250, alter.just_before)
    return {"first layer averages: accuracy after 1500 steps": average.accuracy,
            "steps to 90 %: first layer averages": average.steps_to(0.9),
            "the same: both are learned": free.steps_to(0.9),
            "the same: first layer looks at the previous token": previous.steps_to(0.9),
            "steps saved by the previous-token head":
                (average.steps_to(0.9) or np.inf) - (previous.steps_to(0.9) or np.inf),
            "correlation of accuracy with the step number, both learned":
                np.corrcoef(free.history["accuracy"][:21], free.history["step"][:21])[0, 1]}


@claim("Repeats of one fixed length are learned by a shortcut, look so many places back, by one layer and by two. "
       "Other lengths show it up.",
       "周期固定的重复，一层和两层学到的都是捷径：往回数固定的格数；换个周期就露馅。",
       given="blocks of 9; one layer with learned positions, two with rotary ones; Adam at 0.01",
       margins={"one layer, on the fixed length": at_least(0.95), "one layer, on varying lengths": at_most(0.5),
                "two layers, on the fixed length": at_least(0.95), "two layers, on varying lengths": at_most(0.5)},
       quick=True)
def shortcut(seed):
    fixed = Induction(periods=(9, 9))
    one = learn(fixed, layers=1, steps=100, stop_at=0.99, seed=seed)
    two = learn(fixed, layers=2, positions="rotary", steps=400, stop_at=0.99, seed=seed)
    varying = Induction().batch(200, rng=seed)
    return {"one layer, on the fixed length": one.accuracy,
            "one layer, on varying lengths": accuracy(one.model, varying),
            "two layers, on the fixed length": two.accuracy,
            "two layers, on varying lengths": accuracy(two.model, varying)}
