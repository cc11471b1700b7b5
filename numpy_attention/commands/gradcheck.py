"""The command `gradcheck`: your own layer in full, every layer of the package in a table, or the race of the ways."""
import sys

from .options import number

FAILED, USAGE_ERROR = 1, 2


def configure(parser):
    """Add the options of `python -m numpy_attention gradcheck` to an argparse parser."""
    parser.add_argument("target", nargs="?", metavar="MODULE:FACTORY",
                        help="a function that returns (layer, input, ...), such as my_layer.py:factory; "
                             "every layer of the package unless given")
    parser.add_argument("--method", choices=["auto", "complex", "central", "directional"], default="auto",
                        help="how slopes are measured (%(default)s)")
    parser.add_argument("--seconds", type=number(above=0, most=10**6), default=60, metavar="S",
                        help="how long one call of your forward or backward may take (%(default)g)")
    parser.add_argument("--benchmark", action="store_true", help="time the ways of checking one layer, in turns")
    parser.set_defaults(run=run)


def run(arguments):
    """Check and print. Returns 0 if all gradients agree, 1 if one does not, 2 if there was nothing to check."""
    if arguments.benchmark:
        from ..gradcheck import benchmark
        print(benchmark())
        return 0
    from ..gradcheck.overview import command
    try:
        text, ok = command(arguments.target, method=arguments.method, seconds=arguments.seconds,
                           progress=lambda text: print(f"gradcheck: {text}", file=sys.stderr, flush=True))
    except (ValueError, TypeError) as error:
        print(f"gradcheck: {error}", file=sys.stderr)
        return USAGE_ERROR
    print(text)
    return 0 if ok else FAILED
