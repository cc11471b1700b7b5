"""Weights and the gradients on both sides of the softmax, for one head."""

import numpy as np

from .colours import signed_scale, weight_scale
from .figure import finish
from .maps import hidden_cells
from .matrix import outline
from .row import Panel, draw_row, row_text
from .sources import formula_of, read_heads, tokens_of
from .tokens import read_both
from .words import each, say

SATURATED = 0.95


def plot_gradients(
    weights, dweights=None, dscores=None, *, query_tokens=None, key_tokens=None, mask=None,
    head=0, batch=0, lang="en", fig=None,
):
    """Draw weights, dweights and dscores of one head; the last has rows that sum to 0.

    Args:
        weights: (L, S), (H, L, S) or (N, H, L, S); or a layer or trace after backward, which holds all three.
        dweights, dscores: gradients of the same shape.
        query_tokens, key_tokens: labels of rows and columns.
        mask: boolean, True where a query may attend.
        head, batch: which head and item of the batch.
        lang: "en", "zh" or "both".
        fig: a Figure or SubFigure to draw into.

    Returns:
        a Figure, with ``alt_text`` and ``plain_text``.

    >>> figure = plot_gradients(na.worked_example("by-hand").trace())
    >>> [axes.get_label() for axes in figure.axes[:3]]
    ['weights', 'dweights', 'dscores']
    """
    names = ("weights", "dweights", "dscores")
    arrays = read_heads(weights, names, (dweights, dscores), head=head, batch=batch)
    if len({array.shape for array in arrays}) > 1:
        raise ValueError("weights, dweights and dscores must share (L, S): " + ", ".join(str(a.shape) for a in arrays))
    rows, columns = read_both(*tokens_of(weights, query_tokens, key_tokens), *arrays[0].shape)
    hidden = hidden_cells(mask, arrays[0].shape, head=head, batch=batch)
    scales = weight_scale(), signed_scale(arrays[1]), signed_scale(arrays[2])
    bars = [say(lang, "attention weight", "注意力权重"), *[say(lang, "gradient", "梯度")] * 2]
    panels = [Panel(name, array, scale, formula_of(weights, name), bar, hidden, sums=name != "dweights")
              for name, array, scale, bar in zip(names, arrays, scales, bars, strict=True)]
    full = np.argwhere(arrays[0] > SATURATED)
    note = say(lang, f"framed: weights above {SATURATED}, where the softmax is saturated and hardly passes a gradient",
               f"加框：权重大于 {SATURATED}，softmax 饱和，几乎不传梯度") if len(full) else ""
    title = say(lang, "Back through the softmax", "反向穿过 softmax") + f" · {say(lang, 'head', '头')} {head}"
    figure, drawn = draw_row(panels, rows, columns, title=title, lang=lang, fig=fig, footer=note)
    for axes in drawn[::2]:
        for i, j in full if full.size <= 200 else ():
            outline(axes, i, j)
    alt = each(lang, lambda one: _alt_text(arrays[2], len(full), head, rows, columns, one))
    return finish(figure, alt, row_text(title, panels, rows, columns))


def _alt_text(dscores, saturated, head, rows, columns, lang):
    """Where the largest gradient is, and how much of the softmax is saturated."""
    largest = ""
    if dscores.size:
        i, j = np.unravel_index(np.argmax(np.abs(np.nan_to_num(dscores))), dscores.shape)
        place = f"{dscores[i, j]:.3g} ({rows[i]}, {columns[j]})".replace("-", "−")
        largest = say(lang, f" The largest dscores is {place}.", f"最大的 dscores 是 {place}。")
    return say(lang, f"Weights and gradients of head {head}.{largest} Weights above {SATURATED}: {saturated}.",
               f"头 {head} 的权重与梯度。{largest}大于 {SATURATED} 的权重：{saturated} 个。")
