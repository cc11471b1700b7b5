"""What a notebook calls to check an answer, and the list of all exercises."""
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from . import exercises as exercise_files

listeners = []      # called with (exercise, verdict) after each check; how grading listens in


@cache
def exercises():
    """All exercises by name, in the order of the notebooks.

    >>> next(iter(exercises()))
    'one-row-by-hand'
    """
    found = {}
    for module in sorted(iter_modules(exercise_files.__path__), key=lambda m: m.name):
        for exercise in getattr(import_module(f"{exercise_files.__name__}.{module.name}"), "EXERCISES", ()):
            found[exercise.name] = exercise
    return found


def check(name, answer):
    """Check an answer to the exercise called `name`.

    Args:
        name: as in the notebook, "softmax-backward".
        answer: the function (not called), or the numbers.

    Returns: a CheckResult; as the last line of a cell it shows what failed, at which cell of the matrix, and a hint.
    Raises: ValueError if there is no such exercise.

    >>> print(check("one-row-by-hand", [0.12, 0.12, 0.76]))
    ✗ one-row-by-hand: 还没对 not yet (0/2)
      ✗ 参考数值 golden numbers
          weights [0] (键 key 0) 不对：你的是 0.12，应该更小。共 3 / 3 格不同。
          weights is wrong at [0] (键 key 0): yours is 0.12, it should be smaller. 3 of 3 cells differ.
      · 后面 1 项还没有测 1 more not tried yet
      提示：这是原文印的数，softmax 算错了：e²/(e² + e² + e⁴)。
      Hint: That is what the source text prints, and its softmax is wrong: e²/(e² + e² + e⁴).
    """
    if name not in exercises():
        raise ValueError(f"there is no exercise {name!r}; there are: {', '.join(exercises())}")
    exercise = exercises()[name]
    verdict = exercise.check(answer)
    for listen in listeners:
        listen(exercise, verdict)
    return verdict
