"""Which run a command shows: a worked example, or arrays of one's own; the same options for `step` and `page`."""
from ..walkthrough.examples import worked_example
from ..walkthrough.own_arrays import trace_file
from .options import whole


def configure_source(parser):
    """--example, or --npz with --heads and --tokens; --lang and --forward-only."""
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--example", choices=["by-hand", "cycle", "full-size"], default="by-hand",
                        help="which worked example (%(default)s)")
    source.add_argument("--npz", metavar="FILE", help="your own arrays: Q, K, V; or x, W_Q, W_K, W_V, W_O")
    parser.add_argument("--heads", type=whole(1), metavar="H", help="number of heads, with --npz and matrices (1)")
    parser.add_argument("--tokens", metavar="WORDS", help="labels separated by blanks, with --npz")
    parser.add_argument("--lang", choices=["zh", "en", "both"], default="both", help="language (%(default)s)")
    parser.add_argument("--forward-only", action="store_true", help="leave out the backward half")


def trace_of(arguments):
    """The trace that the options ask for. Raises: ValueError, TypeError or OSError with one sentence."""
    if arguments.npz:
        tokens = arguments.tokens.split() if arguments.tokens else None
        return trace_file(arguments.npz, num_heads=arguments.heads, tokens=tokens,
                          backward=not arguments.forward_only)
    if arguments.tokens or arguments.heads:
        raise ValueError("--tokens and --heads go with --npz FILE")
    return worked_example(arguments.example).trace(backward=not arguments.forward_only)
