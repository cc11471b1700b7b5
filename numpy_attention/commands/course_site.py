"""course site: the course as a folder of plain files that any web server can hand out; Python runs in the browser.

    python -m numpy_attention course site DIR
    python -m http.server --directory DIR           then open the address that it says
"""
import sys

from ..words.languages import LANGUAGES
from ..words.terminal import wrap

USAGE_ERROR = 2


def configure(parser):
    """The options of `python -m numpy_attention course site`."""
    parser.add_argument("folder", metavar="DIR", help="where to; a new folder, or an earlier site, which is replaced")
    parser.add_argument("numbers", metavar="NUMBER", nargs="*", default=[], help="only these lessons, such as 01 07")
    parser.add_argument("--lang", choices=LANGUAGES, default="both", help="(%(default)s)")
    parser.add_argument("--pyodide", metavar="DIR", help="a folder with Pyodide 0.27: no other host is needed then")
    parser.add_argument("--no-pictures", action="store_true", help="draw none (they take half a minute)")
    parser.set_defaults(run=run)


def run(arguments):
    """Build it, and say how large it is and how to look at it."""
    from ..course import site

    def draw(folder):
        return {} if arguments.no_pictures else draw_pictures(folder, arguments.lang)

    try:
        sizes = site.build(arguments.folder, arguments.numbers, lang=arguments.lang, pyodide=arguments.pyodide,
                           draw=draw)
    except (ValueError, OSError) as error:
        print(f"python -m numpy_attention course site: {error}", file=sys.stderr)
        return USAGE_ERROR
    print("\n".join(wrap(f"wrote {arguments.folder}: {sizes['site'] / 1e6:.0f} MB, of these Python itself "
                         f"{sizes['pyodide'] / 1e6:.0f} MB, numpy_attention {sizes['package'] / 1e6:.1f} MB")))
    print(f'look at it: python -m http.server --directory "{arguments.folder}"')
    return 0


def draw_pictures(folder, lang):
    """Draw all pictures into `folder`; returns what is to be seen on each."""
    from .figures import PICTURES
    seen = {}
    for name in PICTURES:
        figure = PICTURES[name](lang)
        figure.save(folder / f"{name}.png")
        seen[name] = figure.alt_text
    return seen
