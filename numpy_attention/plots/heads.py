"""All heads of one or more layers in one grid, on one scale."""

import math

from matplotlib import colormaps

from ..walkthrough.text import width
from . import maps, statistics
from .bar import weight_bar
from .captions import alt_text, headline, key, panel_name, panel_title, plain_text
from .colours import GREY, weight_scale
from .figure import axes_at, finish, picture
from .matrix import draw_matrix
from .sources import tokens_of
from .tokens import read_both
from .words import each, key_axis, query_axis, say

PAGE = 13.0


def plot_heads(
    weights, query_tokens=None, key_tokens=None, *, mask=None, batch=0, averaged=False,
    numbers=None, cmap="cividis", title=None, lang="en", fig=None,
):
    """Draw the attention weights of every head: rows are queries, columns are keys, one colour scale from 0 to 1.

    Args:
        weights: (L, S), (H, L, S) or (N, H, L, S); or a list of these, one per layer, which gives a row of panels
            to each layer; or a layer or trace that holds ``weights``.
        query_tokens, key_tokens: labels of rows and columns; one list serves both when L equals S.
        mask: boolean, True where a query may attend; hidden cells are hatched.
        batch: which item of the batch to draw.
        averaged: the heads were averaged before: arrays of rank 3 are (N, L, S).
        numbers: write weights into the cells; by default where there is room.
        cmap: colour map, "cividis" or, for paper, "Blues".
        title: replaces the line on top.
        lang: "en", "zh" or "both".
        fig: a Figure or SubFigure to draw into.

    Returns:
        a Figure, with ``alt_text`` and ``plain_text``.

    >>> plot_heads(np.full((2, 4, 4), 0.25), list("abcd")).axes[1].get_title()
    'Head 1 · entropy 1.39/1.39 nats · max 0.25'
    """
    layers = maps.read_layers(weights, batch=batch, averaged=averaged)
    for layer in layers:
        statistics.check_weights(layer, "weights")
    if not any(len(layer) for layer in layers):
        raise ValueError("weights has no heads: its axis H is 0")
    query_tokens, key_tokens = tokens_of(weights, query_tokens, key_tokens)
    labels = [read_both(query_tokens, key_tokens, *layer.shape[1:]) for layer in layers]
    hidden = [maps.read_hidden(mask, layer.shape, batch=batch) for layer in layers]
    panels = [(r, h) for r, layer in enumerate(layers) for h in range(len(layer))]

    columns = _columns(len(panels)) if len(layers) == 1 else max(map(len, layers))
    lines = math.ceil(len(panels) / columns) if len(layers) == 1 else len(layers)
    L, S = layers[0].shape[1:]
    page = _Page(columns, lines, L, S, labels[0][0], layered=len(layers) > 1)
    figure = picture(fig, *page.size)
    scale = colormaps[cmap], weight_scale()[1]
    for number, (layer, head) in enumerate(panels):
        row, column = divmod(number, columns) if len(layers) == 1 else (layer, head)
        axes = axes_at(figure, page.size, *page.corner(row, column), page.width, page.height)
        values, lost = layers[layer][head], None if hidden[layer] is None else hidden[layer][head]
        below = number + columns < len(panels) if len(layers) == 1 else layer + 1 < len(layers)
        _panel(axes, values, lost, scale, labels[layer], page, column == 0, not below, numbers, lang)
        name = panel_name(head, averaged and len(layers[layer]) == 1, lang)
        text, size = panel_title(name, values, lost, page.width, lang)
        axes.set_title(text, fontsize=size, pad=4)
        if column == 0 and len(layers) > 1:
            axes.text(-page.left / page.width, 0.5, say(lang, f"layer {layer}", f"层 {layer}"), rotation=90,
                      transform=axes.transAxes, ha="left", va="center", fontsize=9)
    top, tall = page.corner(0, 0)[1], min(2.6, lines * page.step[1] - page.step[1] + page.height)
    weight_bar(figure, axes_at(figure, page.size, page.size[0] - 0.85, top, 0.14, tall), scale, S, lang)
    title = title or headline(layers, batch, weights, averaged, lang)
    for text, down, size, colour in ((title, 0.12, 11, None), (key(page.width, S, lang), 0.36, 8, GREY)):
        figure.text(0.15 / page.size[0], 1 - down / page.size[1], text, va="top", fontsize=size, color=colour)
    alt = each(lang, lambda one: alt_text(layers, labels, headline(layers, batch, weights, averaged, one), one))
    return finish(figure, alt, plain_text(layers, labels, hidden, title, averaged, lang))


def _columns(count):
    """Panels per line for one layer: wide panels for few heads, thumbnails for many."""
    if count <= 8:
        return {5: 3, 6: 3, 7: 4, 8: 4}.get(count, count)
    if count <= 64:
        return 6 if count % 6 == 0 and count % 8 else 8
    return math.ceil(math.sqrt(1.6 * count))


class _Page:
    """Where the panels go, in inches."""

    def __init__(self, columns, lines, L, S, rows, layered):
        gap = 0.45 if columns <= 4 else 0.14 if columns <= 12 else 0.09
        room = (PAGE - 1.6) / columns - gap
        self.width = min(room, 3.6)
        self.height = self.width * min(max(L / max(S, 1), 0.3), 1.6) if L else self.width * 0.3
        self.labelled = self.width >= 1.15
        longest = max(map(width, rows), default=0)
        self.left = 0.3 * layered + (0.5 + 0.085 * min(longest, 10) if self.labelled else 0.35)
        above = 0.42 if self.width >= 1.15 else 0.3
        self.step = self.width + gap, self.height + above + (0.06 if columns > 4 else 0.25)
        self.top = 0.6 + above
        bottom = 0.75 if self.labelled else 0.3
        wide = self.left + columns * self.step[0] + 1.3
        self.size = max(wide, 5.0), self.top + lines * self.step[1] + bottom - above

    def corner(self, row, column):
        return self.left + column * self.step[0], self.top + row * self.step[1]


def _panel(axes, values, hidden, scale, labels, page, first, last, numbers, lang):
    L, S = values.shape
    pitch = page.width / max(S, 1), page.height / max(L, 1)
    if numbers is None:
        numbers = values.size <= 64 and min(pitch) >= 0.33
    rows, columns = labels
    size = 9 if page.width > 2 else 7.5
    draw_matrix(axes, values, scale, pitch=pitch, hidden=hidden, numbers=numbers, size=size, top=False,
                rows=rows if first and page.labelled else None, columns=columns if last and page.labelled else None)
    if first and (page.labelled or last):
        axes.set_ylabel(query_axis(lang), fontsize=8, color=GREY)
    if last and (page.labelled or first):
        axes.set_xlabel(key_axis(lang), fontsize=8, color=GREY)
