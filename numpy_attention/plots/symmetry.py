"""Scores need not be symmetric: what i sees in j is not what j sees in i, because Q and K are different matrices."""

import numpy as np

from ..words.languages import each, say
from .captions import title as two_lines
from .drawing import signed_scale
from .figure import finish, styled
from .inputs import find, formula_of, one_head, tokens_of
from .matrix import number
from .row import Panel, draw_row, row_text
from .tokens import read_both


@styled
def plot_symmetry(scores, tokens=None, *, head=0, batch=0, title=None, lang="en", size=None, fig=None, ax=None):
    """Draw self-attention scores, their transpose and the difference, on one scale.

    Args:
        scores: (L, L), (H, L, L) or (N, H, L, L); or a layer or trace that holds them.
        tokens: labels of rows and columns alike.
        head, batch: which head and item of the batch.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.

    >>> plot_symmetry(np.array([[1.0, 2.0], [0.0, 1.0]]), ["我", "爱"]).alt_text
    'Scores, their transpose and the difference. They part most at (我, 爱): 2.00 against 0.00.'
    """
    values = one_head(find(scores, "scores"), "scores", head=head, batch=batch)
    if values.shape[0] != values.shape[1]:
        raise ValueError(f"scores must be square (L = S) to be compared with their transpose; they are {values.shape}")
    rows, columns = read_both(*tokens_of(scores, tokens, tokens), *values.shape)
    gap = values - values.T
    scale = signed_scale(values, gap)
    panels = [
        Panel("scores", values, scale, formula_of(scores, "scores"), say(lang, "三幅共用", "all three")),
        Panel("scoresᵀ", values.T, scale,
              axes=(two_lines(lang, "键", "key") + " ↓", say(lang, "查询", "query") + " →")),
        Panel("scores − scoresᵀ", gap, scale, axes=("i ↓", "j →")),
    ]
    same = not np.any(gap)
    words = ("对称：每一对互相看到的一样", "Symmetric: each pair sees the same in one another") if same else (
        "不对称：i 看 j，j 不一定看 i", "Not symmetric: i may look at j without j looking at i")
    title = title or two_lines(lang, *words)
    page, _ = draw_row(panels, rows, columns, title=title, lang=lang, fig=fig, ax=ax, size=size)
    i, j = np.unravel_index(np.argmax(np.nan_to_num(gap)), gap.shape) if gap.size else (0, 0)

    def alt(lang):
        if same:
            return say(lang, "分数与它的转置相等。", "Scores equal their transpose.")
        pair = f"({rows[i]}, {rows[j]}): {number(values[i, j])}"
        return say(lang, f"分数、它的转置和两者之差。相差最大的是 {pair}，反过来是 {number(values[j, i])}。",
                   f"Scores, their transpose and the difference. They part most at {pair} "
                         f"against {number(values[j, i])}.")

    return finish(page, each(lang, alt), row_text(title, panels, rows, columns))
