"""Text lines up, breaks where it may, and loses nothing."""
import numpy as np
import pytest

from numpy_attention.words.numbers import matrix, numbers
from numpy_attention.words.terminal import is_han, pad, shorten, table, width, wrap

MIXED = "每一行变成份额：一个查询如何分配它的注意力（「权重」）。 Each row of weights, “dscores” included, 多头注意力。"


def test_columns_line_up_by_terminal_width():
    lines = matrix([[1.5, 2], [3, 4]], ["我", "AI"], ["我", "爱你"], sums=True).split("\n")
    assert [width(line) for line in lines] == [width(lines[0])] * 3
    assert lines[1].split() == ["我", "1.5000", "2.0000", "3.5000"]


def test_numbers_are_readable():
    assert matrix([[-1e-20, 0.5]], indent=0) == "0.0000  0.5000"
    assert matrix([[np.nan, np.inf]], indent=0) == "nan  inf"
    assert matrix([[1e300, 1.]], indent=0) == "1.0000e+300  1.0000e+00"
    assert matrix(np.zeros((0, 3)), indent=0) == "(no numbers)"
    assert numbers(np.array([True, False])) == [["1", "0"]]


def test_large_matrices_show_their_corners():
    lines = matrix(np.arange(400).reshape(20, 20), indent=0).split("\n")
    assert len(lines) == 7 and lines[3].split() == ["…"] * 7
    assert lines[0].split() == ["0", "1", "2", "…", "17", "18", "19"]


def test_shorten_and_pad_count_columns_not_characters():
    assert shorten("我爱数学", 6) == "我爱…"
    assert shorten("a\nb", 9) == "a·b"
    assert [pad("我", 3), pad("我", 3, ">"), pad("我爱", 3)] == ["我 ", " 我", "我爱"]
    assert width("e\u0301") == 1


@pytest.mark.parametrize("columns", range(8, 81, 3))
def test_wrapped_text_fits_and_loses_nothing(columns):
    lines = wrap(MIXED, columns, indent=1, further=3)
    assert all(width(line) <= max(columns, 3 + width("「权重」）。")) for line in lines)
    assert "".join(lines).replace(" ", "") == MIXED.replace(" ", "")
    assert lines[0].startswith(" ") and all(line.startswith("   ") for line in lines[1:])
    assert not any(line.strip()[0] in "，。：）」" or line[-1] in "（「" for line in lines)


def test_wrap_takes_any_text():
    assert wrap("") == [] and wrap("  \n ") == []
    assert wrap("one\ntwo") == ["one two"]
    assert wrap("“", 8) == ["“"] and wrap("（", 8) == ["（"]
    assert wrap("x" * 20 + " y", 8) == ["x" * 20, "y"]
    assert wrap("Q 3 × 4,  K 3 × 4", 80) == ["Q 3 × 4,  K 3 × 4"]


def test_a_table_fits():
    assert table([]) == []
    rows = [["name", "n"], ["a very long first cell " * 4, 1], ["b", 22]]
    whole = table(rows, "<>")
    assert whole[1] == rows[1][0].rstrip() or (whole[1].startswith("a very long") and whole[2].strip() == "1")
    cut = table(rows, "<>", cut=0, columns=30, gap=3)
    assert [width(line) for line in cut] == [30] * 3 and "…" in cut[1]


def test_han_is_what_our_font_may_be_asked_for():
    assert all(map(is_han, "我，。（）「」　！")) and not any(map(is_han, "Aé√…×─\u3040"))
