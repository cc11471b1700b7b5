"""All heads of one or more layers in one grid, on one scale."""

import math
import re
from functools import partial

from matplotlib.cm import ScalarMappable

from ..words.colours import GREY
from ..words.languages import each, say
from . import captions, statistics
from .drawing import small_bar, uniform_scale, weight_bar, weight_scale
from .figure import finish, styled
from .inputs import read_maps, tokens_of
from .matrix import draw_matrix
from .page import check_place, cut, fold, inches, open_page, title_room
from .tokens import column_room, read_both, row_room

LEAST_PANEL, MOST_PANEL, MOST_ACROSS = 0.5, 3.6, 24
STRETCH = 8     # a map that is longer than this many times its width has cells that are not square


@styled
def plot_heads(
    weights, query_tokens=None, key_tokens=None, *, mask=None, batch=0, averaged=False, layers=None, heads=None,
    scale="weight", vmax=None, norm=None, cmap=None, numbers=None, bar=None, title=None, lang="en",
    size=None, fig=None, ax=None,
):
    """Draw the attention weights of every head: rows are queries, columns are keys, one colour scale from 0 to 1.

    Args:
        weights: (L, S), (H, L, S) or (N, H, L, S); or a list of these, one per layer, which gives a row of panels
            to each layer; or an attention layer, an encoder, decoder or model after its forward, or a trace.
        query_tokens, key_tokens: labels of rows and columns; one list serves both when L equals S.
        mask: boolean, True where a query may attend; hidden cells are hatched. The layer's own mask unless given.
        batch: which item of the batch to draw.
        averaged: the heads were averaged before: arrays of rank 3 are (N, L, S).
        layers, heads: which ones to draw, a number or a list; all unless given.
        scale: "weight", 0 to 1; or "uniform", on which soft heads show: weight × visible keys, logarithmic, white
            where a query has no preference.
        vmax, norm, cmap: another end of the scale of weights, another norm, another colour map ("Blues" for paper).
        numbers: write weights into the cells; by default where there is room.
        bar: draw the colour bar; by default yes, but not beside a single map in ``ax``.
        title: replaces the finding on top; the remarks below it stay.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.
    Raises: ValueError or TypeError that names the argument, what it should be and what came.

    Source: the patterns in the titles are those of Clark et al. 2019 and Olsson et al. 2022.

    >>> plot_heads(np.full((2, 4, 4), 0.25), list("abcd")).axes[1].get_title()
    'Head 1 · all tokens alike 1.00\\nentropy 1.39 of 1.39 nats · max 0.25'
    """
    check_place(fig, ax, size)
    uniform = scale == "uniform"
    colours = uniform_scale(cmap) if uniform else weight_scale(cmap, vmax=vmax, norm=norm)
    maps = read_maps(weights, mask=mask, batch=batch, averaged=averaged, layers=layers, heads=heads)
    for layer in maps:
        statistics.check_weights(layer.values, "weights")
    if not any(len(layer.values) for layer in maps):
        raise ValueError("weights has no heads: its axis H is 0")
    query_tokens, key_tokens = tokens_of(weights, query_tokens, key_tokens)
    labels = [read_both(query_tokens, key_tokens, *layer.values.shape[1:]) for layer in maps]
    patterns = [[statistics.pattern(values, None if layer.hidden is None else layer.hidden[head], rows)
                 for head, values in enumerate(layer.values)]
                for layer, (rows, _) in zip(maps, labels, strict=True)]
    finding = captions.what_heads_do(maps, patterns, labels, lang)
    above = finding if title is None else title
    single = ax is not None and sum(map(len, patterns)) == 1
    if single:
        pooled = _alone(ax, maps[0], labels[0], colours, uniform, numbers, bar, above, lang)
        page = ax.figure
    else:
        page, pooled = _grid(maps, labels, patterns, colours, uniform, numbers, bar is not False, lang,
                             above, lambda pooled: captions.subline(
                                 maps, batch, averaged, pooled, uniform, lang), averaged, fig, ax, size)
    alt = each(lang, lambda one: captions.heads_alt_text(
        maps, patterns, labels, title or captions.what_heads_do(maps, patterns, labels, one),
        captions.subline(maps, batch, averaged, pooled, uniform, one), one))
    text = captions.heads_plain_text(maps, patterns, labels, title or finding, averaged, lang)
    return finish(OneMap(ax) if single else page, alt, text)


class OneMap:
    """Axes of the caller's as what is finished."""

    def __init__(self, ax):
        self.owner, self.figure, self.root = ax, ax.figure, ax.figure


def _alone(ax, layer, labels, colours, uniform, numbers, bar, title, lang):
    """One map in axes of the caller's."""
    values, hidden = layer.values[0], None if layer.hidden is None else layer.hidden[0]
    (L, S), room = values.shape, inches(ax)
    cell = min(room[0] / max(S, 1), room[1] / max(L, 1))
    size = max(5.0, min(9.0, 1.4 + 2.6 * min(room)))
    image = draw_matrix(ax, statistics.times_uniform(values, hidden) if uniform else values, colours, pitch=cell,
                        hidden=hidden, numbers=numbers if numbers is not None else values.size <= 64, size=size,
                        rows=labels[0], columns=labels[1], words=(captions.query_axis(lang), captions.key_axis(lang)))
    if values.size:
        ax.set_aspect("equal" if max(L, S) <= STRETCH * min(L, S) else "auto")
    ax.set_title(cut(title, room[0] + 0.3, size + 1), fontsize=size + 1)
    if bar:
        made = ax.figure.colorbar(ScalarMappable(colours[1], colours[0]), ax=ax)
        made.ax.tick_params(labelsize=size)
    return image.pooled


def _grid(maps, labels, patterns, colours, uniform, numbers, bar, lang, title, remarks, averaged, fig, ax, size):
    """All panels on a page. Returns the page and how many cells one dot stands for."""
    page = open_page(lambda *room: Grid(*room, maps, labels, bar, title, remarks, lang), fig=fig, ax=ax, size=size)
    grid, pooled = page.layout, (1, 1)
    for line, column, index, place in grid.panels:
        layer, (rows, columns) = maps[index], labels[index]
        wide, high = grid.panel(layer)
        left, top = grid.corner(line, column)
        axes = page.axes(left, top, wide, high)
        values = layer.values[place]
        hidden = None if layer.hidden is None else layer.hidden[place]
        L, S = values.shape
        pitch = wide * page.scale / max(S, 1), high * page.scale / max(L, 1)
        first = column == 0
        room = numbers if numbers is not None else values.size <= 64 and min(pitch) >= 0.2
        shown = statistics.times_uniform(values, hidden) if uniform and values.size else values
        image = draw_matrix(
            axes, shown, colours, pitch=pitch, hidden=hidden, numbers=room, size=page.points(grid.type),
            rows=rows if first and grid.labelled else None, columns=columns if line == 0 and grid.labelled else None,
            words=(captions.query_axis(lang) if first and line == 0 else "",
                   captions.key_axis(lang) if first and line == 0 else ""))
        pooled = max(pooled, image.pooled)
        head, mean = layer.heads[place], averaged and len(layer.heads) == 1
        text = captions.panel_title(partial(captions.panel_name, head, mean), values, hidden,
                                    wide + 0.8 * grid.gap, lang, patterns[index][place], columns)
        title_size = page.points(8.5 if wide > 1.1 else 7) or (5.5 if wide * page.scale > 0.3 else 0)
        if page.points(7) == 0:
            text = str(head)
        if title_size:
            above = (grid.label_room if line == 0 else 0) + 0.05
            axes.set_title(text, fontsize=title_size, y=1 + above / high, pad=0,
                           linespacing=1.15)
        axes.set_label(f"{index}.{head}")
        if first and len(maps) > 1 and place == 0:
            page.write(0.28, top + high / 2, layer_label(layer, maps, lang), rotation=90, va="center", fontsize=8.5)
    if bar and grid.bar_below:
        label = say(lang, "权重 × 可见的键数", "weight × visible keys") if uniform else say(
            lang, "注意力权重", "attention weight")
        small_bar(page, grid.left, grid.size[1] - 0.42, min(1.8, grid.width * 1.5), colours, label)
    elif bar:
        tall = min(2.6, grid.size[1] - grid.top - 0.3)
        weight_bar(page, grid.size[0] - (1.0 if uniform else 0.85), grid.top, tall, colours,
                   len(labels[0][1]), lang, uniform=uniform)
    page.write(0.15, 0.1, grid.title, ha="left", fontsize=11, room=grid.size[0] - 0.3, keep=True, linespacing=1.2)
    page.write(0.15, 0.12 + title_room(grid.title), fold(remarks(pooled), grid.size[0] - 0.3, 8, 3), ha="left",
               fontsize=8, color=GREY, linespacing=1.2)
    return page, pooled


def layer_label(layer, maps, lang):
    """"layer 0", or "layer 0 cross" where a layer has several attentions."""
    number = re.search(r"\d+", layer.path)
    kinds = {one.path.rpartition(".")[2] for one in maps}
    kind = f" {layer.path.rpartition('.')[2].removesuffix('_attn')}" if len(kinds) > 1 and number else ""
    number = number.group() if number else layer.number
    return say(lang, f"层 {number}{kind}", f"layer {number}{kind}")


def across(count):
    """Panels per line for one layer: wide panels for few heads, thumbnails for many."""
    if count <= 8:
        return {5: 3, 6: 3, 7: 4, 8: 4}.get(count, count)
    if count <= 64:
        return 6 if count % 6 == 0 and count % 8 else 8
    return math.ceil(math.sqrt(1.6 * count))


class Grid:
    """Where the panels go on a page of ``room`` design inches across and ``tall`` inches down (None: any).

    ``panels`` lists (line, column, which of the maps, which of its heads).
    """

    def __init__(self, room, tall, scale, maps, labels, bar, title, remarks, lang):
        self.counts, self.maps, both = [len(layer.heads) for layer in maps], maps, captions.in_both(lang)
        layered = len(maps) > 1
        most = min(max(self.counts), MOST_ACROSS) if layered else across(self.counts[0])
        # On a narrow page the bar lies below.
        self.bar_below = bar and room < 6.5
        side, below = (1.35, 0.25) if bar and not self.bar_below else (0.3, 0.25 + 0.6 * self.bar_below)
        words = 0.46 + 0.2 * both
        named = max(words, *(row_room(rows) for rows, _ in labels)) + 0.1
        self.title = fold(title, room - 0.4, 11)
        # How many cells one dot will stand for is known when the panels are drawn: room for the longest remark.
        longest = max(max(layer.values.shape[1:]) for layer in maps)
        noted = fold(remarks((1, 1) if longest <= 100 else (99, 99)), min(room, 5.0) - 0.3, 8, 3).count("\n")
        self.head = 0.36 + title_room(self.title) + 0.155 * noted
        L, S = max((layer.values.shape[1:] for layer in maps), key=lambda shape: shape[0] / max(shape[1], 1))
        best, self.columns, self.gap = 0, 1, 0.45
        for columns in range(most, 0, -1):
            gap = 0.45 if columns <= 4 else 0.16 if columns <= 12 else 0.09
            wide = min((room - named - 0.4 * layered - side) / columns - gap, MOST_PANEL)
            lines = sum(-(-count // columns) for count in self.counts)
            if tall is not None:
                high = (tall - self.head - 0.5 - below) / lines - 0.5
                wide = min(wide, high * self._size(L, S, 1.0)[0] / self._size(L, S, 1.0)[1])
            if wide > best * 1.2:
                best, self.columns, self.gap = wide, columns, gap
            # Where any height will do, the first number of columns whose panels can be read is taken.
            if tall is None and best >= (1.2 if columns <= 4 else LEAST_PANEL):
                break
        self.width = max(0.8 if self.columns <= 4 else LEAST_PANEL, best)
        self.labelled = self.width >= 1.15
        self.left = (named if self.labelled else words + 0.1) + 0.4 * layered
        self.type = 9 if self.width > 2 else 7.5
        self.high = self._size(L, S, self.width)[1]
        longest = max(layer.values.shape[2] for layer in maps)
        top_labels = max(column_room(names, self.width / max(longest, 1), size=self.type) for _, names in labels)
        self.label_room = (top_labels if self.labelled else 0.03) + 0.16
        self.titles = (0.34 if self.width >= 0.9 else 0.26) + 0.15 * both
        self.step = self.width + self.gap, self.high + self.titles + 0.12
        self.top = self.head + self.titles + self.label_room
        self.panels, line = [], 0
        for index, count in enumerate(self.counts):
            self.panels += [(line + place // self.columns, place % self.columns, index, place)
                            for place in range(count)]
            line += -(-count // self.columns)
        used = max(column for _, column, *_ in self.panels) + 1
        wide = max(self.left + used * self.step[0] - self.gap + side, min(room, 5.0))
        folded = title_room(fold(title, wide - 0.3, 11)) - title_room(self.title)     # fewer panels, narrower title
        self.title, self.head, self.top = fold(title, wide - 0.3, 11), self.head + folded, self.top + folded
        self.size = wide, self.top + (line - 1) * self.step[1] + self.high + below

    @staticmethod
    def _size(L, S, width):
        """Width and height of a map: square cells, unless it is very long."""
        if not L or not S:
            return width, width * 0.3
        if max(L, S) > STRETCH * min(L, S):
            return (width, width / STRETCH) if S > L else (width / 4, width * 1.4)
        cell = min(width / S, 1.5 * width / L)
        return cell * S, cell * L

    def panel(self, layer):
        return self._size(*layer.values.shape[1:], self.width)

    def corner(self, line, column):
        return self.left + column * self.step[0], self.top + line * self.step[1]
