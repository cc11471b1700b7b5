"""Repeats: a random block of letters, written again and again, and the next letter is to be told.

The only way to know what follows a letter is to find where it stood before and to read what came next. A head that
does so is called an induction head. It needs help from a layer below, because a key has to hold what stood *before*
its place. If the block always has the same length, there is a shortcut: look that many places back. Varying lengths
close it; so does a stream that jumps.
"""
import numpy as np

from ...engine.arguments import size, switch
from .recipe import Batch, Task, at_least, several, shared


class Induction(Task):
    """Foretell the next letter of a block that repeats itself, wherever the answer can be known.

    Args:
        V: letters. L: how many are read.
        periods: the lengths that a block may have, (shortest, longest), or the only one; it has no letter twice.
        bos: whether a special first token <s> comes before the blocks; L counts it.
        everywhere: whether to ask at every place, as a language model is asked, also where nobody can know.

    Raises: ValueError for a block longer than the alphabet, or a sequence too short for its repeats.

    >>> task = na.training.task("induction", L=8, periods=(3, 3))
    >>> batch = task.batch(1, rng=0)
    >>> "".join(task.words(batch.inputs[0][0])), "".join(task.words(batch.targets[0])), batch.counts.astype(int)
    ('cldcldcl', 'ldcldcld', array([[0, 0, 0, 1, 1, 1, 1, 1]]))
    >>> batch.gold[0, 0, 3]                 # the second c looks at what followed the first
    array([0., 1., 0., 0., 0., 0., 0., 0.])

    Source: Elhage et al. 2021; Olsson et al. 2022, "In-context Learning and Induction Heads".
    """

    name, causal = "induction", True
    model, steps = {"layers": 2, "heads": 1, "d_model": 32}, 300

    def __init__(self, V=16, L=20, periods=(4, 10), bos=False, everywhere=False):
        V, L, periods = size("V", V), size("L", L), several(periods)
        shortest, longest = (size("each period", p) for p in (periods[0], periods[-1]))
        periods = periods * 2 if len(periods) == 1 else periods
        bos, everywhere = switch("bos", bos), switch("everywhere", everywhere)
        most = min(V, L - 1 - bos)
        if len(periods) != 2 or not 1 <= shortest <= longest <= most:
            raise ValueError(f"periods must be (shortest, longest) with 1 <= shortest <= longest <= {most}: a block "
                             f"has no letter twice (V = {V}) and its repeat must be read (L = {L}); got {periods}")
        super().__init__(vocab=V + bos, length=L, V=V, L=L, periods=periods, bos=bos,
                         everywhere=everywhere)

    def make(self, N, rng):
        V, L, (shortest, longest), bos, everywhere = self.settings.values()
        letters = rng.permuted(np.broadcast_to(np.arange(V), (N, V)), axis=1)
        period = rng.integers(shortest, longest + 1, size=(N, 1))
        place = np.arange(L + 1) - bos                                          # of each letter in its repeats
        stream = np.take_along_axis(letters, place % period, axis=1)            # (N, L + 1)
        if bos:
            stream[:, 0] = V
        tokens, targets = stream[:, :-1], stream[:, 1:]
        gold = shared(prefix_matches(tokens))[:, None]                          # (N, 1, L, L)
        return Batch((tokens,), targets, (place[:-1] >= period) | everywhere, gold)

    def word(self, token):
        return "<s>" if token == self.settings["V"] else super().word(token)


class Jumps(Task):
    """Foretell what follows a letter, in a stream that keeps jumping, wherever an earlier place tells.

    Each letter has one follower, on a cycle of 5 to 8 letters; but one time in four the stream jumps to any letter of
    the cycle. So the letter that was not seen for the longest time, which answers every question of `Induction`, is no
    answer here: one has to find where the letter stood before. Asked where every earlier occurrence of the letter was
    followed by the right one.

    Args: V: letters, at least 8. L: how many are read.

    >>> task = na.training.task("jumps", L=12)
    >>> batch = task.batch(1, rng=0)
    >>> "".join(task.words(batch.inputs[0][0])), "".join(task.words(batch.targets[0])), batch.counts[0].astype(int)
    ('cldkadkaehcl', 'ldkaekaehcld', array([0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1]))

    Source: the induction heads task of Sanford, Hsu and Telgarsky 2024, section 2, on a small cycle.
    """

    name, causal = "jumps", True
    model, steps = {"layers": 2, "heads": 1, "d_model": 32}, 600

    def __init__(self, V=16, L=20):
        V, L = at_least("V", V, 8, "for a cycle of up to 8 letters"), size("L", L)
        super().__init__(vocab=V, length=L, V=V, L=L)

    def make(self, N, rng):
        V, L = self.settings.values()
        cycle = rng.permuted(np.broadcast_to(np.arange(V), (N, V)), axis=1)
        around = rng.integers(5, 9, size=(N, 1))                                # the cycle's length
        follower = np.empty_like(cycle)
        next_on_it = np.where(np.arange(V) == around - 1, cycle[:, :1], np.roll(cycle, -1, axis=1))
        np.put_along_axis(follower, cycle, next_on_it, axis=1)
        tokens = np.empty((N, L), int)
        tokens[:, 0] = cycle[:, 0]
        for i in range(1, L):
            followed = np.take_along_axis(follower, tokens[:, i - 1:i], axis=1)
            anywhere = np.take_along_axis(cycle, rng.integers(0, around), axis=1)
            tokens[:, i:i + 1] = np.where(rng.random((N, 1)) < 0.25, anywhere, followed)
        targets, match = np.take_along_axis(follower, tokens, axis=1), prefix_matches(tokens)
        right = (match & (tokens[:, None] == targets[:, :, None])).sum(axis=-1)
        return Batch((tokens,), targets, (right > 0) & (right == match.sum(axis=-1)), shared(match)[:, None])


def prefix_matches(tokens):
    """(N, L) -> bool (N, L, L): True at (i, j) when the token just before j is the same as token i, and j <= i."""
    tokens = np.asarray(tokens)
    L = tokens.shape[-1]
    same = np.zeros((*tokens.shape, L), bool)
    same[..., 1:] = tokens[..., :, None] == tokens[..., None, :-1]
    return same & np.tri(L, dtype=bool)
