"""Plain text lines up, also with Chinese, and stays within 80 columns."""
import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.walkthrough.text import matrix, shorten, step_text, width, wrap


def test_columns_line_up_by_terminal_width():
    lines = matrix([[1.5, 2], [3, 4]], ["我", "AI"], ["我", "爱你"], sums=True).split("\n")
    assert [width(line) for line in lines] == [width(lines[0])] * 3
    assert lines[1].split() == ["我", "1.5000", "2.0000", "3.5000"]


@pytest.mark.parametrize("example", ["by-hand", "cycle", "full-size"])
@pytest.mark.parametrize("precision", [0, 4, 8])
def test_nothing_is_wider_than_a_terminal(example, precision):
    trace = na.worked_example(example).trace()
    texts = [trace.summary(), *(step_text(trace, i, precision=min(precision, 6)) for i in range(len(trace)))]
    assert max(width(line) for text in texts for line in text.split("\n")) <= 80


def test_numbers_are_readable():
    assert matrix([[-1e-20, 0.5]], indent=0) == "0.0000  0.5000"
    assert matrix([[np.nan, np.inf]], indent=0) == "nan  inf"
    assert matrix([[1e300, 1.]], indent=0) == "1.0000e+300  1.0000e+00"
    assert matrix(np.zeros((0, 3)), indent=0) == "(no numbers)"


def test_large_matrices_show_their_corners():
    lines = matrix(np.arange(400).reshape(20, 20), indent=0).split("\n")
    assert len(lines) == 7 and lines[3].split() == ["…"] * 7
    assert lines[0].split() == ["0", "1", "2", "…", "17", "18", "19"]


def test_shorten_and_wrap_count_columns_not_characters():
    assert shorten("我爱数学", 6) == "我爱…"
    assert shorten("a\nb", 9) == "a·b"
    assert all(width(line) <= 20 for line in wrap("每一行变成份额：一个查询如何分配它的注意力。Each row.", 20))
