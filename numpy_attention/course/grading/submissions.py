"""What was handed in: the students, their notebooks, which lesson each notebook is, whatever its file is called.

A notebook tells its lesson itself: `course start` writes it into the metadata. Where a program has dropped that, the
checks in its cells tell it, and at last the name of the file. What cannot be read is named, never left out.
"""
import json
import os
import re
import stat
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ...words.languages import Words

LARGEST = 50 * 2**20
BESIDE = (".py", ".txt", ".csv", ".npy", ".npz", ".json")       # files that a notebook may read or import
BESIDE_BYTES = 10 * 2**20
OTHERS = ("18",)        # a lesson without exercises
ENCODINGS = ("utf-8-sig", "utf-16", "gb18030")


class Unreadable(Exception):
    """A file that is no notebook; carries Words that say why."""

    def __init__(self, zh, en):
        super().__init__(en)
        self.words = Words(zh, en)


class Submission(NamedTuple):
    """One notebook of one student: its lesson ("06", "" if nobody can tell), content, and the files beside it."""

    student: str
    path: Path
    lesson: str
    content: bytes
    files: dict


def collect(folder, lesson_of_exercise, wanted):
    """(submissions, students, remarks) in a folder of students' folders, in one student's folder, or of one file.

    Args:
        folder: a path. A folder that holds notebooks itself is one student's; otherwise each folder in it is one.
        lesson_of_exercise: {"two-heads": "06", ...} wanted: the lessons that are marked; others are passed over.

    Returns: a list of Submission, the names of all students, and a list of (student, Words): files that are left out
        and why.
    Raises: ValueError if there is nothing to mark.
    """
    folder = Path(folder)
    if not folder.exists():
        raise ValueError(f"there is no {folder}")
    found, remarks = [], []
    students = []
    for student, path in _notebooks(folder):
        if student not in students:
            students.append(student)
        if path is None:
            remarks.append((student, Words("文件夹里没有笔记本。", "the folder holds no notebook.")))
            continue
        try:
            content = _content(path)
        except (Unreadable, OSError) as error:
            words = error.words if isinstance(error, Unreadable) else Words(str(error), str(error))
            remarks.append((student, Words(f"{path.name}：{words.zh}", f"{path.name}: {words.en}")))
            continue
        lesson = lesson_of(content, path.name, lesson_of_exercise)
        if not lesson:
            remarks.append((student, Words(f"{path.name}：认不出是哪一课。", f"{path.name}: no lesson of the course.")))
            continue
        if lesson not in wanted:
            continue
        found.append(Submission(student, path, lesson, content, _beside(path)))
    if not any(path for _, path in _notebooks(folder)):
        raise ValueError(f"{folder} holds no notebook of the course: fill it with `course start {folder}`")
    return found, students, remarks


def _notebooks(folder):
    """(student, path) of every notebook, in order; (student, None) for a folder without any."""
    if not folder.is_dir():
        return [(folder.stem, folder)]
    own = [p for p in folder.iterdir() if p.suffix == ".ipynb"]
    students = [folder] if own else sorted(p for p in folder.iterdir() if p.is_dir() and not p.is_symlink()
                                           and not p.name.startswith("."))
    found = []
    for student in students:
        found += _of_student(student) or [(student.resolve().name, None)]
    return found


def _of_student(student):
    found = []
    for here, inner, names in os.walk(student):
        inner[:] = sorted(name for name in inner if not name.startswith("."))
        found += [(student.resolve().name, Path(here, name)) for name in sorted(names)
                  if name.endswith(".ipynb") and not name.startswith(".")]
    return found


def _content(path):
    """The bytes of an ordinary file; a link could lead to another student's."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        raise Unreadable("这是一个链接，不是文件。", "it is a link, not a file.")
    if not stat.S_ISREG(mode):
        raise Unreadable("这不是普通文件。", "it is no ordinary file.")
    if path.stat().st_size > LARGEST:
        raise Unreadable("文件太大。", f"it has more than {LARGEST:,} bytes.")
    return path.read_bytes()


def _beside(path):
    """{name: content} of the small files beside a notebook."""
    found, total = {}, 0
    for each in sorted(path.parent.iterdir()):
        if each.suffix in BESIDE and each.is_file() and not each.is_symlink():
            total += each.stat().st_size
            if total > BESIDE_BYTES:
                break
            found[each.name] = each.read_bytes()
    return found


def notebook_of(content):
    """A notebook as the dictionary it is, from bytes in whatever encoding. Raises Unreadable."""
    for encoding in ENCODINGS:
        try:
            text = content.decode(encoding)
        except UnicodeError:
            continue
        try:
            notebook = json.loads(text)
        except (ValueError, RecursionError) as error:
            if encoding == "utf-16":
                continue
            raise Unreadable(f"这个文件不是笔记本（JSON 有误：{error}）。",
                             f"the file is no notebook: {error}.") from None
        if isinstance(notebook, dict):
            return notebook
        break
    raise Unreadable("这个文件不是笔记本。", "the file is no notebook.")


def cells_of(notebook):
    """(number, text, whether it is an experiment, which no exercise needs to be run) of the cells of code."""
    cells = notebook.get("cells")
    if not isinstance(cells, list):             # notebooks of before 2015
        sheets = notebook.get("worksheets")
        cells = sheets[0].get("cells") if isinstance(sheets, list) and sheets and isinstance(sheets[0], dict) else None
    if not isinstance(cells, list):
        raise Unreadable("这个文件里没有格子。", "the file holds no cells.")
    found = []
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        text = cell.get("source", cell.get("input", ""))
        text = "".join(map(str, text)) if isinstance(text, list) else text
        metadata = cell.get("metadata")
        tags = metadata.get("tags", ()) if isinstance(metadata, dict) else ()
        if isinstance(text, str):
            tags = set(map(str, tags)) if isinstance(tags, list) else set()
            found.append((number, text, bool(tags & {"experiment", "raises-exception"})))
    return found


def lesson_of(content, name, lesson_of_exercise):
    """The number of the lesson that a notebook is, "" if it is none."""
    try:
        notebook = notebook_of(content)
        metadata = notebook.get("metadata")
        own = metadata.get("numpy_attention") if isinstance(metadata, dict) else None
        source = str(own.get("source", "")) if isinstance(own, dict) else ""
        texts = [text for _, text, _ in cells_of(notebook)]
    except Unreadable:
        source, texts = "", [content.decode("utf-8", "replace")]
    known = {*lesson_of_exercise.values(), *OTHERS}
    names = [name for text in texts for name in re.findall(r"""check\(\s*\\?["']([\w-]+)\\?["']""", text)]
    checks = Counter(lesson_of_exercise[name] for name in names if name in lesson_of_exercise)
    said = re.search(r"(?:^|/)(\d\d)_", source)
    if said and said[1] in known:
        return said[1]
    if checks:
        return checks.most_common(1)[0][0]
    named = re.match(r"(\d\d)(?!\d)", name)
    return named[1] if named and named[1] in known else ""
