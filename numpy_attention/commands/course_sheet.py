"""`course sheet`: a printed page of attention by hand for each student of a class, the key, and the marking.

`configure(commands)` adds the sub-command; `run` returns the exit status: 0 done, 1 something is not right yet, 2 wrong
usage.
"""
import sys
from pathlib import Path

from ..words.files import write_whole
from ..words.languages import LANGUAGES
from ..words.terminal import wrap
from .options import whole

DONE, NOT_YET, USAGE_ERROR = 0, 1, 2


def configure(commands):
    """Add `sheet` to the sub-commands of `course`."""
    parser = commands.add_parser("sheet", help="attention by hand on paper: a page for each student, and a key")
    parser.add_argument("--students", metavar="FILE", help="the class: names, and numbers where there are any (.csv)")
    parser.add_argument("--student", metavar="NAME", action="append", default=[],
                        help="one student, in place of a list")
    parser.add_argument("--seed", type=whole(0), default=7, metavar="N",
                        help="other numbers for everybody (%(default)s); the same seed makes the same sheets again")
    parser.add_argument("--level", type=whole(1, 5), default=1, metavar="1..5",
                        help="1 forward, 2 with a mask, 3 two heads, 4 and backward, 5 all of it (%(default)s)")
    parser.add_argument("--lang", choices=LANGUAGES, default="both", help="(%(default)s)")
    parser.add_argument("--pdf", metavar="OUT", nargs="?", const="sheets.pdf",
                        help="write the pages, and beside them the key: sheets.pdf, sheets-key.pdf")
    parser.add_argument("--form", metavar="FILE", help="write a .csv into which the answers of the class can be typed")
    parser.add_argument("--check", metavar="FILE", help="mark what was typed into the form, or a .json")
    parser.set_defaults(run=run)


def run(arguments):
    """Make the sheets; write, mark or print them."""
    from ..course.sheets import sheet_for
    from ..course.speech import language
    before = language()
    try:
        language(arguments.lang)
        sheets = [sheet_for(arguments.seed, student, arguments.level) for student in students(arguments)]
        wrote = []
        if arguments.pdf is not None:
            wrote += pdf(arguments.pdf, sheets, arguments.lang)
        if arguments.form is not None:
            from ..course.sheet_answers import form
            # A byte order mark lets every spreadsheet read Chinese.
            wrote.append(write_whole(arguments.form, "\ufeff" + form(sheets)))
        for path in wrote:
            print(path)
        if arguments.check is not None:
            from ..course.sheet_answers import marks_table, read_answers
            answers = read_answers(arguments.check, sheets)
            for line in marks_table(sheets, answers):
                print(line)
            right = all(remark is None for sheet in sheets for _, remark in sheet.marks(answers.get(sheet.code, {})))
            return DONE if right else NOT_YET
        if not wrote:
            print("\n\n".join(map(str, sheets)))
        return DONE
    except (ValueError, OSError) as error:
        print(f"python -m numpy_attention course sheet: {error}", file=sys.stderr)
        return USAGE_ERROR
    finally:
        language(before)


def students(arguments):
    """Who the sheets are for; what was noticed in the list goes to stderr."""
    from ..course.students import Student, read_students
    if arguments.students is None and not arguments.student:
        raise ValueError("say who the sheets are for: --students names.csv, or --student NAME")
    found = [Student(name) for name in arguments.student]
    if arguments.students is not None:
        listed, remarks = read_students(arguments.students)
        found += listed
        for remark in remarks:
            print("\n".join(wrap(f"{arguments.students}: {remark}", further=4)), file=sys.stderr)
    return found


def pdf(path, sheets, lang):
    """Write the pages and the key."""
    from ..course.sheet_pages import key_pages, page, write_pdf
    path = Path(path)
    if path.suffix.lower() != ".pdf":
        raise ValueError(f"--pdf wants a name that ends in .pdf, not {str(path)!r}")
    return [write_pdf(path, (page(sheet, lang) for sheet in sheets)),
            write_pdf(path.with_name(f"{path.stem}-key.pdf"), key_pages(sheets, lang))]
