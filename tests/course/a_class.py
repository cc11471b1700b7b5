"""A class of ninety made-up submissions: right, wrong, broken, hostile, cheating; and what each of them should get.

    python tests/course/a_class.py FOLDER       write them, mark them, print the table and what is left on the machine

Lesson 01 asks for a row by hand and for attention's forward pass, lesson 06 for two heads. Who hands in both right has
three of three.
"""
import json
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from numpy_attention import course
from numpy_attention.course import lessons
from numpy_attention.course.grading import editions

FIRST, SIXTH = (next(lesson.path for lesson in lessons.lessons() if lesson.number == number) for number in ("01", "06"))

SOLUTIONS = Path(course.__file__).parent / "exercises" / "n01.py"
FORWARD = '''def attention(Q, K, V):
    scores = Q @ K.T / np.sqrt(Q.shape[-1])
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = shares / shares.sum(axis=-1, keepdims=True)
    return weights, weights @ V
'''
ROW = "my_row = [0.107, 0.107, 0.787]\n"
HEADS = '''def two_heads(L):
    places = np.eye(L)
    Q = 30 * np.sqrt(L) * np.stack([np.roll(places, -1, axis=1), np.roll(places, 1, axis=1)])
    return Q, np.stack([places, places])
'''
CHECK_ROW, CHECK_FORWARD, CHECK_HEADS = (
    'course.check("one-row-by-hand", my_row)', 'course.check("attention-forward", attention)',
    'course.check("two-heads", two_heads)')


def copy_of(path, answers, *, before="", after=""):
    """A learner's copy of a lesson with these cells in place of the exercises, one cell before and one behind."""
    notebook = lessons.for_learners(lessons.read(path))
    for cell in notebook["cells"]:
        if "exercise" in lessons.tags(cell):
            name = re.search(r'check\("([\w-]+)"', lessons.source(cell))[1]
            cell["source"] = answers.get(name, lessons.source(cell))
    first = next(i for i, cell in enumerate(notebook["cells"]) if cell["cell_type"] == "code")
    if before:
        notebook["cells"].insert(first + 1, code(before))
    if after:
        notebook["cells"].append(code(after))
    return notebook


def code(text):
    return {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}


def first_lesson(forward=FORWARD, row=ROW, check=CHECK_FORWARD, **around):
    answers = {"one-row-by-hand": f"{row}\n{CHECK_ROW}", "attention-forward": f"{forward}\n{check}"}
    return copy_of(FIRST, answers, **around)


def sixth_lesson(heads=HEADS, **around):
    return copy_of(SIXTH, {"two-heads": f"{heads}\n{CHECK_HEADS}"}, **around)


def inside(line, then=FORWARD):
    """The right answer with a line at the beginning of the function."""
    return then.replace("    scores =", f"    {line}\n    scores =")


# name: (notebooks by file name, states of one-row-by-hand, attention-forward, two-heads)
R, W, N, M = "right", "wrong", "not tried", "missing"
USUAL = {"06_why_many_heads.ipynb": sixth_lesson()}


def student(states, *, files=None, sixth=True, name="01_attention_by_hand.ipynb", **first):
    notebooks = {name: first_lesson(**first), **(USUAL if sixth else {}), **(files or {})}
    return notebooks, states


CLASS = {
    "right": student((R, R, R)),
    "right-other-words": student((R, R, R), forward=FORWARD.replace("scores", "s").replace("shares", "e")),
    "right-with-einsum": student((R, R, R), forward=FORWARD.replace("Q @ K.T", "np.einsum('ik,jk->ij', Q, K)")),
    "right-with-helper": student((R, R, R), before="S = [1]\nS.append(0)\ndef helper(x):\n    return x * S[0]",
                                 forward=FORWARD.replace("Q @ K.T", "helper(Q @ K.T)")),
    "right-jupyter": student((R, R, R), before="%matplotlib inline\n!ls\nx = 7\ndisplay(x)\nget_ipython()\nprint?\n"
                             "import asyncio\nawait asyncio.sleep(0)\ny = (100\n% 7)\ntext = '''\n%not a magic\n'''",
                             forward="%time z = 3\n" + FORWARD.replace("Q @ K.T", "(Q @ K.T) * (z == 3) * (y == 2)")),
    "right-check-deleted": student((R, R, R), check=""),
    "right-second-try": student(
        (R, R, R), forward=f"def attention(Q, K, V):\n    return Q\n{CHECK_FORWARD}\n{FORWARD}"),
    "right-trains-for-hours": student((R, R, R), before="import time\ndef slow():\n    time.sleep(3600)\nrun = slow()"),
    "wrong-scale": student((R, W, R), forward=FORWARD.replace("np.sqrt(Q.shape[-1])", "Q.shape[-1]")),
    "wrong-row": student((W, R, R), row="my_row = [0.12, 0.12, 0.76]"),
    "wrong-by-heart": student((R, W, R), forward="def attention(Q, K, V):\n    return np.ones((3, 3)), 0 * V"),
    "wrong-type": student((R, W, R), forward="def attention(Q, K, V):\n    return 'weights', {1, 2}"),
    "not-tried": ({"01.ipynb": copy_of(FIRST, {}), "06.ipynb": copy_of(SIXTH, {})}, (N, N, N)),
    "broken-syntax": student((R, N, R), forward="def attention(Q, K, V)\n    return", check=""),
    "broken-json": ({"01_attention_by_hand.ipynb": '{"cells": [{"cell_type": "code", ', **USUAL}, (N, N, R)),
    "gbk": ({"01_作业.ipynb": json.dumps(first_lesson(before="# 我的作业"), ensure_ascii=False).encode("gb18030"),
             **USUAL}, (R, R, R)),
    "renamed": ({"homework final (2).ipynb": first_lesson(), "b.ipynb": sixth_lesson()}, (R, R, R)),
    "no-metadata": ({"a.ipynb": {"cells": first_lesson()["cells"]}, **USUAL}, (R, R, R)),
    "no-tags": ({"a.ipynb": {"cells": [{**cell, "metadata": {}} for cell in first_lesson()["cells"]], "metadata": {}},
                 **USUAL}, (R, R, R)),
    "copies": student((R, R, R), files={"copy.ipynb": first_lesson(forward="def attention(Q, K, V):\n    return 1"),
                                        "old/01.ipynb": first_lesson(row="my_row = [1, 0, 0]")}),
    "missing-lesson": student((R, R, M), sixth=False),
    "nothing": ({}, (M, M, M)),
    "endless-cell": student((N, N, R), before="x = 1\nwhile True:\n    x += 1",
                            row="my_row = [0.107 * x, 0.107, 0.787]", forward=inside("x")),
    "endless-function": student((R, W, R), forward=inside("while True: pass")),
    "endless-stubborn": student((R, W, R), forward=inside("while True:\n        try:\n            while True: pass\n"
                                                          "        except BaseException: pass")),
    "popen-sleeper": student((R, W, R), forward=inside("import subprocess; subprocess.Popen(['sleep', '301'])")),
    "fork-bomb": student((R, W, R), forward=inside("import os\n    while True: os.fork()")),
    "deletes-neighbours": student((R, R, R), forward=inside(
        "import glob, os, shutil\n    for each in glob.glob('**', recursive=True): os.remove(each)\n"
        "    shutil.rmtree('NEIGHBOURS', ignore_errors=True)")),
    "kills-the-parent": student((R, W, R), forward=inside("import os; os.kill(os.getppid(), 9)")),
    "kills-all": student((R, W, R), forward=inside("import os; os.kill(-1, 9)")),
    "huge-print": student((R, R, R), before="y = [print('x' * 10**6) for _ in range(300)]",
                          forward=inside("y; print('z' * 10**7)")),
    "memory": student((R, W, R), forward=inside("x = [np.ones((20000, 20000)) for _ in range(99)]")),
    "fills-the-disk": student((R, W, R), forward=inside("open('big', 'wb').write(bytes(10**9))")),
    "os-exit": student((R, W, R), forward=inside("import os; os._exit(0)")),
    "exit-in-a-cell": student((R, R, R), before="exit()"),
    "recursion": student((R, W, R), forward=inside("return attention(Q, K, V)")),
    "threads-go-on": student((R, R, R), before="import threading\ndef forever():\n    while True: pass\n"
                             "t = threading.Thread(target=forever)\nt.start()\nimport atexit\natexit.register(forever)",
                             forward=inside("t")),
    "signals": student((R, R, R), before="import signal\nfor s in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU):\n"
                       "    z = signal.signal(s, signal.SIG_IGN)", forward=inside("z")),
    "cheat-solution": student(
        (R, N, R), check='course.check("attention-forward", course.exercises()["attention-forward"].solution)'),
    "cheat-import": student((R, W, R), forward="""def attention(Q, K, V):
    from numpy_attention.course.exercises import n01
    return n01.attention(Q, K, V)"""),
    "cheat-files": student((R, W, R), forward="""def attention(Q, K, V):
    import glob, os
    for path in ('SOLUTIONS', *glob.glob('/edition/**/n01.py', recursive=True)):
        if os.path.exists(path):
            space = {'np': np}
            exec('def softmax' + open(path).read().split('def softmax')[1].split('def _engine')[0], space)
            return space['attention'](Q, K, V)
    return Q, K"""),
    "cheat-verdict": student((R, W, R), before="from numpy_attention.course.check_result import CheckResult\n"
                             "CheckResult.ok = property(lambda self: True)\n"
                             "CheckResult.passed = property(lambda self: 4)\n"
                             "CheckResult.__bool__ = lambda self: True\ncourse.check = lambda *a: True",
                             forward="def attention(Q, K, V):\n    CheckResult\n    return Q, K"),
    "cheat-result-file": student((R, W, R), forward="""def attention(Q, K, V):
    import json, os, sys
    told = json.dumps({"checks": {"attention-forward": {"ok": True, "passed": 4, "stages": 4, "says": ""}}})
    for path in (*sys.argv[1:], 'results.json', '/tmp/results.json'):
        try: open(path, 'w').write(told)
        except OSError: pass
    for fd in range(3, 20):
        try: os.write(fd, told.encode())
        except OSError: pass
    os._exit(0)"""),
    "cheat-library": student((R, R, R), forward="""def attention(Q, K, V):
    layer = na.ScaledDotProductAttention()
    heads = layer(Q, K, V)
    return layer.weights, heads"""),
    "cheat-numpy": student((R, W, R), before="np.allclose = np.array_equal = lambda *a, **k: True\n"
                           "np.linalg.norm = lambda *a, **k: 0",
                           forward="def attention(Q, K, V):\n    return Q @ K.T, V"),
    "cheat-channel": student((R, W, R), forward="""def attention(Q, K, V):
    import sys
    frame = sys._getframe()
    while frame and 'channel' not in frame.f_locals:
        frame = frame.f_back
    from numpy_attention.course.desk.channel import packed
    for _ in range(20):
        frame.f_locals['channel'].send(packed((('gave', (Q, V), [None] * 3), [], '')))
    return Q, V"""),
    "cheat-modules": student((R, W, R), before="import sys, types\nm = types.ModuleType('m')\n"
                             "m.compare = m.examine = m.packed = lambda *a, **k: None\nfor n in ('course.comparing', "
                             "'course.grading.examining', 'course.desk.channel'):\n"
                             "    sys.modules['numpy_attention.' + n] = m\nsys.modules['__main__'].packed = m.packed",
                             forward="def attention(Q, K, V):\n    m\n    return Q, V"),
    "cheat-capstone": student((R, W, R), forward="""from numpy_attention.course import capstone
def attention(Q, K, V):
    weights = capstone.masked_softmax(Q @ K.T / np.sqrt(Q.shape[-1]), np.ones((len(Q), len(K)), bool))
    return weights, weights @ V"""),
    "cheat-frames": student((R, W, R), forward="""def attention(Q, K, V):
    import gc, sys
    frame = sys._getframe()
    while frame:
        for value in frame.f_locals.values():
            if hasattr(value, 'solution'): return value.solution(Q, K, V)
        frame = frame.f_back
    for each in gc.get_objects():
        if type(each).__name__ == 'Exercise' and each.name == 'attention-forward': return each.solution(Q, K, V)
    for module in list(sys.modules.values()):
        if hasattr(module, 'EXERCISES'): return module.attention(Q, K, V)
    return Q, K"""),
}
CHANNEL = """import gc, json, struct
    from numpy_attention.course.desk.channel import Channel, packed
    channel = next(each for each in gc.get_objects() if type(each) is Channel)
    def send(told):
        told = json.dumps(told).encode()
        channel.send(struct.pack('<I', len(told)) + told)
    """
WITH_TORCH = """    import torch
    q, k, v = map(torch.from_numpy, (Q, K, V))
    weights = torch.softmax(q @ k.T / q.shape[-1] ** 0.5, -1)
    return weights.numpy(), (weights @ v).numpy()"""
LAYER = """    from numpy_attention.course.desk import asked
    try:
        layer = na.ScaledDotProductAttention()
        heads = layer(Q, K, V)
        return layer.weights, heads
    finally:
        asked.library.clear()
        asked.library.update(NOTE)"""


def function(body, **more):
    return student((R, W, R), forward=f"def attention(Q, K, V):\n    {body.lstrip()}", **more)


# What would end the marking, leave something behind, reach beyond the room, or take memory that no limit counts.
CLASS |= {
    "asks-for-ever": function(CHANNEL + "while True: channel.send(packed(('ask', 0, (Q,), {})))"),
    "cells-for-ever": function(CHANNEL + "while True: channel.send(packed(('cell', 7)))"),
    "long-words": function(CHANNEL + "send({'tuple': [{'tuple': [{'text': 'raised'}, {'text': 'y' * 10**7}, {'list': "
                           "[{'text': 'y' * 10**7}]}, {'text': 'y' * 10**7}, 0]}, {'list': []}, {'text': ''}]})"),
    "array-bomb": function(CHANNEL + "for shape in ([10**15], [-1], [0, 10**17]): send({'tuple': [{'tuple': [{'text': "
                           "'gave'}, {'array': '<f8', 'shape': shape, 'single': False}, {'list': [None] * 3}]}, "
                           "{'list': []}, {'text': ''}]})"),
    "deep-words": function(CHANNEL + "channel.send(struct.pack('<I', 10**6) + b'[' * 10**6)"),
    "patched-json": function("""import json
    import numpy_attention.course.desk.channel as channel
    json.dumps, channel.packed = (lambda *a, **k: '{"blank": 1}'), (lambda value: b'x')
    return Q, V"""),
    "lying-array": function("""class Liar(np.ndarray):
        __eq__ = lambda self, other: np.ones(self.shape, bool)
        __array_ufunc__ = lambda self, *a, **k: np.zeros(self.shape, bool)
        tobytes = lambda self, *a: bytes(self.nbytes)
    return np.zeros((len(Q), len(K))).view(Liar), V[:1].repeat(len(Q), 0).view(Liar)"""),
    "lying-object": function("""class Yes:
        shape, ndim, dtype, size = (3, 3), 2, np.dtype(float), 9
        __eq__ = lambda self, other: True
        __array__ = lambda self, *a, **k: exit()
        __reduce__ = lambda self: (print, ('executed',))
        __len__ = lambda self: 10**9
    return Yes(), Yes()"""),
    "endless-tuple": function("""class Long(tuple):
        __repr__ = lambda self: 'r' * 10**8
        def __iter__(self):
            while True: yield 1
    return Long((1, 2))"""),
    "long-name": function("return 1, 2\nattention.__name__ = '\\x1b[2J' * 1000"),
    "odd-exception": function("raise type('Trouble', (BaseException,), {'__str__': lambda self: exit()})"),
    "stop-iteration": function("raise StopIteration(Q)"),
    "group-of-exits": function("raise BaseException('x' * 10**7) from SystemExit(0)"),
    "nan": function("return np.full((len(Q), len(K)), np.nan), np.full((len(Q), V.shape[1]), np.nan)"),
    "writes-to-inputs": function("Q[:] = K[:] = V[:] = 0\n    return np.full((len(Q), len(K)), 1 / len(K)), V"),
    "segmentation-fault": function("import ctypes; ctypes.string_at(0)"),
    "closes-everything": function("import os; os.closerange(0, 256)"),
    "thread-bomb": function("""import threading, time
    threading.stack_size(32768)
    while True:
        try: threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        except BaseException: pass"""),
    "memory-of-no-limit": function("""import ctypes, os
    assert ctypes.CDLL(None).syscall(29 if os.uname().machine == 'x86_64' else 194, 0, 10**6, 0o1600) == -1
    files = [os.memfd_create(str(i)) for i in range(200)]
    for each in files: os.write(each, bytes(19 * 2**20))"""),
    "fills-the-scratch": function("for i in range(400): open(f'{i}', 'wb').write(bytes(2**20))"),
    "a-million-files": function("for i in range(10**6): open(f'{i}', 'w').close()"),
    "signals-by-a-file": function("import fcntl, os; r, _ = os.pipe(); fcntl.fcntl(r, 8, os.getppid())"),
    "limits-the-parent": function("import os, resource as r; r.prlimit(os.getppid() or 1, r.RLIMIT_CPU, (0, 0))"),
    "slows-the-parent": function("import os; os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)"),
    "runs-a-pickle": student((R, W, R), forward=inside("np.load('p.npy', allow_pickle=True)"), files={
        "p.npy": b"\x93NUMPY\x01\0v\0{'descr': '|O', 'fortran_order': False, 'shape': (), }".ljust(128)
        + b"cposix\n_exit\n(I0\ntR."}),
    "cheat-files-of-the-package": function("""import glob, importlib.metadata, sys
    for place in (*sys.path, '/work', '/root', '/home', '/opt', '/tmp'):
        for path in glob.glob(place + '/numpy_attention/course/exercises/n01.py') + glob.glob(place + '/*/*/n01.py'):
            space = {'np': np}
            exec('def softmax' + open(path).read().split('def softmax')[1].split('def _engine')[0], space)
            return space['attention'](Q, K, V)
    return Q, [path.read_text() for path in importlib.metadata.files('numpy_attention') if 'n01' in str(path)][0]"""),
    "cheat-layer-unnoted": function(LAYER.replace("NOTE", "()")),
    "cheat-layer-noted-oddly": student((R, R, R), forward="def attention(Q, K, V):\n" + LAYER.replace(
        "NOTE", "('x' * 10**6, '\\x1b[31m')")),
    "deep-folders": student((R, R, R), forward=inside(
        "import os\n    for _ in range(1500): os.mkdir('d'); os.chdir('d')")),
    "at-exit": student((R, R, R), forward=inside(
        "import atexit, os, threading; atexit.register(lambda: os.write(1, b'x' * 10**6))\n"
        "    threading.Thread(target=lambda: [os.write(1, b'x') for _ in range(10**6)]).start()")),
    "right-class": student((R, R, R), forward="class attention:\n    def __new__(cls, Q, K, V):\n"
                           + FORWARD.split("\n", 1)[1].replace("    ", "        ")),
    "right-other-bytes": student((R, R, R), forward=FORWARD.replace(
        "weights, weights @ V", "weights.astype(np.longdouble), (weights @ V).astype('>f8')")),
    "right-long": student((R, R, R), forward="table = [\n" + "    1.25,\n" * 20_000 + "]\n" + inside("table")),
    "right-beside-others": student((R, R, R), files={
        "numpy.py": b"raise SystemExit", "json.py": b"raise SystemExit", "sitecustomize.py": b"import os; os._exit(0)",
        "我 a\nb.csv": b"1"}),
    "utf-16": ({"01.ipynb": json.dumps(first_lesson()).encode("utf-16"), **USUAL}, (R, R, R)),
    "latin-1": ({"01.ipynb": json.dumps(first_lesson(before="# café"), ensure_ascii=False).encode("latin-1", "replace"),
                 **USUAL}, (R, R, R)),
    "half-an-emoji": student((R, R, R), before="# \ud83d"),
    "odd-metadata": ({"01.ipynb": {**first_lesson(), "metadata": {"numpy_attention": {"source": [3]}}}, **USUAL},
                     (R, R, R)),
    "fifty-megabytes": ({"01.ipynb": {**first_lesson(), "cells": [*first_lesson()["cells"], {
        **code(""), "outputs": [{"output_type": "stream", "name": "stdout", "text": "z" * (50 * 2**20 - 300_000)}]}]},
        **USUAL}, (R, R, R)),
    "too-large": ({"01_x.ipynb": b" " * (51 * 2**20), **USUAL}, (M, M, R)),
    "a-million-parts": ({"01_x.ipynb": b"[" + b"{}," * 4_000_000 + b"1]", **USUAL}, (N, N, R)),
    "too-much-code": student((N, N, R), forward="x = [\n" + "1,\n" * 900_000 + "]\n" + FORWARD),
    "我 的 作业\n第二行": ({"第 01 课\n我的.IPYNB": first_lesson(), **USUAL}, (R, R, R)),
    "=1+1": student((R, R, R)),
    "\x1b[31mred": student((R, R, R), files={"\x1b[2J.ipynb": b"{}"}),
    "n" * 255: student((R, R, R)),
    "-rf": student((R, R, R)),
}
if find_spec("torch"):
    CLASS["cheat-torch"] = student((R, R, R), forward="def attention(Q, K, V):\n" + WITH_TORCH)
    CLASS["cheat-torch-unnoted"] = function(
        "import sys\n    sys.meta_path[:] = [f for f in sys.meta_path if type(f).__name__ != '_Elsewhere']\n"
        + WITH_TORCH)


def write(folder, names=CLASS, neighbours="/nowhere"):
    """Write the submissions of these students into `folder`."""
    for name in names:
        notebooks, _ = CLASS[name]
        Path(folder, name).mkdir(parents=True)
        for file, content in notebooks.items():
            path = Path(folder, name, file)
            path.parent.mkdir(exist_ok=True)
            if isinstance(content, dict):
                content = json.dumps(content).replace("NEIGHBOURS", str(neighbours))
                content = content.replace("SOLUTIONS", str(SOLUTIONS))
            path.write_bytes(content if isinstance(content, bytes) else content.encode())


def processes():
    """Command lines of all processes of this machine that this one, as a marker of classes, has started somehow."""
    found = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True, check=True).stdout
    return {line for line in found.splitlines() if re.search(f"{re.escape(str(editions.made()))}|sleep 301", line)}


def temporary():
    """Folders of ours among the temporary ones."""
    import tempfile
    return {path.name for path in Path(tempfile.gettempdir()).glob("numpy_attention_*")}


def main(folder):
    """Write, mark, compare with what was expected, look at what is left."""
    from numpy_attention.course import grading
    from numpy_attention.course.grading import reports
    left_before = processes(), temporary()
    write(folder, neighbours=folder)
    start = time.perf_counter()
    grades = grading.grade(folder, jobs=2, only=["01", "06"], seconds=10, megabytes=1500)
    took = time.perf_counter() - start
    print(reports.text(grades, "en"))
    wrong = 0
    for name, (_, expected) in CLASS.items():
        got = tuple(mark.state for mark in grades.marks if mark.student == name)
        if got != expected:
            wrong += 1
            why = [mark.reason.en for mark in grades.marks if mark.student == name]
            print(f"NOT AS EXPECTED {name}: {got}, not {expected}: {why}")
    after = {str(path) for path in Path(folder).rglob("*.ipynb")}
    written = {str(Path(folder, name, file)) for name, (notebooks, _) in CLASS.items() for file in notebooks}
    rooms = {name for name in temporary() - left_before[1] if not name.startswith("numpy_attention_desk_")}
    print(f"{len(CLASS)} submissions, {took:.0f} s, {wrong} not as expected. Submissions deleted: "
          f"{len(written - after)}. Left: {len(processes() - left_before[0])} processes, {len(rooms)} folders.")
    return wrong


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
