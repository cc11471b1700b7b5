"""Copies of the package for the desk, which hold no solution.

    everything  all but solutions, notebooks and commands
    nothing     no layers either: an answer that is right with it does not need them
    softmax     none but the softmax, for exercises that build on it

An answer is first tried with what the exercise allows. Only if it reached for more of the package is it tried
again with everything, and the teacher's rule says what that is worth.
"""
import ast
import atexit
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2]
STAND_INS = Path(__file__).parent / "stand_ins"
COURSE, OURS = ("__init__", "calling", "pictures"), ("asking", "capstone")      # where to begin; stand-ins
NOT_WHOLE = ("course", "commands", "__pycache__", "notebooks", "*.pyc")
BARE = ("engine", "words", "masks.py", "py.typed")


@functools.cache
def made():
    """The folder with the editions, made once for this process and deleted when it ends."""
    folder = Path(tempfile.mkdtemp(prefix="numpy_attention_desk_"))
    atexit.register(delete, folder)
    all_three = [folder / name / PACKAGE.name for name in ("everything", "nothing", "softmax")]
    everything, nothing, softmax = all_three
    shutil.copytree(PACKAGE, everything, ignore=shutil.ignore_patterns(*NOT_WHOLE))
    for edition in (nothing, softmax):
        for name in BARE:
            _copy(PACKAGE / name, edition / name)
        shutil.copy(STAND_INS / "bare.txt", edition / "__init__.py")
    _copy(PACKAGE / "layers" / "softmax.py", softmax / "layers" / "softmax.py")
    (softmax / "layers" / "__init__.py").touch()
    for edition in all_three:
        for name in _of_course():
            _copy(PACKAGE / "course" / f"{name}.py", edition / "course" / f"{name}.py")
        _copy(PACKAGE / "course" / "desk", edition / "course" / "desk")
        for name in OURS:
            shutil.copy(STAND_INS / f"{name}.txt", edition / "course" / f"{name}.py")
        _fonts(edition.parent / "fonts")
    folder.chmod(0o755)
    return folder


def delete(folder):
    """Delete a folder with what a submission may have left in it: where it is nested too deeply for Python, by `rm`."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        if os.name == "posix":
            subprocess.run(["rm", "-rf", str(folder)], check=False, stderr=subprocess.DEVNULL)


def _of_course():
    """The files of the course that a notebook imports, one through the other; where solutions lie, a stand-in is."""
    found, new = set(), set(COURSE)
    while new:
        found |= new
        trees = [ast.parse((PACKAGE / "course" / f"{name}.py").read_text(encoding="utf-8")) for name in new]
        imported = {name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)
                    and node.level == 1 for name in ([node.module] if node.module else [a.name for a in node.names])}
        new = {name for name in imported - found - set(OURS) if (PACKAGE / "course" / f"{name}.py").is_file()}
    return sorted(found)


def _copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)


def _fonts(target):
    """Matplotlib's list of fonts, which takes seconds to make."""
    import matplotlib
    target.mkdir()
    for path in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
        shutil.copy(path, target)
