"""Grading: a student's notebooks, or a whole class, into marks that mean something.

    submissions   who handed in what; which lesson each notebook is
    python_of, needed     what of a notebook has to run for an answer
    containing, editions  the walls around a student's code, and the package without its solutions
    examining     one notebook: the desk gives answers, the examiner compares
    reports       tables, CSV, JSON, JUnit, a page for each student
    similar       answers that look alike
    exporting     the course's exercises for nbgrader and Otter

`grade` deals the notebooks out and collects the marks. What is finished is kept, under a name made of all that decides
it, so that an interrupted run goes on where it stopped.
"""
import concurrent.futures
import contextlib
import functools
import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from ...words.files import write_whole
from ...words.languages import Words
from .. import lessons
from ..asking import exercises
from . import containing, editions, similar, submissions
from .editions import PACKAGE
from .teachers import read_exercises

SECONDS, MEGABYTES = 60, 2000
LIBRARY = ("flag", "allow", "refuse")
MISSING = Words("没有交这一课。", "This lesson was not handed in.")
_running = set()


class Mark(NamedTuple):
    """One exercise of one student.

    state: "right", "wrong", "not tried" or "missing" (no notebook of this lesson). reason: Words, empty if right.
    text: what the check says, by language; None if it was never reached. library: what of the package was called.
    """

    student: str
    lesson: str
    exercise: str
    points: float
    of: float
    state: str
    reason: Words
    notebook: str = ""
    text: dict | None = None
    score: str = ""
    library: tuple = ()
    printed: str = ""
    seconds: float = 0.0


class Grades(NamedTuple):
    """marks: by student; remarks: (student, Words) on files; alike: see similar; walls: see containing."""

    marks: list
    remarks: list
    alike: list
    walls: str
    took: float


def grade(folder, *, seconds=SECONDS, megabytes=MEGABYTES, jobs=1, only=(), own=None, points=None, library="flag",
          seed=0, keep=None, executor=None, walls=None, progress=None):
    """Mark all notebooks of a student or of a class.

    Args:
        folder: a class's folder of students' folders, one student's folder, or one notebook.
        seconds, megabytes: limits for one exercise, its cells and its checks together.
        jobs: how many notebooks at a time. executor: a concurrent.futures.Executor that does them instead.
        only: what to mark: numbers of lessons "05", of exercises "05.2", or names; all unless given.
        own: a file with a teacher's exercises (see teachers), which are marked in place of the course's.
        points: {lesson, exercise or name: points}, in place of the exercises' own.
        library: what a right answer is worth that calls the package's layers: "allow", "flag" it or "refuse" it.
        seed: for other numbers in the checks. keep: a folder for finished notebooks, to go on from.
        walls: of containing.WALLS; the best that works unless given. progress: called with (done, of).

    Returns: Grades.
    Raises: ValueError for a folder without notebooks, or wrong arguments.
    """
    start = time.perf_counter()
    if library not in LIBRARY:
        raise ValueError(f"library must be one of {', '.join(LIBRARY)}; got {library!r}")
    wanted = _wanted(only, own)
    worth = _worth(wanted, points or {})
    of_lesson = {each.name: each.notebook for each in wanted.values()}
    everything = {each.name: each.notebook for each in {**exercises(), **wanted}.values()}
    handed_in, students, remarks = submissions.collect(folder, everything, set(of_lesson.values()))
    usual = _usual(wanted)
    own_text = Path(own).read_text(encoding="utf-8") if own else None
    hide = [str(Path(each).resolve()) for each in (folder, keep) if each and Path(each).is_dir()]
    walls = walls or (containing.best_walls() if executor is None else None)
    todo = [{"cells": each.cells, "trouble": each.trouble, "files": each.files,
             "names": [n for n in wanted if of_lesson[n] == each.lesson],
             "usual": usual, "seconds": seconds, "megabytes": megabytes, "library": library, "walls": walls, "own": own,
             "own_text": own_text, "hide": hide,
             "student": f"{seed} {each.student} {each.digest}"} for each in handed_in]
    found = {}
    for number, result in _results(todo, jobs, keep, executor):
        found[number] = result
        if progress:
            progress(len(found), len(todo))
    walls = walls or next((each["walls"] for each in found.values() if each.get("walls")), "none")
    marks, more = _marks(students, handed_in, found, wanted, worth)
    shapes = {(handed_in[n].student, each["exercise"]): each["shape"] for n, result in found.items()
              for each in result["exercises"] if each.get("shape")}
    return Grades(marks, remarks + more, similar.alike(shapes), walls, time.perf_counter() - start)


def _wanted(only, own):
    """{name: Exercise} of what is to be marked."""
    mine = read_exercises(own)
    known = {**exercises(), **mine}
    if not only:
        return mine or known
    found = {}
    for each in only:
        lesson, _, number = each.partition(".")
        of_lesson = [e for e in known.values() if e.notebook == lesson]
        if each in known:
            picked = [known[each]]
        elif number:
            picked = of_lesson[int(number) - 1:int(number)] if number.isdecimal() and int(number) else []
        else:
            picked = of_lesson
        if not picked:
            raise ValueError(f"there is no lesson or exercise {each!r}; write 05, 05.2 or a name such as two-heads")
        found.update((e.name, e) for e in picked)
    return {name: each for name, each in known.items() if name in found}


def _worth(wanted, points):
    worth = {name: each.points for name, each in wanted.items()}
    for key, value in points.items():
        lesson, _, number = key.partition(".")
        of_lesson = [n for n, e in wanted.items() if e.notebook == lesson]
        names = [key] if key in wanted else of_lesson[int(number) - 1:int(number)] if number.isdecimal() else of_lesson
        if not names:
            raise ValueError(f"no exercise that is marked is called {key!r}")
        worth.update(dict.fromkeys(names, value))
    return worth


def _usual(wanted):
    """{exercise: the expression that its lesson hands to the check}, for notebooks in which the check was deleted."""
    import ast
    found = {name: name.replace("-", "_") for name in wanted}
    with contextlib.suppress(FileNotFoundError):
        for lesson in lessons.lessons():
            for cell in lessons.read(lesson.path)["cells"]:
                if cell["cell_type"] == "code" and "exercise" in lessons.tags(cell):
                    for node in ast.walk(ast.parse(lessons.source(cell))):
                        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "check":
                            found[node.args[0].value] = ast.unparse(node.args[1])
    return {name: found[name] for name in wanted}


def _results(todo, jobs, keep, executor):
    """(number, result) of each job, as they are ready; those kept from before come first."""
    keep = Path(keep) if keep else None
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
    left = {}
    for number, job in enumerate(todo):
        path = keep and keep / f"{_key(job)}.json"
        try:
            yield number, json.loads(path.read_text(encoding="utf-8"))
        except (AttributeError, OSError, ValueError):
            left[number] = path
    own = executor is None
    executor = executor or concurrent.futures.ThreadPoolExecutor(jobs)
    futures = {executor.submit(run_job, todo[number]): number for number in left}
    try:
        for future in concurrent.futures.as_completed(futures):
            number, result = futures[future], future.result()
            if left[number]:
                write_whole(left[number], json.dumps(result, ensure_ascii=False))
            yield number, result
    finally:
        for future in futures:
            future.cancel()
        for process in list(_running):      # interrupted: nothing may go on
            _end(process)
        if own:
            executor.shutdown()


def _key(job):
    settings = {key: value for key, value in job.items() if key not in ("cells", "trouble", "hide")}   # see "student"
    parts = [pickle.dumps(sorted(settings.items())), _program()]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:32]


@functools.cache
def _program():
    """A digest of the program that marks: what an older one has found does not count."""
    return hashlib.sha256(b"".join(p.read_bytes() for p in sorted((PACKAGE / "course").rglob("*.py")))).digest()


def run_job(job):
    """One notebook, examined by a process of its own: {"walls": ..., "exercises": [...]}. Runs here or on a cluster."""
    job = {**job, "editions": str(editions.made())}
    process = subprocess.Popen(
        [sys.executable, "-m", "numpy_attention.course.grading.examining", job["editions"]],    # `ps` tells whose it is
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONUTF8": "1", "OPENBLAS_NUM_THREADS": "1",
             "OMP_NUM_THREADS": "1"})
    _running.add(process)
    try:
        out, _ = process.communicate(pickle.dumps(job), timeout=30 + 4 * job["seconds"] * max(1, len(job["names"])))
        return json.loads(out)
    except (subprocess.TimeoutExpired, ValueError):
        why = Words("批改这个笔记本的进程没有给出结果（内存或时间不够）。",
                    "the process that marked this notebook gave no result: too little memory or time.")
        return {"walls": job["walls"], "exercises": [
            {"exercise": name, "state": "not tried", "reason": list(why), "text": None, "passed": 0, "stages": 0,
             "library": [], "printed": "", "shape": None, "seconds": 0.0} for name in job["names"]]}
    finally:
        _end(process)
        _running.discard(process)


def _end(process):
    """The process with all that it started."""
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _marks(students, handed_in, found, wanted, worth):
    """All marks, by student; of several notebooks of one lesson the best counts."""
    marks, remarks = [], []
    for student in students:
        mine = {}
        for number, each in enumerate(handed_in):
            if each.student == student:
                mine.setdefault(each.lesson, []).append(number)
        for lesson in sorted({e.notebook for e in wanted.values()}):
            names = [n for n, e in wanted.items() if e.notebook == lesson]
            if lesson not in mine:
                marks += [Mark(student, lesson, n, 0, worth[n], "missing", MISSING) for n in names]
                continue
            tries = [[_mark(handed_in[n], each, worth) for each in found[n]["exercises"]] for n in mine[lesson]]
            best = max(tries, key=lambda each: sum(mark.points for mark in each))
            marks += best
            if len(tries) > 1:
                all_names = ", ".join(handed_in[n].name for n in mine[lesson])
                counted = best[0].notebook if best else ""
                remarks.append((student, Words(
                    f"第 {lesson} 课交了 {len(tries)} 份（{all_names}），按最好的一份（{counted}）记分。",
                    f"lesson {lesson} was handed in {len(tries)} times ({all_names}); the best counts: {counted}.")))
        if absent := sorted({e.notebook for e in wanted.values()} - set(mine)):
            remarks.append((student, Words(f"没有交的课：{'、'.join(absent)}。",
                                           f"lessons not handed in: {', '.join(absent)}.")))
    return marks, remarks


def _mark(handed_in, each, worth):
    name = each["exercise"]
    return Mark(handed_in.student, handed_in.lesson, name, worth[name] if each["state"] == "right" else 0, worth[name],
                each["state"], Words(*each["reason"]), handed_in.name, each["text"],
                f"{each['passed']}/{each['stages']}" if each["stages"] else "", tuple(each["library"]), each["printed"],
                each["seconds"])
