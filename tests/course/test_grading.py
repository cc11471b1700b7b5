"""Grading: marks that mean something, whatever a submission does; nothing is left behind."""
import csv
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from numpy_attention import course
from numpy_attention.course import grading, lessons
from numpy_attention.course.desk.channel import Broken, Channel, TooLate, packed, thing, unpacked
from numpy_attention.course.drawing import numbers_of
from numpy_attention.course.grading import containing, editions, reports, similar, submissions
from numpy_attention.course.grading.needed import code_cells, plan
from numpy_attention.course.grading.python_of import own_transform, python_of

from . import a_class

SOME = ("right", "right-jupyter", "wrong-scale", "broken-json", "gbk", "copies", "nothing", "deletes-neighbours",
        "kills-the-parent", "popen-sleeper", "memory", "cheat-solution", "cheat-import", "cheat-verdict",
        "cheat-result-file", "cheat-library", "cheat-frames")


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    a_class.write(folder, SOME, neighbours=folder / "right")
    before = a_class.processes()
    grades = grading.grade(folder, jobs=2, only=["01"], seconds=20, megabytes=1500)
    return folder, grades, a_class.processes() - before


@pytest.mark.parametrize("name", SOME)
def test_everybody_gets_what_they_should(marked, name):
    _, grades, _ = marked
    mine = [mark for mark in grades.marks if mark.student == name]
    assert tuple(mark.state for mark in mine) == a_class.CLASS[name][1][:2], [mark.reason.en for mark in mine]
    assert all(mark.reason.zh and mark.reason.en for mark in mine if mark.state != "right")


def test_nothing_is_left_and_nothing_is_lost(marked):
    folder, _, left = marked
    assert not left
    assert sum(1 for _ in folder.rglob("*.ipynb")) == sum(len(a_class.CLASS[name][0]) for name in SOME)


def test_the_table_the_files_and_the_pages(marked):
    _, grades, _ = marked
    rows = list(csv.DictReader(io.StringIO(reports.to_csv(grades, "zh").lstrip("\ufeff"))))
    assert len(rows) == 2 * len(SOME)
    assert [row["points"] for row in rows if row["student"] == "right"] == ["1", "1"]
    told = json.loads(reports.to_json(grades, "en"))
    assert [mark["points"] for mark in told["marks"] if mark["student"] == "wrong-scale"] == [1, 0]
    assert any("handed in 3 times" in each["remark"] for each in told["remarks"])
    pages = reports.feedback(grades, "en")
    assert set(pages) == {f"{name}.md" for name in SOME}
    assert "Divided by d_k; it should be √d_k" in pages["wrong-scale.md"]
    assert "对了" not in pages["wrong-scale.md"]
    assert "除以了 d_k" in reports.feedback(grades, "zh")["wrong-scale.md"]
    assert 'skipped="2"' in reports.junit(grades)


def test_who_wrote_the_same_is_named(marked):
    _, grades, _ = marked
    assert ("attention-forward", "gbk", "right", 1.0) in grades.alike
    assert not any("wrong-type" in pair for pair in grades.alike)


@pytest.mark.parametrize(("rule", "state", "reason"), [("allow", "right", ""), ("flag", "right", "na.ScaledDotProduct"),
                                                       ("refuse", "wrong", "na.ScaledDotProduct")])
def test_the_library_layer_is_worth_what_the_teacher_says(tmp_path, rule, state, reason):
    a_class.write(tmp_path, ["cheat-library"])
    mark, = grading.grade(tmp_path / "cheat-library", only=["attention-forward"], library=rule).marks
    assert mark.state == state
    assert reason in mark.reason.en
    assert mark.points == (state == "right")


@pytest.mark.skipif(containing.best_walls() == "none", reason="neither bubblewrap nor unshare works here")
@pytest.mark.parametrize("walls", containing.WALLS[:2])
def test_behind_walls_there_is_no_solution_no_neighbour_and_nothing_to_write_on(tmp_path, walls):
    if walls == "bubblewrap" and containing.best_walls() != walls:
        pytest.skip("bubblewrap is not installed")
    a_class.write(tmp_path, ["cheat-files"])
    probe = a_class.FORWARD.replace("    scores =", f"""    import os, pathlib
    for path in ({str(tmp_path)!r}, {str(lessons.FOLDER)!r}, {str(editions.PACKAGE / "course" / "exercises")!r}):
        assert not os.path.exists(path), path
    writable = []
    for path in ('/usr/x', '/edition/x', '/proc/sys/kernel/core_pattern', '/proc/1/oom_score_adj', *FURTHER):
        try: writable.append(os.open(path, os.O_WRONLY | os.O_CREAT) and path)
        except OSError: pass
    assert not writable, writable
    assert os.statvfs('/tmp').f_blocks * os.statvfs('/tmp').f_frsize < 2**28
    assert 'SECRET' not in os.environ
    scores =""")
    further = ("/x", "/dev/x", "/dev/shm/x", "/root/x") if walls == "bubblewrap" else ()    # the other: part of /tmp's
    (tmp_path / "probe").mkdir()
    probe = a_class.first_lesson(probe.replace("*FURTHER", f"*{further}"))
    (tmp_path / "probe" / "01.ipynb").write_text(json.dumps(probe))
    states = {m.student: (m.state, m.reason.en) for m in
              grading.grade(tmp_path, only=["attention-forward"], walls=walls).marks}
    assert states["probe"][0] == "right", states
    assert states["cheat-files"][0] == "wrong", states


def test_what_lies_in_a_hidden_folder_is_hidden_with_it():
    inner = Path(sys.prefix, "lib")
    assert containing.masked([sys.prefix + "/lib", str(next(inner.iterdir()))]).count(str(inner.resolve())) == 1
    assert not [p for p in containing.masked([str(inner)]) if p.startswith(f"{inner.resolve()}/")]


def test_no_edition_for_the_desk_holds_a_solution():
    made = editions.made()
    texts = {path: path.read_text(encoding="utf-8") for path in made.rglob("*.py") if "course" in path.parts}
    assert len(list(made.glob("*/numpy_attention/course/__init__.py"))) == 3
    for exercise in course.exercises().values():
        code = getattr(exercise.solution, "__code__", None)
        if code:
            first = Path(code.co_filename).read_text(encoding="utf-8").splitlines()[code.co_firstlineno - 1].strip()
            assert not [path for path, text in texts.items() if first in text], first
    assert not list(made.rglob("*.ipynb"))


def descendants(pid):
    """The processes that a process has started, and those that they have."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout.split()
    parents = dict(zip(map(int, listed[::2]), map(int, listed[1::2]), strict=True))
    found, new = set(), {pid}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - found
        found |= new
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes where Linux lists them")
def test_interrupted_it_goes_on_and_ends_all_it_started(tmp_path):
    a_class.write(tmp_path / "class", ["right", "endless-function", "wrong-scale"])
    command = [sys.executable, "-m", "numpy_attention", "course", "grade", str(tmp_path / "class"), "--only", "01",
               "--jobs", "1", "--keep", str(tmp_path / "keep")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                               env={**os.environ, "PYTHONPATH": str(editions.PACKAGE.parent)})
    until = time.monotonic() + 60
    while not list(tmp_path.glob("keep/*.json")) and time.monotonic() < until:
        time.sleep(0.05)
    started = descendants(process.pid)
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(20) == 130
    until = time.monotonic() + 5
    while any(Path(f"/proc/{pid}").exists() for pid in started) and time.monotonic() < until:
        time.sleep(0.05)                # the system takes them away a moment after they were killed
    assert started
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("keep/*.json")}
    assert 1 <= len(kept) < 3
    grades = grading.grade(tmp_path / "class", only=["01"], keep=tmp_path / "keep", seconds=60)
    assert {mark.student for mark in grades.marks} == {"right", "endless-function", "wrong-scale"}
    assert all(path.stat().st_mtime_ns == was for path, was in kept.items())
    assert len(list(tmp_path.glob("keep/*.json"))) == 3


def test_a_cluster_marks_the_same(tmp_path):
    distributed = pytest.importorskip("distributed")
    a_class.write(tmp_path, ["right", "wrong-scale", "cheat-verdict"])
    here = grading.grade(tmp_path, only=["01"])
    threads = {"n_workers": 1, "threads_per_worker": 2, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**threads) as cluster, distributed.Client(cluster) as client:
        there = grading.grade(tmp_path, only=["01"], executor=client.get_executor())
    assert [m._replace(seconds=0) for m in here.marks] == [m._replace(seconds=0) for m in there.marks]


@pytest.mark.parametrize("name", [n for n, e in course.exercises().items() if n != "kill-the-bugs"])
def test_every_students_numbers_are_passed_by_the_solution(name):
    exercise = course.exercises()[name]
    for student in range(5):
        with numbers_of(f"student {student}"):
            assert exercise.check(exercise.solution).ok


def test_numbers_learned_by_heart_do_not_pass(tmp_path):
    """An answer that knows all inputs of the notebook's checks, by their sum, is right there and nowhere else."""
    exercise, table = course.exercises()["attention-forward"], {}

    def spy(Q, K, V):
        table[round(float(Q.sum() + K.sum() + V.sum()), 6)] = exercise.solution(Q, K, V)
        return exercise.solution(Q, K, V)

    assert exercise.check(spy).ok
    known = {key: [array.tolist() for array in value] for key, value in table.items()}
    cheat = (f"TABLE = {known!r}\ndef attention(Q, K, V):\n"
             "    return [np.array(x) for x in TABLE[round(float(Q.sum() + K.sum() + V.sum()), 6)]]\n")
    (tmp_path / "01.ipynb").write_text(json.dumps(a_class.first_lesson(cheat)))
    mark, = grading.grade(tmp_path, only=["attention-forward"]).marks
    assert mark.state == "wrong"
    assert "Right for the numbers of the notebook only" in mark.reason.en


def test_students_and_lessons_are_found(tmp_path):
    lesson = {name: e.notebook for name, e in course.exercises().items()}
    a_class.write(tmp_path, ["renamed", "no-metadata"])
    (tmp_path / "renamed" / ".ipynb_checkpoints").mkdir()
    (tmp_path / "renamed" / ".ipynb_checkpoints" / "01.ipynb").write_text("{}")
    (tmp_path / "renamed" / "link.ipynb").symlink_to(tmp_path / "no-metadata" / "a.ipynb")
    (tmp_path / "renamed" / "shopping.ipynb").write_text('{"cells": []}')
    found, students, remarks = submissions.collect(tmp_path, lesson, {"01", "06"})
    assert students == ["no-metadata", "renamed"]
    assert [(each.student, each.lesson) for each in found] == [
        ("no-metadata", "06"), ("no-metadata", "01"), ("renamed", "06"), ("renamed", "01")]
    assert [words.en for _, words in remarks] == ["link.ipynb: it is a link, not a file.",
                                                  "shopping.ipynb: no lesson of the course."]
    one, _, _ = submissions.collect(tmp_path / "renamed" / "b.ipynb", lesson, {"06"})
    assert [(each.student, each.lesson) for each in one] == [("b", "06")]
    with pytest.raises(ValueError, match="there is no"):
        submissions.collect(tmp_path / "nowhere", lesson, {"06"})


def test_names_links_and_heaps_of_files_are_said_and_end_nothing(tmp_path):
    lesson = {name: e.notebook for name, e in course.exercises().items()}
    notebook = json.dumps(a_class.first_lesson())
    for name in ("张三".encode(), "张三".encode("gb18030"), b"\x1b[31m\xff", b"deep", b"many", b"folder.ipynb",
                 b"links", b"n" * 250, b"N" * 250):
        os.mkdir(os.path.join(os.fsencode(tmp_path), name))
    for path in tmp_path.iterdir():
        if path.name not in ("deep", "links"):
            (path / "a\nb.IPYNB").write_text(notebook)
    folder = tmp_path / "deep"
    for _ in range(60):
        folder = folder / "d"
        folder.mkdir()
    for number in range(120):
        (tmp_path / "many" / f"0x{number}.ipynb").write_text("{}")
    (tmp_path / "links" / "01.ipynb").symlink_to(tmp_path / "many" / "a\nb.IPYNB")
    (tmp_path / "links" / "further").symlink_to("/")
    (tmp_path / "a-link").symlink_to(tmp_path / "many")
    found, students, remarks = submissions.collect(tmp_path, lesson, {"01"})
    assert sorted(each.student for each in found) == sorted(set(students) - {"deep", "links", "a-link", "many"})
    assert {"张三", "张三_"} <= set(students)
    said = {who: [words.en for each, words in remarks if each == who] for who, _ in remarks}
    assert said["links"] == ["01.ipynb: it is a link, not a file."]
    assert said["a-link"] == ["it is a link, not a folder."]
    assert said["deep"] == ["d holds folders in folders, too many to look at."]
    assert said["many"][0] == "there are 121 notebooks; only the first 100 were looked at."
    assert said["many"][-1] == "93 more files were left out."
    marks = [grading.Mark(each, "01", "attention-forward", 1, 1, "right", grading.MISSING) for each in students]
    grades = grading.Grades(marks, remarks, [("attention-forward", *students[:2], 1.0)], "none", 1.0)
    pages = reports.feedback(grades)
    assert len(pages) == len({name.casefold() for name in pages}) == len(students)
    assert max(len(name) for name in pages) < 100
    for text in (reports.text(grades), reports.junit(grades), *pages.values()):
        text.encode()
        assert "\x1b" not in text


def test_a_notebook_may_be_large_its_code_and_its_parts_may_not():
    cell = {"cell_type": "code", "source": "1\n" * 1_100_000}
    for notebook in ({"cells": [cell]}, [[]] * 3_100_000):
        with pytest.raises(submissions.Unreadable):
            submissions.cells_of(submissions.notebook_of(json.dumps(notebook).encode()))
    cell = {"cell_type": "code", "source": "1", "outputs": ["z" * 3_000_000]}
    assert submissions.cells_of(submissions.notebook_of(json.dumps({"cells": [cell]}).encode())) == [(1, "1", False)]


def test_a_folder_goes_however_deep_it_is(tmp_path):
    before = os.getcwd()
    (tmp_path / "room").mkdir()
    os.chdir(tmp_path / "room")
    try:
        for _ in range(1200):
            os.mkdir("d")
            os.chdir("d")
    finally:
        os.chdir(before)
    editions.delete(tmp_path / "room")
    assert not (tmp_path / "room").exists()


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe\x00", b'{"cells": 3}', b"null", b"[" * 10**5,
                                     b'{"cells": [3, {"cell_type": "code"}, {"cell_type": "code", "source": [1]}]}'])
def test_a_strange_file_is_said_to_be_strange(tmp_path, content):
    (tmp_path / "01_x.ipynb").write_bytes(content)
    mark, _ = grading.grade(tmp_path, only=["01"]).marks
    assert mark.state == "not tried"
    assert mark.reason.zh
    assert mark.reason.en


JUPYTER = [
    ("%matplotlib inline\nx = 1", {"x": 1}),
    ("!ls -l\nx = 1\n!! pwd", {"x": 1}),
    ("x = 1\nprint?\n?print\nprint??", {"x": 1}),
    ("x = (7\n% 4)", {"x": 3}),
    ("x = '''\n%time\n!ls\n'''", {"x": "\n%time\n!ls\n"}),
    ("x = 7 \\\n% 4", {"x": 3}),
    ("%%time\nx = 1", {"x": 1}),
    ("%%html\n<b>x</b>", {}),
    ("x = %time 3", {"x": 3}),
    ("%time x = 3", {"x": 3}),
    ("x = !ls", {"x": []}),
    ("for i in range(3):\n    %time x = i", {"x": 2}),
    ("import asyncio\nx = await asyncio.sleep(0, 4)", {"x": 4}),
    ("get_ipython().run_line_magic('x', '')\ndisplay(3)\nx = 1", {"x": 1}),
    ("from IPython.display import display, HTML, Markdown\ndisplay(HTML('x'))\nx = 1", {"x": 1}),
]


@pytest.fixture
def space():
    """A notebook's names; what stands in for IPython goes again afterwards."""
    from numpy_attention.course.desk import jupyter
    before = set(sys.modules)
    yield jupyter.namespace()
    for name in set(sys.modules) - before:
        if name.startswith("IPython") and isinstance(sys.modules[name], jupyter._Anything):
            del sys.modules[name]


@pytest.mark.parametrize("transform", [python_of, own_transform], ids=["installed", "ours"])
@pytest.mark.parametrize(("text", "expected"), JUPYTER)
def test_a_cell_means_what_it_means_in_jupyter(space, transform, text, expected):
    from numpy_attention.course.desk import jupyter
    if transform is own_transform and text.startswith("%%time"):
        text = text.replace("%%time", "")           # python_of takes it off for both
    jupyter.run_cell(transform(text), 1, space)
    assert {name: space[name] for name in expected} == expected


def test_the_last_value_is_underscore(space):
    from numpy_attention.course.desk import jupyter
    for number, text in enumerate(("3 + 4", "x = _ + 1", "x;")):
        jupyter.run_cell(text, number, space)
    assert space["x"] == 8


def planned(*texts, name="x", usual=None):
    cells = [(number, text, False) for number, text in enumerate(texts)]
    return plan(code_cells(cells, lambda text: text), name, usual)


@pytest.mark.parametrize(("cells", "runs", "whole"), [
    (["import numpy as np\nslow = train()", "def f(x):\n    return np.sqrt(x)", 'course.check("x", f)'],
     {0: [0], 1: [0]}, False),
    (["a = [1]", "a.append(2)\nb = 3\nprint(a)", "def f():\n    return a", 'course.check("x", f)'],
     {0: [0], 1: [0], 2: [0]}, False),
    (["def f(): return 1\ncourse.check('x', f)", "z = 1\ndef f(): return 2"], {0: [0], 1: [1]}, False),
    (["def g():\n    return 1", "f = lambda: g()\nassert course.check('x', f).ok"], {0: [0], 1: [0]}, False),
    (["def f(): return globals()['g']()", "course.check('x', f)"], {0: None, 1: None}, True),
    (["def f(): return nobody", "course.check('x', f)"], {0: None, 1: None}, True),
    (["def f(): return 1", "for _ in range(2):\n    course.check('x', f)"], {0: None, 1: None}, True),
    (["from math import *\ndef f(x): return sqrt(x)", "course.check('x', f)"], {0: [0, 1]}, False),
    (["x = 1", "def f(y):\n    x = y\n    return x", "course.check('x', f)"], {1: [0]}, False),
])
def test_only_what_an_answer_needs_is_run(cells, runs, whole):
    found = planned(*cells)
    assert {number: chosen for number, _, chosen in found.cells} == runs
    assert found.whole == whole


def test_without_a_check_the_usual_name_is_the_answer():
    assert planned("def f(): return 1", usual="f").answer == "f"
    assert planned("g = 1", usual="f") is None


@pytest.mark.parametrize("by_thread", [False, True])
def test_frames_arrive_whole_late_or_not_at_all(by_thread):
    read, write = os.pipe()
    here, there = Channel(read, -1, b"t" * 16, by_thread), Channel(-1, write, b"t" * 16, False)
    there.send(b"one")
    there.send(b"x" * 50_000)
    assert (here.receive(), here.receive(time.monotonic() + 5)) == (b"one", b"x" * 50_000)
    with pytest.raises(TooLate):
        here.receive(time.monotonic() + 0.1)
    Channel(-1, write, b"other token here"[:16], False).send(b"forged")
    with pytest.raises(Broken, match="something else"):
        here.receive()
    with pytest.raises(Broken, match="a message of"):
        there.send(bytes(2**27))
    os.close(write)
    with pytest.raises(Broken):
        here.receive()
    with pytest.raises(Broken, match="gone"):
        there.send(b"x")
    if not by_thread:
        os.close(read)


def test_who_never_stops_talking_is_late_all_the_same():
    read, write = os.pipe()
    here, there = Channel(read, -1, b"t" * 16, False), Channel(-1, write, b"t" * 16, False)
    talking = threading.Thread(target=lambda: [there.send(b"x" * 50_000) for _ in range(10**5)], daemon=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading, "excepthook", lambda what: None)
        talking.start()
        until, late = time.monotonic() + 0.3, False
        while not late and time.monotonic() < until + 5:
            try:
                here.receive(until)
            except TooLate:
                late = True
        assert late
        os.close(read)
        talking.join(5)
    os.close(write)


VALUES = [None, True, 3, 2**200, 1.5, float("inf"), 2 - 1j, "我\ud800", ..., (1, [2, {"a": None}]), np.float32(2),
          np.arange(6).reshape(2, 3), np.zeros((0, 3)), np.array(3 + 1j), np.array([True])]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_arrives_as_it_was(value):
    found = unpacked(packed(value))
    assert type(found) is type(value)
    if isinstance(value, np.ndarray):
        assert found.dtype == value.dtype
        assert np.array_equal(found, value)
        assert found.shape == value.shape
    elif value != "我\ud800":
        assert found == value


@pytest.mark.parametrize("content", [
    b"", b"\xff\xff\xff\xff", b"\x02\0\0\0[1", packed(3) + b"x", packed(np.zeros(3))[:-1],
    b"\x2f\0\0\0" + b'{"array":"|O","shape":[1],"single":false,"x":12}' + b"12345678",
    b"\x0d\0\0\0" + b'{"nobody": 1}'])
def test_what_is_no_message_is_refused_and_never_executed(content):
    with pytest.raises(Broken):
        unpacked(content)


def test_of_anything_else_only_the_name_of_its_type_arrives():
    assert type(unpacked(packed([object()]))[0]).__name__ == "object"
    assert type(thing("x" * 999)).__name__ == "x" * 60
    assert type(unpacked(packed(np.array([object()])))).__name__ == "ndarray"


def test_names_comments_and_docstrings_make_no_difference():
    one = similar.shape_of(a_class.FORWARD)
    other = a_class.FORWARD.replace("shares", "e").replace("def attention(Q, K, V):", 'def f(Q, K, V):\n    "doc"  # x')
    assert one == similar.shape_of(other) != similar.shape_of(a_class.HEADS)


def test_points_and_what_is_marked(tmp_path):
    a_class.write(tmp_path, ["right"])
    marks = grading.grade(tmp_path / "right", only=["01.2", "two-heads"], points={"06": 3}).marks
    assert [(m.exercise, m.points, m.of) for m in marks] == [("attention-forward", 1, 1), ("two-heads", 3, 3)]
    for wrong in ({"only": ["99"]}, {"only": ["01.7"]}, {"points": {"nobody": 1}}, {"library": "maybe"}):
        with pytest.raises(ValueError):
            grading.grade(tmp_path / "right", **wrong)
