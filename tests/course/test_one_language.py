"""A notebook in one language has nothing of the other, in code neither, and its code is the same program."""
import ast
import io
import re
import tokenize

import pytest

from numpy_attention.course import lessons, one_language

LESSONS = lessons.lessons()


def code(notebook):
    return [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]


def texts(source):
    """The comments of a cell, and what stands in quotes; parts of an f-string one by one."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.number)
def test_code_says_it_in_one_language(lesson):
    whole = lessons.read(lesson.path)
    english, chinese = (code(one_language.in_language(whole, lang)) for lang in ("en", "zh"))
    for cell in english:
        assert not re.search(one_language.HAN, cell), cell
    for text in (text for cell in chinese for text in texts(cell)):
        assert not re.search(one_language.HAN, text) or not re.search(r"[a-z]{3,} [a-z]{2,}", text), text


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.number)
def test_the_program_is_the_same_but_for_its_texts(lesson):
    def shape(source):
        tree = ast.parse(source)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                node.value = ""
        return ast.dump(tree)

    whole = lessons.read(lesson.path)
    for lang in ("zh", "en"):
        for before, after in zip(code(whole), code(one_language.in_language(whole, lang)), strict=True):
            kept = after.removesuffix(f'\ncourse.language("{lang}");')
            assert shape("".join(before)) == shape(kept)


def test_numbers_and_signs_stay_where_they_belong():
    def both(piece):
        return one_language._in_code(piece, "zh"), one_language._in_code(piece, "en")

    assert both("位置 5 place 5:") == ("位置 5:", "place 5:")
    assert both(", 步数 steps ") == (", 步数 ", ", steps ")
    assert both("at most 最多 (9 + 1) / 10 = ") == ("最多 (9 + 1) / 10 = ", "at most (9 + 1) / 10 = ")
    assert both("误差是一个 V 字 · A V for all") == ("误差是一个 V 字", "A V for all")
    assert both("我: 名词 a noun") == ("我: 名词", "我: a noun")
    assert both("weights[我, 爱]") == ("weights[我, 爱]",) * 2
