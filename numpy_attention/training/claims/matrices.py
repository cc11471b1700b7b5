"""Matrices: why the scores are divided by √d_k, and what each of the four matrices is for."""
import numpy as np

from ...layers.cross_entropy import CrossEntropyLoss
from .. import alter
from ..tasks import Reverse, Shift, task
from .claim import at_least, at_most, built, claim, learn


@claim("One head a layer, attention alone, a rate of 0.01 and the usual start: induction is not learned without 1/√d_k "
       "in 300 steps. With smaller starting values it is, and with a third of the rate: the scale widens the range in "
       "which training works.",
       "每层一个头、只有注意力、学习率 0.01、常用初始化：不除以 √d_k，300 步没有学会归纳；"
       "把初值缩小，或者把学习率降到三分之一，不除也学得会：它放宽了能训练的范围。",
       given="two layers of one head, d_k = 64, D = 32, 20 letters, 300 steps of Adam; W_Q and W_K start √8 smaller in "
             "the third line, at 0.003 for 1,200 steps in the fourth",
       margins={"with the scale": at_least(0.95), "without": at_most(0.8), "without, started smaller": at_least(0.95),
                "without, a third of the rate": at_least(0.85), "reversal, with": at_least(0.99),
                "reversal, without": at_least(0.99)},
       often="Without 1/√d_k heads of width 64 do not learn induction.",
       refuted="They do, from a smaller start or at a smaller rate, and under attack with two heads a layer (three of "
               "three seeds); with three heads, with a feed-forward layer, and on 40 letters two of three did.")
def scale(seed):
    def reached(name, factor, steps=300, **options):
        return learn(name, d_k=64, scale=factor, steps=steps, stop_at=0.99, seed=seed, **options).accuracy

    return {"with the scale": reached("induction", None), "without": reached("induction", 1.0),
            "without, started smaller": reached("induction", 1.0, alter=alter.start_smaller),
            "without, a third of the rate": reached("induction", 1.0, 1200, lr=3e-3, measure_every=100),
            "reversal, with": reached("reverse", None, d_model=32, lr=3e-3),
            "reversal, without": reached("reverse", 1.0, d_model=32, lr=3e-3)}


@claim("At the usual start the gradient of W_Q does not vanish without the scale: at first it is larger.",
       "常用初始化时，不除以 √d_k 并不会让 W_Q 的梯度消失：一开始反而更大。",
       given="reversal, one layer of one head, d_k = 64, D = 32, step 0; with embeddings 32 times as large, or W_Q and "
             "W_K 16 times, it is smaller, and vanishes in the end",
       margins={"gradient of W_Q at step 0, without over with": at_least(1.2)},
       often="Without the scale the softmax saturates, and no gradient gets through.",
       refuted="That of the scores shrinks some times, that of Q, K and their matrices grows.", quick=True)
def gradient_without_scale(seed):
    batch, sizes = task("reverse").batch(64, rng=seed), []
    for factor in (1.0, None):
        model, loss = built("reverse", seed, d_model=32, d_k=64, scale=factor), CrossEntropyLoss()
        loss(model(*batch.inputs), batch.targets)
        model.backward(loss.backward())
        sizes.append(np.linalg.norm(model.attentions()[0].query_proj.grads["W"]))
    return {"gradient of W_Q at step 0, without over with": sizes[0] / sizes[1]}


@claim("On a ring, with W_Q = W_K, one head without a mask cannot rank the left neighbour above the right one "
       "everywhere. Two tied heads can do the job, and so can one under a causal mask.",
       "在环上，W_Q = W_K 时，一个头、没有掩码，不可能处处把左邻排在右邻前面；"
       "两个头做得到，有因果掩码时一个头也做得到。",
       given="a ring of 10 letters of 10; one layer, D = 32; at most 400 steps of Adam at 0.01. Proved: at least one "
             "of 10 places is ranked wrongly; if scores depend on places only, at most (9 + 0.55) / 10 = 0.955 are "
             "right. Under the mask 0.91 is all that can be known: the first place of the ring does not see the last",
       margins={"reversal, tied": at_least(0.99), "left neighbour, one tied head": at_most(0.955),
                "left neighbour, two tied heads": at_least(0.99),
                "left neighbour, one tied head, causal mask": at_least(0.89),
                "left neighbour, a matrix each": at_least(0.99)},
       often="Tied queries and keys cannot learn to look at the previous token.",
       refuted="Two heads can, every GPT has a causal mask, and a text is no ring: tied-on-a-line.", quick=True)
def tied(seed):
    def reached(made, **options):
        return learn(made, d_model=32, steps=400, stop_at=0.99, seed=seed, **options).accuracy

    return {"reversal, tied": reached(Reverse(L=10), tied=True),
            "left neighbour, one tied head": reached("shift", tied=True),
            "left neighbour, two tied heads": reached("shift", tied=True, heads=2),
            "left neighbour, one tied head, causal mask": reached("shift", tied=True, causal=True),
            "left neighbour, a matrix each": reached("shift")}


@claim("Where the ends do not meet, one tied head without a mask learns to look at the left neighbour: the scores "
       "between neighbours fall from left to right.",
       "首尾不相接时，W_Q = W_K、没有掩码，一个头也学得会看左邻：相邻位置之间的分数从左到右一路变小就行。",
       given="10 letters of 10 in a line, the first place is not asked; one layer of one head, D = 32; at most 400 "
             "steps of Adam at 0.01. On 20 letters 0.86 to 1.00 (five seeds)",
       margins={"left neighbour, one tied head, no mask": at_least(0.98)},
       often="Symmetric scores cannot tell left from right.",
       refuted="Only where going on to the right leads back to the start.", quick=True)
def tied_on_a_line(seed):
    run = learn(Shift(ring=False), tied=True, d_model=32, steps=400, stop_at=0.99, seed=seed)
    return {"left neighbour, one tied head, no mask": run.accuracy}


@claim("Where there is W_O, W_V can be left out: V = x learns these tasks, too, in about as many steps.",
       "有 W_O 时可以不要 W_V：这几个任务，直接用 V = x 也学得会，步数差不多。",
       given="W_V is frozen at the identity; reversal, left neighbour and induction with one head, four offsets with "
             "four heads; at most 300 steps of Adam at 0.01",
       margins={f"{name}, V = x": at_least(0.95) for name in ("reverse", "shift", "induction", "offsets")},
       often="Without W_V attention only hands back what was matched.",
       refuted="What is handed over is x W_V W_O; with one head W_V W_O is one matrix.", quick=True)
def values_without_matrix(seed):
    def reached(name, heads):
        return learn(name, heads=heads, steps=300, stop_at=0.99, alter=alter.value_is_x, seed=seed).accuracy

    return {f"{name}, V = x": reached(name, heads)
            for name, heads in (("reverse", 1), ("shift", 1), ("induction", 1), ("offsets", 4))}
