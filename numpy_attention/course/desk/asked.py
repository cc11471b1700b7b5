"""What `course.check` is at the desk: it takes down the answer and says nothing. The examiner says it, elsewhere."""
answers = {}                # name of the exercise: the last answer handed to course.check
library = set()             # what of the package an answer used where it should not (see the bare edition)
ELSEWHERE = ("torch", "tensorflow", "jax", "keras", "flax", "autograd", "tinygrad", "mxnet", "paddle", "mindspore",
             "sklearn", "scipy.special")        # where a softmax, an attention, a gradient can be had ready-made
HIDDEN = "while marks are given, the solutions are not here"


class LibraryUsed(ImportError):
    """An answer reached for the package's own layers, or for those of another one."""


class TakenDown:
    """In place of a CheckResult, whose text comes from the examiner."""

    ok, passed, stages, hint, results, printed = True, 0, 0, None, (), ""

    def __repr__(self):
        return "will be checked later"


class Hidden(dict):
    """In place of the exercises and their solutions."""

    def __missing__(self, name):
        raise LookupError(HIDDEN)


def check(name, answer):
    """Take down the last answer to this exercise."""
    answers[name] = answer
    return TakenDown()


def hint(name, number=None):
    """None are given while marks are."""
    return "no hints while marks are given"


def exercises():
    """None are here."""
    return Hidden()
