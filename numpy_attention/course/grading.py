"""Grading a folder of notebooks: run each, collect its checks, and tell the result as a table or as JUnit XML."""
import json
import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import NamedTuple

from ..words import terminal
from ..words.labels import safe
from .asking import exercises

SECONDS = 120


class Mark(NamedTuple):
    """One exercise of one notebook: "right", "wrong" or "not tried", tests passed of all, and what was said."""

    notebook: str
    exercise: str
    state: str
    score: str
    says: str
    text: str
    seconds: float


def grade(folder, seconds=SECONDS):
    """Run every notebook in `folder` that has exercises of the course.

    Args:
        folder: what `course start` filled.
        seconds: time limit for one notebook.

    Returns: a list of Mark, one for each exercise of these notebooks.
    Raises: ValueError if there is no such notebook.
    """
    folder = Path(folder)
    numbers = {exercise.notebook for exercise in exercises().values()}
    paths = [path for path in sorted(folder.glob("*.ipynb")) if path.name[:2] in numbers]
    if not paths:
        raise ValueError(f"{folder} holds no notebook of the course: fill it with `course start {folder}`")
    return [one for path in paths for one in _grade_notebook(path, seconds)]


def _grade_notebook(path, seconds):
    start = time.perf_counter()
    found = _run(path, seconds)
    took = time.perf_counter() - start
    for exercise in exercises().values():
        if exercise.notebook == path.name[:2]:
            check = found["checks"].get(exercise.name)
            if check is None:
                says = found["errors"][0] if found["errors"] else "no cell calls its check"
                yield Mark(path.name, exercise.name, "not tried", "", says, says, took)
            else:
                yield Mark(path.name, exercise.name, "right" if check["ok"] else "wrong",
                            f"{check['passed']}/{check['stages']}", check["says"], check["text"], took)


def _run(path, seconds):
    """What the notebook's checks said, and which of its cells failed."""
    with tempfile.TemporaryDirectory() as scratch:
        results = Path(scratch, "results.json")
        command = [sys.executable, "-m", "numpy_attention.course.run_notebook", str(path.resolve()), str(results)]
        places = [str(Path(__file__).resolve().parents[2]), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places)), "PYTHONIOENCODING": "utf-8"}
        errors = []
        try:
            done = subprocess.run(command, cwd=path.parent, env=environment, capture_output=True, text=True,
                                  encoding="utf-8", errors="replace", timeout=seconds, stdin=subprocess.DEVNULL)
            if done.returncode:
                errors = [(done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]]
        except subprocess.TimeoutExpired:
            errors = [f"the notebook was stopped after {seconds:g} s"]
        found = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {"checks": {}, "errors": []}
    return {**found, "errors": errors + found["errors"]}


def table(grades):
    """The grades as a table of 80 columns, and a line with the total."""
    rows = [["", "exercise", "tests", "what"]]
    marks = {"right": "✓", "wrong": "✗", "not tried": "·"}
    rows += [[f"{marks[g.state]} {g.notebook[:2]}", g.exercise, g.score, "" if g.state == "right" else g.says]
             for g in grades]
    lines = terminal.table(rows, gap=2, cut=3)
    right = sum(g.state == "right" for g in grades)
    return "\n".join([*lines, "", f"{right} of {len(grades)} exercises are right. 做对 {right} / {len(grades)} 题。"])


def junit(grades):
    """The grades as JUnit XML: a suite for each notebook, a test case for each exercise."""
    root = ET.Element("testsuites", name="numpy_attention course")
    for notebook in dict.fromkeys(g.notebook for g in grades):
        mine = [g for g in grades if g.notebook == notebook]
        count = {state: sum(g.state == state for g in mine) for state in ("wrong", "not tried")}
        suite = ET.SubElement(root, "testsuite", name=notebook, tests=str(len(mine)), failures=str(count["wrong"]),
                              skipped=str(count["not tried"]), time=f"{mine[0].seconds:.2f}")
        for g in mine:
            case = ET.SubElement(suite, "testcase", classname=notebook, name=g.exercise)
            if g.state == "wrong":
                ET.SubElement(case, "failure", message=safe(g.says)).text = safe(g.text, keep="\n")
            elif g.state == "not tried":
                ET.SubElement(case, "skipped", message=safe(g.says))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
