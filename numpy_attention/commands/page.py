"""The page: one file in which every number of an attention can be changed, and everything after it follows.

    python -m numpy_attention page                         我 爱 AI, written to attention.html and opened
    python -m numpy_attention page --npz mine.npz          your own arrays
    python -m numpy_attention page --puzzle 1              with the first of ten puzzles on 我 爱 AI

Exit status: 0 done; 2 a file or an option was wrong.
"""
import os
import sys
import webbrowser
from pathlib import Path

from ..walkthrough.page import PUZZLES, save
from .main import USAGE_ERROR
from .traced import configure_source, trace_of


def configure(parser):
    """The options of `python -m numpy_attention page`."""
    configure_source(parser)
    parser.add_argument("--out", metavar="FILE", default="attention.html", help="where to write it (%(default)s)")
    parser.add_argument("--puzzle", metavar="N", help=f"open with this puzzle, 1 to {PUZZLES}")
    parser.add_argument("--no-open", action="store_true", help="write it, and do not open a browser")
    parser.set_defaults(run=run)


def run(arguments):
    """Write the page, say where it is, and open it where there is a screen."""
    try:
        path = Path(arguments.out)
        if path.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"--out must end in .html, so that a browser opens it: {arguments.out!r}")
        if arguments.puzzle and (arguments.npz or arguments.example != "by-hand" or arguments.forward_only):
            raise ValueError("--puzzle goes with the whole example by-hand: the puzzles are made of its numbers")
        path = save(trace_of(arguments), path, lang=arguments.lang, puzzle=arguments.puzzle)
    except (ValueError, TypeError, OSError) as error:
        print(f"python -m numpy_attention page: {error}", file=sys.stderr)
        return USAGE_ERROR
    print(f"wrote {path}: open it in a browser; it needs no network")
    if not arguments.no_open and has_screen():
        webbrowser.open(path.resolve().as_uri())
    return 0


def has_screen():
    """Is there a screen for a browser? Not in a pipe, not on a server without a display."""
    if not sys.stdout.isatty():
        return False
    return sys.platform in ("win32", "darwin") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
