"""Places: the answer lies at a place that is the same for every sequence.

The letters are random, so nothing can be guessed from them; what is to be learned is only *where to look*. In
`reverse` the first place looks at the last one and so on, an anti-diagonal in the heat map. In `shift` each place looks
a fixed number of steps to the left. `offsets` asks for several such shifts at once, which one head cannot do well: its
weights are one distribution, and what it gathers is one mixture.
"""
import numpy as np

from ...engine.arguments import size, switch, whole
from .recipe import Batch, Task, onehot, several


class Places(Task):
    """Base of the tasks in which question k at place i is answered by the letter at place where[k, i]."""

    def __init__(self, where, **options):
        super().__init__(**options)
        self.where = np.array(where)                                    # (K, L)
        self.questions = len(self.where)

    def make(self, N, rng):
        L = self.length
        tokens = rng.integers(self.vocab, size=(N, L))
        targets = tokens[:, self.where].swapaxes(1, 2)                  # (N, K, L) -> (N, L, K)
        targets = targets[..., 0] if self.questions == 1 else targets
        gold = np.broadcast_to(onehot(self.where, L), (N, self.questions, L, L))
        return Batch((tokens,), targets, np.ones(targets.shape, bool), gold)


class Reverse(Places):
    """Write the sequence backwards. Args: V: letters. L: length.

    >>> na.training.task("reverse").batch(1, rng=0).gold[0, 0, :3].argmax(axis=1)
    array([7, 6, 5])
    """

    name = "reverse"
    model, steps = {"layers": 1, "heads": 1, "d_model": 16}, 150

    def __init__(self, V=10, L=8):
        V, L = size("V", V), size("L", L)
        super().__init__([L - 1 - np.arange(L)], vocab=V, length=L, V=V, L=L)


class Shift(Places):
    """Write at each place the letter `by` places to its left, the first after the last: a ring.

    Args: V: letters. L: length. by: how many places, 0 <= by < L. ring: False asks only where nothing goes round.

    >>> batch = na.training.task("shift", L=5).batch(1, rng=0)
    >>> batch.inputs[0], batch.targets
    (array([[8, 6, 5, 2, 3]]), array([[3, 8, 6, 5, 2]]))
    """

    name = "shift"
    model, steps = {"layers": 1, "heads": 1, "d_model": 32}, 150

    def __init__(self, V=10, L=10, by=1, ring=True):
        V, L = size("V", V), size("L", L)
        super().__init__([places_left(L, by, "by")], vocab=V, length=L, V=V, L=L, by=by, ring=switch("ring", ring))

    def make(self, N, rng):
        batch = super().make(N, rng)
        asked = np.arange(self.length) >= (0 if self.settings["ring"] else self.settings["by"])
        return batch._replace(counts=batch.counts & asked, gold=batch.gold * asked[:, None])


class Offsets(Places):
    """Read several places to the left at once, as many questions as offsets; the sequence is a ring.

    Args: V: letters. L: length. offsets: how many places to the left each question looks, all different.

    >>> batch = na.training.task("offsets", L=6, offsets=(1, 3)).batch(2, rng=0)
    >>> batch.targets.shape, batch.gold.shape
    ((2, 6, 2), (2, 2, 6, 6))
    """

    name = "offsets"
    model, steps = {"layers": 1, "heads": 4, "d_model": 32}, 300

    def __init__(self, V=8, L=12, offsets=(1, 2, 3, 4)):
        V, L, offsets = size("V", V), size("L", L), several(offsets)
        if not offsets or len(set(offsets)) != len(offsets):
            raise ValueError(f"offsets must be at least one, and all different; got {offsets}")
        where = [places_left(L, by, "each offset") for by in offsets]
        super().__init__(where, vocab=V, length=L, V=V, L=L, offsets=offsets)


def places_left(L, by, name):
    """For each of L places, the place `by` steps to its left."""
    if not 0 <= whole(name, by) < L:
        raise ValueError(f"{name} must lie in 0..{L - 1} (L = {L}); got {by}")
    return (np.arange(L) - by) % L
