"""A specimen: a real bug, planted in a layer that is right.

It is a small change of one method of one part, not a copy of the layer: `plant(layer)` does it, and what the change
says is what somebody once wrote in earnest. The card tells what it does, where it was seen, which detector catches it
(and which others do, too), and why the rest cannot; in English and Chinese.
"""
from collections.abc import Callable
from typing import NamedTuple

from ..words.terminal import wrap

SPECIMENS = {}


class Specimen(NamedTuple):
    """One card. `room` is where it stands: the layer it is planted in, see rooms.py."""

    name: str
    room: str
    plant: Callable
    caught_by: str
    seen: str
    what: str
    what_zh: str
    why: str
    why_zh: str
    also: str = ""

    def layer(self):
        """A fresh layer with the bug in it."""
        from .rooms import ROOMS
        layer = ROOMS[self.room].make()
        self.plant(layer)
        return layer

    def __str__(self):
        also = f" (also: {self.also})" if self.also else ""
        lines = [self.what, self.what_zh, f"Seen: {self.seen}", f"Caught by: {self.caught_by}{also}. {self.why}",
                 self.why_zh]
        told = [line for text in lines for line in wrap(text, indent=2, further=7)]
        return "\n".join([f"{self.name} ({self.room})", *told])


def specimen(name, *, caught_by, seen, what, what_zh, why, why_zh, room="attention", also=""):
    """Decorator: the function that plants a bug joins the collection, with its card."""
    def add(plant):
        SPECIMENS[name] = Specimen(name, room, plant, caught_by, seen, what, what_zh, why, why_zh, also)
        return plant
    return add


def replace(part, **methods):
    """Give one layer object other methods; from outside it looks like before."""
    kind = type(part)
    part.__class__ = type(kind.__name__, (kind,), {"__module__": kind.__module__, "__doc__": kind.__doc__, **methods})
