"""Memory: attention as a dictionary, with the keys beside their values or in different places."""
from ..by_hand import facts_by_hand, rows_of_four_by_hand
from ..measure import accuracy
from ..schedules import warmup_cosine
from ..tasks import Facts, Recall
from .claim import at_least, at_most, claim, learn


@claim("Cross-attention learns to look things up among six facts; the weight lies on the slot of the key.",
       "交叉注意力学会在六条事实里查找，权重落在那个键的格子上。",
       given="4 questions to 6 slots, 16 keys and values; one head, D = 32, Adam at 0.01; under attack the weight on "
             "the slot is 0.87 and more",
       margins={"accuracy": at_least(0.99), "steps to 99 %": at_most(150), "weight on the right slot": at_least(0.9)},
       quick=True)
def recall(seed):
    run = learn("recall", stop_at=0.99, seed=seed)
    return {"accuracy": run.accuracy, "steps to 99 %": run.steps_to(0.99),
            "weight on the right slot": run.history["gold mass"][-1].max()}


@claim("Rows of 4 numbers have room for 32 keys and values, but learning to use it takes thousands of steps and a "
       "falling rate; rows of 16 learn it within 300.",
       "每行 4 个数就放得下 32 个键和值，不过要学会用，得几千步加上逐渐下降的学习率；每行 16 个数，300 步就够。",
       given="12 slots, 32 keys and values; one head, Adam at 0.01; 6,000 steps along a cosine in the last line",
       margins={"d_model = 4, set by hand": at_least(1.0), "d_model = 4, 300 steps": at_most(0.8),
                "d_model = 16, 300 steps": at_least(0.95), "d_model = 4, 6000 steps": at_least(0.95)},
       often="Rows of 4 numbers cannot hold 32 keys and values.",
       refuted="By hand they do, and trained with patience, too.")
def capacity(seed):
    facts = Recall(slots=12, V=32)
    short = {d: learn(facts, d_model=d, steps=300, measure_every=100, seed=seed).accuracy for d in (4, 16)}
    long = learn(facts, d_model=4, steps=6000, lr=warmup_cosine(0.01, warmup=20, total=6000), stop_at=0.99,
                 measure_every=250, seed=seed)
    return {"d_model = 4, set by hand": accuracy(rows_of_four_by_hand(), facts.batch(2000, rng=seed)),
            "d_model = 4, 300 steps": short[4], "d_model = 16, 300 steps": short[16],
            "d_model = 4, 6000 steps": long.accuracy}


@claim("The same facts in one stream, key value key value: two layers of one head learn it in some hundred steps, one "
       "layer of one head does not. One layer with a head for each fact can do it, set by hand.",
       "同样的事实排成一串：两层各一个头，一两百步学会；一层一个头学不会；一层给每条事实一个头，手工设参数就做得到。",
       given="4 facts of 8 keys and 8 values; D = 32, attention alone, Adam at 0.01",
       margins={"one layer, one head, 600 steps": at_most(0.8), "one layer, four heads, set by hand": at_least(1.0),
                "two layers": at_least(0.95), "steps of two layers to 99 %": at_most(300)},
       often="Facts in one stream need two layers: one to bind, one to look up.",
       refuted="One layer with four heads does it, set by hand; training hardly finds it.")
def binding(seed):
    one = learn("facts", layers=1, steps=600, measure_every=200, seed=seed)
    two = learn("facts", layers=2, stop_at=0.99, seed=seed)
    return {"one layer, one head, 600 steps": one.accuracy,
            "one layer, four heads, set by hand": accuracy(facts_by_hand(), Facts().batch(2000, rng=seed)),
            "two layers": two.accuracy, "steps of two layers to 99 %": two.steps_to(0.99)}
