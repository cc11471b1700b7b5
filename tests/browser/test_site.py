"""The site in Chromium, with Python in it: every notebook runs, and exercises are checked.

NUMPY_ATTENTION_PYODIDE names a folder with Pyodide 0.27 and its NumPy and Matplotlib; without it this is skipped.
"""
import os

import pytest

from numpy_attention.course import lessons

from ..course.test_course_command import solution_cells
from .conftest import open_browser
from .lite import Site, checks, errors

PYODIDE = os.environ.get("NUMPY_ATTENTION_PYODIDE")
LESSONS = lessons.lessons()
ENDLESS = "def forever(*given):\n    while True:\n        pass\n\n"
pytestmark = pytest.mark.skipif(not PYODIDE, reason="NUMPY_ATTENTION_PYODIDE names no folder with Pyodide")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("jupyterlite_core", reason="needs JupyterLite: pip install numpy_attention[site]")
    from numpy_attention.course.site import build
    folder = tmp_path_factory.mktemp("site") / "course"
    build(folder, pyodide=PYODIDE)
    driver = open_browser(tmp_path_factory.mktemp("profile"), hosts=False)
    served = Site(folder, driver)
    yield served
    served.close()
    driver.quit()


def answered(lesson):
    """[(cell as the learner gets it, the cell with the solution in it), ...]"""
    notebook = lessons.read(lesson.path)
    solutions = dict(solution_cells(notebook))
    return [(lessons.source(cell), f"{solutions[call]}\n{call}") for cell in notebook["cells"]
            if "exercise" in lessons.tags(cell) for call in solutions if call in lessons.source(cell)]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.number)
def test_a_lesson_runs(site, lesson):
    site.open(lesson.path.name)
    cells = site.run()
    meant = [cell for cell in lessons.read(lesson.path)["cells"] if "raises-exception" in lessons.tags(cell)]
    assert all(cell["count"] is not None for cell in cells)
    assert len(errors(cells)) == len(meant), errors(cells)
    assert site.handler.refused <= {"/favicon.ico"}


def test_two_exercises_are_right_and_an_endless_one_is_named(site):
    first = next(lesson for lesson in LESSONS if lesson.number == "01")
    site.open(first.path.name)
    answers = answered(first)
    assert len(answers) == 2
    site.answer(answers)
    said = checks(site.run())
    assert len(said) == 2 and all(line.startswith("✓") for line in said), said
    call = answers[1][1].splitlines()[-1].partition(",")[0]
    site.answer([(answers[1][1], f"{ENDLESS}{call}, forever)")])
    assert checks(site.run())[1].startswith("✗")
