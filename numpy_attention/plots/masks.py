"""What a mask does: scores as computed, who may attend, and the weights that are left."""

import numpy as np
from matplotlib.colors import ListedColormap, Normalize

from ..layers.softmax import Softmax
from ..words.colours import ACCENT
from ..words.languages import each, say
from .captions import title as two_lines
from .drawing import signed_scale, weight_scale
from .figure import finish, styled
from .inputs import find, formula_of, hidden_cells, is_holder, mask_of, one_head, tokens_of
from .row import Panel, draw_row, row_text
from .tokens import read_both


@styled
def plot_masks(
    scores, mask=None, weights=None, *, query_tokens=None, key_tokens=None, head=0, batch=0, title=None, lang="en",
    size=None, fig=None, ax=None
):
    """Draw scores, mask and weights of one head; hidden cells are hatched, and rows that see nothing are marked.

    Args:
        scores: before the mask, (L, S), (H, L, S) or (N, H, L, S); or a layer or trace that holds them.
        mask: boolean (L, S), (N, L, S) or (N, H, L, S), True where a query may attend; the
            layer's own unless given.
        weights: after the mask; unless given, softmax of the scores over what the mask lets through.
        query_tokens, key_tokens: labels of rows and columns.
        head, batch: which head and item of the batch.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.

    >>> plot_masks(np.zeros((2, 2)), np.array([[True, False], [False, False]])).alt_text
    '2 × 2 scores under a mask that hides 3 of 4 cells. Sees no key: 1.'
    """
    values = one_head(find(scores, "scores"), "scores", head=head, batch=batch)
    if mask is None and (not is_holder(scores) or mask_of(scores, values.shape) is None):
        raise TypeError("mask must be given: a boolean array, True where a query may attend")
    hidden = hidden_cells(mask, values.shape, head=head, batch=batch, source=scores)
    if weights is None:
        left = Softmax()(values, mask=~hidden)
    else:
        left = one_head(find(weights, "weights"), "weights", head=head, batch=batch)
    if left.shape != values.shape:
        raise ValueError(f"scores and weights must share (L, S): scores are {values.shape}, weights are {left.shape}")
    rows, columns = read_both(*tokens_of(scores, query_tokens, key_tokens), *values.shape)
    seen = ListedColormap(["#9ecae1"]), Normalize(0, 1)
    panels = [
        Panel("scores", values, signed_scale(values), formula_of(scores, "scores"),
              say(lang, "分数", "scores")),
        Panel("mask", np.ones(values.shape), seen, hidden=hidden, numbers=False,
              formula=say(lang, "蓝：可以看", "blue: may attend")),
        Panel("weights", left, weight_scale(), formula_of(scores, "weights"),
              say(lang, "注意力权重", "attention weight"), hidden, sums=True),
    ]
    title = title or two_lines(lang, "被遮住的得不到权重", "What the mask hides gets no weight")
    blind = [i for i in range(len(rows)) if hidden[i].all()]
    note = say(lang, "◂ 什么键都看不到：权重全是 0，输出也是 0",
               "◂ sees no key: all its weights are 0, and so is its output") if blind else ""
    page, drawn = draw_row(panels, rows, columns, title=title, lang=lang,
                           fig=fig, ax=ax, size=size, footer=note)
    for i in blind:
        for axes, right in ((drawn[1], -0.45), (drawn[2], 0.75)):
            axes.text(values.shape[1] + right, i, "◂", color=ACCENT, fontsize=page.points(12) or 5,
                      va="center_baseline")
    count = int(hidden.sum())

    def alt(lang):
        nothing = say(lang, "、", ", ").join(rows[i] for i in blind)
        return say(lang, f"{len(rows)} × {len(columns)} 的分数，掩码遮住 {hidden.size} 格中的 {count} 格。"
                   + f"什么也看不到：{nothing}。" * bool(blind),
                   f"{len(rows)} × {len(columns)} scores under a mask that hides {count} of {hidden.size} cells."
                   + f" Sees no key: {nothing}." * bool(blind))

    return finish(page, each(lang, alt), row_text(title, panels, rows, columns))
