"""Exercises of a teacher's own: a Python file with EXERCISES, made of the same class as the course's own.

    EXERCISES = (Exercise("my-mean", "51", Words("...", "..."), (golden(...), random_case(...)), solution,
                          arguments="x", points=2),)

`course template FILE` writes one to start from. The file is the teacher's and is believed; it is read where answers are
examined, never at the desk.
"""
import functools
import importlib.util
from pathlib import Path

from ..exercise import Exercise

TEMPLATE = Path(__file__).with_name("template.txt")


@functools.cache
def read_exercises(path):
    """{name: Exercise} of a teacher's file; {} for none.

    Raises: ValueError with what is wrong with the file.
    """
    if not path:
        return {}
    spec = importlib.util.spec_from_file_location("teachers_exercises", path)
    if spec is None or not Path(path).is_file():
        raise ValueError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ValueError(f"{path} does not run: {type(error).__name__}: {error}") from error
    found = getattr(module, "EXERCISES", None)
    if not isinstance(found, tuple | list) or not all(isinstance(each, Exercise) for each in found):
        raise ValueError(f"{path} wants a list EXERCISES of course.Exercise; see `course template`")
    wrong = [each.name for each in found if not each.check(each.solution).ok]
    if wrong:
        raise ValueError(f"{path}: the solution of {wrong[0]} does not pass its own checks")
    return {each.name: each for each in found}
