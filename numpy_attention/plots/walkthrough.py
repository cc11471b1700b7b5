"""Attention as one strip of matrices: forward from left to right, and every gradient right below its own matrix."""

import numpy as np

from . import strip
from .bar import small_bar
from .colours import ACCENT, GREY, signed_scale, weight_scale
from .figure import axes_at, finish, picture
from .highlight import explain, frames, read_highlight
from .maps import hidden_cells
from .marks import arrow, write
from .matrix import draw_matrix, outline
from .strip_words import alt_text, caption, headings, plain_text
from .tokens import read_tokens
from .words import each, say

TITLE, NAMES, BELOW, AROUND, BARS = 0.45, 1.0, 0.3, 0.3, 0.75


def plot_walkthrough(trace, *, highlight=None, mask=None, head=0, batch=0, digits=2, lang="en", fig=None):
    """Draw a traced attention: Q, Kᵀ, scores, weights, V and output, with the backward half mirrored underneath.

    Args:
        trace: a trace of scaled dot-product or multi-head attention, forward or forward and backward.
        highlight: a query i, or a cell (i, j): what it was made from is framed and the sum written out.
        mask: boolean, True where a query may attend; hidden weights are hatched.
        head, batch: which head and which item of the batch to show.
        digits: decimals of the numbers in the cells.
        lang: "en", "zh" or "both".
        fig: a Figure or SubFigure to draw into.

    Returns:
        a Figure, with ``alt_text`` and ``plain_text``.

    Source: Vaswani et al. 2017, equation (1).

    >>> figure = plot_walkthrough(na.worked_example("by-hand").trace(), highlight=(0, 2))
    >>> figure.plain_text.splitlines()[-1]
    'product[我, AI] = 1·2 + 0·2 + 1·2 + 0·2 = 4  →  ÷ √4 = 2  →  exp(2) / (exp(0) + exp(1) + exp(2)) = 0.67'
    """
    columns = strip.used_columns(trace)
    halves = [{column.name: strip.matrix_of(trace, prefix + column.name, column, head, batch) for column in columns}
              for prefix in ("", "d")]
    halves = [half for half in halves if any(values is not None for values in half.values())]
    (L, d_k), (S, d_v) = halves[0]["Q"].shape, halves[0]["V"].shape
    tokens = {"L": read_tokens(trace.query_tokens, L, "query_tokens", f"L = {L} queries"),
              "S": read_tokens(trace.key_tokens, S, "key_tokens", f"S = {S} keys")}
    hidden = hidden_cells(mask, (L, S), head=head, batch=batch)
    cell = read_highlight(highlight, L, S)
    made = explain(halves[0], cell, tokens) if cell else ""
    shapes = {"L": L, "S": S, "d_k": d_k, "d_v": d_v}
    layout = strip.Layout(columns, shapes, tokens, sums=(("weights",), ("scores",))[: len(halves)])
    lines = max(layout.wrap(c.name, trace["d" * half + c.name].formula).count("\n")
                for half in range(len(halves)) for c in columns if halves[half][c.name] is not None)
    above = NAMES + 0.15 * lines + layout.label_room - strip.LABELS
    step = above + layout.height + BELOW
    below = TITLE + step * len(halves) + AROUND * (len(halves) - 1)
    size = layout.width, below + 0.35 * bool(cell) + BARS
    figure = picture(fig, *size)
    scales = _scales(columns, halves)
    for half, matrices in enumerate(halves):
        top = TITLE + above + half * step
        for column in columns:
            if matrices[column.name] is not None:
                place = figure, size, layout, top
                axes = _panel(place, column, matrices[column.name], trace, half, tokens, scales, digits, hidden, lang)
                for frame in frames(column, cell) if cell else ():
                    outline(axes, *frame)
        way = (say(lang, "forward →", "前向 →"), say(lang, "← backward", "← 反向"))[half]
        write(figure, size, 0.1, top + layout.height / 2, way, rotation=90, va="center", ha="left", color=GREY)
        (_arrows if half else _operators)(figure, size, layout, top, matrices)
    title = trace.title + caption(trace, head, lang)
    write(figure, size, 0.1, 0.1, title, fontsize=13, ha="left")
    write(figure, size, layout.left["Q"], below + 0.05, made, ha="left", color=ACCENT)
    _bars(figure, size, layout.left["Q"], size[1] - BARS + 0.4, scales, lang)
    alt = each(lang, lambda one: alt_text(trace, halves, tokens, one))
    return finish(figure, f"{alt} {made}".strip(), plain_text(trace, title, columns, halves, tokens, made))


def _scales(columns, halves):
    """One scale per role; all gradients share one."""
    scales = {role: signed_scale(*(halves[0][c.name] for c in columns if c.role == role))
              for role in ("compare", "scores", "values")}
    scales["weights"] = weight_scale()
    if len(halves) > 1:
        scales["gradients"] = signed_scale(*(values for values in halves[1].values() if values is not None))
    return scales


def _panel(place, column, values, trace, half, tokens, scales, digits, hidden, lang):
    """One matrix with its name, formula and shape above it, and what its axes are below."""
    figure, size, layout, top = place
    pitch = layout.pitch[column.columns], layout.pitch[column.rows]
    axes = axes_at(figure, size, layout.left[column.name], top, *layout.sizes[column.name])
    draw_matrix(axes, values, scales["gradients" if half else column.role], pitch=pitch, digits=digits, size=8.5,
                numbers=min(pitch) >= 0.9 * strip.CELL, sums=column.name in layout.sums[half],
                hidden=hidden if column.name == "weights" or (half and column.role == "scores") else None,
                rows=tokens.get(column.rows), columns=tokens.get(column.columns))
    axes.set_label("d" * half + column.name)
    name, formula, shape, below = headings(column, trace, half, values, lang)
    formula = layout.wrap(column.name, formula)
    middle, above = layout.middle(column.name), top - layout.label_room
    write(figure, size, middle, above, shape, va="bottom", fontsize=7.5, color=GREY)
    write(figure, size, middle, above - 0.14, formula, va="bottom", fontsize=8.5, linespacing=1.15)
    write(figure, size, middle, above - 0.31 - 0.145 * formula.count("\n"), name, va="bottom", fontsize=12.5)
    axes.set_xlabel(below, fontsize=7.5, color=GREY, labelpad=3)
    return axes


def _operators(figure, size, layout, top, matrices):
    for column in layout.columns[1:]:
        y = top + layout.sizes["Q"][1] / 2
        large = len(column.before) == 1
        write(figure, size, np.mean(layout.gap(column.name, 0)), y, column.before, va="center",
              fontsize=16 if large else 9, color=GREY)


def _arrows(figure, size, layout, top, matrices):
    """From each gradient to the ones computed from it: straight to a neighbour, around below otherwise."""
    order = [column.name for column in layout.columns if matrices[column.name] is not None]
    for name in order:
        source = strip.COMES_FROM.get(name)
        source = "scores" if source == "product" and source not in order else source
        if source not in order:
            continue
        if order.index(source) == order.index(name) + 1:
            y, middle = top + layout.sizes[source][1] / 2, np.mean(layout.gap(source, 1))
            arrow(figure, size, [(middle + 0.15, y), (middle - 0.15, y)])
        else:
            low = top + layout.height + BELOW + 0.08
            start, end = (top + layout.sizes[n][1] + 0.24 for n in (source, name))
            arrow(figure, size, [(layout.middle(source), start), (layout.middle(source), low),
                                 (layout.middle(name), low), (layout.middle(name), end)])


def _bars(figure, size, left, top, scales, lang):
    names = {"compare": "Q, K", "scores": say(lang, "scores", "分数"), "weights": say(lang, "weights", "权重"),
             "values": "V, heads", "gradients": say(lang, "gradients", "梯度")}
    for place, role in enumerate(role for role in names if role in scales):
        small_bar(figure, axes_at(figure, size, left + 1.75 * place, top, 1.2, 0.11), scales[role], names[role])
