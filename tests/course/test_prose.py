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


STRONG = r"\b(never|always|cannot|must|impossible|proved?)\b|永远|必须|总是|绝不|不可能|(?<!不)一定|必然|证明"

DERIVED = ("**正好是 0。**", "**Exactly 0.**")         # what follows from the definition of a causal mask


def sections(cells):
    """The cells of a notebook, cut at the headings."""
    found = [[]]
    for cell in cells:
        if cell["cell_type"] == "markdown" and re.search(r"^##? ", lessons.source(cell), re.MULTILINE):
            found.append([])
        found[-1].append(cell)
    return found


@pytest.mark.parametrize("lesson", LESSONS[:17], ids=lambda lesson: lesson.number)
def test_never_always_and_must_stand_beside_a_cell_that_asserts(lesson):
    """The interview at the end sums up what was asserted above it; notebook 18 has a proof for each question."""
    loose = []
    for cells in sections(lessons.read(lesson.path)["cells"]):
        text = "\n".join(lessons.source(c) for c in cells
                         if c["cell_type"] == "markdown" and "solution" not in lessons.tags(c))
        code = "\n".join(lessons.source(c) for c in cells if c["cell_type"] == "code")
        if "面试怎么说" not in text and "assert " not in code:
            loose += [line for line in text.splitlines()
                      if re.search(STRONG, line) and not line.startswith(("#", *DERIVED))]
    assert not loose, "\n".join(loose)
