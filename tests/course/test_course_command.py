"""Listing the course, starting a copy of one's own, grading it."""

import argparse
import json
import re
import shutil
import xml.etree.ElementTree as ET

import pytest

from numpy_attention import course
from numpy_attention.commands import course as command
from numpy_attention.course import lessons, one_language

LESSONS = lessons.lessons()
TEACHING = [lesson for lesson in LESSONS if lesson.number != "18"]      # the interview asks, it does not teach
NUMBERS = [lesson.number for lesson in LESSONS]


def run(*words):
    parser = argparse.ArgumentParser()
    command.configure(parser)
    arguments = parser.parse_args(words)
    return arguments.run(arguments)


def solution_cells(notebook):
    """(check call, solution code) for each exercise that has a solution below it."""
    call = None
    for cell in notebook["cells"]:
        text = lessons.source(cell)
        if "exercise" in lessons.tags(cell):
            call = re.search(r"^course\.check\(.*\)", text, re.MULTILINE)[0]
        if "solution" in lessons.tags(cell):
            code = re.search(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[1]
            assert text.startswith("<details>")
            assert text.rstrip().endswith("</details>")
            yield call, code


def solved(notebook):
    """The notebook of a learner who typed the printed solutions into the exercises."""
    notebook = lessons.for_learners(notebook)
    answers = dict(solution_cells(lessons.read(lessons.FOLDER / "01_attention_by_hand.ipynb")))
    for cell in notebook["cells"]:
        if "exercise" in lessons.tags(cell):
            call = re.search(r"^course\.check\(.*\)", lessons.source(cell), re.MULTILINE)[0]
            cell["source"] = f"{answers[call]}\n{call}"
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return {"cells": [cell for cell in code if cell is code[0] or "exercise" in lessons.tags(cell)]}


@pytest.mark.parametrize("lesson", LESSONS, ids=NUMBERS)
def test_the_first_cell_says_what_a_lesson_teaches_and_how_long_it_takes(lesson):
    assert all([*lesson.title, *lesson.goal, lesson.minutes, lesson.seconds]), lesson
    assert int(lesson.seconds) <= 60


@pytest.mark.parametrize("lesson", LESSONS, ids=NUMBERS)
def test_the_solutions_printed_in_a_notebook_are_accepted(lesson):
    space = {}
    exec("import numpy as np\nimport numpy_attention as na\nfrom numpy_attention import course", space)
    found = list(solution_cells(lessons.read(lesson.path)))
    for call, code in found:
        exec(code, space)
        verdict = eval(call, space)
        assert verdict.ok, str(verdict)
    mine = {e.name for e in course.exercises().values() if e.notebook == lesson.number}
    assert {re.search(r'"([\w-]+)"', call)[1] for call, _ in found} == mine


@pytest.mark.parametrize("lesson", TEACHING, ids=lambda lesson: lesson.number)
def test_a_lesson_has_the_parts_that_every_lesson_has(lesson):
    cells = lessons.read(lesson.path)["cells"]
    text = "\n".join(lessons.source(cell) for cell in cells)
    assert "course.predict(" in text
    assert "course.check(" in text
    interview = lessons.source(cells[-1])
    assert interview.startswith("## 面试怎么说 · What to say in an interview")
    assert re.findall(r"^(\d)\. ", interview, re.MULTILINE) == ["1", "2", "3"] * 2
    assert any("image/png" in out.get("data", {}) for cell in cells for out in cell.get("outputs", []))


def test_list_names_every_lesson_and_exercise(capsys):
    assert run() == run("list") == 0
    out = capsys.readouterr().out
    for lesson in LESSONS:
        assert lesson.title.zh in out
    for name in course.exercises():
        assert name in out.replace("\n    ", " ")


def test_start_gives_versions_without_solutions_and_outputs(tmp_path, capsys):
    assert run("start", str(tmp_path / "mine")) == 0
    for lesson in LESSONS:
        copied = lessons.read(tmp_path / "mine" / lesson.path.name)
        assert not any("solution" in lessons.tags(cell) for cell in copied["cells"])
        assert not any(cell.get("outputs") for cell in copied["cells"])
        assert "答案 · Solution" not in json.dumps(copied, ensure_ascii=False)       # hints in steps stay


def test_start_never_overwrites(tmp_path, capsys):
    mine = tmp_path / LESSONS[0].path.name
    mine.write_text("my work", encoding="utf-8")
    assert run("start", str(tmp_path), "01") == 0
    assert mine.read_text(encoding="utf-8") == "my work"
    assert "kept" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == [mine.name]


def test_start_refuses_the_courses_own_folder_a_file_and_an_unknown_number(tmp_path, capsys):
    (tmp_path / "file").touch()
    for words in ([str(lessons.FOLDER)], [str(tmp_path / "file")], [str(tmp_path), "99"]):
        assert run("start", *words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 3


def test_grading_tells_what_is_right_wrong_and_not_tried(tmp_path, capsys):
    notebook = solved(lessons.read(LESSONS[0].path))
    cells = [cell for cell in notebook["cells"] if "exercise" in lessons.tags(cell)]
    (tmp_path / "right").mkdir()
    (tmp_path / "right" / "01_mine.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    assert run("grade", str(tmp_path / "right"), "--only", "01") == 0
    assert "2 of 2 exercises are right" in capsys.readouterr().out

    cells[0]["source"] = "%matplotlib inline\n1 / 0"
    cells[1]["source"] = cells[1]["source"].replace("np.sqrt(Q.shape[-1])", "Q.shape[-1]")
    (tmp_path / "01_mine.ipynb").write_text(json.dumps(notebook), encoding="utf-8")
    shutil.rmtree(tmp_path / "right")
    assert run("grade", str(tmp_path), "--only", "01", "--junit", str(tmp_path / "junit.xml")) == 1
    out = capsys.readouterr().out
    assert "· 01  one-row-by-hand" in out
    assert "No answer was handed to its check" in out.replace("\n", "")
    assert "✗ 01  attention-forward  0/4    weights is wrong at [0, 0]" in out
    suite = ET.parse(tmp_path / "junit.xml").getroot()[0]
    assert {key: suite.get(key) for key in ("tests", "failures", "skipped")} == {
        "tests": "2", "failures": "1", "skipped": "1"}
    assert "Divided by d_k" in suite.find("testcase/failure").text


def test_grading_an_empty_folder_says_what_to_do(tmp_path, capsys):
    assert run("grade", str(tmp_path)) == 2
    assert "course start" in capsys.readouterr().err


def test_the_interview_asks_waits_and_shows(capsys, monkeypatch):
    monkeypatch.setattr("builtins.input", lambda prompt: "")
    assert run("interview", "why", "--lang", "en") == 0
    out = capsys.readouterr().out
    assert "Why divide by √d_k?" in out
    assert "a typical wrong answer" in out
    assert not re.search("[\u4e00-\u9fff]", out)
    assert run("interview", "gossip") == 2
    assert "there is no group 'gossip'; there are: basics" in capsys.readouterr().err

    def nothing_more(prompt):
        raise EOFError
    monkeypatch.setattr("builtins.input", nothing_more)
    assert run("interview") == 0


def letters(notebook):
    text = "\n".join(lessons.source(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    text = re.sub(r"```.*?```|`[^`]*`|\$[^$]*\$|[我爱]", "", text, flags=re.DOTALL)
    return len(re.findall("[\u4e00-\u9fff]", text)), len(re.findall("[A-Za-z]{3,}", text))


@pytest.mark.parametrize("lesson", LESSONS, ids=NUMBERS)
def test_a_lesson_in_one_language_has_hardly_any_of_the_other(lesson):
    whole = lessons.for_learners(lessons.read(lesson.path))
    (han, latin), (zh_han, zh_latin), (en_han, en_latin) = (
        letters(one_language.in_language(whole, lang)) for lang in ("both", "zh", "en"))
    assert zh_han >= 0.97 * han
    assert en_han <= 0.03 * han
    assert en_latin >= 0.85 * latin - 40
    assert zh_latin <= 0.35 * latin + 40


def test_start_writes_one_language(tmp_path, capsys):
    assert run("start", str(tmp_path), "05", "--lang", "zh") == 0
    text = (tmp_path / LESSONS[4].path.name).read_text(encoding="utf-8")
    assert 'course.language(\\"zh\\")' in text
    assert 'lang=\\"both\\"' not in text


def test_start_takes_a_number_as_it_is_said_and_quotes_what_a_shell_would_take_apart(tmp_path, capsys):
    folder = tmp_path / "学生 张三"
    assert run("start", str(folder), "1") == 0
    assert [path.name[:2] for path in folder.iterdir()] == ["01"]
    assert f'course grade "{folder}"' in capsys.readouterr().out
    assert command.typed("$HOME") == "'$HOME'"
