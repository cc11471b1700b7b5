"""The command `train`: a task by name, a bar while it runs, what was measured, and the film if asked for."""
import re
import sys
from pathlib import Path

import numpy as np

from ..training.measure import head_costs
from ..training.tasks import TASKS, task
from ..words.npz import read_ordinary
from ..words.terminal import COLUMNS, screen_width, table, wrap
from .options import number, whole

FAILED, USAGE_ERROR, INTERRUPTED = 1, 2, 130
LONGEST, MOST_PARAMETERS, LONGEST_TEXT = 1024, 10**8, 10**8
SIZES = ("layers", "heads", "d_model", "kv_heads", "d_k", "d_hidden", "positions", "scale", "norm", "tied")


def configure(parser):
    """Add the options of `python -m numpy_attention train` to an argparse parser."""
    parser.add_argument("task", metavar="TASK", help=f"one of {', '.join(TASKS)}")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings",
                        help="a size of the task, such as --set L=12; may be repeated")
    parser.add_argument("--file", metavar="FILE", help="for `text`: the text to learn from, UTF-8")
    parser.add_argument("--steps", type=whole(0, 10**7), metavar="N", help="updates at most")
    for name, text in (("layers", "attention layers"), ("heads", "heads in each layer"),
                       ("d-model", "width of a token's row"), ("kv-heads", "key/value heads"),
                       ("d-k", "width of a head's queries and keys"), ("d-hidden", "width of feed-forward layers")):
        parser.add_argument(f"--{name}", type=whole(1, 10**5), metavar="N", help=text)
    parser.add_argument("--seed", type=whole(0, 10**18 - 1), default=0, metavar="N",
                        help="of parameters and exercises (%(default)s)")
    parser.add_argument("--positions", metavar="KIND", help="learned, sinusoidal, rotary, alibi or none")
    parser.add_argument("--scale", type=number(), metavar="X", help="a factor on Q Kᵀ instead of 1/√d_k; 1 is no scale")
    parser.add_argument("--norm", action="store_true", default=None, help="with LayerNorms")
    parser.add_argument("--tied", action="store_true", default=None, help="with W_Q = W_K")
    parser.add_argument("--lr", type=number(0), default=0.01, metavar="X", help="learning rate (%(default)s)")
    parser.add_argument("--stop-at", type=number(0, 1), default=0.995, metavar="X",
                        help="accuracy at which to stop early (%(default)s)")
    parser.add_argument("--save", metavar="FILE", help="write a checkpoint there, every 100 steps and at the end")
    parser.add_argument("--resume", metavar="FILE", help="go on from a checkpoint of the same run")
    parser.add_argument("--figure", metavar="FILE",
                        help="draw the training film there (.html and .gif move; .svg, .png, .pdf)")
    parser.add_argument("--quiet", action="store_true", help="without the bar")
    parser.set_defaults(run=run)


def run(arguments):
    """Train, measure, draw the film. Returns 0; 1 if the run broke, 2 for wrong usage, 130 after Ctrl-C."""
    from ..training.checkpoint import CheckpointError
    from ..training.loop import train
    from ..training.step import Diverged
    sizes = {name: getattr(arguments, name) for name in SIZES if getattr(arguments, name) is not None}
    try:
        _check_figure(arguments.figure)
        made = task(arguments.task, **dict(map(_setting, arguments.settings)), **_text_of(arguments.file))
        _check_sizes(made, {**made.model, **sizes})
        steps = made.steps if arguments.steps is None else arguments.steps
        every = max(1, min(25, steps // 8))
        result = train(made, steps=steps, stop_at=arguments.stop_at, seed=arguments.seed, lr=arguments.lr,
                       measure_every=every, snapshots=range(0, steps + 1, every) if arguments.figure else (),
                       save=arguments.save, resume=arguments.resume, progress=not arguments.quiet, **sizes)
    except Diverged as broken:
        print(f"train: {broken}", file=sys.stderr)
        return FAILED
    except CheckpointError as error:
        if error.run is not None and error.run.step:        # it learned for nothing, but what it learned can be told
            print("\n".join(report(error.run)))
        print(f"train: {error}", file=sys.stderr)
        return USAGE_ERROR
    except (ValueError, TypeError, OverflowError) as error:
        print(f"train: {error}", file=sys.stderr)
        return USAGE_ERROR
    print("\n".join(report(result)))
    if arguments.figure:
        from ..plots.figure import save
        from ..training.run import save_training_film, training_film
        if Path(arguments.figure).suffix in (".html", ".gif"):
            save_training_film(result, arguments.figure)
        else:
            save(training_film(result), arguments.figure)
        print(f"the film: {arguments.figure}")
    return INTERRUPTED if result.stopped == "interrupted" else 0


def report(result):
    """The lines that tell how a run went: the curve, then a row for each head."""
    head = f"{result!r} ({result.stopped})"
    yield from wrap(head, further=4) if screen_width() < COLUMNS else [head]
    yield f"{'step':>6} {'loss':>8} {'accuracy':>9}"
    for step, loss, accuracy in zip(*(result.history[name] for name in ("step", "loss", "accuracy")), strict=True):
        yield f"{step:6} {loss:8.4f} {accuracy:9.3f}"
    scores = {name: values[-1] for name, values in result.history.items() if name not in ("step", "loss", "accuracy")}
    scores["cost if off"] = head_costs(result.model, result.held_out)
    heads = [[f"{layer}.{head}", *(f"{values[layer, head]:.3f}" for values in scores.values())]
             for layer, head in np.ndindex(scores["entropy"].shape)]
    yield from table([["layer.head", *scores], *heads], ">", gap=2)


def _text_of(path):
    """{"text": what the file holds}, or nothing without one."""
    if path is None:
        return {}
    try:
        text = read_ordinary(path, LONGEST_TEXT).decode("utf-8-sig")            # some editors put a mark in front
        return {"text": text.replace("\r\n", "\n").replace("\r", "\n")}
    except (OSError, ValueError) as error:
        raise ValueError(f"--file {path} could not be read: {getattr(error, 'strerror', None) or error}") from None


def _setting(text):
    """NAME=VALUE as a pair; a value with commas is a tuple of whole numbers."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"--set wants NAME=VALUE, such as L=12; got {text!r}")
    numbers = value.split(",")
    if all(re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", part) for part in numbers):
        return name, int(value) if len(numbers) == 1 else tuple(map(int, numbers))
    return name, value


def _check_sizes(made, sizes):
    """A toy fits into memory many times; what does not is refused before it is made."""
    if made.length > LONGEST:
        raise ValueError(f"a task of {made.length:,} tokens is too long to be trained here: at most {LONGEST:,}")
    D, layers, hidden = sizes.get("d_model", 32), sizes.get("layers", 1), sizes.get("d_hidden") or 0
    learned = layers * (4 * D * max(D, sizes.get("heads", 1) * sizes.get("d_k", 0)) + 2 * D * hidden) + (
        2 * made.vocab + made.length) * D
    if learned > MOST_PARAMETERS:
        raise ValueError(f"such a model would learn about {learned:,} numbers, and nobody can wait for that: take "
                         "smaller --d-model, --layers, --d-k or --d-hidden")


def _check_figure(path):
    """It would be a pity to find out after the training that its film cannot be written."""
    endings = (".html", ".gif", ".svg", ".png", ".pdf")
    if path and (Path(path).suffix not in endings or not Path(path).resolve().parent.is_dir()):
        raise ValueError(f"--figure wants a .html, .gif, .svg, .png or .pdf file in a folder that exists; got {path}")
