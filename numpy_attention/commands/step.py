"""The prompt: one letter walks through a trace, as in Python's debugger.

    n next · p previous · g NAME or NUMBER go to · w I J why has this cell this number · v NAME[0:3,0:5] values
    b the backward step of this one · c check its gradient · s summary · i this step again · f FILE page or figure
    l language · h help · q quit · an empty line repeats the last command

Commands may also come from a pipe, or several in one line with ";". Exit status: 0 done; 1 a gradient check failed;
2 a file or (from a pipe) a command was wrong; 130 Ctrl-C; 141 the reader closed the pipe.
"""
import sys

from ..walkthrough.examples import worked_example
from ..walkthrough.own_arrays import trace_file
from ..walkthrough.session import DONE, WRONG, Session
from ..walkthrough.stepper import Stepper
from ..walkthrough.text import step_text


def configure(parser):
    """The options of `python -m numpy_attention step`."""
    parser.epilog = ("Exit status: 0 done; 1 a gradient check failed; 2 a file or a piped command was wrong; 130 "
                     "Ctrl-C; 141 the reader closed the pipe.")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--example", choices=["by-hand", "cycle", "full-size"], default="by-hand",
                        help="which worked example (%(default)s)")
    source.add_argument("--npz", metavar="FILE", help="your own arrays: Q, K, V; or x, W_Q, W_K, W_V, W_O")
    parser.add_argument("--heads", type=int, metavar="H", help="number of heads, with --npz and matrices (1)")
    parser.add_argument("--tokens", metavar="WORDS", help="labels separated by blanks, with --npz")
    parser.add_argument("--lang", choices=["zh", "en", "both"], default="both", help="language (%(default)s)")
    parser.add_argument("--precision", type=int, choices=range(17), default=4, metavar="N",
                        help="decimals shown, 0 to 16 (%(default)s)")
    parser.add_argument("--forward-only", action="store_true", help="leave out the backward half")
    parser.add_argument("--plain", action="store_true", help="print all steps and end")
    parser.set_defaults(run=run)


def run(arguments, lines=None):
    """Step through what the options ask for; `lines` are the commands, standard input unless given."""
    try:
        if arguments.npz:
            tokens = arguments.tokens.split() if arguments.tokens else None
            trace = trace_file(arguments.npz, num_heads=arguments.heads, tokens=tokens,
                               backward=not arguments.forward_only)
        elif arguments.tokens or arguments.heads:
            raise ValueError("--tokens and --heads go with --npz FILE")
        else:
            trace = worked_example(arguments.example).trace(backward=not arguments.forward_only)
    except (ValueError, TypeError, OSError) as error:
        print(f"python -m numpy_attention step: {error}", file=sys.stderr)
        return WRONG
    stepper = Stepper(trace, lang=arguments.lang, precision=arguments.precision)
    if arguments.plain:
        for number in range(len(trace)):
            print(step_text(trace, number, lang=arguments.lang, precision=arguments.precision), end="\n\n")
        return DONE
    return Session(stepper).loop(lines)
