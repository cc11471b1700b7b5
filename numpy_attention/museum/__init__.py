"""The museum of bugs: real mistakes of real attention layers, planted on purpose.

    print(museum.matrix())                  which detector catches what
    print(museum.card("softmax-diagonal"))  one specimen's story
    layer = museum.exercise("...")          a broken layer: find out what is wrong
    print(museum.grade(my_test))            how many bugs does your test kill?

>>> from numpy_attention import museum
>>> museum.matrix(["softmax-diagonal"]).caught("softmax-diagonal", "gradient check")
True

It is also how this package knows that its own tests can fail: each specimen must be caught by the detector that its
card names.
"""
from .collection import card, diagnosis, names
from .exercise import Grade, exercise, grade
from .matrix import Matrix, false_alarms, matrix
from .specimen import Specimen

__all__ = ["Grade", "Matrix", "Specimen", "card", "diagnosis", "exercise", "false_alarms", "grade", "matrix", "names"]
