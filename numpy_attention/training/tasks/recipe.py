"""A task: exercises without end, each with its solution and with the attention that a perfect head would show.

A toy task is a recipe that makes random exercises. Because we made them, we know more than the right answers: we know
where in the sequence each answer lies, so we know where a head that has understood the task has to look. Trained
weights can then be held against these gold weights, instead of being admired.
"""
import inspect
from typing import NamedTuple

import numpy as np

from ...engine.arguments import generator, size

NOT_ASKED = -1          # the label of a place where no answer is asked for


class Batch(NamedTuple):
    """N exercises with their solutions.

    inputs   what the model is called with: (tokens,), tokens (N, L); or (tokens, memory), memory (N, S, 2)
    targets  the right answer at each place, (N, L); several questions at once, (N, L, K)
    counts   bool, the shape of targets: True where an answer is asked for
    gold     (N, K, L, S): how a perfect head would spend its attention on question k. Each row sums to 1, or to 0 where
             nothing is asked; where several places are as good, they share equally. None where nobody knows.
    """

    inputs: tuple
    targets: np.ndarray
    counts: np.ndarray
    gold: np.ndarray | None = None

    @property
    def labels(self):
        """The targets, with -1 where no answer is asked for: what the loss takes."""
        return np.where(self.counts, self.targets, NOT_ASKED)


class Task:
    """Base of all tasks: a recipe with a name and some sizes.

    Attributes:
        name: what the command line calls it. settings: its sizes, by name.
        vocab: how many different tokens. length: L, the tokens that a model reads.
        classes: how many different answers. questions: K, how many are asked at each place.
        causal: whether a place may look at later ones. slots: S, when there is a memory of (key, value) pairs.
        model, steps: the sizes of a model that learns it and how long that takes, as `train` takes them.

    >>> batch = na.training.task("reverse", V=10, L=4).batch(1, rng=0)
    >>> batch.inputs[0], batch.targets, batch.gold[0, 0].argmax(axis=1)
    (array([[8, 6, 5, 2]]), array([[2, 5, 6, 8]]), array([3, 2, 1, 0]))
    """

    name = ""
    causal, questions, slots = False, 1, None
    model, steps = {}, 300

    def __init__(self, *, vocab, length, classes=None, **settings):
        self.vocab, self.length, self.classes, self.settings = vocab, length, classes or vocab, settings

    def batch(self, N, rng=None):
        """N new exercises as a Batch; rng is a seed or a np.random.Generator, which moves on."""
        return self.make(size("N", N), generator(rng))

    def make(self, N, rng):
        """The recipe itself: what a new task has to write."""
        raise NotImplementedError(f"{type(self).__name__} must say how to make(N, rng) a Batch")

    def word(self, token):
        """How a token is written: letters first, then numbers in brackets."""
        return "abcdefghijklmnopqrstuvwxyz"[token] if token < 26 else f"<{token}>"

    def words(self, tokens):
        """The labels of one sequence of token ids, for plots and tables."""
        return [self.word(int(token)) for token in tokens]

    @classmethod
    def default_settings(cls):
        """The settings by name, as they are unless given."""
        places = inspect.signature(cls).parameters.values()
        return {p.name: p.default for p in places if p.default is not p.empty}

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.settings.items())})"

    def __eq__(self, other):
        return type(other) is type(self) and other.settings == self.settings

    def __hash__(self):
        return hash(repr(self))


def at_least(name, value, least, why):
    """`value` as a whole number that is at least `least`, or an error that says why it must be."""
    number = size(name, value)
    if number < least:
        raise ValueError(f"{name} must be at least {least}, {why}; got {number}")
    return number


def several(value):
    """`value` as a tuple: several numbers as they are, a single one alone."""
    return tuple(value) if isinstance(value, (tuple, list, np.ndarray)) and np.ndim(value) else (value,)


def onehot(places, S):
    """(...) places as (..., S) shares: everything on that one place."""
    return (np.arange(S) == np.asarray(places)[..., None]).astype(np.float64)


def shared(cells):
    """(..., S) True where a head may look, as equal shares; a row without a place to look at stays 0."""
    total = cells.sum(axis=-1, keepdims=True)
    return cells / np.maximum(total, 1)
