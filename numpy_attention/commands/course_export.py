"""The commands `course export` and `course template`: lessons for other graders, a start for exercises of one's own."""
import sys

from ..words.languages import LANGUAGES

DONE, USAGE_ERROR = 0, 2


def configure_export(parser):
    """Add the options of `course export` to an argparse parser."""
    parser.add_argument("folder", metavar="DIR", help="where to; what lies there already is never overwritten")
    parser.add_argument("numbers", metavar="NUMBER", nargs="*", default=[], help="only these lessons, such as 01 07")
    parser.add_argument("--to", choices=("nbgrader", "otter"), required=True, help="whose format")
    parser.add_argument("--lang", choices=LANGUAGES, default="both", help="(%(default)s)")
    parser.set_defaults(run=export)


def configure_template(parser):
    """Add the argument of `course template` to an argparse parser."""
    parser.add_argument("file", metavar="FILE", help="a Python file that does not exist yet")
    parser.set_defaults(run=template)


def export(arguments):
    """Write the sources and say what comes next."""
    from ..course.grading import exporting
    try:
        for path in exporting.export(arguments.folder, arguments.to, arguments.numbers, arguments.lang):
            print(f"new  {path}")
    except (ValueError, OSError) as error:
        return _wrong(error)
    print({"nbgrader": f"\nThen, in {arguments.folder}: nbgrader generate_assignment 01",
           "otter": f"\nThen, for each: otter assign {arguments.folder}/01/….ipynb dist"}[arguments.to])
    return DONE


def template(arguments):
    """Write the template, unless a file is there."""
    from ..course.grading.teachers import TEMPLATE
    try:
        with open(arguments.file, "x", encoding="utf-8") as file:
            file.write(TEMPLATE.read_text(encoding="utf-8"))
    except OSError as error:
        return _wrong(error)
    print(f"new  {arguments.file}\nThen: python -m numpy_attention course grade FOLDER --exercises {arguments.file}")
    return DONE


def _wrong(error):
    print(f"python -m numpy_attention course: {error}", file=sys.stderr)
    return USAGE_ERROR
