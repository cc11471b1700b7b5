"""The command `generate`: a text model trained by `train text --save FILE` goes on with a text."""
import sys

import numpy as np

from ..models.sampling import choose
from ..training.checkpoint import CheckpointError, load_run
from ..training.writing import reading
from .options import number, whole

USAGE_ERROR = 2


def configure(parser):
    """Add the options of `python -m numpy_attention generate` to an argparse parser."""
    parser.add_argument("checkpoint", metavar="FILE", help="what `train text --save FILE` has written")
    parser.add_argument("--start", default="", metavar="TEXT", help="how it begins; a character unless given")
    parser.add_argument("-n", type=whole(1, 10**6), default=200, metavar="N",
                        help="how many characters to write (%(default)s)")
    parser.add_argument("--temperature", type=number(0, 1000), default=0.8, metavar="X",
                        help="0: always the likeliest; 1: as often as the model says (%(default)s)")
    parser.add_argument("--top-k", type=whole(1), metavar="K", help="only among the K likeliest")
    parser.add_argument("--samples", type=whole(1, 10**6), default=1, metavar="N", help="how many texts (%(default)s)")
    parser.add_argument("--seed", type=whole(0, 10**18 - 1), default=0, metavar="N", help="of the draws (%(default)s)")
    parser.set_defaults(run=run)


def run(arguments):
    """Read, write on, print. Returns 0, or 2 with one line for what cannot be done."""
    try:
        trained = load_run(arguments.checkpoint)
        if trained.task.name != "text":
            raise ValueError(f"{arguments.checkpoint} was trained on {trained.task.name}: generate wants a text model")
        for sample in range(arguments.samples):
            print(write(trained, arguments.start, arguments.n, temperature=arguments.temperature,
                        top_k=arguments.top_k, seed=[arguments.seed, sample]), flush=True)
            print("-" * 40 if sample + 1 < arguments.samples else "", flush=True)
    except (CheckpointError, ValueError, TypeError) as error:
        print(f"generate: {error}", file=sys.stderr)
        return USAGE_ERROR
    return 0


def write(trained, start, n, *, temperature=0.8, top_k=None, seed=0):
    """The start and n more characters by a Run of the text task."""
    ids, rng = trained.task.encode(start) or [0], np.random.default_rng(seed)
    answers = reading(trained.model, ids, n)
    logits = next(answers)
    for _ in range(n):
        ids.append(int(choose(logits[None], temperature=temperature, top_k=top_k, rng=rng)[0]))
        logits = answers.send(ids[-1])
    return "".join(trained.task.words(ids))
