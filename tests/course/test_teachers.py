"""Exercises of a teacher's own, and those of the course for nbgrader and Otter, whose own validators accept them."""
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from numpy_attention.commands.main import main
from numpy_attention.course import grading
from numpy_attention.course.grading import editions, exporting, teachers

from .a_class import code, first_lesson

MEAN = 'def my_mean(x):\n    return x.mean(axis=-1)\n\n\ncourse.check("my-mean", my_mean)'
IMPORTS = "import numpy as np\nfrom numpy_attention import course"


def notebook(*cells):
    return json.dumps({"cells": [code(text) for text in cells], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def template(tmp_path, capsys):
    path = tmp_path / "my.py"
    assert main(["course", "template", str(path)]) == 0
    assert main(["course", "template", str(path)]) == 2         # never overwritten
    return path


def test_the_template_is_an_exercise_that_is_marked(tmp_path, template, capsys):
    for name, text in (("right", MEAN), ("wrong", MEAN.replace("-1", "0"))):
        (tmp_path / "class" / name).mkdir(parents=True)
        (tmp_path / "class" / name / "home.ipynb").write_text(notebook(IMPORTS, text), encoding="utf-8")
    marks = {mark.student: mark for mark in grading.grade(tmp_path / "class", own=str(template)).marks}
    assert (marks["right"].points, marks["right"].of) == (2, 2)
    assert marks["wrong"].points == 0
    assert "along each row, axis=-1" in marks["wrong"].reason.en
    out = tmp_path / "marks.csv"
    words = ["course", "grade", str(tmp_path / "class"), "--exercises", str(template), "--only", "my-mean,01.2",
             "--points", "my-mean=5", "--csv", str(out), "--lang", "en", "--feedback", str(tmp_path / "pages")]
    assert main(words) == 1
    assert "right,51,my-mean,5,5,right" in out.read_text(encoding="utf-8-sig")
    assert "right,01,attention-forward,0,1,missing,This lesson was not" in out.read_text(encoding="utf-8-sig")
    assert "Points: 5 of 6" in (tmp_path / "pages" / "right.md").read_text(encoding="utf-8")
    assert not (tmp_path / "class_grading").exists()


@pytest.mark.parametrize(("text", "says"), [
    ("x = 1", "wants a list EXERCISES"), ("EXERCISES = [3]", "wants a list EXERCISES"), ("1 / 0", "ZeroDivisionError"),
    (None, "is no Python file"), ("lambda", "SyntaxError")])
def test_what_is_wrong_with_the_file_is_said(tmp_path, capsys, text, says):
    path = tmp_path / "my.py"
    if text is not None:
        path.write_text(text)
    (tmp_path / "01.ipynb").write_text(notebook(MEAN))
    assert main(["course", "grade", str(tmp_path), "--exercises", str(path)]) == 2
    assert says in capsys.readouterr().err


def test_a_solution_that_its_own_checks_refuse_is_named(tmp_path):
    text = teachers.TEMPLATE.read_text(encoding="utf-8").replace("         my_mean,\n", "").replace(
        "        my_mean,\n", "        lambda x: x[0],\n")
    (tmp_path / "my.py").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="my-mean does not pass its own checks"):
        teachers.read_exercises(str(tmp_path / "my.py"))


@pytest.mark.parametrize("words", [["--points", "x"], ["--points", "01=x"], ["--only", "77"]])
def test_wrong_words_are_one_line(tmp_path, capsys, words):
    (tmp_path / "01.ipynb").write_text(json.dumps(first_lesson()), encoding="utf-8")
    assert main(["course", "grade", str(tmp_path), *words]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_export_never_overwrites_and_knows_its_lessons(tmp_path, capsys):
    assert main(["course", "export", str(tmp_path), "13", "--to", "nbgrader"]) == 0
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["13_reading_heat_maps.ipynb", "nbgrader_config.py"]
    assert main(["course", "export", str(tmp_path), "13", "--to", "nbgrader"]) == 2
    assert main(["course", "export", str(tmp_path), "18", "--to", "otter"]) == 2
    with pytest.raises(ValueError, match="nbgrader, otter"):
        exporting.export(tmp_path, "moodle")


def run(*command, cwd):
    """A program of the same environment, with this package first."""
    environment = {**os.environ, "PYTHONPATH": str(editions.PACKAGE.parent), "PYTHONWARNINGS": "ignore",
                   "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    return subprocess.run([sys.executable, "-m", *command], cwd=cwd, env=environment, capture_output=True, text=True,
                          check=False)


@pytest.mark.skipif(find_spec("nbgrader") is None, reason="nbgrader is not installed (extra graders)")
def test_nbgrader_accepts_its_notebooks(tmp_path):
    exporting.export(tmp_path, "nbgrader")
    check = """
import glob, nbformat
from nbgrader.nbgraderformat import MetadataValidator
for path in sorted(glob.glob("source/*/*.ipynb")):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    MetadataValidator().validate_nb(notebook)
    print(path)
"""
    (tmp_path / "check.py").write_text(check)
    told = run("check", cwd=tmp_path)
    assert len(told.stdout.splitlines()) == 17, told.stderr[-2000:]
    told = run("nbgrader", "generate_assignment", "13", cwd=tmp_path)
    assert told.returncode == 0, told.stderr[-2000:]
    given = next(tmp_path.glob("release/13/*.ipynb")).read_text(encoding="utf-8")
    assert "return ..." in given
    assert "SOLUTION" not in given
    assert "matrix_rank" not in given.partition("def same_output")[2].partition("course.check")[0]
    assert "numbers_of" not in given
    assert "Success!" in run("nbgrader", "validate", *map(str, tmp_path.glob("source/13/*.ipynb")), cwd=tmp_path).stdout


@pytest.mark.skipif(find_spec("otter") is None, reason="otter-grader is not installed (extra graders)")
def test_otter_accepts_its_notebooks(tmp_path):
    exporting.export(tmp_path, "otter", ["13"])
    path, = tmp_path.glob("13/*.ipynb")
    told = run("otter", "assign", path.name, "dist", cwd=path.parent)       # it runs the tests on the solutions, too
    assert told.returncode == 0, told.stderr[-2000:]
    given = (path.parent / "dist" / "student" / path.name).read_text(encoding="utf-8")
    assert 'grader.check(\\"same_output\\")' in given
    assert "return ..." in given
    assert "SOLUTION" not in given
    assert list(path.parent.glob("dist/autograder/*.zip"))
