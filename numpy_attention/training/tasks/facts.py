"""Facts: a key belongs to a value, and the value is asked for.

Attention as a dictionary. In `recall` every slot of a memory holds a key together with its value; one head of
cross-attention looks the key up and hands over the value. In `facts` the same pairs stand one after the other in a
single stream, k v k v k v, and the last token asks for one of the keys. Now key and value lie in different places: some
layer has to bind them first, by writing into the value's place what stood before it.
"""
import numpy as np

from ...engine.arguments import size
from .recipe import Batch, Task, at_least, onehot


class Recall(Task):
    """Look keys up in a memory of (key, value) slots: cross-attention.

    Args: slots: S pairs, each with a key of its own. V: different keys, and as many values. queries: L, asked at once.

    >>> batch = na.training.task("recall", slots=3, V=5, queries=1).batch(1, rng=0)
    >>> asked, memory = batch.inputs
    >>> asked, memory.tolist(), batch.targets
    (array([[3]]), [[[2, 0], [4, 0], [3, 0]]], array([[0]]))
    >>> batch.gold[0, 0]                    # the slot that holds key 3
    array([[0., 0., 1.]])

    Source: the dictionary view of attention: Miller et al. 2016, "Key-Value Memory Networks", section 3.1.
    """

    name = "recall"
    model, steps = {"heads": 1, "d_model": 32}, 150

    def __init__(self, slots=6, V=16, queries=4):
        slots, queries = size("slots", slots), size("queries", queries)
        V = at_least("V", V, slots, f"a different key for each of {slots} slots")
        super().__init__(vocab=V, length=queries, slots=slots, V=V, queries=queries)
        self.slots = slots

    def make(self, N, rng):
        S, V, L = self.settings.values()
        keys, values = different(rng, N, S, V), rng.integers(V, size=(N, S))
        slot = rng.integers(S, size=(N, L))
        asked, targets = (np.take_along_axis(each, slot, axis=1) for each in (keys, values))
        memory = np.stack([keys, values], axis=-1)                      # (N, S, 2)
        return Batch((asked, memory), targets, np.ones((N, L), bool), onehot(slot, S)[:, None])


class Facts(Task):
    """The same facts in one stream, key value key value ..., and at its end the key that is asked for.

    Args: facts: how many pairs. V: different keys, and as many values, which are other tokens than the keys.

    >>> task = na.training.task("facts", facts=2, V=5)
    >>> batch = task.batch(1, rng=0)
    >>> task.words(batch.inputs[0][0]), task.word(batch.targets[0, -1]), batch.gold[0, 0, -1]
    (['C', '0', 'E', '0', 'C'], '0', array([0., 1., 0., 0., 0.]))

    Source: Arora et al. 2023, "Zoology" (multi-query associative recall).
    """

    name, causal = "facts", True
    model, steps = {"layers": 2, "heads": 1, "d_model": 32}, 300

    def __init__(self, facts=4, V=8):
        facts = size("facts", facts)
        V = at_least("V", V, facts, f"a different key for each of {facts} facts")
        super().__init__(vocab=2 * V, length=2 * facts + 1, facts=facts, V=V)

    def make(self, N, rng):
        n, V = self.settings.values()
        stream = np.empty((N, 2 * n + 1), int)
        stream[:, :-1:2] = different(rng, N, n, V)
        stream[:, 1::2] = V + rng.integers(V, size=(N, n))
        which = rng.integers(n, size=(N, 1))
        stream[:, -1:] = np.take_along_axis(stream, 2 * which, axis=1)
        targets, counts = np.zeros_like(stream), np.zeros(stream.shape, bool)
        gold = np.zeros((N, 1, 2 * n + 1, 2 * n + 1))
        targets[:, -1:] = np.take_along_axis(stream, 2 * which + 1, axis=1)
        counts[:, -1] = True
        gold[:, 0, -1] = onehot(2 * which[:, 0] + 1, 2 * n + 1)
        return Batch((stream,), targets, counts, gold)

    def word(self, token):
        V = self.settings["V"]
        return super().word(token).upper() if token < V else str(token - V)


def different(rng, N, n, V):
    """(N, n) numbers below V, all different within a row."""
    return rng.permuted(np.broadcast_to(np.arange(V), (N, V)), axis=1)[:, :n]
