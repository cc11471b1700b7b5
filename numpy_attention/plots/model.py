"""A whole model: on one sheet, every head a small map marked by what it does; and as one page to look around in.

The page is one file, asks the network for nothing, and works with the keyboard alone and on a phone. Arrow keys go from
head to head, Enter opens one, L locks it beside the next one opened, Escape closes it; in an open head, arrow keys go
from query to query.
"""

import base64
import html
import json
from pathlib import Path

import numpy as np

from ..words.colours import GREY, HUES, MAPS, WEIGHTS
from ..words.files import path_of, write_whole
from ..words.labels import safe
from ..words.languages import each, say
from . import captions, statistics
from .drawing import small_bar, uniform_scale, weight_scale
from .figure import finish, styled
from .inputs import read_maps, tokens_of
from .matrix import pool
from .options import checked
from .page import fold, open_page, title_room
from .tokens import read_both

TEMPLATE = Path(__file__).with_name("overview.html")
# One hue for each thing that a head may do; heads without a single pattern stay grey.
MARKS = dict(zip(("previous", "induction", "first", "itself", "sink", "back"), HUES, strict=False))
PIXELS = 64
WORD = 0.66     # inches for a word beside a tile
HIDDEN = (0.93, 0.93, 0.93, 1.0)
MOST = 256      # queries and keys of a map; longer ones are pooled


@styled
def plot_model(
    weights, query_tokens=None, key_tokens=None, *, mask=None, batch=0, layers=None, heads=None, scale="weight",
    vmax=None, norm=None, cmap=None, title=None, lang="en", size=None, fig=None, ax=None,
):
    """Draw layers × heads as small maps, one row a layer; the frame and the word below say what the head does.

    ``save_overview`` writes the same as a page in which every head can be opened.

    Args:
        weights: an encoder, decoder or model after its forward, a trace, or a list of arrays (H, L, S), one per layer.
        query_tokens, key_tokens: the tokens; with them, induction heads are found.
        mask, batch, layers, heads, scale, vmax, norm, cmap: as in plot_heads.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.
    Raises: ValueError or TypeError that names the argument, what it should be and what came.

    >>> layer = np.stack([np.eye(6), np.full((6, 6), 1 / 6)])
    >>> print(plot_model([layer, layer]).plain_text)
    4 heads: 2 look at itself (0.0, 1.0), 2 look at all tokens alike (0.1, 1.1)
    layer 0: 0 itself 1.00 · 1 uniform 1.00
    layer 1: 0 itself 1.00 · 1 uniform 1.00
    """
    uniform = scale == "uniform"
    colours = uniform_scale(cmap) if uniform else weight_scale(cmap, vmax=vmax, norm=norm)
    maps, patterns, labels = read_model(weights, query_tokens, key_tokens, mask, batch, layers, heads)
    finding = captions.what_heads_do(maps, patterns, labels, lang)
    title = finding if title is None else title
    page = open_page(lambda *room: Sheet(*room, maps, title), fig=fig, ax=ax, size=size)
    sheet = page.layout
    for line, (layer, found) in enumerate(zip(maps, patterns, strict=True)):
        for place, (head, what) in enumerate(zip(layer.heads, found, strict=True)):
            left, top = sheet.corner(line, place)
            hidden = None if layer.hidden is None else layer.hidden[place]
            values = layer.values[place]
            shown = statistics.times_uniform(values, hidden) if uniform else values
            _tile(page, sheet, shown, hidden, colours, left, top, MARKS.get(what.kind))
            x, y, how = sheet.word(left, top)
            page.write(x, y, _mark(what, head, line, lang), fontsize=6.5, color=MARKS.get(what.kind, GREY), **how)
            if line == 0:
                page.write(left + sheet.tile / 2, top - 0.04, str(head), va="bottom", fontsize=8, color=GREY)
        page.write(sheet.left - 0.1, sheet.corner(line, 0)[1] + sheet.tile / 2, str(layer.number), ha="right",
                   va="center", fontsize=8, color=GREY)
    for x, y, side, words in ((sheet.left - 0.08, sheet.top - 0.06, "right",
                               captions.title(lang, "层", "layer") + " ↓"),
                              (sheet.left, sheet.top - 0.2, "left", say(lang, "头", "head") + " →")):
        page.write(x, y, words, ha=side, va="bottom", fontsize=8, color=GREY)
    page.write(0.15, 0.1, sheet.title, ha="left", fontsize=12, keep=True, room=sheet.size[0] - 0.3)
    L, S = maps[0].values.shape[1:]
    words = captions.each_line(lang, lambda one: say(
        one, f"每个小图 {L} 个查询 × {S} 个键；框和字：头在做什么，占多少注意力",
        f"each map: {L} queries × {S} keys; frame and word: what it does, and how much"))
    page.write(0.15, 0.12 + title_room(sheet.title), words, ha="left", fontsize=8, color=GREY,
               room=sheet.size[0] - 0.3)
    small_bar(page, sheet.left, sheet.size[1] - 0.4, max(0.3, min(1.4, sheet.size[0] - sheet.left - 0.6)), colours,
              say(lang, "权重 × 可见的键数", "weight × visible keys") if uniform else say(
                  lang, "注意力权重", "attention weight"))
    lines = [f"{say(lang, '层', 'layer')} {layer.number}: " + " · ".join(
        f"{head} {_mark(what, head, 1, lang)}" for head, what in zip(layer.heads, found, strict=True))
        for layer, found in zip(maps, patterns, strict=True)]
    alt = each(lang, lambda one: say(
        one, f"{len(maps)} 层的注意力。{captions.what_heads_do(maps, patterns, labels, one)}。",
        f"The attention of {len(maps)} layers. {captions.what_heads_do(maps, patterns, labels, one)}."))
    return finish(page, alt, "\n".join([title or finding, *lines]))


def read_model(weights, query_tokens, key_tokens, mask, batch, layers, heads):
    """The maps of a model, what each head does, and the labels of each layer's axes."""
    maps = read_maps(weights, mask=mask, batch=batch, layers=layers, heads=heads)
    for layer in maps:
        statistics.check_weights(layer.values, "weights")
    if not any(len(layer.values) for layer in maps):
        raise ValueError("weights has no heads: its axis H is 0")
    tokens = tokens_of(weights, query_tokens, key_tokens)
    labels = [read_both(*tokens, *layer.values.shape[1:]) for layer in maps]
    given = None not in tokens or tokens != (None, None)
    patterns = [[statistics.pattern(values, None if layer.hidden is None else layer.hidden[place],
                                    rows if given else None) for place, values in enumerate(layer.values)]
                for layer, (rows, _) in zip(maps, labels, strict=True)]
    return maps, patterns, labels


def _mark(what, head, line, lang):
    """What a head does in a word, with its score."""
    word = statistics.SHORT[what.kind].say("en" if lang == "en" else "zh")
    return word if what.kind == "mixed" else f"{word} {what.score:.2f}"


class Sheet:
    """Where the tiles go: one row a layer."""

    def __init__(self, room, tall, scale, maps, title):
        across, down = max(len(layer.heads) for layer in maps), len(maps)
        self.left = 0.62
        high = 14.5 if tall is None else tall
        self.gap = 0.1
        wide, tall = (room - self.left - 0.2) / across - self.gap, (high - 1.6) / down - self.gap
        below, beside = min(0.95, wide, tall - 0.14), min(0.95, wide - WORD, tall)
        self.beside = beside > 1.2 * below          # where layers are many, the words stand to the right of the tiles
        self.tile = max(0.08, beside if self.beside else below)
        # The words below small tiles want some room of their own.
        self.step = self.tile + self.gap + WORD if self.beside else max(
            self.tile + self.gap, min(0.72, wide + self.gap))
        wide = max(self.left + across * self.step + 0.1, min(room, 6.2))
        self.title = fold(title, wide - 0.3, 12, 3)
        self.top = 0.62 + title_room(self.title) + 0.12
        self.down = self.tile + self.gap + 0.14 * (not self.beside)
        self.size = wide, self.top + down * self.down + 0.75

    def corner(self, line, place):
        aside = 0 if self.beside else (self.step - self.tile - self.gap) / 2
        return self.left + place * self.step + aside, self.top + line * self.down

    def word(self, left, top):
        """Where the word of a tile stands, and how."""
        if self.beside:
            return left + self.tile + 0.05, top + self.tile / 2, {"ha": "left", "va": "center", "room": WORD}
        return left + self.tile / 2, top + self.tile + 0.02, {"room": self.step}


def _tile(page, sheet, values, hidden, colours, left, top, mark):
    """One map as an image without axes, framed in the hue of what the head does."""
    block = tuple(max(1, -(-side // PIXELS)) for side in values.shape)
    lost = np.zeros(values.shape, bool) if hidden is None else hidden
    pooled = pool(np.where(lost, np.nan, values), block)
    pixels = colours[0](colours[1](np.ma.masked_invalid(pooled)))
    pixels[np.isnan(pooled)] = HIDDEN
    axes = page.axes(left, top, sheet.tile, sheet.tile, xticks=[], yticks=[])     # ticks would take most of the time
    axes.imshow(pixels, interpolation="nearest", origin="upper", aspect="auto")
    axes.set_axis_off()
    axes.add_patch(axes.patch.__class__((0, 0), 1, 1, transform=axes.transAxes, fill=False, clip_on=False,
                                        edgecolor=mark or GREY, linewidth=1.6 if mark else 0.5))


@checked
def save_overview(
    weights, path, query_tokens=None, key_tokens=None, *, mask=None, batch=0, layers=None, heads=None, title=None,
    lang="en",
):
    """Write a model's attention as one page to look around in.

    Args:
        weights: an encoder, decoder or model after its forward, a trace, or a list of arrays (H, L, S), one per layer.
        path: of the .html file; it is written whole or not at all.
        query_tokens, key_tokens, mask, batch, layers, heads: as in plot_model.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".

    Returns: the path.
    Raises: ValueError or TypeError that names the argument; OSError if the file cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = save_overview([np.full((2, 3, 3), 1 / 3)], folder + "/heads.html", ["我", "爱", "AI"])
    ...     print("Head 1" in page.read_text(encoding="utf-8"))
    True
    """
    path = path_of("path", path)
    maps, patterns, labels = read_model(weights, query_tokens, key_tokens, mask, batch, layers, heads)
    title = captions.what_heads_do(maps, patterns, labels, lang) if title is None else title
    found = []
    for layer, does, (rows, columns) in zip(maps, patterns, labels, strict=True):
        block = max(1, -(-max(layer.values.shape[1:]) // MOST))
        for place, head in enumerate(layer.heads):
            hidden = None if layer.hidden is None else layer.hidden[place]
            L, S = (-(-side // block) for side in layer.values.shape[1:])
            found.append({
                "layer": layer.number, "head": head, "rows": L, "columns": S, "block": block,
                "queries": rows[::block], "keys": columns[::block], "mark": MARKS.get(does[place].kind, ""),
                "name": say(lang, f"层 {layer.number} 头 {head}", f"Layer {layer.number}, Head {head}"),
                "does": captions.pattern_words(does[place], columns, lang),
                "short": statistics.SHORT[does[place].kind].say("en" if lang == "en" else "zh"),
                "data": map_bytes(layer.values[place], hidden, block),
            })
    data = {"heads": found, "across": max(len(layer.heads) for layer in maps), "colours": map_colours(), "words": {
        "layer": say(lang, "层", "layer"), "query": say(lang, "查询", "query"), "key": say(lang, "键", "key"),
        "lock": say(lang, "锁定，以便比较", "lock to compare"), "close": say(lang, "关闭", "close"),
        "hover": say(lang, "指向一行，就跟着这个词元看", "point at a row to follow its token")}}
    listed = "\n".join(f"{head['name']}: {head['does']}" for head in found)
    texts = {
        "lang": "zh-CN" if lang != "en" else "en", "title": title, "noscript": listed,
        "remarks": captions.subline(maps, batch, False, (1, 1), False, lang),
        "sheet": say(lang, "所有的头", "all heads"),
        "help": captions.title(
            lang, "点一个头看大图；键盘：方向键移动，回车打开，L 锁定，Esc 关闭。",
            "Click a head to see it large; keys: arrows move, Enter opens, L locks, Esc closes."),
    }
    page = TEMPLATE.read_text(encoding="utf-8")
    for name, text in texts.items():
        page = page.replace(f"%%{name}%%", html.escape(safe(text, keep="\n")))
    return write_whole(path, page.replace("%%data%%", printable(data, json.dumps)))


def printable(data, dumps):
    """Data as JSON that may stand inside a script, where only "</" could end it."""
    return safe(dumps(data, ensure_ascii=False), keep="\n").replace("</", "<\\/")


def map_bytes(weights, hidden, block=1):
    """A map for a page: square roots of the weights in 254 steps, so that small ones stay apart; 255 where hidden."""
    lost = np.zeros(weights.shape, bool) if hidden is None else hidden
    pooled = pool(np.where(lost, np.nan, np.nan_to_num(weights, posinf=1)), (block, block))
    steps = np.rint(254 * np.sqrt(np.clip(np.nan_to_num(pooled), 0, 1)))
    return base64.b64encode(np.where(np.isnan(pooled), 255, steps).astype(np.uint8).tobytes()).decode("ascii")


def map_colours():
    """256 colours of the map of weights, as lists of red, green and blue."""
    anchors = np.array([list(bytes.fromhex(code)) for code in MAPS[WEIGHTS].split()])
    at, places = np.linspace(0, 1, len(anchors)), np.linspace(0, 1, 256)
    return np.stack([np.interp(places, at, channel) for channel in anchors.T], axis=1).round().astype(int).tolist()
