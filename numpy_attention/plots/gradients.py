"""Weights and the gradients on both sides of the softmax, for one head."""

import numpy as np

from ..words.languages import each, say
from .captions import title as two_lines
from .drawing import signed_scale, weight_scale
from .figure import finish, styled
from .inputs import formula_of, hidden_cells, read_heads, tokens_of
from .matrix import number, outline
from .row import Panel, draw_row, row_text
from .tokens import read_both

SATURATED = 0.95


@styled
def plot_gradients(
    weights, dweights=None, dscores=None, *, query_tokens=None, key_tokens=None, mask=None, same_scale=False,
    head=0, batch=0, title=None, lang="en", size=None, fig=None, ax=None,
):
    """Draw weights, dweights and dscores of one head; the last has rows that sum to 0.

    Args:
        weights: (L, S), (H, L, S) or (N, H, L, S); or a layer or trace after backward, which holds all three.
        dweights, dscores: gradients of the same shape.
        query_tokens, key_tokens: labels of rows and columns.
        mask: boolean, True where a query may attend; the layer's own unless given.
        same_scale: both gradients on one scale, instead of each on its own.
        head, batch: which head and item of the batch.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.

    >>> figure = plot_gradients(na.worked_example("by-hand").trace())
    >>> [axes.get_label() for axes in figure.axes[:3]]
    ['weights', 'dweights', 'dscores']
    """
    names = ("weights", "dweights", "dscores")
    arrays = read_heads(weights, names, (dweights, dscores), head=head, batch=batch)
    if len({array.shape for array in arrays}) > 1:
        raise ValueError("weights, dweights and dscores must share (L, S): " + ", ".join(str(a.shape) for a in arrays))
    rows, columns = read_both(*tokens_of(weights, query_tokens, key_tokens), *arrays[0].shape)
    hidden = hidden_cells(mask, arrays[0].shape, head=head, batch=batch, source=weights)
    scales = [weight_scale(), *(signed_scale(*(arrays[1:] if same_scale else [array]), gradients=True)
                                for array in arrays[1:])]
    bars = [say(lang, "注意力权重", "attention weight"), *[say(lang, "梯度", "gradient")] * 2]
    panels = [Panel(name, array, scale, formula_of(weights, name), bar, hidden, sums=name != "dweights")
              for name, array, scale, bar in zip(names, arrays, scales, bars, strict=True)]
    full = np.argwhere(arrays[0] > SATURATED)
    note = "" if not len(full) else say(
        lang, f"加框：权重大于 {SATURATED}，softmax 饱和，几乎不传梯度",
        f"framed: weights above {SATURATED}, where the softmax is saturated and hardly passes a gradient")
    title = title or two_lines(lang, *(_finding(arrays[2], head, rows, columns, one) for one in ("zh", "en")))
    page, drawn = draw_row(panels, rows, columns, title=title, lang=lang,
                           fig=fig, ax=ax, size=size, footer=note)
    for axes in drawn[::2]:
        for i, j in full if full.size <= 200 else ():
            outline(axes, i, j)
    alt = each(lang, lambda one: _alt_text(arrays[2], len(full), head, rows, columns, one))
    return finish(page, alt, row_text(title, panels, rows, columns))


def _finding(dscores, head, rows, columns, lang):
    """Where the scores are pushed hardest."""
    if not np.any(np.nan_to_num(dscores)):
        return say(lang, f"头 {head}：没有梯度穿过 softmax", f"Head {head}: no gradient gets through the softmax")
    i, j = np.unravel_index(np.argmax(np.abs(np.nan_to_num(dscores))), dscores.shape)
    value = number(dscores[i, j])
    return say(lang, f"头 {head}：穿过 softmax 之后，{rows[i]} 看 {columns[j]} 的分数得到最大的梯度（{value}）",
               f"Head {head}: back through the softmax, the score of {rows[i]} on {columns[j]} is moved most ({value})")


def _alt_text(dscores, saturated, head, rows, columns, lang):
    """Where the largest gradient is, and how much of the softmax is saturated."""
    largest = ""
    if dscores.size:
        i, j = np.unravel_index(np.argmax(np.abs(np.nan_to_num(dscores))), dscores.shape)
        place = f"{dscores[i, j]:.3g} ({rows[i]}, {columns[j]})".replace("-", "−")
        largest = say(lang, f"最大的 dscores 是 {place}。", f" The largest dscores is {place}.")
    return say(lang, f"头 {head} 的权重与梯度。{largest}大于 {SATURATED} 的权重：{saturated} 个。",
               f"Weights and gradients of head {head}.{largest} Weights above {SATURATED}: {saturated}.")
