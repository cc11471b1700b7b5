"""Marks as a table for the screen, as CSV, JSON and JUnit XML, and as a page for each student."""
import csv
import io
import json
import re
import xml.etree.ElementTree as ET

from ...words import terminal
from ...words.labels import safe
from ...words.languages import Words, say
from . import containing

SIGNS = {"right": "✓", "wrong": "✗", "not tried": "·", "missing": "—"}
STATES = {"right": Words("对", "right"), "wrong": Words("不对", "wrong"), "not tried": Words("没有做", "not tried"),
          "missing": Words("没有交", "missing")}
COLUMNS = ("student", "lesson", "exercise", "points", "of", "state", "reason")
MOST_ALIKE = 20


def number(points):
    """Points without needless decimals."""
    return f"{points:g}"


def text(grades, lang="both"):
    """For one student a table of the exercises, for a class one of the students; then what there is to say."""
    students = list(dict.fromkeys(mark.student for mark in grades.marks))
    one = len(students) == 1
    lines = _exercises(grades.marks, lang) if one else _students(grades.marks, students, lang)
    right = sum(mark.state == "right" for mark in grades.marks)
    total = len(grades.marks)
    lines += ["", say(lang, f"做对 {right} / {total} 题。", f"{right} of {total} exercises are right.")]
    for student, words in grades.remarks:
        lines += terminal.wrap(safe(f"{student}: {words.say(lang)}", keep="\n"), further=2)
    if grades.alike:
        lines += ["", say(lang, "很像的答案（不说明什么，请自己看）：",
                          "Answers that look alike (this proves nothing; look yourself):")]
        lines += [safe(f"  {exercise}: {a}, {b} ({share:.0%})") for exercise, a, b, share in grades.alike[:MOST_ALIKE]]
        if len(grades.alike) > MOST_ALIKE:
            lines.append(f"  … {len(grades.alike) - MOST_ALIKE}")
    lines += ["", *terminal.wrap(containing.said(grades.walls).say(lang))]
    return "\n".join(lines)


def _exercises(marks, lang):
    rows = [["", "exercise", "tests", "what"]]
    rows += [[f"{SIGNS[m.state]} {m.lesson}", m.exercise, m.score, safe(m.reason.say("en" if lang == "both" else lang))]
             for m in marks if m.state != "missing"]
    return terminal.table(rows, gap=2, cut=3)


def _students(marks, students, lang):
    lessons = sorted({mark.lesson for mark in marks})
    rows = [["", *lessons, "Σ"]]
    for student in students:
        mine = [mark for mark in marks if mark.student == student]
        cells = ["".join(SIGNS[m.state] for m in mine if m.lesson == lesson) for lesson in lessons]
        rows.append([safe(student), *cells, f"{number(sum(m.points for m in mine))}/{number(sum(m.of for m in mine))}"])
    return terminal.table(rows, gap=1, cut=0)


def to_csv(grades, lang="both"):
    """A row for each exercise of each student. A cell that a spreadsheet would compute is a text."""
    file = io.StringIO()
    table = csv.writer(file, lineterminator="\n")
    table.writerow(COLUMNS)
    for m in grades.marks:
        row = [m.student, m.lesson, m.exercise, number(m.points), number(m.of), m.state, safe(m.reason.say(lang))]
        table.writerow([f"'{cell}" if cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell for cell in row])
    return "\ufeff" + file.getvalue()           # so that spreadsheets read the Chinese


def to_json(grades, lang="both"):
    """All of it."""
    marks = [{"student": m.student, "lesson": m.lesson, "exercise": m.exercise, "points": m.points, "of": m.of,
              "state": m.state, "reason": m.reason.say(lang), "tests": m.score, "notebook": m.notebook,
              "library": list(m.library), "seconds": m.seconds} for m in grades.marks]
    return json.dumps({
        "marks": marks,
        "remarks": [{"student": student, "remark": words.say(lang)} for student, words in grades.remarks],
        "alike": [dict(zip(("exercise", "one", "other", "share"), pair, strict=True)) for pair in grades.alike],
        "contained": grades.walls,
        "seconds": round(grades.took, 1),
    }, ensure_ascii=False, indent=1) + "\n"


def junit(grades, lang="both"):
    """JUnit XML: a suite for each notebook of each student, a test case for each exercise."""
    root = ET.Element("testsuites", name="numpy_attention course")
    for key in dict.fromkeys((m.student, m.lesson) for m in grades.marks):
        mine = [m for m in grades.marks if (m.student, m.lesson) == key]
        count = {state: sum(m.state == state for m in mine) for state in SIGNS}
        name = safe(f"{key[0]} {mine[0].notebook or key[1]}")
        suite = ET.SubElement(root, "testsuite", name=name, tests=str(len(mine)), failures=str(count["wrong"]),
                              skipped=str(count["not tried"] + count["missing"]),
                              time=f"{sum(m.seconds for m in mine):.2f}")
        for m in mine:
            case = ET.SubElement(suite, "testcase", classname=name, name=m.exercise)
            reason = safe(m.reason.say(lang))
            if m.state == "wrong":
                whole = (m.text or {}).get(lang) or reason
                ET.SubElement(case, "failure", message=reason).text = safe(whole, keep="\n")
            elif m.state != "right":
                ET.SubElement(case, "skipped", message=reason)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def feedback(grades, lang="both"):
    """{file name: Markdown}, one for each student: what was right, and what the checks said where it was not."""
    found = {}
    for student in dict.fromkeys(m.student for m in grades.marks):
        mine = [m for m in grades.marks if m.student == student]
        points, of = number(sum(m.points for m in mine)), number(sum(m.of for m in mine))
        lines = [f"# {safe(student)}", "", say(lang, f"得分：{points} / {of}", f"Points: {points} of {of}"), ""]
        lines += [f"- {safe(words.say(lang))}" for who, words in grades.remarks if who == student]
        for lesson in sorted({m.lesson for m in mine if m.state != "missing"}):
            lines += ["", f"## {lesson}", ""]
            for m in mine:
                if m.lesson == lesson:
                    state = STATES[m.state].say(lang)
                    lines += [f"**{m.exercise}** {SIGNS[m.state]} {state} ({number(m.points)}/{number(m.of)})", ""]
                    said = (m.text or {}).get(lang) if m.state != "right" else ""
                    if said:
                        lines += ["```text", safe(said, keep="\n").replace("```", "'''"), "```", ""]
                    elif m.reason.say(lang):
                        lines += [safe(m.reason.say(lang)), ""]
        found[f"{_file_name(student, found)}.md"] = "\n".join(lines).rstrip() + "\n"
    return found


def _file_name(student, taken):
    """A name that every system takes: not too long, and no two that differ only in large and small letters."""
    name = re.sub(r"[^\w.-]+", "_", student).strip("._")[:60] or "student"
    while f"{name}.md".casefold() in {each.casefold() for each in taken}:
        name += "_"
    return name
