"""What was handed in: the students, their notebooks, which lesson each notebook is, whatever its file is called.

A notebook tells its lesson itself: `course start` writes it into the metadata. Where a program has dropped that, the
checks in its cells tell it, and at last the name of the file. What cannot be read is named, never left out.
"""
import hashlib
import json
import os
import re
import stat
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ...words.languages import Words

LARGEST, MOST_OF_A_STUDENT = 50 * 2**20, 200 * 2**20        # bytes of a notebook, of all of one student
LONGEST_CODE, MOST_PARTS = 2_000_000, 3_000_000             # letters of code; lists and dictionaries of a file
MOST_NOTEBOOKS, DEEPEST = 100, 8                            # of one student; folders in folders
BESIDE = (".py", ".txt", ".csv", ".npy", ".npz", ".json")       # files that a notebook may read or import
BESIDE_BYTES = 10 * 2**20
OTHERS = ("18",)        # a lesson without exercises
MOST_REMARKS = 8        # on the files of one student
ENCODINGS = ("utf-8-sig", "utf-16", "gb18030", "latin-1")


class Unreadable(Exception):
    """A file that is no notebook; carries Words that say why."""

    def __init__(self, zh, en):
        super().__init__(en)
        self.words = Words(zh, en)


class Submission(NamedTuple):
    """One notebook of one student.

    name: of its file, to be shown. lesson: "06". digest: of its content. cells: its code, see cells_of. trouble: Words
    that say why there is none, or None. files: {name: content} of those beside it.
    """

    student: str
    name: str
    lesson: str
    digest: str
    cells: list
    trouble: Words | None
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
    found, students, remarks, any_at_all = [], [], [], False
    for student, place in _students(folder):
        students.append(student)
        paths, left_out = _notebooks(place)
        any_at_all |= bool(paths)
        said = left_out if paths or left_out else [Words("文件夹里没有笔记本。", "the folder holds no notebook.")]
        room = MOST_OF_A_STUDENT
        for path in paths:
            name = shown(path.name)
            try:
                content = _content(path, room)
                room -= len(content)
                lesson, cells, trouble = _read(content, name, lesson_of_exercise)
                files = _beside(path) if lesson in wanted else {}
            except (Unreadable, OSError) as error:
                words = error.words if isinstance(error, Unreadable) else Words(error.strerror, error.strerror)
                said.append(Words(f"{name}：{words.zh}", f"{name}: {words.en}"))
                continue
            if not lesson:
                said.append(Words(f"{name}：认不出是哪一课。", f"{name}: no lesson of the course."))
            elif lesson in wanted:
                digest = hashlib.sha256(content).hexdigest()
                found.append(Submission(student, name, lesson, digest, cells, trouble, files))
        if (more := len(said) - MOST_REMARKS) > 0:
            said[MOST_REMARKS:] = [Words(f"还有 {more} 个文件没有算。", f"{more} more files were left out.")]
        remarks += [(student, words) for words in said]
    if not any_at_all:
        raise ValueError(f"{folder} holds no notebook of the course: fill it with `course start {folder}`")
    return found, students, remarks


def shown(name):
    r"""The name of a file as text, also where its bytes are in the encoding of another system.

    >>> shown(os.fsdecode("张三".encode("gb18030"))), shown(os.fsdecode(b"x\xff"))
    ('张三', 'x\\xff')
    """
    content = os.fsencode(name)
    for encoding in ("utf-8", "gb18030"):
        try:
            return content.decode(encoding)
        except UnicodeError:
            continue
    return content.decode("utf-8", "backslashreplace")


def _students(folder):
    """(name, path) of each student, in order; no two have one name."""
    if not folder.is_dir():
        return [(shown(folder.stem), folder)]
    own = [p for p in folder.iterdir() if p.suffix.lower() == ".ipynb" and not p.is_dir()]
    found = {}
    for path in [folder] if own else sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith(".")):
        name = shown(path.resolve().name if path is folder else path.name)
        while name in found:
            name += "_"
        found[name] = path
    return list(found.items())


def _notebooks(student):
    """The notebooks in a student's folder and in the folders there; Words on what was not looked at."""
    if not student.is_dir():
        return [student], []
    if student.is_symlink():
        return [], [Words("这是一个链接，不是文件夹。", "it is a link, not a folder.")]
    found, left_out, todo = [], [], [(student, 0)]
    while todo:
        here, depth = todo.pop()
        try:
            entries = sorted((e for e in os.scandir(here) if not e.name.startswith(".")), key=lambda e: e.name)
        except OSError as error:
            left_out.append(Words(f"{shown(here.name)}：打不开（{error.strerror}）。",
                                  f"{shown(here.name)}: cannot be opened ({error.strerror})."))
            continue
        inner = [here / e.name for e in entries if e.is_dir(follow_symlinks=False)]
        found += [here / e.name for e in entries
                  if e.name.lower().endswith(".ipynb") and not e.is_dir(follow_symlinks=False)]
        if inner and depth == DEEPEST:
            left_out.append(Words(f"{shown(here.name)} 里面的文件夹套得太深，没有看。",
                                  f"{shown(here.name)} holds folders in folders, too many to look at."))
        else:
            todo += [(path, depth + 1) for path in reversed(inner)]
    if len(found) > MOST_NOTEBOOKS:
        left_out.append(Words(f"共 {len(found)} 个笔记本，只看了前 {MOST_NOTEBOOKS} 个。",
                              f"there are {len(found)} notebooks; only the first {MOST_NOTEBOOKS} were looked at."))
    return found[:MOST_NOTEBOOKS], left_out


def _content(path, room):
    """The bytes of an ordinary file; a link could lead to another student's."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        raise Unreadable("这是一个链接，不是文件。", "it is a link, not a file.")
    if not stat.S_ISREG(mode):
        raise Unreadable("这不是普通文件。", "it is no ordinary file.")
    size = path.stat().st_size
    if size > LARGEST:
        raise Unreadable("文件太大。", f"it has more than {LARGEST:,} bytes.")
    if size > room:
        raise Unreadable("这个学生交的文件太多。",
                         f"one student's notebooks have more than {MOST_OF_A_STUDENT:,} bytes.")
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


def _read(content, name, lesson_of_exercise):
    """(lesson, cells, trouble) of a file; the lesson is "" if nobody can tell."""
    source, cells, trouble = "", [], None
    try:
        notebook = notebook_of(content)
        metadata = notebook.get("metadata")
        own = metadata.get("numpy_attention") if isinstance(metadata, dict) else None
        source = str(own.get("source", "")) if isinstance(own, dict) else ""
        cells = cells_of(notebook)
        texts = [text for _, text, _ in cells]
    except Unreadable as error:
        trouble, texts = error.words, [content.decode("utf-8", "replace")]
    return lesson_of(texts, source, name, lesson_of_exercise), cells, trouble


def notebook_of(content):
    """A notebook as the dictionary it is, from bytes in whatever encoding. Raises Unreadable."""
    if content.count(b"[") + content.count(b"{") > MOST_PARTS:
        raise Unreadable("这个文件里的东西太多，不像笔记本。", "the file holds more than any notebook does.")
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
    if sum(len(text) for _, text, _ in found) > LONGEST_CODE:
        raise Unreadable("代码太长。", f"there are more than {LONGEST_CODE:,} letters of code.")
    return found


def lesson_of(texts, source, name, lesson_of_exercise):
    """The number of the lesson that a notebook is, "" if it is none.

    Args: texts: its cells. source: what its metadata say that it was copied from. name: of its file.
    """
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
