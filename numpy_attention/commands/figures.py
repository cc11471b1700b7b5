"""python -m numpy_attention figures: every kind of plot, from worked examples and from heads that were trained."""

import functools
from pathlib import Path

import numpy as np

from .. import museum, training
from ..gradcheck import check_gradients, step_curve
from ..layers.multi_head import MultiHeadAttention
from ..masks import causal_mask
from ..plots import (
    plot_cross_attention,
    plot_film,
    plot_gradient_check,
    plot_gradients,
    plot_heads,
    plot_lines,
    plot_masks,
    plot_mixing,
    plot_mnemonic,
    plot_model,
    plot_multi_head,
    plot_query_key,
    plot_symmetry,
    plot_walkthrough,
)
from ..walkthrough import worked_example


@functools.cache
def _by_hand():
    return worked_example("by-hand").trace()


@functools.cache
def _trained(task, **settings):
    """A run of a toy task whose model has just seen the run's own exercise."""
    run = training.train(task, snapshots=(0, 10, 20, 40, 80, 150), progress=False, **settings)
    run.model(*run.exercise.inputs)
    return run


def _weights(run):
    return [attention.weights for attention in run.model.attentions()]


def _letters(run):
    return run.task.words(run.exercise.inputs[0][0])


def _offsets(layers):
    """Weights and tokens of a model that was trained to look 1, 2, 3 and 4 places back."""
    run = _trained("offsets", layers=layers)
    weights = _weights(run)
    return weights if layers > 1 else weights[0], _letters(run)


def _rows(*shape):
    return np.random.default_rng(1).standard_normal(shape)


def _recall(lang):
    run = _trained("recall")
    memory, gold = run.exercise.inputs[1][0], run.exercise.gold[0, 0]
    keys, values = ([run.task.word(int(token)) for token in column] for column in memory.T)
    return plot_cross_attention(_weights(run)[0], _letters(run), keys, value_tokens=values, gold=gold.argmax(axis=-1),
                                lang=lang)


def _film(lang):
    run = _trained("reverse")
    steps = sorted(run.snapshots)
    maps = [run.snapshots[step][0, 0] for step in steps]
    return plot_film(maps, steps, run.losses, query_tokens=_letters(run), lang=lang)


def _multi_head(lang):
    """Three heads that nobody has trained, over the example sentence."""
    layer = MultiHeadAttention(9, 3, rng=1)
    layer(2 * _rows(1, 3, 9))
    return plot_multi_head(layer, lang=lang)


def _masked(lang):
    """A causal mask over a sentence whose first token is padding, which then sees nothing at all."""
    scores = np.random.default_rng(0).standard_normal((5, 5)) * 2
    mask = causal_mask(5) & (np.arange(5) > 0)
    return plot_masks(scores, mask, query_tokens=["PAD", "我", "爱", "数", "学"], lang=lang)


def _bug(lang):
    """What a check shows when the backward pass forgets to divide by √d_k."""
    example = worked_example("by-hand")
    row = next(row for row in check_gradients(example.layer, *example.inputs).rows if row.name == "Q")
    return plot_gradient_check(2 * row.analytic, row.numeric, name="dQ", lang=lang)


PICTURES = {
    "walkthrough": lambda lang: plot_walkthrough(_by_hand(), lang=lang),
    "walkthrough_cell": lambda lang: plot_walkthrough(_by_hand(), highlight=(0, 2), lang=lang),
    "walkthrough_full_size": lambda lang: plot_walkthrough(worked_example("full-size").trace(), lang=lang),
    "mnemonic": lambda lang: plot_mnemonic(_by_hand(), lang=lang),
    "heads": lambda lang: plot_heads(*_offsets(layers=1), lang=lang),
    "layers": lambda lang: plot_heads(*_offsets(layers=2), lang=lang),
    "model": lambda lang: plot_model(*_offsets(layers=2), lang=lang),
    "multi_head": _multi_head,
    "lines": lambda lang: plot_lines(*_offsets(layers=1), lang=lang),
    "query_key": lambda lang: plot_query_key(_by_hand(), query=0, key=2, lang=lang),
    "mixing": lambda lang: plot_mixing(worked_example("full-size").trace(), head=2, lang=lang),
    "gradients": lambda lang: plot_gradients(_by_hand(), lang=lang),
    "masks": _masked,
    "cross_attention": _recall,
    "symmetry": lambda lang: plot_symmetry(_by_hand(), lang=lang),
    "gradient_check": _bug,
    "film": _film,
    "step_curve": lambda lang: step_curve(MultiHeadAttention(8, 2, rng=0), _rows(1, 4, 8)).plot(lang=lang),
    "museum": lambda lang: museum.matrix().plot(lang=lang),
}


def configure(parser):
    """Give ``parser`` the options of the command."""
    parser.add_argument("names", nargs="*", default=[], metavar="NAME",
                        help=f"which ones, all unless given: {', '.join(PICTURES)}")
    parser.add_argument("--folder", default="figures", metavar="DIR", help="where to write (%(default)s)")
    parser.add_argument("--formats", default="png,svg", metavar="LIST", help="png, svg and pdf (%(default)s)")
    parser.set_defaults(run=run, parser=parser)


def run(arguments):
    """Draw what was asked for; one line for each file, and what is to be seen on it."""
    unknown = [name for name in arguments.names if name not in PICTURES]
    if unknown:
        arguments.parser.error(f"no picture {', '.join(unknown)}; there are {', '.join(PICTURES)}")
    formats = arguments.formats.split(",")
    if not set(formats) <= {"png", "svg", "pdf"}:
        arguments.parser.error(f"--formats takes png, svg and pdf, separated by commas, not {arguments.formats!r}")
    folder = Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or PICTURES:
        figure = PICTURES[name](arguments.lang)
        for ending in formats:
            print(figure.save(folder / f"{name}.{ending}"), flush=True)
        print(f"    {figure.alt_text}")
    return 0
