"""Models whose parameters are set by hand: what attention *can* do, whatever training finds.

"This was not learned" is a measurement; "this cannot be done" is a theorem, and the cheapest way to refute one is to
do it. No model here was trained. Each is a ToyModel or a LookupModel like those that are, so that it can be examined,
drawn and switched off head by head in the same way. All of them are attention alone, in one layer.

Three tricks are enough. A row of the stream is the letter (one-hot) beside its place (one-hot). A head looks where it
is told by the place alone if its W_Q and W_K hold a table of scores, and by the letter if they hold the identity. And
two heads whose W_O have opposite signs subtract: then a place can count *against* an answer.
"""
import numpy as np

from .lookup import LookupModel
from .model import ToyModel
from .tasks import task as make_task

LOUD = 30.0             # scores so far apart that softmax gives everything to the highest


def induction_by_hand(task="induction"):
    """One layer with two heads answers every question of `induction`, without looking at a single letter.

    A block has no letter twice, so what comes next is the letter that was *not seen for the longest time*. How far back
    to look is a matter of distances only: `least_recent` finds, for each place, weights of the earlier places under
    which that letter gets the highest sum, for every length of the block. Head 0 adds the positive ones, head 1
    subtracts the negative ones.

    Args: task: an Induction task, or its name, without <s>.
    Returns: a ToyModel in float64 with fewer parameters than the two layers that training takes.

    >>> model = na.training.by_hand.induction_by_hand()
    >>> batch = na.training.task("induction").batch(500, rng=0)
    >>> na.training.accuracy(model, batch), sum(p.size for p in model.named_params().values())
    (1.0, 7344)
    """
    task = make_task(task)
    V, L, (shortest, longest) = task.vocab, task.length, task.settings["periods"]
    scores = np.full((2, L, L), -LOUD)
    scores[:, :shortest, :shortest] = 0                                 # nothing is asked there yet
    for i in range(shortest, L):
        back = least_recent(i, shortest, longest)                       # by distance: how much to look d places back
        for head, part in enumerate((np.maximum(back, 0), np.maximum(-back, 0))):
            scores[head, i, :i + 1] = np.log(np.maximum(part / part.sum(), 1e-13))[::-1]
    D = 2 * max(V, (V + L + 1) // 2)
    model = ToyModel(V, L, layers=1, heads=2, d_model=D, d_k=L, causal=True, rng=0, dtype=np.float64)
    letters, places = slice(0, V), slice(V, V + L)
    W = blank(model, letters, places)
    for head, sign in ((0, 1), (1, -1)):
        own, value = slice(head * L, (head + 1) * L), slice(head * D // 2, head * D // 2 + V)
        W["query"][places, own] = scores[head] * np.sqrt(L)             # Q: this place's row of the table
        W["key"][places, own] = np.eye(L)                               # K: which place this is
        W["value"][letters, value] = np.eye(V)
        W["output"][value, letters] = sign * 1000 * np.eye(V)
    W["unembedding"][letters] = np.eye(V)
    return model


def least_recent(i, shortest, longest):
    """Weights for 0 … i places back under which the letter least recently seen has the highest sum, (i + 1,).

    Whatever the length p of the block, the letter d places back was also seen d + p, d + 2p … back. What is wanted is
    a list of inequalities: the sum of the letter p − 1 back is above that of all other letters, and above 0, that of
    unseen ones. Hildreth's method finds the smallest weights that keep all of them: correct the worst one by one.

    >>> from numpy_attention.training.by_hand import least_recent
    >>> back = least_recent(9, 4, 10)
    >>> sums = [back[d::5].sum() for d in range(5)]              # of a block of 5 letters
    >>> int(np.argmax(sums)), bool(max(sums) > 0), abs(float(back.sum().round(9)))
    (4, True, 0.0)

    Source: Hildreth 1957, "A quadratic programming procedure".
    """
    rows = []
    for p in range(shortest, min(longest, i) + 1):
        seen = np.zeros((p, i + 1))
        for d in range(p):
            seen[d, d::p] = 1
        rows += [*(seen[-1] - seen[:-1]), seen[-1]]                     # row · weights should be at least 1
    rows = np.array(rows)
    rows -= rows.mean(axis=1, keepdims=True)                            # what is added is subtracted elsewhere
    weights, pull = np.zeros(i + 1), np.zeros(len(rows))
    while (rows @ weights).min() < 0.9:
        for r, row in enumerate(rows):
            stronger = max(0.0, pull[r] + (1 - row @ weights) / (row @ row))
            weights += (stronger - pull[r]) * row
            pull[r] = stronger
    return weights


def look_up_by_hand(task="jumps"):
    """One layer with 2(L − 1) heads answers `jumps`, and `induction` too: what followed this letter earlier?

    Head h reads place h + 1 if place h holds my letter, and place h otherwise; its twin reads place h always and is
    subtracted. So what is left of a pair is the letter that followed, or nothing. One pair for each place: the number
    of heads grows with the length of the sequence. Two layers do it with one head each.

    >>> model = na.training.by_hand.look_up_by_hand()
    >>> na.training.accuracy(model, na.training.task("jumps").batch(30, rng=0)), model.heads
    (1.0, 38)

    Source: that it takes many: Sanford, Hsu and Telgarsky 2024, "One-layer transformers fail to solve the induction
    heads task".
    """
    task = make_task(task)
    V, L = task.vocab, task.length
    H, d_k = 2 * (L - 1), V + L
    model = ToyModel(V, L, layers=1, heads=H, d_model=H * V, d_k=d_k, causal=True, rng=0, dtype=np.float64)
    letters, places, answer, loud = slice(0, V), slice(V, V + L), slice(V + L, V + L + V), LOUD * np.sqrt(d_k)
    W = blank(model, letters, places)
    for h in range(L - 1):
        for head, chooses in ((h, True), (L - 1 + h, False)):
            at, value = head * d_k, slice(head * V, head * V + V)
            if chooses:                                                 # my own letter at place h pushes me on
                W["query"][letters, at:at + V], W["key"][letters, at:at + V] = np.eye(V), -2 * loud * np.eye(V)
            for i in range(L):                                          # where place i looks, if nothing pushes
                preferred = np.full(L, -20.0)
                preferred[min(h, i)] = 1 if i > h else 20
                if chooses and i > h:
                    preferred[h + 1] = 0
                W["query"][V + i, at + V + i] = 1
                W["key"][places, at + V + i] = preferred * loud
            W["value"][letters, value] = np.eye(V)
            W["output"][value, answer] = np.eye(V) * (1 if chooses else -1)
    W["unembedding"][answer] = np.eye(V)
    return model


def facts_by_hand():
    """One layer with four heads answers `facts`: one head for each of the four facts.

    Head h stays on key h, unless that is the key asked for: then its score falls, and the weight goes to value h. Keys
    hand over nothing, so a head that stays on its key says nothing.

    >>> model = na.training.by_hand.facts_by_hand()
    >>> batch = na.training.task("facts").batch(500, rng=0)
    >>> na.training.accuracy(model, batch), sum(p.size for p in model.named_params().values())
    (1.0, 5664)
    """
    n, V, L, D = 4, 8, 9, 32
    model = ToyModel(2 * V, L, layers=1, heads=n, d_model=D, d_k=V + 1, causal=True, rng=0, dtype=np.float64)
    keys, values, places, loud = slice(0, V), slice(V, 2 * V), slice(2 * V, 2 * V + L), 20 * np.sqrt(V + 1)
    W = blank(model, slice(0, 2 * V), places)
    for h in range(n):
        at, own = h * (V + 1), slice(h * V, (h + 1) * V)
        W["query"][keys, at:at + V], W["key"][keys, at:at + V] = np.eye(V), -2 * loud * np.eye(V)
        W["query"][2 * V + L - 1, at + V] = 1                           # the last place asks
        W["key"][places, at + V] = -10 * loud
        W["key"][2 * V + 2 * h, at + V], W["key"][2 * V + 2 * h + 1, at + V] = loud, 0
        W["value"][values, own] = W["output"][own, values] = np.eye(V)
    W["unembedding"][values, values] = np.eye(V)
    return model


def rows_of_four_by_hand():
    """Rows of 4 numbers hold 32 keys and 32 values: keys on a circle in two of the numbers, values in the other two.

    >>> model = na.training.by_hand.rows_of_four_by_hand()
    >>> batch = na.training.task("recall", slots=12, V=32).batch(500, rng=0)
    >>> na.training.accuracy(model, batch), sum(p.size for p in model.named_params().values())
    (1.0, 576)
    """
    V = 32
    model = LookupModel(V, d_model=4, rng=0, dtype=np.float64)
    angle, nothing = 2 * np.pi * np.arange(V) / V, np.zeros((V, 2))
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)           # neighbours are 11° apart
    for table, rows in ((model.asked_embedding, [circle, nothing]), (model.key_embedding, [circle, nothing]),
                        (model.value_embedding, [nothing, circle])):
        table.params["W"][:] = np.hstack(rows)
    attention = model.attentions()[0]
    attention.query_proj.params["W"][:] = np.diag([600, 600, 0, 0])     # loud enough to tell 11° apart
    attention.key_proj.params["W"][:] = np.diag([1, 1, 0, 0])
    attention.value_proj.params["W"][:] = np.diag([0, 0, 1, 1])
    attention.output_proj.params["W"][:] = np.eye(4)
    model.unembedding.params["W"][:] = np.hstack([nothing, circle]).T
    return model


def blank(model, letters, places):
    """All matrices of a one-layer ToyModel set to 0, by role; a row of its stream is the letter beside the place."""
    attention = model.attentions()[0]
    layers = {"query": attention.query_proj, "key": attention.key_proj, "value": attention.value_proj,
              "output": attention.output_proj, "unembedding": model.unembedding}
    for layer in (*layers.values(), model.embedding, model.positions):
        layer.params["W"][:] = 0
    for table, columns in ((model.embedding, letters), (model.positions, places)):
        table.params["W"][:, columns] = np.eye(len(table.params["W"]))
    return {role: layer.params["W"] for role, layer in layers.items()}
