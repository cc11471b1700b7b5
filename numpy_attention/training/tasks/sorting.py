"""Sorting: read some letters, then write the same letters in order, one at a time.

The model writes its answer behind the question and reads what it has written so far, as a language model does. At each
step it has to find, among the letters of the question, the smallest that has not been written yet.
"""
import numpy as np

from ...engine.arguments import size
from .recipe import Batch, Task, shared


class Sorting(Task):
    """Write L letters in alphabetical order, one after the other.

    Args: V: letters. L: how many are to be sorted; the model reads 2·L − 1 tokens.

    >>> task = na.training.task("sorting", V=5, L=3)
    >>> batch = task.batch(1, rng=0)
    >>> "".join(task.words(batch.inputs[0][0])), "".join(task.words(batch.targets[0][2:]))
    ('edccd', 'cde')

    Source: the demonstration task of Karpathy's minGPT.
    """

    name, causal = "sorting", True
    model, steps = {"layers": 2, "heads": 2, "d_model": 32, "d_hidden": 64}, 300

    def __init__(self, V=3, L=6):
        V, L = size("V", V), size("L", L)
        super().__init__(vocab=V, length=2 * L - 1, V=V, L=L)

    def make(self, N, rng):
        V, L = self.settings.values()
        question = rng.integers(V, size=(N, L))
        stream = np.concatenate([question, np.sort(question, axis=1)], axis=1)          # (N, 2·L)
        tokens, targets = stream[:, :-1], stream[:, 1:]
        counts = np.broadcast_to(np.arange(2 * L - 1) >= L - 1, tokens.shape)
        # The answer is any of the question's letters that is the same as the one to be written.
        same = (targets[:, :, None] == tokens[:, None, :]) & (np.arange(2 * L - 1) < L)
        return Batch((tokens,), targets, counts, shared(same & counts[..., None])[:, None])
