"""Attention as one strip of matrices: forward from left to right, and every gradient right below its own matrix.

Where a cell or a query is pointed at, what it was made from is framed and written out.
"""

import math
from numbers import Integral

import numpy as np

from ..words.colours import ACCENT, GREY, NAMES
from ..words.languages import each, say
from . import captions, strip
from .drawing import reach, signed_scale, small_bar, weight_scale
from .figure import finish, styled
from .inputs import count_heads, hidden_cells, pretty, read_trace
from .matrix import draw_matrix, number, outline
from .page import open_page
from .statistics import finding
from .tokens import read_tokens

MOST_TERMS = 6


@styled
def plot_walkthrough(
    trace, *, highlight=None, mask=None, head=0, batch=0, digits=2, same_scale=False, title=None, lang="en",
    size=None, fig=None, ax=None,
):
    """Draw a traced attention: Q, Kᵀ, scores, weights, V and output, with the backward half mirrored underneath.

    Args:
        trace: a trace of scaled dot-product or multi-head attention, forward or forward and backward; or the layer.
        highlight: a query i, or a cell (i, j): what it was made from is framed and the sum written out.
        mask: boolean, True where a query may attend; hidden weights are hatched. The trace's own unless given.
        head, batch: which head and which item of the batch to show; plot_multi_head shows all heads.
        digits: decimals of the numbers in the cells.
        same_scale: one scale for Q and K, one for scores, one for V and heads and one for all gradients, instead of one
            for each matrix, whose ends stand beside its name.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width: where one row has no room, it goes on below.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.
    Raises: ValueError or TypeError that names the argument, what it should be and what came.

    Source: Vaswani et al. 2017, equation (1).

    >>> figure = plot_walkthrough(na.worked_example("by-hand").trace(), highlight=(0, 2))
    >>> figure.plain_text.splitlines()[-1]
    'product[我, AI] = 1·2 + 0·2 + 1·2 + 0·2 = 4  →  ÷ √4 = 2  →  exp(2) / (exp(0) + exp(1) + exp(2)) = 0.67'
    """
    trace = read_trace(trace)
    columns = strip.used_columns(trace)
    halves = [{column.name: strip.matrix_of(trace, prefix + column.name, column, head, batch) for column in columns}
              for prefix in ("", "d")]
    halves = [half for half in halves if any(values is not None for values in half.values())]
    (L, d_k), (S, d_v) = halves[0]["Q"].shape, halves[0]["V"].shape
    tokens = {"L": read_tokens(trace.query_tokens, L, "query_tokens", f"L = {L} queries"),
              "S": read_tokens(trace.key_tokens, S, "key_tokens", f"S = {S} keys")}
    hidden = hidden_cells(mask, (L, S), head=head, batch=batch, source=trace)
    cell = read_highlight(highlight, L, S)
    made = explain(halves[0], cell, tokens) if cell else ""
    heads = count_heads(trace)
    found = captions.each_line(
        lang, lambda one: trace.title + _which(head, heads, one) + say(one, "：", ": ")
        + finding(halves[0]["weights"], tokens["L"], tokens["S"], one, hidden))

    def formula(half, name):
        return pretty(trace["d" * half + name].formula) if halves[half][name] is not None else ""

    shapes = {"L": L, "S": S, "d_k": d_k, "d_v": d_v}
    sums = (("weights",), ("scores",))[: len(halves)]
    above = found if title is None else title
    page = open_page(lambda *room: strip.StripLayout(*room, columns, shapes, tokens, sums, formula, above, made),
                     fig=fig, ax=ax, size=size)
    layout = page.layout
    scales = _scales(columns, halves, same_scale)
    for half, matrices in enumerate(halves):
        for column in columns:
            if matrices[column.name] is not None:
                axes = _panel(page, column, matrices[column.name], trace, half, tokens, scales, digits, hidden, lang)
                for frame in frames(column, cell) if cell else ():
                    outline(axes, *frame)
        way = (say(lang, "前向 →", "forward →"), say(lang, "← 反向", "← backward"))[half]
        for line in range(layout.lines):
            first = next(name for name in layout.line if layout.line[name] == line)
            page.write(0.1, layout.top(first, half) - layout.above - 0.02, way, ha="left", color=GREY, fontsize=9)
        (_arrows if half else _operators)(page, layout, matrices)
    page.write(0.1, 0.1, layout.title, fontsize=13, ha="left", keep=True, room=layout.width - 0.2)
    page.write(0.3, layout.foot + 0.05, layout.made, ha="left", color=ACCENT)
    _bars(page, layout, scales, same_scale, len(halves) > 1, hidden is not None, lang)
    alt = each(lang, lambda one: captions.walkthrough_alt_text(trace, halves, tokens, _which(head, heads, one), one))
    return finish(page, f"{alt} {made}".strip(),
                  captions.walkthrough_plain_text(trace, title or found, columns, halves, tokens, made))


def _which(head, heads, lang):
    """Which of several heads is shown."""
    return say(lang, f"，第 {head} 个头（共 {heads} 个）", f", head {head} of {heads}") if heads > 1 else ""


def _scales(columns, halves, same):
    """The scale of each matrix: its own, or one for each role if ``same``; weights are always 0 to 1."""
    scales = {}
    for half, matrices in enumerate(halves):
        for column in columns:
            role = "gradients" if half else column.role
            group = [matrices[c.name] for c in columns if matrices[c.name] is not None and (
                c.name == column.name or (same and (half or c.role == column.role)))]
            if group:
                scales[half, column.name] = weight_scale() if role == "weights" else signed_scale(
                    *group, gradients=bool(half))
    return scales


def _panel(page, column, values, trace, half, tokens, scales, digits, hidden, lang):
    """One matrix with its name, formula and shape above it, and what its axes are."""
    layout, scale = page.layout, scales[half, column.name]
    top = layout.top(column.name, half)
    pitch = layout.pitch[column.columns] * page.scale, layout.pitch[column.rows] * page.scale
    axes = page.axes(layout.left[column.name], top, *layout.sizes[column.name])
    name, formula, shape, words = captions.headings(column, trace, half, values, lang)
    draw_matrix(axes, values, scale, pitch=pitch, digits=digits, size=page.points(8.5),
                numbers=values.size <= 200, sums=column.name in layout.sums[half],
                hidden=hidden if column.name == "weights" or (half and column.role == "scores") else None,
                rows=tokens.get(column.rows), columns=tokens.get(column.columns), words=words)
    axes.set_label("d" * half + column.name)
    middle, above = layout.middle(column.name), top - layout.label_room
    formula = layout.wrap(column.name, formula)
    folded = 0.145 * formula.count("\n")
    shape += "" if column.role == "weights" and not half else f" · {reach(scale)}"
    page.write(middle, above, shape, va="bottom", fontsize=7.5, color=GREY)
    page.write(middle, above - 0.14, formula, va="bottom", fontsize=8.5, linespacing=1.15)
    style = {"color": NAMES[column.name]} if column.name in NAMES else {}
    above = above - 0.31 - folded if page.points(8.5) else top - 0.02
    page.write(middle, above, name, va="bottom", fontsize=12.5, keep=True, **style)
    return axes


def _operators(page, layout, matrices):
    for column in layout.columns[1:]:
        y = layout.top(column.name, 0) + layout.tall(column.name) / 2
        large = len(column.before) == 1
        page.write(np.mean(layout.gap(column.name, 0)), y, column.before, va="center", fontsize=16 if large else 9,
                   color=GREY)


def _arrows(page, layout, matrices):
    """From each gradient to the ones computed from it: straight to a neighbour, around below otherwise."""
    order = [column.name for column in layout.columns if matrices[column.name] is not None]
    for name in order:
        source = strip.COMES_FROM.get(name)
        source = "scores" if source == "product" and source not in order else source
        if source not in order or layout.line[source] != layout.line[name]:
            continue
        top = layout.top(name, 1)
        if order.index(source) == order.index(name) + 1:
            y, middle = top + layout.sizes[source][1] / 2, np.mean(layout.gap(source, 1))
            page.arrow([(middle + 0.15, y), (middle - 0.15, y)])
        else:
            low = top + layout.tall(name) + 0.48 * layout.gap_below
            start, end = (top + layout.sizes[n][1] + 0.04 for n in (source, name))
            page.arrow([(layout.middle(source), start), (layout.middle(source), low),
                        (layout.middle(name), low), (layout.middle(name), end)])


def _bars(page, layout, scales, same, backward, masked, lang):
    """What the colours mean: one bar for weights, one for values, one for gradients."""
    if same:
        roles = [("Q, K", (0, "Q")), (say(lang, "分数", "scores"), (0, "scores")),
                 (say(lang, "权重", "weights"), (0, "weights")), ("V, heads", (0, "V"))]
        roles += [(say(lang, "梯度", "gradients"), (1, "heads"))] * backward
    else:
        roles = [(say(lang, "权重", "weights"), (0, "weights")),
                 (captions.title(lang, "数值，各到自己的 ±", "values, each to its own ±"), (0, "Q"))]
        roles += [(captions.title(lang, "梯度，各到自己的 ±", "gradients, each to its own ±"), (1, "heads"))] * backward
    step = min(2.4 if not same else 1.75, (layout.width - 0.6) / len(roles))
    for place, (words, which) in enumerate(roles):
        if which in scales:
            small_bar(page, 0.5 + step * place, layout.bars, 0.55 * step, scales[which], words,
                      own=not same and words != say(lang, "权重", "weights"))
    if masked:
        page.write(0.5 + step * len(roles), layout.bars, say(lang, "斜线：掩码遮住", "hatched: hidden by the mask"),
                   ha="left", fontsize=8, color=GREY, room=layout.width - 0.6 - step * len(roles))


def read_highlight(highlight, L, S):
    """``highlight`` as (i, j), where j is None for a whole query; None if there is none.

    >>> read_highlight(1, 3, 3), read_highlight((0, -1), 3, 4)
    ((1, None), (0, 3))
    """
    if highlight is None:
        return None
    given = highlight if isinstance(highlight, (tuple, list)) else (highlight,)
    if not 1 <= len(given) <= 2 or not all(
            isinstance(index, Integral) and not isinstance(index, bool) for index in given):
        raise TypeError(f"highlight must be a query i or a cell (i, j), not {highlight!r}")
    for index, size, axis in zip(given, (L, S), ("L", "S"), strict=False):
        if not -size <= index < size:
            raise ValueError(f"highlight {highlight!r} is out of range: there are {axis} = {size}")
    i, j = (*given, None)[:2]
    return i % L, None if j is None else j % S


def frames(column, cell):
    """Blocks to frame in one column of the strip: (row, column, rows, columns), None for all there are."""
    i, j = cell
    if column.rows == "L":
        # A matrix of L by S shows the cell itself, the others show the whole row of the query.
        return [(i, j, 1, 1)] if column.columns == "S" and j is not None else [(i, 0, 1, None)]
    if j is None:
        return []
    return [(0, j, None, 1)] if column.columns == "S" else [(j, 0, 1, None)]


def explain(matrices, cell, tokens):
    """The sum behind a cell, or the mixture behind a query, written out.

    >>> one = np.ones((1, 1))
    >>> matrices = {"Q": one, "K": 2 * one, "product": 2 * one, "scores": 2 * one, "weights": one}
    >>> explain(matrices, (0, 0), {"L": ["a"], "S": ["b"]})
    'product[a, b] = 1·2 = 2  →  ÷ √1 = 2  →  exp(2) / (exp(2)) = 1'
    """
    i, j = cell
    row = tokens["L"][i]
    if j is None:
        pairs = zip(matrices["weights"][i], tokens["S"], strict=True)
        return f"heads[{row}] = " + _sum(f"{number(weight)}·V[{token}]" for weight, token in pairs)
    q, k = matrices["Q"][i], matrices["K"][:, j]
    scores, weight = matrices["scores"][i], matrices["weights"][i, j]
    made = (f"product[{row}, {tokens['S'][j]}] = "
            + _sum(f"{_short(a)}·{_short(b)}" for a, b in zip(q, k, strict=True)) + f" = {_short(q @ k)}")
    # A mask, a bias or a cap takes part in a score or weight too: then only the result is stated.
    scaled = np.isclose(q @ k / math.sqrt(len(q)), scores[j])
    made += f"  →  ÷ √{len(q)} = {_short(scores[j])}" if scaled else f"  →  scores = {_short(scores[j])}"
    exponentials = np.exp(scores - scores.max())
    if np.isclose(exponentials[j] / exponentials.sum(), weight):
        row_sum = _sum(f"exp({_short(score)})" for score in scores)
        return f"{made}  →  exp({_short(scores[j])}) / ({row_sum}) = {_short(weight)}"
    return f"{made}  →  weights = {_short(weight)}"


def _sum(terms):
    terms = list(terms)
    return " + ".join(terms[:MOST_TERMS]) + " + …" * (len(terms) > MOST_TERMS)


def _short(value):
    return number(value, 0 if value == round(value) else 2) if np.isfinite(value) else number(value)
