"""What a notebook calls to check an answer or get a hint, and the list of all exercises."""
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from . import exercises as exercise_files
from .hints import helps, next_hint

listeners = []      # called with (exercise, verdict) after each check; how grading listens in


@cache
def exercises():
    """All exercises by name, in the order of the notebooks.

    >>> next(iter(exercises()))
    'one-row-by-hand'
    """
    found, known = {}, helps()
    for module in sorted(iter_modules(exercise_files.__path__), key=lambda m: m.name):
        for exercise in getattr(import_module(f"{exercise_files.__name__}.{module.name}"), "EXERCISES", ()):
            found[exercise.name] = replace(exercise, **known[exercise.name]._asdict())
    return found


def named(name):
    """The exercise called `name`, or an error that lists them."""
    if name not in exercises():
        raise ValueError(f"there is no exercise {name!r}; there are: {', '.join(exercises())}")
    return exercises()[name]


def hint(name, number=None):
    """The next hint for an exercise, or the one with this number; the last one is nearly the code.

    Raises: ValueError if there is no such exercise, or no such hint.

    >>> hint("merge-heads", 1)
    merge-heads: 提示 1/3（★，约 5 分钟） hint 1 of 3 (★, about 5 minutes)
      (..., H, L, d) → (..., L, H·d)：拆分的两步，倒过来。
      (..., H, L, d) → (..., L, H·d): the two steps of the split, in reverse.
      再运行一次看下一条。 Run it again for the next one.
    """
    return next_hint(named(name), number)


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
          weights [0]（键 0）不对：你的是 0.12，应该更小。共 3 / 3 格不同。
          weights is wrong at [0] (key 0): yours is 0.12, it should be smaller. 3 of 3 cells differ.
      · 后面 1 项还没有测 1 more not tried yet
      提示：这是原文印的数，softmax 算错了：e²/(e² + e² + e⁴)。
      Hint: That is what the source text prints, and its softmax is wrong: e²/(e² + e² + e⁴).
    """
    exercise = named(name)
    verdict = exercise.check(answer)
    for listen in listeners:
        listen(exercise, verdict)
    return verdict
