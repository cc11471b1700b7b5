"""Scores: why one is high, why what i sees in j is not what j sees in i, and what a mask does with them."""

import math

import numpy as np
from matplotlib.colors import ListedColormap, Normalize

from ..layers.softmax import Softmax
from ..words.colours import ACCENT, GREY, NAMES
from ..words.languages import each, lines, say
from .captions import title as two_lines
from .drawing import signed_scale, weight_scale
from .figure import finish, styled
from .inputs import find, formula_of, hidden_cells, is_holder, mask_of, one_head, read_heads, tokens_of
from .matrix import number, number_format
from .page import fold, open_page, title_room
from .row import Panel, draw_row, row_text
from .tokens import read_both, read_tokens

POSITIVE, NEGATIVE = "#5E3C99", "#E08214"


@styled
def plot_query_key(
    Q, K=None, *, query=0, key=0, query_tokens=None, key_tokens=None, head=0, batch=0, title=None, lang="en", size=None,
    fig=None, ax=None
):
    """Draw a query, a key, their product and its running sum, which ends in the score before and after scaling.

    Args:
        Q: (L, d_k), (H, L, d_k) or (N, H, L, d_k); or a layer or trace that holds Q and K.
        K: (S, d_k), or with the same leading axes.
        query, key: which row of Q, which row of K.
        query_tokens, key_tokens: their labels.
        head, batch: which head and item of the batch.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.

    Source: Vaswani et al. 2017, section 3.2.1.

    >>> plot_query_key(na.worked_example("by-hand").trace(), query=0, key=2).alt_text
    'Why 我 scores 2 on AI: 1·2 + 0·2 + 1·2 + 0·2 = 4, ÷ √4 = 2.'
    """
    queries, keys = read_heads(Q, ("Q", "K"), (K,), head=head, batch=batch)
    if queries.shape[1] != keys.shape[1]:
        raise ValueError(f"Q and K must share the width d_k (last axis): Q is {queries.shape}, K is {keys.shape}")
    if not queries.shape[1]:
        raise ValueError(f"d_k must be at least 1: Q is {queries.shape}")
    for name, index, count in (("query", query, len(queries)), ("key", key, len(keys))):
        if not -count <= index < count:
            raise ValueError(f"{name}={index} is out of range: there are {count}")
    L, S, given = len(queries), len(keys), tokens_of(Q, query_tokens, key_tokens)
    asks = read_tokens(given[0], L, "query_tokens", f"L = {L} queries")[query]
    finds = read_tokens(given[1], S, "key_tokens", f"S = {S} keys")[key]
    q, k = queries[query], keys[key]
    product, d_k = q * k, len(q)
    total, score = product.sum(), product.sum() / math.sqrt(d_k)
    write = number_format(np.array([total, score]))
    finding = two_lines(lang, f"为什么 {asks} 对 {finds} 的分数是 {write(score)}",
                        f"Why {asks} scores {write(score)} on {finds}")
    wide = max(6.0, min(12.0, 1.4 + 0.55 * d_k + 2.6))
    headline = fold(finding if title is None else title, wide - 0.3, 12)
    down = title_room(headline)
    page = open_page((wide, 5.3 + down), fig=fig, ax=ax, size=size)
    page.write(0.15, 0.08, headline, ha="left", fontsize=12, keep=True, room=wide - 0.3)
    wide -= 1.5 + 2.3
    both = signed_scale(q, k)[1].vmax
    rows = ((f"q[{asks}]", q, both), (f"× k[{finds}]", k, both),
            ("= q ∘ k", product, signed_scale(product)[1].vmax))
    for place, (name, values, limit) in enumerate(rows):
        axes = page.axes(1.5, 0.44 + down + 1.1 * place, wide, 0.85)
        _bars(page, axes, values, limit)
        page.write(1.42, 0.44 + down + 1.1 * place + 0.42, name, ha="right", va="center", fontsize=12,
                   color=(NAMES["Q"], NAMES["K"], GREY)[place])
    axes = page.axes(1.5, 3.74 + down, wide, 0.95)
    _running(axes, product)
    page.write(1.42, 4.21 + down, "\n".join(lines(lang, "累加", "sum so far")), ha="right", va="center", fontsize=10,
               color=GREY)
    ending = f"Σ = {write(total)}\n÷ √{d_k} = {write(score)}"
    page.write(1.6 + wide, 4.21 + down, ending, va="center", ha="left", fontsize=13, color=ACCENT)
    note = say(lang, "一个头的 d_k 个数，从左到右", "the d_k numbers of one head, from left to right")
    page.write(1.5 + wide / 2, 4.99 + down, note, fontsize=8.5, color=GREY)
    write_q, write_k = number_format(q), number_format(k)
    terms = [f"{write_q(a)}·{write_k(b)}" for a, b in zip(q, k, strict=True)]
    made = " + ".join(terms[:6]) + " + …" * (d_k > 6) + f" = {write(total)}, ÷ √{d_k} = {write(score)}."
    alt = each(lang, lambda one: say(one, f"为什么 {asks} 对 {finds} 的分数是 {write(score)}：{made}",
                                     f"Why {asks} scores {write(score)} on {finds}: {made}"))
    numbers = zip(q, k, product, np.cumsum(product), strict=True)
    numbers_text = ["     q      k    q∘k      Σ", *(" ".join(f"{number(x):>6}" for x in row) for row in numbers)]
    return finish(page, alt, "\n".join([title or finding, *numbers_text, f"÷ √{d_k} = {write(score)}"]))


def _bars(page, axes, values, limit):
    heights = np.nan_to_num(values, posinf=0, neginf=0)
    axes.bar(range(len(values)), heights, color=[POSITIVE if h >= 0 else NEGATIVE for h in heights], width=0.7)
    axes.axhline(0, color=GREY, linewidth=0.8)
    low = -1.35 if min(heights) < 0 else -0.03
    axes.set(xlim=(-0.6, len(values) - 0.4), ylim=(low * limit, 1.35 * limit), xticks=[], yticks=[])
    write = number_format(values)
    for place, value in enumerate(values if len(values) <= 16 and page.points(9) else ()):
        up = heights[place] >= 0
        axes.annotate(write(value), (place, heights[place]), (0, 2 if up else -2), textcoords="offset points",
                      ha="center", va="bottom" if up else "top", fontsize=page.points(9))
    axes.spines[:].set_visible(False)


def _running(axes, product):
    """The sum so far after each number, as stairs."""
    sums = np.nan_to_num(np.cumsum(product), posinf=0, neginf=0)
    edges, levels = np.arange(len(product) + 1) - 0.5, np.r_[sums, sums[-1]]
    axes.fill_between(edges, levels, step="post", color=ACCENT, alpha=0.25, linewidth=0)
    axes.step(np.r_[edges[0], edges], np.r_[0, levels], where="post", color=ACCENT)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.set(xlim=(-0.6, len(sums) - 0.4), xticks=[], yticks=[])
    axes.margins(y=0.1)
    axes.spines[:].set_visible(False)


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
    finding = two_lines(lang, *words)
    page, _ = draw_row(panels, rows, columns, title=finding if title is None else title, lang=lang,
                       fig=fig, ax=ax, size=size)
    i, j = np.unravel_index(np.argmax(np.nan_to_num(gap)), gap.shape) if gap.size else (0, 0)

    def alt(lang):
        if same:
            return say(lang, "分数与它的转置相等。", "Scores equal their transpose.")
        pair = f"({rows[i]}, {rows[j]}): {number(values[i, j])}"
        return say(lang, f"分数、它的转置和两者之差。相差最大的是 {pair}，反过来是 {number(values[j, i])}。",
                   f"Scores, their transpose and the difference. They part most at {pair} "
                         f"against {number(values[j, i])}.")

    return finish(page, each(lang, alt), row_text(title or finding, panels, rows, columns))


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
    finding = two_lines(lang, "被遮住的得不到权重", "What the mask hides gets no weight")
    blind = [i for i in range(len(rows)) if hidden[i].all()]
    note = say(lang, "◂ 什么键都看不到：权重全是 0，输出也是 0",
               "◂ sees no key: all its weights are 0, and so is its output") if blind else ""
    page, drawn = draw_row(panels, rows, columns, title=finding if title is None else title, lang=lang,
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

    return finish(page, each(lang, alt), row_text(title or finding, panels, rows, columns))
