"""The `course` command: list the lessons, start a copy of one's own, grade it, make a site of it, print sheets
and slides, practise for an interview.

`configure(parser)` gives an argparse parser its sub-commands; each sets `run`, which takes the parsed arguments,
prints, and returns the exit status: 0 done, 1 an exercise is not right yet, 2 wrong usage.
"""
import re
import shlex
import sys
from pathlib import Path

from ..words.languages import LANGUAGES
from ..words.terminal import wrap
from . import course_export, course_grade, course_sheet, course_site, course_slides

DONE, NOT_YET, USAGE_ERROR = 0, 1, 2


def configure(parser):
    """Add the sub-commands to `parser`; without any of them, the lessons are listed."""
    parser.set_defaults(run=show_list)
    commands = parser.add_subparsers(
        metavar="list | start | grade | template | export | site | sheet | slides | handout | interview",
        parser_class=type(parser))
    show = commands.add_parser("list", help="the lessons, what each teaches, and how long it takes")
    show.set_defaults(run=show_list)
    start = commands.add_parser("start", help="copy the lessons, without solutions, to a folder of your own")
    start.add_argument("folder", metavar="DIR", help="where to; what lies there already is never overwritten")
    start.add_argument("numbers", metavar="NUMBER", nargs="*", default=[], help="only these lessons, such as 01 07")
    start.add_argument("--lang", choices=LANGUAGES, default="both",
                       help="the lessons in Chinese, in English, or in both (%(default)s)")
    start.set_defaults(run=start_folder)
    course_grade.configure(commands.add_parser("grade", help="mark a student's notebooks, or a whole class's"))
    course_export.configure_template(commands.add_parser("template", help="a file to start your own exercises from"))
    course_export.configure_export(commands.add_parser("export", help="the lessons as sources for nbgrader or Otter"))
    course_site.configure(commands.add_parser("site", help="the course as a web site; Python runs in the browser"))
    asks = commands.add_parser("interview", help="questions of an interview: it asks, waits for Enter, and shows")
    asks.add_argument("group", nargs="?", metavar="GROUP", help="one group of questions; all unless given")
    asks.add_argument("--lang", choices=LANGUAGES, default="both", help="(%(default)s)")
    asks.add_argument("--all", action="store_true", help="print everything without waiting")
    asks.set_defaults(run=interview)
    course_sheet.configure(commands)
    course_slides.configure(commands)


def show_list(arguments=None):
    """Print the lessons: number, title, minutes, what one can do afterwards, the exercises."""
    from ..course.asking import exercises
    from ..course.lessons import lessons
    try:
        known = lessons()
    except FileNotFoundError as error:
        return _wrong(error)
    for lesson in known:
        times = f"  ({lesson.minutes} min, {lesson.seconds} s to run)" if lesson.minutes else ""
        print("\n".join(wrap(f"{lesson.number}  {lesson.title}{times}", further=4)))
        for goal in lesson.goal:
            print("\n".join(wrap(goal, indent=4)))
        names = ", ".join(e.name for e in exercises().values() if e.notebook == lesson.number)
        print("\n".join(wrap(f"exercises: {names}", indent=4)), end="\n\n" if names else "\n")
    print("\n".join(wrap("python -m numpy_attention course start DIR    copies them to a folder of your own")))
    return DONE


def start_folder(arguments):
    """Copy the learner's versions and say what was written and what was left alone."""
    from ..course.lessons import start
    try:
        done = start(arguments.folder, arguments.numbers, arguments.lang)
    except (ValueError, OSError) as error:
        return _wrong(error)
    for path, written in done:
        print(f"{'new ' if written else 'kept'}  {path}")
    folder = typed(arguments.folder)
    print(f"\nOpen them with: {_program('jupyter')} lab {folder}\n"
          f"Then: {_program('python')} -m numpy_attention course grade {folder}")
    return DONE


def typed(path):
    """A path as one types it: in quotes where a shell would take it apart.

    >>> typed("mine"), typed("my work")
    ('mine', '"my work"')
    """
    if re.fullmatch(r"[\w./\\:-]+", path):
        return path
    return f'"{path}"' if sys.platform == "win32" or not set('"$`\\!') & set(path) else shlex.quote(path)


def _program(name):
    """The program beside this Python, as one types it in this folder: .venv/bin/jupyter; elsewhere just its name."""
    beside = Path(sys.executable).with_name(name)
    return typed(str(beside.relative_to(Path.cwd()))) if beside.is_relative_to(Path.cwd()) else name


def interview(arguments):
    """Ask each question, wait, show the answers; the end of the input ends it, too."""
    from ..course import interview as questions
    from ..course.speech import language
    before = language()
    try:
        language(arguments.lang)
        asked = questions.questions(arguments.group)
        for number, each in enumerate(asked, 1):
            print(f"\n{number}/{len(asked)} [{each.topic()}]")
            for text in each.question.lines(arguments.lang):
                print("\n".join(wrap(text)))
            if not arguments.all:
                try:
                    input("… ")
                except EOFError:
                    print()
                    return DONE
            for label, text in each.parts():
                print("\n".join(wrap(f"{label}{' '.join(text)}", indent=2, further=4)))
            print("\n".join(wrap(f"> {each.proof}", indent=2, further=4)))
    except ValueError as error:
        return _wrong(error)
    finally:
        language(before)
    return DONE


def _wrong(error):
    print(f"python -m numpy_attention course: {error}", file=sys.stderr)
    return USAGE_ERROR
