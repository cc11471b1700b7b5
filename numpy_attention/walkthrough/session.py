"""A session at the prompt: each letter is one method, which asks the stepper and prints what it says."""
import contextlib
import re
import sys

import numpy as np

from ..words.numbers import matrix
from ..words.pictures import draw
from ..words.terminal import wrap
from .text import summary

DONE, FAILED, WRONG, INTERRUPTED = 0, 1, 2, 130
PROMPT = "(att) "
HELP = """\
  n  next      p  previous      g NAME or NUMBER  go to      i  this step again
  w I J  why has this cell its number? (numbers or tokens)   s  all steps
  v NAME[0:3,0:5]  values      b  the gradient of this step  c  check it
  f FILE.html or .svg .png .pdf  page or figure              l  language
  h  help      q  quit         an empty line repeats the last command"""
LONG = {"next": "n", "prev": "p", "previous": "p", "goto": "g", "why": "w", "info": "i", "values": "v", "summary": "s",
        "backward": "b", "check": "c", "figure": "f", "language": "l", "quit": "q", "exit": "q", "help": "h", "?": "h"}
SLICE = re.compile(r"-?\d+|-?\d*:-?\d*|:")


class Quit(Exception):
    """Raised by the command q."""


class Session:
    """Reads commands and prints what the stepper says."""

    def __init__(self, stepper):
        self.stepper, self.last, self.status = stepper, "n", DONE

    def loop(self, lines=None):
        """Read and obey until q or the end of the input. Returns the exit status."""
        print(f"{self.stepper.explain()}\n{HELP}")
        typed = lines is None and sys.stdin.isatty()
        lines = lines if lines is not None else typed_lines() if typed else sys.stdin
        try:
            for line in lines:
                if not typed:
                    print(f"{PROMPT}{line.strip()}")        # so that the transcript reads like a session
                try:
                    for command in line.split(";"):
                        self.obey(command.strip())
                except (LookupError, ValueError, TypeError, OSError, ImportError) as error:
                    if isinstance(error, BrokenPipeError):
                        raise
                    said = error.args[0] if isinstance(error, KeyError) else error
                    print("\n".join(wrap(str(said), indent=2)))
                    self.status = self.status if typed else max(self.status, WRONG)
        except Quit:
            pass
        except KeyboardInterrupt:
            print()
            return INTERRUPTED
        return self.status

    def obey(self, command):
        """One command; an empty one repeats the last."""
        command = command or self.last
        word, _, rest = command.partition(" ")
        letter = LONG.get(word, word)
        if letter not in tuple("npgwivsbcflqh"):
            there = word.isdecimal() or word in self.stepper.trace
            raise ValueError(f"there is no command {word!r}; {f'g {word} goes there' if there else 'h shows them all'}")
        self.last = command
        getattr(self, f"_{letter}")(rest.strip())

    def _n(self, _):
        self.stepper.next()
        self._i("")

    def _p(self, _):
        self.stepper.prev()
        self._i("")

    def _g(self, which):
        if not which:
            raise ValueError("g wants a name or a number: g weights, g 6")
        self.stepper.goto(which)
        self._i("")

    def _i(self, _):
        print(self.stepper.explain())

    def _w(self, cell):
        print(_indented(self.stepper.why(*cell.replace(",", " ").split())))

    def _v(self, what):
        name, bracket, slices = what.partition("[")
        value = self.stepper.trace[name.strip() or self.stepper.number - 1].value
        if bracket:
            parts = [part.strip() for part in slices.rstrip("] ").split(",")]
            if not all(SLICE.fullmatch(part) for part in parts):
                raise ValueError(f"{what!r}: a slice looks like Q[0:3,0:5] or Q[0,1]")
            value = value[tuple(slice(*(int(x) if x else None for x in part.split(":"))) if ":" in part else int(part)
                                for part in parts)]
        while np.ndim(value) > 2:
            value = value[0]
        print(matrix(value, precision=self.stepper.precision, indent=2))

    def _s(self, _):
        print(summary(self.stepper.trace))

    def _b(self, _):
        self.stepper.goto(self.stepper.backward_of().name)
        self._i("")

    def _c(self, _):
        report = self.stepper.check()
        print(_indented(str(report)))
        self.status = self.status if report.ok else max(self.status, FAILED)

    def _f(self, path):
        path = path or "attention.html"
        if path.lower().endswith((".html", ".htm")):
            self.stepper.trace.save_html(path, lang=self.stepper.lang)
        elif path.lower().endswith((".svg", ".png", ".pdf")):
            draw("plot_walkthrough", self.stepper.trace, lang=self.stepper.lang).save(path)
        else:
            raise ValueError(f"{path!r}: the name must end in .html, .svg, .png or .pdf")
        print(f"  wrote {path}")

    def _l(self, lang):
        turn = {"both": "zh", "zh": "en", "en": "both"}
        if lang and lang not in turn:
            raise ValueError(f"l takes zh, en or both, not {lang!r}")
        self.stepper.lang = lang or turn[self.stepper.lang]
        self._i("")

    def _h(self, _):
        print(HELP)

    def _q(self, _):
        raise Quit


def typed_lines():
    """Lines typed at the prompt; Ctrl-D ends them."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 (arrow keys and history)
    while True:
        try:
            yield input(PROMPT)
        except EOFError:
            print()
            return


def _indented(text):
    return "\n".join(f"  {line}".rstrip() for line in text.split("\n"))
