"""Few rows on one thread.

A matrix product on several threads is done when the slowest of them is. Beside other work on the machine that one may
have to wait for its turn, and then a product of half a millisecond takes forty: measured, with two threads on two busy
processors. For a product that is over in a moment there is little to gain from a second thread and much to lose, so a
text of few tokens (and every step of writing on, which is one token) is computed on one. Long texts keep them all.
"""
import functools

import numpy as np

from ..engine.threads import one_thread_each

ROWS = 128                  # tokens; a product with more rows than that is worth all threads


def steady(method):
    """A model's forward or backward, on one thread where the ids are few."""
    @functools.wraps(method)
    def calm(self, *inputs, **options):
        ids = self.cache["ids"] if method.__name__ == "backward" else options.get("ids", inputs[0] if inputs else ())
        if np.size(ids) > ROWS:
            return method(self, *inputs, **options)
        with one_thread_each():
            return method(self, *inputs, **options)

    return calm
