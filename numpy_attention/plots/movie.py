"""A film that moves: every head over the steps of a training, as a page with a slider or as a GIF."""

import html
import io
import json
from pathlib import Path

import numpy as np

from ..words.files import write_whole
from ..words.labels import safe
from ..words.languages import say
from . import captions, statistics
from .heads import plot_heads
from .inputs import read_hidden, to_array
from .overview import map_bytes, map_colours, printable
from .tokens import read_both

TEMPLATE = Path(__file__).with_name("film.html")


def save_film(
    snapshots, steps, path, *, curve=(), curve_steps=None, curve_label="loss", names=None, query_tokens=None,
    key_tokens=None, mask=None, title=None, lang="en",
):
    """Write snapshots of one or more heads as a film: .html with a slider, or .gif.

    Args:
        snapshots: (k, L, S), or (k, H, L, S): the weights at k steps.
        steps: the k steps at which they were taken.
        path: of the .html or .gif file; it is written whole or not at all.
        curve, curve_steps, curve_label: the loss or another number at each step, below the heads of a page.
        names: of the heads; "Head 0", ... unless given.
        query_tokens, key_tokens: labels of rows and columns.
        mask: boolean, True where a query may attend.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".

    Returns: the path.
    Raises: ValueError for other shapes or endings; OSError if the file cannot be written.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_film(np.full((2, 3, 3), 1 / 3), [0, 10], folder + "/film.html").name
    'film.html'
    """
    maps, steps, path = to_array(snapshots, "snapshots"), [int(step) for step in steps], Path(path)
    maps = maps[:, None] if maps.ndim == 3 else maps
    if maps.ndim != 4 or not len(maps):
        raise ValueError(f"snapshots must be (k, L, S) or (k, H, L, S), weights at k steps; they are {maps.shape}")
    if len(steps) != len(maps):
        raise ValueError(f"steps has {len(steps)} entries, but there are k = {len(maps)} snapshots")
    if path.suffix not in (".html", ".gif"):
        raise ValueError(f"path must end in .html or .gif, not {path.name!r}")
    statistics.check_weights(maps, "snapshots")
    H, L, S = maps.shape[1:]
    names = names or [captions.panel_name(head, False, lang) for head in range(H)]
    if len(names) != H:
        raise ValueError(f"names has {len(names)} entries, but there are H = {H} heads")
    rows, columns = read_both(query_tokens, key_tokens, L, S)
    if path.suffix == ".gif":
        return _gif(maps, steps, path, query_tokens, key_tokens, mask, title, lang)
    hidden = None if mask is None else read_hidden(mask, (H, L, S))
    curve = [float(value) for value in np.asarray(curve, float) if np.isfinite(value)]
    heads = []
    for head, name in enumerate(names):
        lost = None if hidden is None else hidden[head]
        found = [statistics.pattern(frame, lost, rows if rows == columns else None) for frame in maps[:, head]]
        heads.append({"name": name, "does": [captions.pattern_words(one, columns, lang) for one in found],
                      "frames": [map_bytes(frame, lost) for frame in maps[:, head]]})
    title = title or captions.title(lang, f"{H} 个头从第 {steps[0]} 步到第 {steps[-1]} 步怎样变化",
                                    f"How {H} head{'s' * (H > 1)} changed from step {steps[0]} to step {steps[-1]}")
    data = {"heads": heads, "steps": steps, "rows": L, "columns": S, "colours": map_colours(), "curve": curve,
            "curve_steps": [float(step) for step in (range(len(curve)) if curve_steps is None else curve_steps)],
            "words": {"step": say(lang, "步", "step"), "play": say(lang, "播放", "play"),
                      "stop": say(lang, "停", "stop")}}
    texts = {"lang": "en" if lang == "en" else "zh-CN", "title": title, "curve": curve_label,
             "step": say(lang, "训练步数", "training step"),
             "noscript": "\n".join(f"{head['name']}: {head['does'][-1]}" for head in heads)}
    page = TEMPLATE.read_text(encoding="utf-8")
    for name, text in texts.items():
        page = page.replace(f"%%{name}%%", html.escape(safe(text, keep="\n")))
    return write_whole(path, page.replace("%%data%%", printable(data, json.dumps)))


def _gif(maps, steps, path, query_tokens, key_tokens, mask, title, lang):
    """One picture a step, the last one a little longer."""
    from PIL import Image

    frames = []
    for step, heads in zip(steps, maps, strict=True):
        at = say(lang, f"第 {step} 步", f"step {step}")
        figure = plot_heads(heads, query_tokens, key_tokens, mask=mask, title=f"{title} · {at}" if title else at,
                            lang=lang)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=70)
        frames.append(Image.open(buffer).convert("RGB").quantize(128, dither=Image.Dither.NONE))
    made = io.BytesIO()
    frames[0].save(made, format="GIF", save_all=True, append_images=frames[1:], loop=0, disposal=1,
                   duration=[700] * (len(frames) - 1) + [2500])
    return write_whole(path, made.getvalue())
