"""Activation patching: where in the model does a fact travel?

Two texts that differ in one word, and so in their answer: "The capital of France is" and "The capital of Italy is". Let
the model read the second, but at one spot put in what it had computed for the first. If the answer flips to Paris, what
makes the difference passes through that spot. Every spot is tried: a matrix of flips.
"""
import numpy as np

from ..engine.arguments import one_of
from .edits import head_columns, read, read_edited
from .question import logit_of, measured, one_text


def logit_difference(first, second, place=-1):
    """A measure: by how much the logit of one word exceeds that of another, at one place: (N, L, V) -> (N,)."""
    return lambda logits: logit_of(logits, (first, second), place)


def patch(model, clean, corrupted, measure, *, what="rows"):
    """How far each patch moves the answer: 0 where nothing changes, 1 where it becomes that of the clean text.

    Args:
        clean, corrupted: two texts of the same length, as ids.
        measure: a function of logits (n, L, V) that gives (n,), such as logit_difference(paris, rome).
        what: "rows": the stream behind each block at each place, (layers, L). "heads": what one head found, at all
            places, (layers, H). "layers": what attention (first column) or the feed-forward layer added, (layers, 2).
    Raises: ValueError for texts of different length, or a measure that does not tell the two texts apart.

    What it does not prove: that the model needs the spot: what travels there may travel elsewhere, too. The patch shows
    that the spot is *enough*; switching off shows what is needed.

    >>> from numpy_attention.models import logit_difference, patch
    >>> model = na.training.ToyModel(10, 8, layers=2, heads=2, causal=True, rng=0)
    >>> moved = patch(model, [1, 2, 3], [1, 5, 3], logit_difference(4, 6))
    >>> moved.shape, bool(np.isclose(moved[-1, -1], 1)), bool(np.allclose(moved[:, 0], 0, atol=1e-5))
    ((2, 3), True, True)

    Source: Meng et al. 2022 (causal tracing), section 2; Wang et al. 2023, section 3.1.
    """
    clean, corrupted = one_text("clean", clean), one_text("corrupted", corrupted)
    if clean.shape != corrupted.shape:
        raise ValueError(f"clean and corrupted must have the same length, token by token; they have {clean.shape[1]} "
                         f"and {corrupted.shape[1]}")
    one_of("what", what, WHAT)
    logits, kept = read(model, clean)
    best, worst = (float(measured(measure, these)[0]) for these in (logits, read(model, corrupted)[0]))
    if best == worst:
        raise ValueError(f"the measure is {best} for both texts: it does not tell them apart")
    found = [WHAT[what](model, kept, corrupted, layer, measure) for layer in range(len(kept.blocks))]
    return (np.array(found) - worst) / (best - worst)


def _rows(model, kept, ids, layer, measure):
    """As many copies of the text as it has places; in copy p, place p is put in."""
    cache = kept.blocks[layer].cache
    before, places = cache["out" if "out" in cache else "heard"][0], np.arange(ids.shape[1])

    def put_in(out):
        out[places, places] = before
        return out

    return measured(measure, read_edited(model, np.repeat(ids, len(places), axis=0), layer, "block", after=put_in))


def _heads(model, kept, ids, layer, measure):
    """As many copies as there are heads; in copy h, the columns of head h are put in."""
    mha = kept.blocks[layer].attention
    before, heads = mha.cache["concat"][0], range(mha.split.num_heads)

    def put_in(concat):
        for head in heads:
            concat[head, :, head_columns(mha, head)] = before[:, head_columns(mha, head)]
        return concat

    return measured(measure, read_edited(model, np.repeat(ids, len(heads), axis=0), layer, "heads", before=put_in))


def _layers(model, kept, ids, layer, measure):
    """What attention added, then what the feed-forward layer added."""
    found = []
    for part in ("attention", "feed_forward"):
        inner = getattr(kept.blocks[layer], part)
        found.append(np.nan if inner is None else
                     measured(measure, read_edited(model, ids, layer, part,
                                                   after=lambda _, out=inner: out.cache["out"]))[0])
    return found


WHAT = {"rows": _rows, "heads": _heads, "layers": _layers}
