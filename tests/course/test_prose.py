"""Every number in the text of a notebook was computed above it, so that text and output cannot part ways."""

import re

import pytest

from numpy_attention.course import lessons

LESSONS = lessons.lessons()
DECIMAL = r"(?<![\w.])\d+\.\d+(?:e-?\d+)?(?![\w.]*\()"


def outputs(cell):
    for output in cell.get("outputs", []):
        yield "".join(output.get("text", ""))
        yield "".join(output.get("data", {}).get("text/plain", ""))


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.number)
def test_decimals_in_the_text_stand_in_an_output_of_the_notebook(lesson):
    cells = lessons.read(lesson.path)["cells"]
    seen = "\n".join(text for cell in cells for text in outputs(cell))
    for cell in cells:
        if cell["cell_type"] == "markdown" and "solution" not in lessons.tags(cell):
            for number in re.findall(DECIMAL, lessons.source(cell)):
                assert number in seen, f"{number} in: {lessons.source(cell)[:200]}"
