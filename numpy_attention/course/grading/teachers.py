"""Exercises of a teacher's own: a Python file with EXERCISES, made of the same class as the course's own.

    EXERCISES = (Exercise("my-mean", "51", Words("...", "..."), (golden(...), random_case(...)), solution,
                          arguments="x", points=2),)

`course template FILE` writes one to start from. The file is the teacher's and is believed; it is read where answers are
examined, never at the desk.
"""
import functools
from pathlib import Path

from ..exercise import Exercise

TEMPLATE = Path(__file__).with_name("template.txt")


@functools.cache
def read_exercises(path, text=None):
    """{name: Exercise} of a teacher's file, or of its text where the file is on another machine; {} for none.

    Raises: ValueError with what is wrong with the file.
    """
    if not path:
        return {}
    space = {"__name__": "teachers_exercises", "__file__": str(path)}
    try:
        exec(compile(text or Path(path).read_text(encoding="utf-8"), str(path), "exec"), space)
    except (OSError, UnicodeError) as error:
        raise ValueError(f"{path} is no Python file") from error
    except Exception as error:
        raise ValueError(f"{path} does not run: {type(error).__name__}: {error}") from error
    found = space.get("EXERCISES")
    if not isinstance(found, tuple | list) or not all(isinstance(each, Exercise) for each in found):
        raise ValueError(f"{path} wants a list EXERCISES of course.Exercise; see `course template`")
    wrong = [each.name for each in found if not each.check(each.solution).ok]
    if wrong:
        raise ValueError(f"{path}: the solution of {wrong[0]} does not pass its own checks")
    return {each.name: each for each in found}
