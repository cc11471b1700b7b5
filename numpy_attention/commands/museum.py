"""The command `museum`: the detection matrix, or one specimen's card and what the gradient check says about it."""
import sys

from ..words.terminal import wrap

USAGE_ERROR = 2


def configure(parser):
    """Add the options of `python -m numpy_attention museum` to an argparse parser."""
    parser.add_argument("specimen", nargs="?", help="print this specimen's card; the whole matrix unless given")
    parser.add_argument("--cards", action="store_true", help="print every specimen's card")
    parser.set_defaults(run=run)


def run(arguments):
    """Print. Returns 0; 1 if a bug escapes every detector; 2 for a specimen that is not there."""
    from ..museum import card, diagnosis, matrix, names
    if arguments.specimen is None and arguments.cards:
        print("\n\n".join(str(card(name)) for name in names()))
        return 0
    if arguments.specimen is None:
        found = matrix()
        print(found)
        return 1 if found.survivors() else 0
    try:
        print(card(arguments.specimen))
    except KeyError as error:
        print(f"museum: {error.args[0]}", file=sys.stderr)
        return USAGE_ERROR
    said = diagnosis(arguments.specimen) or ["nothing: it cannot see this one"]
    print("\n".join(line for text in ["The gradient check says:", *said] for line in wrap(text, indent=2, further=7)))
    return 0
