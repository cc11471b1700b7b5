"""Heads as lines from queries on the left to keys on the right, the stronger the more weight they carry."""

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from ..walkthrough.text import width
from . import maps, marks, statistics
from .colours import GREY, HUES
from .figure import axes_at, finish, picture
from .sources import tokens_of
from .text import decimal
from .tokens import label_rows, read_both, row_room
from .words import each, say

MOST_HEADS, ACROSS = 8, 4
WIDE = 1.5


def plot_lines(
    weights, query_tokens=None, key_tokens=None, *, heads=None, query=None, threshold=0.05, batch=0, lang="en", fig=None
):
    """Draw each head as lines between two columns of tokens: one hue a head, opacity by weight.

    Args:
        weights: (L, S), (H, L, S) or (N, H, L, S); or a layer or trace that holds them.
        query_tokens, key_tokens: labels of the left and the right column.
        heads: which heads to draw; the first eight unless given.
        query: draw the lines of this query only.
        threshold: weights below it are left out; the title says how much of the attention that is.
        batch: which item of the batch.
        lang: "en", "zh" or "both".
        fig: a Figure or SubFigure to draw into.

    Returns:
        a Figure, with ``alt_text`` and ``plain_text``.

    >>> plot_lines(np.array([[0.98, 0.02], [0.3, 0.7]]), ["我", "爱"]).plain_text.splitlines()[1:]
    ['Head 0, 1% of its attention left out', '我 → 我 0.98', '爱 → 我 0.30', '爱 → 爱 0.70']
    """
    layers = maps.read_layers(weights, batch=batch)
    if len(layers) > 1:
        raise ValueError(f"weights must be of one layer, not a list of {len(layers)}: pick one, weights[0]")
    H, L, S = layers[0].shape
    statistics.check_weights(layers[0], "weights")
    rows, columns = read_both(*tokens_of(weights, query_tokens, key_tokens), L, S)
    for name, index, size in (("query", query, L), *(("heads", head, H) for head in heads or ())):
        if index is not None and not -size <= index < size:
            raise ValueError(f"{name} {index} is out of range: there are {size}")
    chosen = list(range(min(H, MOST_HEADS))) if heads is None else [head % H for head in heads]
    asked = list(range(L)) if query is None else [query % L]
    tall = min(6.0, max(1.2, 0.3 * max(L, S)))
    left, step = 0.3 + row_room(rows), (row_room(rows) + WIDE + row_room(columns) + 0.4, tall + 0.8)
    note = say(lang, f"the darker the line, the larger the weight; weights below {threshold:g} are left out",
               f"线越深，权重越大；小于 {threshold:g} 的略去")
    size = (max(0.4 + step[0] * min(len(chosen), ACROSS), 0.4 + 0.066 * width(note)),
            1.0 + step[1] * -(-len(chosen) // ACROSS))
    figure = picture(fig, *size)
    lists = []
    for place, head in enumerate(chosen):
        x, y = left + step[0] * (place % ACROSS), 1.2 + step[1] * (place // ACROSS)
        values, hue = np.nan_to_num(layers[0][head], posinf=0), HUES[head % len(HUES)]
        pairs = [(i, j, values[i, j]) for i in asked for j in range(S) if values[i, j] >= threshold]
        _draw(axes_at(figure, size, x, y, WIDE, tall), pairs, rows, columns, hue, tall, lang)
        total = values[asked].sum()
        lost = max(0.0, 1 - sum(weight for *_, weight in pairs) / total) if total else 0.0
        name = say(lang, f"Head {head}", f"头 {head}")
        marks.write(figure, size, x + WIDE / 2, y - 0.3, name, va="bottom", fontsize=11, color=hue)
        marks.write(figure, size, x + WIDE / 2, y - 0.27, say(lang, f"{lost:.0%} left out", f"略去 {lost:.0%}"),
                  fontsize=8, color=GREY)
        head_line = name + say(lang, f", {lost:.0%} of its attention left out", f"，略去注意力的 {lost:.0%}")
        lists.append("\n".join([head_line, *(f"{rows[i]} → {columns[j]} {decimal(w)}" for i, j, w in pairs)]))
    more = say(lang, f", {len(chosen)} of {H} heads", f"，{H} 个头中的 {len(chosen)} 个") if len(chosen) < H else ""
    title = say(lang, "Who looks at whom", "谁看谁") + more
    marks.write(figure, size, 0.15, 0.1, title, ha="left", fontsize=12)
    marks.write(figure, size, 0.15, 0.36, note, ha="left", fontsize=8.5, color=GREY)
    alt = each(lang, lambda one: _alt_text(layers[0][chosen][:, asked], chosen, [rows[i] for i in asked], columns, one))
    return finish(figure, alt, "\n".join([title, *lists]))


def _alt_text(values, heads, rows, columns, lang):
    """The strongest line of each head."""
    clauses = []
    for head, weights in zip(heads, np.nan_to_num(values), strict=True):
        if weights.size:
            i, j = np.unravel_index(np.argmax(weights), weights.shape)
            line = f"{rows[i]} → {columns[j]} ({decimal(weights[i, j])})"
            clauses.append(say(lang, f"head {head}: {line}", f"头 {head}：{line}"))
    start = say(lang, "Lines from queries to keys; the strongest of each head: ", "从查询到键的连线；每个头最强的：")
    return start + "; ".join(clauses) + "."


def _draw(axes, pairs, rows, columns, hue, tall, lang):
    """Lines, with the query tokens on the left and the key tokens on the right, both spread over the height."""
    left, right = ([(place + 0.5) / len(tokens) for place in range(len(tokens))] for tokens in (rows, columns))
    colours = [(*to_rgba(hue)[:3], min(1.0, float(weight))) for *_, weight in pairs]
    segments = [((0, left[i]), (1, right[j])) for i, j, _ in pairs]
    axes.add_collection(LineCollection(segments, colors=colours, linewidths=2.2))
    other = axes.twinx()
    for side, tokens, places in ((axes, rows, left), (other, columns, right)):
        label_rows(side, tokens, tall / max(len(tokens), 1), places=places)
        side.tick_params(length=0)
        side.spines[:].set_visible(False)
        side.set_ylim(1, 0)
    axes.set(xlim=(0, 1), xticks=[])
    axes.set_ylabel(say(lang, "query", "查询"), fontsize=8, color=GREY)
    other.set_ylabel(say(lang, "key", "键"), fontsize=8, color=GREY)
