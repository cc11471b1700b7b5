"""The prompt: one letter walks through a trace, as in Python's debugger.

    n next · p previous · g NAME or NUMBER go to · w I J why has this cell this number · v NAME[0:3,0:5] values
    b the backward step of this one · c check its gradient · s summary · i this step again · f FILE page or figure
    l language · h help · q quit · an empty line repeats the last command

Commands may also come from a pipe, or several in one line with ";". Exit status: 0 done; 1 a gradient check failed;
2 a file or (from a pipe) a command was wrong; 130 Ctrl-C; 141 the reader closed the pipe.
"""
import sys

from ..walkthrough.screen import Screen, can_paint
from ..walkthrough.session import DONE, WRONG, Session
from ..walkthrough.stepper import Stepper
from ..walkthrough.text import step_text
from .options import whole
from .traced import configure_source, trace_of


def configure(parser):
    """The options of `python -m numpy_attention step`."""
    parser.epilog = ("Exit status: 0 done; 1 a gradient check failed; 2 a file or a piped command was wrong; 130 "
                     "Ctrl-C; 141 the reader closed the pipe.")
    configure_source(parser)
    parser.add_argument("--precision", type=whole(0, 16), default=4, metavar="N",
                        help="decimals shown, 0 to 16 (%(default)s)")
    parser.add_argument("--prompt", action="store_true", help="the prompt instead of the coloured screen")
    parser.add_argument("--plain", action="store_true", help="print all steps and end")
    parser.set_defaults(run=run)


def run(arguments, lines=None):
    """Step through what the options ask for; `lines` are the commands, standard input unless given."""
    try:
        trace = trace_of(arguments)
    except (ValueError, TypeError, OSError) as error:
        print(f"python -m numpy_attention step: {error}", file=sys.stderr)
        return WRONG
    stepper = Stepper(trace, lang=arguments.lang, precision=arguments.precision)
    if arguments.plain:
        for number in range(len(trace)):
            print(step_text(trace, number, lang=arguments.lang, precision=arguments.precision), end="\n\n")
        return DONE
    if lines is None and not arguments.prompt and sys.stdin.isatty() and can_paint():
        return Screen(stepper).loop()
    return Session(stepper).loop(lines)
