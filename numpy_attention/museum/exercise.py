"""Write a test that kills the bug.

A learner gets a broken layer, without being told what is wrong, and writes a test, not a repair: a function that takes
a layer and complains. It is graded on all layers at once. Each bug that it notices is a kill; a complaint about a
correct layer is a false alarm and costs as much. `assert False` kills everything and scores nothing.
"""
from typing import NamedTuple

from ..words.terminal import wrap
from .collection import card, names
from .rooms import ROOMS


class Grade(NamedTuple):
    """`kills`, `survivors`: names of specimens; `false_alarms`: what the test said about correct layers."""

    kills: list
    survivors: list
    false_alarms: list

    @property
    def score(self):
        """Kills, or 0 if there was a false alarm: a test that cries wolf is no test."""
        return 0 if self.false_alarms else len(self.kills)

    def __str__(self):
        lines = [f"{len(self.kills)} of {len(self.kills) + len(self.survivors)} bugs killed, "
                 f"{len(self.false_alarms)} false alarms: score {self.score}"]
        lines += [f"False alarm on a correct layer: {said}" for said in self.false_alarms]
        lines += [f"Killed: {', '.join(self.kills)}"] * bool(self.kills)
        lines += [f"Still alive: {', '.join(self.survivors)}"] * bool(self.survivors)
        return "\n".join(line for text in lines for line in wrap(text, further=2))


def exercise(name):
    """A layer with that bug in it; nothing about it says what is wrong.

    Most are a MultiHeadAttention(8, 4); museum.card(name).room says which layer else. `museum.card(name)` is the
    solution.

    Raises: KeyError with the nearest names for an unknown one.

    >>> from numpy_attention import museum
    >>> layer = museum.exercise("causal-off-by-one")
    >>> type(layer).__name__, layer(np.ones((1, 3, 8))).shape
    ('MultiHeadAttention', (1, 3, 8))
    """
    return card(name).layer()


def grade(test_function, room="attention"):
    """Run a learner's test on correct layers and on every specimen of a room.

    Args:
        test_function: takes a fresh layer; complains by raising, an assert for instance, or by returning False.
        room: "attention" (a MultiHeadAttention(8, 4)), "grouped", "dropout", "embedding", "norm" or "block".

    Returns: Grade; print it.
    Raises: ValueError for an unknown room, TypeError for what cannot be called.

    >>> from numpy_attention import museum
    >>> def rows_sum_to_one(mha):
    ...     mha(np.ones((2, 3, 8)), mask=na.causal_mask(3))
    ...     assert np.allclose(mha.weights.sum(axis=-1), 1)
    >>> result = museum.grade(rows_sum_to_one)
    >>> "mask-after-softmax" in result.kills, result.false_alarms
    (True, [])
    """
    if room not in ROOMS:
        raise ValueError(f"room must be one of {', '.join(ROOMS)}; got {room!r}")
    if not callable(test_function):
        raise TypeError(f"a test is a function that takes a layer; got {type(test_function).__name__}")
    false_alarms = [said for said in (_complaint(test_function, layer) for layer in _correct(room)) if said]
    found = {name: _complaint(test_function, exercise(name)) for name in names(room)}
    return Grade([name for name, said in found.items() if said], [name for name, said in found.items() if not said],
                 false_alarms)


def _correct(room):
    """Correct layers: one like the specimens, and one with other parameters."""
    from .rooms import random_parameters
    make = ROOMS[room].make
    return make(), random_parameters(make(), seed=1)


def _complaint(test_function, layer):
    """What the test says about the layer, "" if it is content."""
    try:
        return "it returned False" if test_function(layer) is False else ""
    except Exception as error:
        return f"{type(error).__name__}: {error}".strip().rstrip(":")
