"""What a class has written on its sheets: a form to type it into, the file read back, and the marks.

The form is a .csv that a spreadsheet opens: one line for each row of each matrix, found again by the sheet's code. A
.json file says the same: {"李雷": {"scores": [[0, 1, 2], ...], ...}, ...}, by name, number or code.
"""
import csv
import io
import json
from pathlib import Path

import numpy as np

from ..words.languages import Words
from ..words.terminal import table
from . import speech
from .comparing import BLANK
from .students import decode, rows_of

HEAD = ("code", "student", "matrix", "head", "row")
HIDDEN = "/"


def form(sheets):
    """The empty form for these sheets, as text; cells that a mask hides hold a /."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    most = max(part.value.shape[-1] for sheet in sheets for part in sheet.parts)
    writer.writerow([*HEAD, *range(1, most + 1)])
    for sheet in sheets:
        for part in sheet.parts:
            for where in np.ndindex(part.shown.shape[:-1]):
                head = where[0] + 1 if len(where) > 1 else ""
                cells = ["" if shown else HIDDEN for shown in part.shown[where]]
                writer.writerow([sheet.code, sheet.student, part.name, head, where[-1] + 1, *cells])
    return out.getvalue()


def read_answers(path, sheets):
    """What was written, {code: {"scores": rows, ...}}, from a form that was filled in or from JSON.

    Raises: ValueError for a file that is neither, or that is about other sheets; OSError if it cannot be read.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name the file with the answers")
    text = decode(path.read_bytes(), path)
    try:
        found = _from_json(text, sheets, path) if text.lstrip().startswith("{") else _from_form(text, sheets, path)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"{path} begins like JSON and is none: {error}") from None
    return found


def _from_json(text, sheets, path):
    codes = {name: sheet.code for sheet in sheets
             for name in (sheet.student.removesuffix(f" ({sheet.key})"), sheet.student, sheet.key, sheet.code)}
    found = json.loads(text)
    for who, answers in found.items():
        if who not in codes:
            raise ValueError(f"{path}: nobody in this class is called {who!r}")
        if not isinstance(answers, dict):
            raise ValueError(f'{path}: the answers of {who!r} should look like {{"scores": [[0, 1, 2], ...], ...}}')
    return {codes[who]: answers for who, answers in found.items()}


def _from_form(text, sheets, path):
    known = {sheet.code: {part.name: part for part in sheet.parts} for sheet in sheets}
    rows = rows_of(text)
    if not rows or [cell.lower() for cell in rows[0][:5]] != list(HEAD):
        raise ValueError(f"{path} should begin with the columns {', '.join(HEAD)}: fill in what --form has written")
    found = {}
    for line, row in enumerate(rows[1:], 2):
        code, student, name, head, number, *cells = [*row, *[""] * (len(HEAD) - len(row))]
        if code not in known:
            raise ValueError(f"{path}, line {line}: there is no sheet {code!r} here ({student}): the same --seed, "
                             "--level and --students make the same sheets")
        part = known[code].get(name)
        where = [int(text) - 1 if text.isdecimal() else -1 for text in ([head, number] if head else [number])]
        shape = part.value.shape[:-1] if part else ()
        if len(where) != len(shape) or not all(0 <= at < size for at, size in zip(where, shape, strict=False)):
            raise ValueError(f"{path}, line {line}: sheet {code} has no row {number!r} of {name!r}, head {head!r}")
        blank = found.setdefault(code, {}).setdefault(name, np.full(part.value.shape, None, object))
        wide = part.value.shape[-1]
        blank[tuple(where)] = [*cells, *[None] * wide][:wide]
    return {code: {name: value.tolist() for name, value in parts.items()} for code, parts in found.items()}


def marks_table(sheets, answers):
    """The marks as lines: a student a line, a mark for each matrix, how many of them are right."""
    names = [part.name for part in sheets[0].parts]
    lines, notes = [(speech.say(Words("学生", "student")), *names, "Σ")], []
    for sheet in sheets:
        marked = sheet.marks(answers.get(sheet.code, {}))
        signs = ["✓" if remark is None else "·" if remark.what is BLANK else "✗" for _, remark in marked]
        lines.append((sheet.student, *signs, f"{signs.count('✓')}/{len(signs)}"))
        first = sheet.check(answers.get(sheet.code, {}))
        if not first.ok and signs.count("·") < len(signs):
            remark = next(remark for _, remark in first.results if remark)
            notes += [f"{sheet.student}: {speech.say(remark.what)}"
                      + (f" {speech.say(remark.hint)}" if remark.hint else "")]
    return [*table(lines, "<" + "<" * len(names) + ">"), *([""] if notes else []), *notes]
