"""The command `course grade`: mark one student's notebooks or a whole class's, and write what a teacher needs of it."""
import argparse
import contextlib
import os
import shutil
import signal
import sys
import threading
from pathlib import Path

from ..words.files import write_whole
from ..words.languages import LANGUAGES
from .options import number, whole

DONE, NOT_YET, USAGE_ERROR = 0, 1, 2
BAR = 30

HELP = """
A class is a folder of students' folders; FOLDER may also be one student's folder, or one notebook. A notebook tells its
lesson itself, whatever its file is called; copies and missing lessons are named, and the total is the course's.

This runs code that others wrote. On Linux with bubblewrap or a working unshare each submission runs in a room of its
own: the system read-only, no network, no other submission, no solution in sight. Anywhere else it can read, change and
delete what you can, and then the report says so. Everywhere: limits of time, memory and output, a copy of the notebook,
and an end of all that it started. On Linux it can start no processes and send no signals either.

Answers are compared by another process than the one in which they run, with numbers of each student's own. What no
machine sees: an answer that somebody else wrote (look at those that are much alike), copied source of the package, a
gradient that is measured instead of derived, and, in `kill-the-bugs`, a test that looks at the code of a layer instead
of what it does.
"""


def configure(parser):
    """Add the options of `course grade` to an argparse parser."""
    parser.epilog, parser.formatter_class = HELP, argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", metavar="FOLDER", help="a class, a student's folder, or a notebook")
    parser.add_argument("--jobs", type=whole(1, 1000), metavar="N", help="notebooks at a time; one for each processor")
    parser.add_argument("--csv", metavar="FILE", help="a row for each exercise of each student")
    parser.add_argument("--json", metavar="FILE", help="all of it, for programs")
    parser.add_argument("--junit", metavar="FILE", help="as JUnit XML")
    parser.add_argument("--feedback", metavar="DIR", help="a page (Markdown) for each student")
    parser.add_argument("--lang", choices=LANGUAGES, default="both", help="language of the reasons (%(default)s)")
    parser.add_argument("--time", "--seconds", dest="seconds", type=number(above=0, most=10**6), default=60,
                        metavar="SECONDS", help="for one exercise, its cells and its checks (%(default)g)")
    parser.add_argument("--memory", type=whole(300, 10**6), default=2000, metavar="MB",
                        help="for one exercise (%(default)d)")
    parser.add_argument("--only", metavar="LIST", help="mark only these, such as 01,05.2,two-heads")
    parser.add_argument("--exercises", metavar="FILE",
                        help="a teacher's own, see `course template`; with --only, both")
    parser.add_argument("--points", metavar="LIST", help="other points, such as 05=2,two-heads=3")
    parser.add_argument("--library", choices=("flag", "allow", "refuse"), default="flag",
                        help="an answer that calls the package's own layers is right but named (%(default)s), is "
                        "right, is not right")
    parser.add_argument("--seed", type=whole(0), default=0, metavar="N",
                        help="other numbers in the checks (%(default)d)")
    parser.add_argument("--keep", metavar="DIR", help="keep what is finished there, and go on from it; for a class "
                        "FOLDER_grading, until it is done")
    parser.add_argument("--cluster", metavar="ADDRESS",
                        help="let a Dask cluster mark (pip install numpy_attention[cluster])")
    parser.set_defaults(run=run)


def run(arguments):
    """Mark, print, write. Returns 0 if every exercise is right, 1 if not, 2 for wrong usage."""
    from ..course import grading
    from ..course.grading import reports
    folder = Path(arguments.folder)
    try:
        if folder.exists() and not folder.is_dir() and not folder.is_file():
            raise ValueError(f"{folder} is neither a folder nor a file: give the folder of a class or of a student, "
                             "or a notebook")
        points = _points(arguments.points)
        keep, passing = arguments.keep, None
        if not keep and folder.is_dir() and not any(folder.glob("*.ipynb")):
            keep = passing = folder.resolve().with_name(folder.resolve().name + "_grading")
        with _ended_by_signals(), _cluster(arguments.cluster) as executor:
            grades = grading.grade(
                folder, seconds=arguments.seconds, megabytes=arguments.memory,
                jobs=arguments.jobs or os.cpu_count() or 1, only=list(filter(None, (arguments.only or "").split(","))),
                own=arguments.exercises, points=points, library=arguments.library, seed=arguments.seed, keep=keep,
                executor=executor, progress=_bar())
        write = ((arguments.csv, reports.to_csv), (arguments.json, reports.to_json), (arguments.junit, reports.junit))
        for path, make in write:
            if path:
                write_whole(path, make(grades, arguments.lang))
        if arguments.feedback:
            Path(arguments.feedback).mkdir(parents=True, exist_ok=True)
            for name, text in reports.feedback(grades, arguments.lang).items():
                write_whole(Path(arguments.feedback, name), text)
        if passing:
            shutil.rmtree(passing, ignore_errors=True)
    except (ValueError, OSError, ImportError) as error:
        print(f"python -m numpy_attention course: {error}", file=sys.stderr)
        return USAGE_ERROR
    print(reports.text(grades, arguments.lang))
    return DONE if all(mark.state == "right" for mark in grades.marks) else NOT_YET


def _points(text):
    found = {}
    for each in filter(None, (text or "").split(",")):
        name, _, value = each.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise ValueError(f"--points wants NAME=NUMBER, such as 05=2, not {each!r}") from None
    return found


@contextlib.contextmanager
def _cluster(address):
    """An executor of a Dask cluster; None without an address."""
    if not address:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError("--cluster needs Dask: pip install 'numpy_attention[cluster]'") from error
    with Client(address) as client:
        yield client.get_executor()


@contextlib.contextmanager
def _ended_by_signals():
    """SIGTERM ends like Ctrl-C: with everything that was started."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(signum, frame):
        raise KeyboardInterrupt
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _bar():
    """A function that draws a bar on the terminal; None where there is no terminal."""
    if not sys.stderr.isatty():
        return None

    def draw(done, of):
        full = BAR * done // of
        print(f"\r[{'█' * full}{'·' * (BAR - full)}] {done}/{of}", end="\n" if done == of else "", file=sys.stderr,
              flush=True)
    return draw
