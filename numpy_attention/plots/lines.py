"""Heads as lines from queries on the left to keys on the right, the stronger the more weight they carry."""

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba

from ..words.colours import GREY, HUES
from ..words.languages import each, say
from . import captions, statistics
from .figure import finish, styled
from .inputs import read_maps, tokens_of
from .matrix import number
from .page import fold, foreground, open_page, title_room
from .tokens import label_rows, read_both, row_room

ACROSS = 4
WIDE = 1.5
EIGHT = 8
# Heads of one hue are told apart by the style of their lines.
STYLES = ("-", (0, (4, 1.5)), (0, (1.2, 1.2)))


@styled
def plot_lines(
    weights, query_tokens=None, key_tokens=None, *, layer=None, heads=None, query=None, threshold=0.05, mask=None,
    batch=0, title=None, lang="en", size=None, fig=None, ax=None,
):
    """Draw each head as lines between two columns of tokens: one hue a head, width and opacity by weight.

    Args:
        weights: (L, S), (H, L, S) or (N, H, L, S); or an attention layer, a model or a trace that holds them.
        query_tokens, key_tokens: labels of the left and the right column.
        layer: which layer of a model; it must be named where there are several.
        heads: which heads to draw; the first eight unless given.
        query: draw the lines of this query only.
        threshold: weights below it are left out; each head says how much of its attention that is.
        mask: boolean, True where a query may attend; the layer's own unless given.
        batch: which item of the batch.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.

    >>> plot_lines(np.array([[0.98, 0.02], [0.3, 0.7]]), ["我", "爱"]).plain_text.splitlines()[1:]
    ['Head 0, 1% of its attention left out', '我 → 我 0.98', '爱 → 我 0.30', '爱 → 爱 0.70']
    """
    maps = read_maps(weights, mask=mask, batch=batch, layers=layer)
    if len(maps) > 1:
        raise ValueError(f"weights must be of one layer, not a list of {len(maps)}: pick one, layer=0")
    everything, H = maps[0].values, len(maps[0].values)
    (_, L, S), hidden = everything.shape, maps[0].hidden
    statistics.check_weights(everything, "weights")
    rows, columns = read_both(*tokens_of(weights, query_tokens, key_tokens), L, S)
    for name, index, count in (("query", query, L), *(("heads", head, H) for head in heads or ())):
        if index is not None and not -count <= index < count:
            raise ValueError(f"{name} {index} is out of range: there are {count}")
    chosen = list(range(min(H, EIGHT))) if heads is None else [head % H for head in heads]
    asked = list(range(L)) if query is None else [query % L]
    patterns = [statistics.pattern(everything[head], None if hidden is None else hidden[head], rows) for head in chosen]
    note = captions.title(lang, f"线越深，权重越大；小于 {threshold:g} 的略去",
                          f"the darker the line, the larger the weight; weights below {threshold:g} are left out")
    kept = maps[0]
    kept.values, kept.heads, kept.hidden = everything[chosen], chosen, None if hidden is None else hidden[chosen]
    found = captions.what_heads_do([kept], [patterns], [(rows, columns)], lang)
    if len(chosen) < H:
        more = captions.title(lang, f"（画了 {H} 个头中的 {len(chosen)} 个）", f" ({len(chosen)} of {H} heads drawn)")
        found = "\n".join(map("".join, zip(found.split("\n"), more.split("\n"), strict=True)))
    above = found if title is None else title
    page = open_page(lambda *room: LinesLayout(*room, len(chosen), rows, columns, note, above), fig=fig, ax=ax,
                     size=size)
    layout, lists = page.layout, []
    for place, (head, what) in enumerate(zip(chosen, patterns, strict=True)):
        x, y = layout.corner(place)
        values, hue = np.nan_to_num(everything[head], posinf=0), HUES[head % len(HUES)]
        hue = foreground() if hue == "#000000" else hue
        pairs = [(i, j, values[i, j]) for i in asked for j in range(S) if values[i, j] >= threshold]
        _draw(page, page.axes(x, y, WIDE, layout.tall), pairs, rows, columns, hue, STYLES[head // len(HUES) % 3],
              layout.tall, lang)
        total = values[asked].sum()
        lost = max(0.0, 1 - sum(weight for *_, weight in pairs) / total) if total else 0.0
        name = say(lang, f"头 {head}", f"Head {head}")
        page.write(x + WIDE / 2, y - 0.44, name, va="bottom", fontsize=11, color=hue, keep=True)
        page.write(x + WIDE / 2, y - 0.29, captions.pattern_words(what, columns, lang), va="bottom", fontsize=8,
                   room=layout.step[0])
        page.write(x + WIDE / 2, y - 0.27, say(lang, f"略去 {lost:.0%}", f"{lost:.0%} left out"), fontsize=8,
                   color=GREY, room=layout.step[0])
        head_line = name + say(lang, f"，略去注意力的 {lost:.0%}", f", {lost:.0%} of its attention left out")
        lists.append("\n".join([head_line, *(f"{rows[i]} → {columns[j]} {number(w)}" for i, j, w in pairs)]))
    page.write(0.15, 0.1, layout.title, ha="left", fontsize=12, keep=True, room=layout.size[0] - 0.3)
    page.write(0.15, layout.note_at, layout.note, ha="left", fontsize=8.5, color=GREY, linespacing=1.15)
    seen = everything[chosen][:, asked]
    alt = each(lang, lambda one: _alt_text(seen, chosen, [rows[i] for i in asked], columns, one))
    return finish(page, alt, "\n".join([title or found, *lists]))


class LinesLayout:
    """Where the heads go: as many side by side as there is room for."""

    def __init__(self, room, most, scale, count, rows, columns, note, title):
        self.tall = min(6.0, max(1.2, 0.3 * max(len(rows), len(columns))))
        left = max(0.5, row_room(rows))
        self.step = left + WIDE + max(0.4, row_room(columns)) + 0.35, self.tall + 1.05
        self.left = 0.2 + left
        across = max(1, min(count, ACROSS if most is None else 99, int((room - 0.3) / self.step[0])))
        if most is not None:
            self.tall = max(0.4, min(self.tall, (most - 1.2) / -(-count // across) - 1.05))
            self.step = self.step[0], self.tall + 1.05
        self.across = across
        wide = max(0.3 + self.step[0] * across, min(room, 5.5))
        self.title, self.note = fold(title, wide - 0.3, 12), fold(note, wide - 0.3, 8.5)
        self.note_at = 0.12 + title_room(self.title)
        self.head = self.note_at + 0.17 * (self.note.count("\n") + 1) + 0.65
        self.size = wide, self.head + self.step[1] * -(-count // across) - 0.75

    def corner(self, place):
        return self.left + self.step[0] * (place % self.across), self.head + self.step[1] * (place // self.across)


def _alt_text(values, heads, rows, columns, lang):
    """The strongest line of each head."""
    clauses = []
    for head, weights in zip(heads, np.nan_to_num(values), strict=True):
        if weights.size:
            i, j = np.unravel_index(np.argmax(weights), weights.shape)
            clauses.append(say(lang, f"头 {head}：{rows[i]} → {columns[j]}（{number(weights[i, j])}）",
                               f"head {head}: {rows[i]} → {columns[j]} ({number(weights[i, j])})"))
    start = say(lang, "从查询到键的连线；每个头最强的：", "Lines from queries to keys; the strongest of each head: ")
    return start + say(lang, "；", "; ").join(clauses) + say(lang, "。", ".")


def _draw(page, axes, pairs, rows, columns, hue, style, tall, lang):
    """Lines, with the query tokens on the left and the key tokens on the right, both spread over the height."""
    left, right = ([(place + 0.5) / len(tokens) for place in range(len(tokens))] for tokens in (rows, columns))
    colours = [(*to_rgba(hue)[:3], min(1.0, float(weight))) for *_, weight in pairs]
    segments = [((0, left[i]), (1, right[j])) for i, j, _ in pairs]
    # A hue's own brightness must not change how strong a weight looks, so the width says it too.
    widths = [(0.6 + 2.2 * min(1.0, float(weight))) * min(1, page.scale) for *_, weight in pairs]
    axes.add_collection(LineCollection(segments, colors=colours, linewidths=widths, linestyles=[style] * len(pairs)))
    size = page.points(9)
    axes.set(xlim=(0, 1), ylim=(1, 0), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    if size:
        label_rows(axes, rows, tall * page.scale / max(len(rows), 1), places=left, size=size)
        other = axes.secondary_yaxis("right")
        label_rows(other, columns, tall * page.scale / max(len(columns), 1), places=right, size=size)
        other.tick_params(length=0, left=False, right=False, labelleft=False, labelright=True)
        other.spines[:].set_visible(False)
        axes.tick_params(length=0)
    for x, side, words in ((-0.02, "right", captions.query_axis(lang)), (1.02, "left", captions.key_axis(lang).replace(
            "→", "↓").replace(" key", "\nkey"))):
        if page.points(8):
            axes.text(x, 1.01, words, transform=axes.transAxes, ha=side, va="bottom", fontsize=page.points(8),
                      color=GREY, linespacing=1.0)
