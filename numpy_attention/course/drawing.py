"""Random numbers of the checks: the same for everybody in a notebook, other ones for each student when marks are given.

A stage asks `draws(3)` for a generator. While a class is graded, `numbers_of(student)` stands around the check, and the
same line gives numbers that nobody can have learned by heart.

>>> a, b = draws(3).random(), draws(3).random()
>>> with numbers_of("张三"):
...     c = draws(3).random()
>>> a == b, a == c
(True, False)
"""
import contextlib
import hashlib
from contextvars import ContextVar

import numpy as np

_student = ContextVar("student", default=())


def draws(*seed):
    """A generator for these whole numbers, and for the student whose numbers are asked for."""
    return np.random.default_rng([*seed, *_student.get()] if _student.get() or len(seed) > 1 else seed[0])


@contextlib.contextmanager
def numbers_of(student):
    """All `draws` within are those of a student, who goes by any text."""
    digest = hashlib.sha256(student.encode()).digest()
    before = _student.set(tuple(np.frombuffer(digest, "<u4").tolist()))
    try:
        yield
    finally:
        _student.reset(before)
