"""The command line: `python -m numpy_attention`, or `numpy-attention` once the package is installed.

It parses, calls, and prints. Each command has a file here that says its options and runs it; what it runs lives in the
package that it belongs to.
"""
import argparse
import io
import os
import sys
from importlib import import_module
from pathlib import Path

from .options import whole

PACKAGE = __package__.partition(".")[0]
USAGE_ERROR, CLOSED_PIPE, INTERRUPTED = 2, 141, 130

COMMANDS = {    # name: what it does; commands/<name>.py configures and runs it
    "page": "write a page in which every number can be changed and all others follow, and open it",
    "step": "go through the steps one by one, forwards and backwards, and ask why",
    "figures": "redraw every picture of the figures folder",
    "gradcheck": "check the gradients of your own layer, or of every layer of the package",
    "museum": "bugs planted on purpose, and which test catches which",
    "train": "train a tiny model whose heads visibly learn",
    "generate": "let a text model that `train text --save` has written go on with a text",
    "look": "look into a trained model: its heads, its next words, what it writes",
    "claims": "measure what textbooks claim about attention",
    "course": "the lessons: list them, start your own copy, grade it",
    "fonts": "rebuild the two small fonts that figures and pages carry with them",
    "bench": "time forward and backward, also against PyTorch where it is installed",
}


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line that says what to do."""

    NAME = "numpy-attention" if Path(sys.argv[0]).stem == "numpy-attention" else "python -m numpy_attention"

    def error(self, message):
        """Print the message in one line and leave with status 2."""
        self.exit(USAGE_ERROR, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(argv=None):
    """Run one command line. Returns the exit status: 0 done, 1 a check failed, 2 wrong usage."""
    argv = sys.argv[1:] if argv is None else list(argv)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:              # closed by the caller, as with `>&-`
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))    # noqa: SIM115  (until we end)
    set_encoding(sys.stdout, sys.stderr)
    try:
        arguments = parser(argv).parse_args(argv)
        status = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:             # the reader has seen enough, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except ImportError as error:        # the plots say what to install; any other is a mistake of ours
        if "pip install" not in str(error):
            raise
        print(f"{Parser.NAME}: {error}", file=sys.stderr)
        return USAGE_ERROR
    except MemoryError as error:
        why = f": {error}" if str(error) else ""
        print(f"{Parser.NAME}: this machine has not enough memory for that{why}; take smaller sizes", file=sys.stderr)
        return USAGE_ERROR
    except (OSError, OverflowError) as error:       # a file that cannot be written, a number too large for NumPy
        print(f"{Parser.NAME}: {error}", file=sys.stderr)
        return USAGE_ERROR


def set_encoding(*streams):
    """UTF-8, also where the locale is C; where PYTHONIOENCODING names another, that one. What it lacks becomes a ?."""
    wanted = os.environ.get("PYTHONIOENCODING", "").partition(":")[0]
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace" if stream.errors == "strict" else stream.errors,
                               **({} if wanted else {"encoding": "utf-8"}))


def parser(argv=()):
    """The parser of all commands; only the file of the command that was typed is opened."""
    top = Parser(prog=Parser.NAME, description="Walk through multi-head attention, step by step: "
                 "every matrix with its name, formula, shape and numbers, forward and backward.")
    top.add_argument("--example", choices=["by-hand", "cycle", "full-size"], default="by-hand",
                     help="which worked example (%(default)s)")
    top.add_argument("--lang", choices=["zh", "en", "both"], default="both",
                     help="language of the sentences (%(default)s)")
    top.add_argument("--precision", type=whole(0, 16), default=4, metavar="N", help="decimals shown (%(default)s)")
    top.add_argument("--forward-only", action="store_true", help="leave out the backward half")
    top.add_argument("--version", action="version", version=f"{PACKAGE} {sys.modules[PACKAGE].__version__}")
    top.set_defaults(run=walk)
    commands = top.add_subparsers(title="other commands", metavar="COMMAND", parser_class=Parser)
    for name, what in COMMANDS.items():
        command = commands.add_parser(name, help=what, description=what[0].upper() + what[1:] + ".")
        if name in argv:
            import_module(f".{name}", __package__).configure(command)
    return top


def walk(arguments):
    """The worked example: forward, backward, the check of every gradient, the source's mistakes."""
    from ..walkthrough.examples import worked_example
    from ..walkthrough.report import walkthrough
    example = worked_example(arguments.example)
    for part in walkthrough(example, arguments.lang, arguments.precision, backward=not arguments.forward_only):
        print(part, end="\n\n")
    return 0
