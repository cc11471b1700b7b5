"""The command line: it parses, calls, and prints. Each command is one short function."""
import argparse
import io
import os
import sys
from importlib import import_module

USAGE_ERROR, CLOSED_PIPE, INTERRUPTED = 2, 141, 130


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line that says what to do."""

    def error(self, message):
        self.exit(USAGE_ERROR, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(argv=None):
    """Run one command line. Returns the exit status: 0 done, 1 a check failed, 2 wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")      # also where the locale is C
    try:
        arguments = parser().parse_args(argv)
        status = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:             # the reader has seen enough, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED


def parser():
    """All commands and their options."""
    top = Parser(prog="python -m numpy_attention", description="Walk through multi-head attention, step by step: "
                 "every matrix with its name, formula, shape and numbers, forward and backward.")
    _walk_options(top)
    top.set_defaults(run=walk)
    commands = top.add_subparsers(title="other commands", metavar="COMMAND", parser_class=Parser)
    figures = commands.add_parser("figures", help="redraw every picture of the figures folder")
    figures.add_argument("folder", nargs="?", default="figures", help="where to put them (%(default)s)")
    figures.set_defaults(run=draw_figures)
    return top


def _walk_options(command):
    command.add_argument("--example", choices=["by-hand", "cycle", "full-size"], default="by-hand",
                         help="which worked example (%(default)s)")
    command.add_argument("--lang", choices=["zh", "en", "both"], default="both",
                         help="language of the sentences (%(default)s)")
    command.add_argument("--precision", type=_precision, default=4, metavar="N", help="decimals shown (%(default)s)")
    command.add_argument("--forward-only", action="store_true", help="leave out the backward half")


def _precision(text):
    if not text.isdecimal() or int(text) > 16:
        raise argparse.ArgumentTypeError(f"wants a number of decimals from 0 to 16, not {text!r}")
    return int(text)


def walk(arguments):
    """The worked example: forward, backward, the check of every gradient, the source's mistakes."""
    from .walkthrough.examples import worked_example
    from .walkthrough.report import walkthrough
    example = worked_example(arguments.example)
    for part in walkthrough(example, arguments.lang, arguments.precision, backward=not arguments.forward_only):
        print(part, end="\n\n")
    return 0


def draw_figures(arguments):
    """Redraw all pictures, one line for each file."""
    for path in import_module("numpy_attention.plots.gallery").draw_all(arguments.folder):
        print(path)
    return 0
