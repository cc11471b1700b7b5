"""A whole model as one page: heads open large on a click, a token's row is followed through all of them.

The page is one file, asks the network for nothing, and works with the keyboard alone and on a phone. Arrow keys go from
head to head, Enter opens one, L locks it beside the next one opened, Escape closes it; in an open head, arrow keys go
from query to query.
"""

import base64
import html
import json
from pathlib import Path

import numpy as np

from ..words.colours import MAPS, WEIGHTS
from ..words.files import write_whole
from ..words.labels import safe
from ..words.languages import say
from . import captions, statistics
from .matrix import pool
from .model import MARKS, read_model

TEMPLATE = Path(__file__).with_suffix(".html")
MOST = 256      # queries and keys of a map; longer ones are pooled


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
    maps, patterns, labels = read_model(weights, query_tokens, key_tokens, mask, batch, layers, heads)
    title = title or captions.what_heads_do(maps, patterns, labels, lang)
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
