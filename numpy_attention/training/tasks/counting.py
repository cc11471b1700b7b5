"""Counting: how often does the letter at this place occur in the sequence?

Attention averages; it cannot add up. A head that looks at all places with the same letter gathers the same mixture
whether there are two or five of them. One thing that helps is a place that is always there: the special first token
<s>. If the head looks at it as much as at each of the equal letters, its share is 1 / (1 + count), and that tells the
count.
"""
import numpy as np

from ...engine.arguments import size
from .recipe import Batch, Task, shared


class Counting(Task):
    """Tell at each letter how often it occurs in the whole sequence; a token <s> stands in front.

    Args: V: letters. L: how many of them follow <s>; the model reads L + 1 tokens.

    >>> task = na.training.task("counting", V=3, L=5)
    >>> batch = task.batch(1, rng=0)
    >>> task.words(batch.inputs[0][0]), batch.targets[0]
    (['<s>', 'c', 'b', 'b', 'a', 'a'], array([0, 1, 2, 2, 2, 2]))
    >>> batch.gold[0, 0, 2].round(2)        # a third each for <s> and for the two b
    array([0.33, 0.  , 0.33, 0.33, 0.  , 0.  ])

    Source: Weiss et al. 2021, "Thinking Like Transformers" (selector_width).
    """

    name = "counting"
    model, steps = {"layers": 1, "heads": 2, "d_model": 32, "d_hidden": 64, "positions": "none"}, 600

    def __init__(self, V=5, L=10):
        V, L = size("V", V), size("L", L)
        super().__init__(vocab=V + 1, length=L + 1, classes=L + 1, V=V, L=L)

    def make(self, N, rng):
        V, L = self.settings.values()
        tokens = np.full((N, L + 1), V)
        tokens[:, 1:] = rng.integers(V, size=(N, L))
        same = tokens[:, :, None] == tokens[:, None, :]                 # (N, L + 1, L + 1)
        counts = np.broadcast_to(np.arange(L + 1) > 0, tokens.shape)
        targets = np.where(counts, same.sum(axis=-1), 0)
        same[:, :, 0] = True                                            # everyone looks at <s> too
        return Batch((tokens,), targets, counts, shared(same & counts[..., None])[:, None])

    def word(self, token):
        return "<s>" if token == self.settings["V"] else super().word(token)
