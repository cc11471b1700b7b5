"""Where a student's code runs: which walls this machine can put around it.

    bubblewrap   an own file system (the system and Python read-only, a scratch folder of limited size), no network, own
                 processes; needs the program bwrap
    unshare      the same, built by desk/enter.py; needs the program unshare and a kernel that allows it
    none         a folder of its own and nothing else: the code can read and delete what you can

In all of them limits of time, memory and files hold, and on Linux a filter of system calls: no processes, no signals,
no network. What is not contained is said by `said(walls)`.
"""
import functools
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from ...words.languages import Words
from ..desk.asked import ELSEWHERE
from ..lessons import FOLDER
from .editions import PACKAGE

WALLS = ("bubblewrap", "unshare", "none")
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/ld.so.cache", "/etc/fonts", "/etc/localtime",
          "/etc/alternatives")
SCRATCH_BYTES = 200 * 2**20
DESK = ["-s", "-B", "-m", "numpy_attention.course.desk.serving"]
SAYS = {
    **{walls: Words(f"每份作业都关在自己的小房间里（{walls}）：只读的系统，没有网络，看不到别人的作业。",
                    f"Each submission runs in a room of its own ({walls}): a read-only system, no network, no sight "
                    "of other submissions.") for walls in ("bubblewrap", "unshare")},
    "none": Words("注意：这台机器没有 bubblewrap，unshare 也不能用。作业里的代码能读、能改、能删你能碰的文件，"
                  "包括别人的作业和答案，也就能伪造分数；时间、内存和文件大小仍有限制。请先备份，"
                  "或换一台装有 bubblewrap 的 Linux。",
                  "Mind: there is no bubblewrap on this machine and unshare does not work. The code of a submission "
                  "can read, change and delete whatever files you can, other submissions and the solutions among them, "
                  "and so forge marks; time, memory and file sizes are limited. Keep a copy, or use a Linux with "
                  "bubblewrap."),
}


@functools.cache
def best_walls():
    """The first of WALLS that works here; tried, not guessed."""
    for walls in WALLS[:2]:
        program = shutil.which("bwrap" if walls == "bubblewrap" else walls)
        if program and sys.platform == "linux" and _works(walls):
            return walls
    return "none"


def _works(walls):
    with tempfile.TemporaryDirectory(prefix="numpy_attention_room_") as root:
        edition = os.path.join(root, "edition")
        os.mkdir(edition)
        command = command_for(walls, edition, root, program=["-c", "import numpy; print(6 * 7)"])
        try:
            done = subprocess.run(command, env=environment(walls, edition, root), capture_output=True, timeout=20,
                                  stdin=subprocess.DEVNULL, cwd="/")
        except (OSError, subprocess.TimeoutExpired):
            return False
        return done.stdout.strip() == b"42"


def libraries():
    """The folders of installed packages: of this Python, of this user, and what a .pth file adds."""
    return [p for p in sys.path if os.path.basename(p) in ("site-packages", "dist-packages") and os.path.isdir(p)]


def visible():
    """The folders that Python needs to run."""
    places = [*SYSTEM, *libraries(), sys.prefix, sys.base_prefix, sys.exec_prefix, sysconfig.get_path("purelib"),
              sysconfig.get_path("platlib"), str(Path(sys.executable).resolve().parents[1])]
    found = []
    for place in sorted({os.path.abspath(p) for p in places if os.path.lexists(p)}, key=len):
        if place != "/" and not any(place == f or place.startswith(f + "/") for f in found):
            found.append(place)
    return found


def masked(also=()):
    """What of the visible must not be seen: this package with its solutions, wherever it is installed, and `also`."""
    places = {str(PACKAGE), str(FOLDER), str(PACKAGE.parent / "tests"), *also,
              *(os.path.join(p, PACKAGE.name) for p in sys.path if p)}
    seen = visible()
    places = {p for p in map(os.path.realpath, places) if os.path.isdir(p) and any(p.startswith(f + "/") for f in seen)}
    return sorted(p for p in places if not any(p.startswith(other + "/") for other in places))


def elsewhere():
    """The folders of other packages that have attention, or gradients, ready-made."""
    places = (os.path.join(p, *name.split(".")) for p in libraries() for name in ELSEWHERE)
    return [place for place in places if os.path.isdir(place)]


def command_for(walls, edition, root, program=DESK, hide=()):
    """The command line of a desk behind these walls. root: an empty folder of its own; hide: folders not to be seen."""
    python = [sys.executable, *program]
    if walls == "bubblewrap":
        shown = [word for p in visible() for word in
                 (("--symlink", os.readlink(p), p) if os.path.islink(p) else ("--ro-bind", p, p))]
        hidden = [word for p in masked(hide) for word in ("--size", "4096", "--tmpfs", p)]
        closed = [word for p in ("/proc", "/dev", "/") for word in ("--remount-ro", p)]     # /tmp alone may be written
        return ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL",
                "--size", str(SCRATCH_BYTES), "--tmpfs", "/tmp", *shown, *hidden, "--ro-bind", edition, "/edition",
                "--proc", "/proc", "--dev", "/dev", *closed, "--chdir", "/", *python]
    if walls == "unshare":
        plan = {"root": root, "bytes": SCRATCH_BYTES, "visible": visible(), "masked": masked(hide),
                "edition": edition}
        enter = str(Path(__file__).resolve().parents[1] / "desk" / "enter.py")
        return ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--net", "--ipc", "--fork", "--kill-child",
                sys.executable, "-I", enter, json.dumps(plan), *python]
    return python


def environment(walls, edition, root):
    """The variables that a desk gets: none of the teacher's."""
    inside = walls != "none"
    scratch = "/tmp" if inside else root
    found = {"PATH": "/usr/bin:/bin", "HOME": scratch, "TMPDIR": scratch, "LANG": "C.UTF-8", "PYTHONUTF8": "1",
             "PYTHONPATH": os.pathsep.join(["/edition" if inside else edition, *libraries()]), "MPLBACKEND": "Agg",
             "MPLCONFIGDIR": f"{scratch}/matplotlib",
             **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")}
    if sys.platform == "win32":
        found |= {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    return found


def said(walls):
    """What is contained and what is not, as Words."""
    return SAYS[walls]
