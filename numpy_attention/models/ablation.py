"""Switching heads off: what is lost without them, and is it more than without any others?

What a head found is replaced by zeros before it is mixed in. Losing something proves little by itself: any head that is
switched off disturbs the model. So as many heads of the same layers, drawn by lot, are switched off for comparison.
"""
import numpy as np

from ..engine.arguments import count, generator
from ..training.measure import head_pairs
from .apart import apart
from .edits import Edited, head_columns, read, read_edited
from .question import measured, one_text


def without_heads(model, heads):
    """A copy of the model in which these heads, (layer, head) pairs, are off; the parameters are shared.

    >>> from numpy_attention.models import without_heads
    >>> model = na.training.ToyModel(10, 8, layers=2, heads=2, causal=True, rng=0)
    >>> off = without_heads(model, [(0, 0), (1, 1)])
    >>> bool(np.allclose(off([[1, 2, 3]]), model([[1, 2, 3]])))
    False
    """
    twin, off = apart(model).eval(), {}
    for layer, head in head_pairs("heads", heads, model):
        off.setdefault(layer, []).append(head)
    for layer, gone in off.items():
        mha = twin.blocks[layer].attention
        mha.output_proj = Edited(mha.output_proj, before=_zeros([head_columns(mha, head) for head in gone]))
    return twin


def ablate(model, ids, heads, measure, *, controls=10, rng=0):
    """(measure with all heads, without these, [without as many others of the same layers, drawn `controls` times]).

    Args: ids (N, L). heads: (layer, head) pairs. measure: a function of logits (N, L, V) that gives a number.
    Raises: ValueError if there are not enough other heads to draw from.

    What it does not prove: what the heads do. Zeros are nothing a later layer has ever seen, so part of the loss may be
    confusion; and where heads stand in for each other, none is missed.

    >>> from numpy_attention.models import ablate
    >>> model = na.training.ToyModel(10, 8, layers=2, heads=4, causal=True, rng=0)
    >>> whole, without, others = ablate(model, [[1, 2, 3]], [(0, 1)], lambda logits: logits[0, -1, 4], controls=3)
    >>> len(others)
    3

    Source: Michel et al. 2019, "Are Sixteen Heads Really Better than One?", section 3.
    """
    heads, controls, rng = head_pairs("heads", heads, model), count("controls", controls), generator(rng)
    numbers = [attention.split.num_heads for attention in model.attentions()]
    others = []
    for _ in range(controls):
        drawn = []
        for layer in sorted({layer for layer, _ in heads}):
            own = [head for where, head in heads if where == layer]
            free = np.setdiff1d(np.arange(numbers[layer]), own)
            if len(free) < len(own):
                raise ValueError(f"layer {layer} has {len(free)} other heads; {len(own)} are needed to compare with")
            drawn += [(layer, int(head)) for head in rng.choice(free, len(own), replace=False)]
        others.append(drawn)
    whole, without, *compared = [float(measured(measure, read(without_heads(model, off), ids)[0], together=True))
                                 for off in ([], heads, *others)]
    return whole, without, compared


def head_effects(model, ids, measure):
    """By how much the measure falls without each head: (layers, H).

    Args: ids: one text. measure: a function of logits (n, L, V) that gives (n,).

    >>> from numpy_attention.models import head_effects
    >>> model = na.training.ToyModel(10, 8, layers=2, heads=2, causal=True, rng=0)
    >>> head_effects(model, [[1, 2, 3]], lambda logits: logits[:, -1, 4]).shape
    (2, 2)
    """
    ids, found = one_text("ids", ids), []
    whole = measured(measure, read(model, ids)[0])[0]
    for layer, mha in enumerate(model.attentions()):
        heads = range(mha.split.num_heads)

        def one_each(concat, mha=mha, heads=heads):
            for head in heads:
                concat[head, :, head_columns(mha, head)] = 0
            return concat

        found.append(whole - measured(measure, read_edited(model, np.repeat(ids, len(heads), axis=0), layer, "heads",
                                                           before=one_each)))
    return np.array(found)


def _zeros(columns):
    def switch_off(concat):
        for c in columns:
            concat[..., c] = 0
        return concat
    return switch_off
