"""`course slides` and `course handout`: a lesson to show on a wall, and to print.

Exit status: 0 done, 2 wrong usage or something that is missing.
"""
import sys

DONE, USAGE_ERROR = 0, 2


def configure(commands):
    """Add `slides` and `handout` to the sub-commands of `course`."""
    for name, ending, what in (("slides", ".html", "a lesson as slides: one file, no network, arrow keys turn pages"),
                               ("handout", ".pdf", "a lesson as pages to print, by a browser")):
        parser = commands.add_parser(name, help=what)
        parser.add_argument("number", metavar="NUMBER", help="the lesson, such as 01; it is run again for its pictures")
        parser.add_argument("--lang", choices=("zh", "en"), default="zh", help="one language (%(default)s)")
        parser.add_argument("--out", metavar="FILE", help=f"where to (NUMBER-LANG{ending})")
        parser.set_defaults(run=run, make=name, ending=ending)


def run(arguments):
    """Write the file and say where it is."""
    from ..course import slides
    path = arguments.out or f"{arguments.number.zfill(2)}-{arguments.lang}{arguments.ending}"
    try:
        print(getattr(slides, arguments.make)(arguments.number, arguments.lang, path))
    except (ValueError, OSError, ImportError) as error:
        print(f"python -m numpy_attention course: {error}", file=sys.stderr)
        return USAGE_ERROR
    return DONE
