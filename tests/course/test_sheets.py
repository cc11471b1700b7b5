"""Sheets of attention by hand: kind numbers, right keys, marks, the list of the class, and paper.

The keys are held against fractions and decimals computed here, by the formulas written out in loops.
"""
import argparse
import json
import re
from decimal import Decimal, getcontext
from fractions import Fraction

import numpy as np
import pytest

from numpy_attention import course
from numpy_attention.commands import course_sheet
from numpy_attention.course import sheet_answers, sheet_pages, sheets
from numpy_attention.course.students import Student, read_students

getcontext().prec = 40
MANY = [(level, f"student {n}") for level in sheets.LEVELS for n in range(40)]


def products(A, B):
    return [[sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in zip(*B, strict=True)]
            for row in A]


def turned(A):
    return [list(row) for row in zip(*A, strict=True)]


def fractions(A):
    return [[Fraction(float(x)) for x in row] for row in np.asarray(A)]


def times(A, number):
    return [[a * number for a in row] for row in A]


def by_hand(sheet, digits=None):
    """All answers from the given numbers, each step rounded to `digits` (a function of the part's) if given."""
    wanted = {part.name: part.digits for part in sheet.parts}
    level = sheets.LEVELS[sheet.level]
    found = {}

    def note(name, head, A):
        if digits is not None and name in wanted:
            unit = Fraction(1, 10 ** digits(wanted[name]))
            A = [[round(a / unit) * unit for a in row] for row in A]
        found.setdefault(name, []).append(A)
        return A

    def given(name, head):
        value = sheet.given[name]
        return fractions(value if value.ndim == 2 else value[head])

    def weights_of(scores):
        rows = []
        for i, row in enumerate(scores):
            seen = [sheet.mask is None or bool(sheet.mask[i, j]) for j in range(len(row))]
            powers = [Fraction(Decimal(int(x)).exp()) * here for x, here in zip(row, seen, strict=True)]
            rows.append([p / sum(powers) for p in powers])
        return rows

    half = Fraction(1, 2)               # 1/√4
    all_heads, all_weights = [], []
    for h in range(level.heads):
        scores = note("scores", h, times(products(given("Q", h), turned(given("K", h))), half))
        all_weights.append(note("weights", h, weights_of(scores)))
        all_heads.append(note("heads", h, products(all_weights[h], given("V", h))))
    if level.heads > 1:
        concat = [[number for heads in all_heads for number in heads[i]] for i in range(level.L)]
        note("out", 0, products(concat, fractions(sheet.given["W_O"])))
    if level.backward:
        if level.heads > 1:
            dout, W_O = fractions(sheet.given["dout"]), fractions(sheet.given["W_O"])
            dconcat = note("dconcat", 0, products(dout, turned(W_O)))
            dheads = [[[row[h]] for row in dconcat] for h in range(2)]
        else:
            dheads = [fractions(sheet.given["dheads"])]
        for h in range(level.heads):
            note("dV", h, products(turned(all_weights[h]), dheads[h]))
            dweights = note("dweights", h, products(dheads[h], turned(given("V", h))))
            dscores = [[w * (d - sum(a * b for a, b in zip(W, D, strict=True))) for w, d in zip(W, D, strict=True)]
                       for W, D in zip(all_weights[h], dweights, strict=True)]
            dscores = note("dscores", h, dscores)
            note("dQ", h, times(products(dscores, given("K", h)), half))
            note("dK", h, times(products(turned(dscores), given("Q", h)), half))
    return {name: np.array(found[name] if len(found[name]) > 1 else found[name][0], float) for name in wanted}


@pytest.mark.parametrize("level", sheets.LEVELS)
def test_keys_are_right_and_numbers_are_kind(level):
    for _, name in (each for each in MANY if each[0] == level):
        sheet = sheets.sheet_for(7, name, level)
        for given in sheet.given.values():
            assert not (given * 2 % 1).any()
            assert np.abs(given).max() <= 2
            assert given.reshape(-1, given.shape[-1]).any(-1).all()
        mine = by_hand(sheet)
        for part in sheet.parts:
            assert np.allclose(np.where(part.shown, mine[part.name], 0), part.value, rtol=0, atol=1e-12), part.name
            nonzero = np.abs(part.value[part.shown & (np.abs(part.value) > 1e-12)])
            assert nonzero.min() > 2 * part.room - 1e-6
        scores = sheet.answers["scores"]
        shown = sheet.parts[0].shown
        assert set(scores[shown]) <= {0, 1, 2, 3}
        assert len(set(scores[shown])) <= 3
        for row, seen in zip(scores.reshape(-1, scores.shape[-1]), shown.reshape(-1, scores.shape[-1]), strict=True):
            assert len(set(row[seen])) == seen.sum(), "two scores of a row are alike"


@pytest.mark.parametrize("level", sheets.LEVELS)
@pytest.mark.parametrize("fewer", [0, 1])
def test_who_rounds_every_step_is_right(level, fewer):
    for _, name in (each for each in MANY if each[0] == level):
        sheet = sheets.sheet_for(11, name, level)
        answers = by_hand(sheet, lambda digits: digits - fewer if digits > 2 else digits)
        if fewer:           # the key, one digit fewer: the roundings do not pile up
            answers = {part.name: np.round(part.value, part.digits - 1) for part in sheet.parts}
        assert sheet.check({name: value.tolist() for name, value in answers.items()}).ok


def test_no_two_are_alike_and_each_comes_again():
    for level in sheets.LEVELS:
        made = [sheets.sheet_for(7, str(number), level) for number in range(200)]
        assert len({b"".join(given.tobytes() for given in sheet.given.values()) for sheet in made}) == 200
        assert len({sheet.code for sheet in made}) == 200
        assert str(sheets.sheet_for(7, "3", level)) == str(made[3])
        assert str(sheets.sheet_for(8, "3", level)) != str(made[3])


@pytest.mark.parametrize("level", sheets.LEVELS)
def test_one_wrong_number_is_seen_and_what_follows_from_it_counts(level):
    rng = np.random.default_rng(level)
    for n in range(10):
        sheet = sheets.sheet_for(3, f"{n}", level)
        for part in sheet.parts:
            answers = {name: value.copy() for name, value in sheet.answers.items()}
            where = tuple(rng.choice(np.argwhere(part.shown)))
            answers[part.name][where] += 4 * part.room * rng.choice([-1, 1])
            result = sheet.check(answers)
            assert not result.ok
            assert result.results[-1][0].zh == part.name
    sheet = sheets.sheet_for(3, "x", level)
    answers = {name: value.copy() for name, value in sheet.answers.items()}
    answers["weights"] = np.where(sheet.parts[1].shown, np.roll(answers["weights"], 1, -1) * 0.5, 0)
    answers["heads"] = answers["weights"] @ sheet.given["V"]
    marks = {part.name: remark is None for part, remark in sheet.marks(answers)}
    assert not marks["weights"]
    assert marks["heads"]


@pytest.mark.parametrize(("level", "name", "wrong", "hint"), [
    (1, "scores", lambda s: s.given["Q"] @ s.given["K"].T, "Not yet divided"),
    (2, "weights", lambda s: softmax(sheets.raw_scores(s.given)), "hidden keys"),
    (1, "weights", lambda s: softmax(s.answers["scores"].T).T, "down the columns"),
    (4, "dscores", lambda s: s.answers["weights"] * s.answers["dweights"], "is not subtracted"),
    (4, "dQ", lambda s: s.answers["dscores"] @ s.given["K"], "division by"),
    (4, "dK", lambda s: s.answers["dscores"].T @ s.given["Q"], "division by"),
    (5, "dconcat", lambda s: s.given["dout"] @ s.given["W_O"][:, :3].T + 0.5, None),
])
def test_a_wrong_turn_is_named(level, name, wrong, hint):
    sheet = sheets.sheet_for(7, "李雷", level)
    result = sheet.check({**sheet.answers, name: wrong(sheet)})
    assert not result.ok
    assert (hint in result.hint.en) if hint else result.hint is None


def softmax(x):
    return np.exp(x) / np.exp(x).sum(-1, keepdims=True)


@pytest.mark.parametrize("answers", [
    None, 3, [], {}, {"scores": None}, {"scores": "x"}, {"scores": [[1, 2], [3]]}, {"scores": [[1, 2, "e"], [1, 2, 3]]},
    {"scores": [[..., 1, 2], [1, 2, 3]]}, {"scores": np.full((2, 3), np.nan)}, {"scores": [[None] * 3] * 2},
    {"scores": [[[1]]]}, {"scores": {}}, {"scores": [["1/0", 1, 2], [1, 2, 3]]},
])
def test_whatever_is_handed_in_gets_an_answer(answers):
    sheet = sheets.sheet_for(7, "李雷")
    assert not sheet.check(answers).ok
    assert "✗" in str(sheet.check(answers))
    assert all(remark is not None for _, remark in sheet.marks(answers))


def test_the_exercise_of_a_sheet_is_one_of_the_course():
    sheet = course.sheet(7, "李雷", level=2)
    assert isinstance(sheet.exercise, type(next(iter(course.exercises().values()))))
    assert sheet.exercise.check(sheet.exercise.solution).ok
    for wrong in ((0, "x"), (6, "x"), (1, ""), (1, None)):
        with pytest.raises(ValueError, match="must be"):
            course.sheet(7, wrong[1], level=wrong[0])
    with pytest.raises(ValueError, match="seed must be"):
        course.sheet(-1, "x")


LISTS = {
    "学号,姓名\n007,李雷\n008,韩梅梅\n": [("李雷", "007"), ("韩梅梅", "008")],
    "李雷\n\n  \n韩梅梅\n": [("李雷", ""), ("韩梅梅", "")],
    "姓名\n李雷\n李雷\n李雷\n": [("李雷", ""), ("李雷 2", ""), ("李雷 3", "")],
    "序号\t姓名\t学号\t班级\n1\t李雷\t2023001\t一班\n2\t韩梅梅\t2023002\t一班\n": [("李雷", "2023001"),
                                                                        ("韩梅梅", "2023002")],
    "First name,Last name,ID number,Email address\nAda,Lovelace,17,a@b\n": [("Ada Lovelace", "17")],
    "Name;Student ID\nJosé;A1\nJosé;A1\nJosé;A2\n": [("José", "A1"), ("José", "A2")],
    "2023001,李雷\n2023002,韩梅梅\n": [("李雷", "2023001"), ("韩梅梅", "2023002")],
    "1,李雷,2023001\n2,韩梅梅,2023002\n": [("李雷", "2023001"), ("韩梅梅", "2023002")],
    "学号\n007\n008\n": [("007", "007"), ("008", "008")],
    "李雷，2023001\n韩梅梅，2023002\n": [("李雷", "2023001"), ("韩梅梅", "2023002")],
    '"Lovelace, Ada",17\n': [("Lovelace, Ada", "17")],
    "姓,名,学号\n李,雷,1\n": [("李雷", "1")],
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
@pytest.mark.parametrize("text", LISTS)
def test_lists_of_a_class_in_their_usual_forms(tmp_path, text, encoding):
    (tmp_path / "names.csv").write_bytes(text.replace("\n", "\r\n").encode(encoding))
    assert read_students(tmp_path / "names.csv")[0] == [Student(*each) for each in LISTS[text]]


@pytest.mark.parametrize(("data", "says"), [
    (b"", "is empty"), (b"\n\n ,, \n", "is empty|holds no name"), ("姓名,学号\n".encode(), "no student below"),
    (b"\x89PNG\x00\x01", "no text"), (b"name,id\nA,1\nB,1\n", "same number"), (b"class,group\nA,1\n", "name"),
    (b"x" * 100, "is no name"), (b"\xff\xfe\x00", "no text"),
])
def test_lists_that_are_none_say_what_to_do(tmp_path, data, says):
    (tmp_path / "names.csv").write_bytes(data)
    with pytest.raises(ValueError, match=says):
        read_students(tmp_path / "names.csv")


def run(*words):
    parser = argparse.ArgumentParser()
    course_sheet.configure(parser.add_subparsers())
    arguments = parser.parse_args(["sheet", *words])
    return arguments.run(arguments)


@pytest.mark.parametrize("level", sheets.LEVELS)
@pytest.mark.parametrize("lang", ["zh", "en", "both"])
def test_pages_hold_everything_and_nothing_overlaps(level, lang):
    figure = sheet_pages.page(sheets.sheet_for(7, Student("李雷", "2023001"), level), lang)
    check_page(figure)
    text = " ".join(text.get_text() for text in figure.axes[0].texts)
    assert "李雷 (2023001)" in text
    assert "20.0855" in text
    assert bool(re.search("[\u4e00-\u9fff]", text.replace("李雷", "").translate(dict.fromkeys(map(
        ord, "".join("".join(each) for three in sheets.SENTENCES.values() for each in three)))))) == (lang != "en")
    assert ("Attention by hand" in text) == (lang != "zh")


def check_page(figure):
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in figure.axes[0].texts if text.get_text()]
    page = figure.bbox
    for at, (text, box) in enumerate(boxes):
        assert box.x0 > 0
        assert box.x1 < page.x1 - 20, f"{text!r} runs out of the page"
        assert box.y0 > 10
        for other, there in boxes[at + 1:]:
            wide = min(box.x1, there.x1) - max(box.x0, there.x0)
            high = min(box.y1, there.y1) - max(box.y0, there.y0)
            assert wide <= 1 or high <= 0.45 * min(box.height, there.height), f"{text!r} and {other!r} overlap"


def test_the_key_holds_every_answer(tmp_path):
    made = [sheets.sheet_for(7, f"{n}", level) for level in (1, 5) for n in range(6)]
    pages = list(sheet_pages.key_pages(made))
    text = "\n".join(text.get_text() for figure in pages for text in figure.axes[0].texts)
    for figure in pages:
        check_page(figure)
    for sheet in made:
        assert sheet.code in text
        assert f"{sheet.answers['weights'].max():.4f}".removesuffix(".0000") in text


def test_the_command_writes_pages_a_key_and_a_form_and_marks_it(tmp_path, capsys):
    (tmp_path / "names.csv").write_text("姓名,学号\n李雷,1\n韩梅梅,2\n", encoding="utf-8")
    same = ["--students", str(tmp_path / "names.csv"), "--level", "2", "--lang", "en"]
    out, form = tmp_path / "class.pdf", tmp_path / "form.csv"
    assert run(*same, "--pdf", str(out), "--form", str(form)) == 0
    assert out.read_bytes().startswith(b"%PDF")
    assert (tmp_path / "class-key.pdf").read_bytes().startswith(b"%PDF")
    first = out.read_bytes()
    assert run(*same, "--pdf", str(out)) == 0
    assert out.read_bytes() == first
    assert run(*same, "--check", str(form)) == 1
    made = [sheets.sheet_for(7, Student(*each), 2) for each in (("李雷", "1"), ("韩梅梅", "2"))]
    keys = {sheet.code: sheet.answers for sheet in made}
    lines = form.read_text(encoding="utf-8-sig").splitlines()
    filled = [lines[0]]
    for line in lines[1:]:
        code, student, name, head, row, *cells = line.split(",")
        values = keys[code][name][int(row) - 1]
        cells = [cell or f"{value:.4f}".replace("-", "−") for cell, value in zip(cells, values, strict=False)]
        filled.append(",".join([code, student, name, head, row, *cells]))
    form.write_bytes("\n".join(filled).encode("gb18030"))
    capsys.readouterr()
    assert run(*same, "--check", str(form)) == 0
    assert capsys.readouterr().out.count("3/3") == 2
    answers = {"李雷": {name: value.tolist() for name, value in made[0].answers.items()}}
    (tmp_path / "a.json").write_text(json.dumps(answers), encoding="utf-8")
    assert run(*same, "--check", str(tmp_path / "a.json")) == 1
    assert "0/3" in capsys.readouterr().out


@pytest.mark.parametrize("words", [
    [], ["--students", "nothing.csv"], ["--students", "."], ["--student", "x", "--pdf", "a.png"],
    ["--student", "x", "--pdf", "no/such/a.pdf"], ["--student", "x", "--check", "nothing"], ["--student", " "],
    ["--student", "x", "--check", "."], ["--student", "x", "--form", "no/such"],
])
def test_wrong_words_get_one_line(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1


@pytest.mark.parametrize("text", [
    "", "a,b\n1,2\n", "{", "{}x", '{"nobody": {}}', '{"x": 3}', "[" * 5000, "code,student\n"])
def test_answers_that_are_none(text, tmp_path):
    (tmp_path / "a").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="a"):
        sheet_answers.read_answers(tmp_path / "a", [sheets.sheet_for(7, "x")])
