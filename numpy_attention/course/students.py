"""The list of a class, read from a file as teachers have it: with a header or without, from any spreadsheet.

A line is a student. Where there is a header, its words say which column is the name (姓名, name, or first name and
last name) and which is the number (学号, student id); other columns are left alone. Without a header the first column
is the name, unless it looks like a number and another does not.
"""
import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

NAMES = ("姓名", "名字", "学生姓名", "学生", "name", "fullname", "student", "studentname")
FIRST, LAST = ("firstname", "givenname", "forename", "名"), ("lastname", "surname", "familyname", "姓")
NUMBERS = ("学号", "学生学号", "学籍号", "考号", "编号", "number", "id", "idnumber", "studentid", "studentnumber",
           "matriculation", "username", "no")
OTHERS = ("序号", "班级", "性别", "专业", "年级", "class", "email", "emailaddress", "邮箱", "group", "gender", "sex")
MOST_BYTES = 5_000_000


class Student(NamedTuple):
    """Who a sheet is for; `number` is "" where the list has none."""

    name: str
    number: str = ""

    @property
    def key(self):
        """What the student's numbers are drawn from: the number if there is one, otherwise the name."""
        return self.number or self.name

    def __str__(self):
        return f"{self.name} ({self.number})" if self.number and self.number != self.name else self.name


def read_students(path):
    """The students of a list, in its order, and what was noticed on the way.

    Args:
        path: a .csv, .tsv or .txt file: commas, semicolons or tabs; UTF-8 (with or without a byte order mark), UTF-16
            or GBK.

    Returns: (students, remarks). A line that stands there twice is one student; two students with one name and no
        numbers become "李雷" and "李雷 2", and a remark says so.
    Raises: ValueError for what is no such list; OSError for a file that cannot be read.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "class.csv")
    ...     _ = path.write_bytes("学号,姓名\\n007,李雷\\n\\n008,韩梅梅\\n".encode("gbk"))
    ...     read_students(path)[0]
    [Student(name='李雷', number='007'), Student(name='韩梅梅', number='008')]
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder: name the file with the list of students")
    with open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise ValueError(f"{path} is larger than {MOST_BYTES / 1e6:g} MB: that is no list of students")
    rows = rows_of(decode(data, path))
    if not rows:
        raise ValueError(f"{path} is empty: write one student a line, such as 李雷,2023001")
    return _students(rows, path)


def decode(data, path):
    """The text of a file in one of the usual encodings."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        encodings = ("utf-16",)
    else:
        encodings = ("utf-8-sig", "gb18030")
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not re.search(r"[\x00-\x08\x0e-\x1f]", text):
            return text
    raise ValueError(f"{path} is no text in UTF-8, UTF-16 or GBK: save the list as CSV")


def rows_of(text):
    """The lines that hold anything, each as a list of cells without blanks around them."""
    lines = [line for line in text.splitlines() if line.strip()]
    marks = [max("\t;,，", key=line.count) for line in lines[:20] if re.search("[\t;,，]", line)]
    mark = max(set(marks), key=marks.count) if marks else ","
    read = csv.reader(io.StringIO("\n".join(lines)), delimiter=mark)
    rows = [[" ".join(cell.split()) for cell in row] for row in read]
    return [row for row in rows if any(row)]


def _students(rows, path):
    plain = [re.sub(r"[\s_.\-/]|[（(].*?[）)]", "", cell.lower()) for cell in rows[0]]
    known = {*NAMES, *FIRST, *LAST, *NUMBERS, *OTHERS}
    if known & set(plain):
        columns, number = _named(plain, path), next((at for at, cell in enumerate(plain) if cell in NUMBERS), None)
        rows, first = rows[1:], 2
        if not rows:
            raise ValueError(f"{path} has a header and no student below it")
    else:
        columns, number = _guessed(rows)
        first = 1
    found, remarks = [], []
    for line, row in enumerate(rows, first):
        cells = {at: cell for at, cell in enumerate(row) if cell}
        parts = [cells[at] for at in columns if at in cells]
        name = ("" if len(parts) < 2 or not all(map(str.isascii, parts)) else " ").join(parts)
        student = Student(name or cells.get(number, ""), cells.get(number, ""))
        if not student.name:
            remarks.append(f"line {line} holds no name and was left out")
        elif len(student.name) > 60 or not student.name.isprintable():
            raise ValueError(f"{path}, line {line}: {student.name[:20]!r}… is no name")
        else:
            _add(student, line, found, remarks, path)
    if not found:
        raise ValueError(f"{path} holds no name")
    return found, remarks


def _named(plain, path):
    """The columns that make up a name, by the header: family name first in Chinese, last in English."""
    whole = next((at for wanted in NAMES for at, cell in enumerate(plain) if cell == wanted), None)
    if whole is not None:
        return [whole]
    halves = [next((at for at, cell in enumerate(plain) if cell in words), None) for words in (FIRST, LAST)]
    halves = [at for at in halves if at is not None]
    if any(plain[at] in ("姓", "名") for at in halves):
        halves.reverse()
    if not halves and not any(cell in NUMBERS for cell in plain):
        raise ValueError(f"{path}: none of the columns {', '.join(filter(None, plain))} is called 姓名 or name")
    return halves


def _guessed(rows):
    """(columns of the name, column of the number) where no header says which is which."""
    def numbered(at):
        cells = [row[at] for row in rows if len(row) > at and row[at]]
        return bool(cells) and all(re.fullmatch(r"[A-Za-z]{0,4}[-_]?\d[\w-]*", cell) for cell in cells)

    count = max(map(len, rows))
    names = [at for at in range(count) if not numbered(at) and any(len(row) > at and row[at] for row in rows)] or [0]
    numbers = [at for at in range(count) if numbered(at) and at != names[0]]
    return names[:1], max(numbers, key=lambda at: len({row[at] for row in rows if len(row) > at}) * 100
                          + max(len(row[at]) for row in rows if len(row) > at)) if numbers else None


def _add(student, line, found, remarks, path):
    """Add a student, unless the line is there already."""
    same = [each for each in found if each.key == student.key]
    if not same:
        found.append(student)
    elif student.number and same[0].name != student.name:
        raise ValueError(f"{path}, line {line}: {student.name} and {same[0].name} have the same number, "
                         f"{student.number}: give each student a number of their own")
    elif student.number:
        remarks.append(f"line {line}: {student} stands there already and gets one sheet")
    else:
        count = 2 + sum(bool(re.fullmatch(re.escape(student.name) + r" \d+", each.name)) for each in found)
        found.append(Student(f"{student.name} {count}"))
        remarks.append(f"line {line}: a second {student.name} became {student.name} {count}; a column with numbers "
                       "(学号) tells them apart")
