"""The lessons in the source formats of two graders that schools run: nbgrader and Otter.

    nbgrader    DIR/source/<lesson>/<notebook>.ipynb and DIR/nbgrader_config.py; then `nbgrader generate_assignment`
    otter       DIR/<lesson>/<notebook>.ipynb; then `otter assign`

In both, an exercise is a cell to fill in, with the solution in it for the teacher, and a cell that tests it; a second
test, which students do not get to see, uses other numbers. Their machines need this package for the checks.
"""
import copy
import json
import re
from pathlib import Path

from .. import lessons, one_language
from ..asking import exercises

FORMATS = ("nbgrader", "otter")
CHECK = re.compile(r'^course\.check\("([\w-]+)", (.*)\)$', re.MULTILINE)
SOLUTION = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OTHER_NUMBERS = "from numpy_attention.course.drawing import numbers_of\n"
CONFIG = '''c = get_config()
c.CourseDirectory.course_id = "numpy_attention"
c.ClearSolutions.code_stub = {"python": "# 把上面的 ... 换成你的代码 · put your code where the ... is"}
c.ExecutePreprocessor.timeout = 300
'''


def export(folder, to, numbers=(), lang="both"):
    """Write the lessons that have exercises as sources for a grader.

    Args:
        folder: made if it does not exist; what lies there already is never touched.
        to: "nbgrader" or "otter". numbers: such as ("01", "07"); all unless given. lang: "zh", "en" or "both".

    Returns: the paths that were written.
    Raises: ValueError for another format, or a number that no lesson with exercises has; FileExistsError.
    """
    if to not in FORMATS:
        raise ValueError(f"to must be one of {', '.join(FORMATS)}; got {to!r}")
    with_exercises = sorted({each.notebook for each in exercises().values()})
    if unknown := set(numbers) - set(with_exercises):
        raise ValueError(f"no lesson with exercises is called {', '.join(sorted(unknown))}; "
                         f"there are: {', '.join(with_exercises)}")
    written = []
    for lesson in lessons.lessons():
        if lesson.number in (numbers or with_exercises):
            notebook = one_language.in_language(lessons.read(lesson.path), lang)
            cells = list(_parts(notebook["cells"]))
            made = {"nbgrader": for_nbgrader, "otter": for_otter}[to](notebook, cells, lesson.path.stem)
            place = Path(folder, "source", lesson.number) if to == "nbgrader" else Path(folder, lesson.number)
            written.append(_write(place / lesson.path.name, json.dumps(made, ensure_ascii=False, indent=1) + "\n"))
    if to == "nbgrader" and not Path(folder, "nbgrader_config.py").exists():
        written.append(_write(Path(folder, "nbgrader_config.py"), CONFIG))
    return written


def _write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "x", encoding="utf-8") as file:
        file.write(text)
    return path


def _parts(cells):
    """(cell, None) of an ordinary cell, (cell, (name, answer, holes, solution)) of an exercise."""
    solutions = [SOLUTION.search(lessons.source(cell))[1] for cell in cells if "solution" in lessons.tags(cell)]
    for cell in cells:
        if "exercise" in lessons.tags(cell):
            text = lessons.source(cell)
            name, answer = CHECK.search(text).groups()
            yield cell, (name, answer, CHECK.sub("", text).rstrip() + "\n", solutions.pop(0))
        elif "solution" not in lessons.tags(cell):
            cell = copy.deepcopy(cell)
            if cell["cell_type"] == "code":
                cell["outputs"], cell["execution_count"] = [], None
            yield cell, None


def _cell(kind, text, number, metadata=None):
    cell = {"cell_type": kind, "id": f"exercise-{number}", "metadata": metadata or {}, "source": text}
    return {**cell, "outputs": [], "execution_count": None} if kind == "code" else cell


def _assembled(notebook, cells, metadata=None):
    for number, cell in enumerate(cells):           # ids are unique, and the same each time
        if cell["id"].startswith("exercise-"):
            cell["id"] = f"exercise-{number}"
    return {**notebook, "cells": cells, "metadata": {**notebook["metadata"], **(metadata or {})}}


def for_nbgrader(notebook, parts, title):
    """A source notebook of nbgrader: cells with a grade_id, regions of solutions and of hidden tests."""
    def about(name, **more):
        no = dict.fromkeys(("grade", "solution", "locked", "task"), False)
        return {"nbgrader": {"schema_version": 3, "grade_id": name, **no, **more}}

    cells = []
    for cell, exercise in parts:
        if exercise is None:
            cells.append(cell)
            continue
        name, answer, holes, solution = exercise
        check = f'course.check("{name}", {answer})'
        test = (f"verdict = {check}\nassert verdict.ok, str(verdict)\n### BEGIN HIDDEN TESTS\n{OTHER_NUMBERS}"
                f'with numbers_of("{title}"):\n    verdict = {check}\nassert verdict.ok, str(verdict)\n'
                "### END HIDDEN TESTS")
        cells.append(_cell("code", f"{holes}\n### BEGIN SOLUTION\n{solution}### END SOLUTION", 0,
                           about(name, solution=True)))
        cells.append(_cell("code", test, 0, about(f"{name}-test", grade=True, locked=True,
                                                  points=exercises()[name].points)))
    return _assembled(notebook, cells)


def for_otter(notebook, parts, title):
    """A notebook for `otter assign`: raw cells say where a question, its solution and its tests begin and end."""
    def says(*lines):
        return _cell("raw", "\n".join(lines), 0)

    def test(text):
        cell = _cell("code", text, 0)
        told = {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "True"}}
        return {**cell, "execution_count": 1, "outputs": [told]}

    cells = [says("# ASSIGNMENT CONFIG", f"name: {title}", "export_cell: false", "generate: true", "tests:",
                  "    ok_format: true")]
    for cell, exercise in parts:
        if exercise is None:
            cells.append(cell)
            continue
        name, answer, holes, solution = exercise
        quotes = "'''" if '"""' in holes else '"""'
        check = f'course.check("{name}", {answer})'
        cells += [
            says("# BEGIN QUESTION", f"name: {name.replace('-', '_')}", f"points: {exercises()[name].points:g}"),
            _cell("markdown", f"**{exercises()[name].task}**", 0),
            says("# BEGIN SOLUTION"),
            _cell("code", f"{quotes} # BEGIN PROMPT\n{holes}{quotes} # END PROMPT\n"
                          f"# BEGIN SOLUTION\n{solution}# END SOLUTION", 0),
            says("# END SOLUTION"),
            says("# BEGIN TESTS"),
            test(f"bool({check})"),
            test(f'""" # BEGIN TEST CONFIG\nhidden: true\n""" # END TEST CONFIG\n{OTHER_NUMBERS}'
                 f'with numbers_of("{title}"):\n    verdict = {check}\nbool(verdict)'),
            says("# END TESTS"),
            says("# END QUESTION"),
        ]
    return _assembled(notebook, cells)
