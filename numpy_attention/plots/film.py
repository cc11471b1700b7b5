"""How heads learned: snapshots above the curve of the training, as a still, as a page with a slider, or as a GIF."""

import html
import io
import json
from pathlib import Path

import numpy as np
from matplotlib.patches import ConnectionPatch

from ..engine.arguments import listed, whole
from ..words.colours import GREY, HUES
from ..words.files import path_of, write_whole
from ..words.labels import safe
from ..words.languages import each, say
from .captions import each_line, key_axis, panel_name, pattern_words, query_axis
from .captions import title as two_lines
from .drawing import weight_bar, weight_scale
from .figure import finish, styled
from .heads import plot_heads
from .inputs import hidden_cells, read_hidden, to_array
from .matrix import draw_matrix, number
from .model import map_bytes, map_colours, printable
from .options import a_text, checked
from .page import fold, foreground, open_page, title_room
from .statistics import check_weights, entropy, looks, pattern
from .tokens import column_room, read_both, row_room

TEMPLATE = Path(__file__).with_name("film.html")
MOST_FRAMES = 8


@styled
def plot_film(
    snapshots, steps, curve, *, curve_steps=None, curve_label="loss", query_tokens=None, key_tokens=None,
    mask=None, name="", title=None, lang="en", size=None, fig=None, ax=None,
):
    """Draw snapshots of one head over the curve of the training; thin lines tie each snapshot to its step.

    ``save_film`` writes the same as a film that moves, with all heads.

    Args:
        snapshots: (k, L, S), the weights of one head at k steps.
        steps: the k steps at which they were taken.
        curve: (n,), the loss or another number at each step.
        curve_steps: the steps of the curve; 0, 1, ... n − 1 unless given.
        curve_label: what the curve shows.
        query_tokens, key_tokens: labels of rows and columns.
        mask: boolean, True where a query may attend.
        name: which head it is, "layer 1, head 0".
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``. Of more than 8 snapshots 8 are shown, first and last
        included; fewer where there is less room.

    >>> maps = np.array([[[0.5, 0.5]], [[1.0, 0.0]]])
    >>> plot_film(maps, [0, 9], [1, 0], curve_steps=[0, 9], query_tokens=["a"], key_tokens=["a", "b"]).alt_text
    '2 snapshots of steps 0–9: mean entropy 0.69 → 0.00 nats, loss 1 → 0. At the end a looks mostly at a (1.00).'
    """
    maps = to_array(snapshots, "snapshots")
    curve, curve_steps = _read_curve(curve, curve_steps)
    steps = [whole("steps", step) for step in listed("steps", steps, "whole numbers, one for each snapshot")]
    if maps.ndim != 3 or not len(maps):
        raise ValueError(f"snapshots must be (k, L, S), the weights of one head at k steps; they are {maps.shape}")
    check_weights(maps, "snapshots")
    if len(steps) != len(maps):
        raise ValueError(f"steps has {len(steps)} entries, but there are k = {len(maps)} snapshots")
    if not len(curve):
        raise ValueError("curve must hold at least one number")
    L, S = maps.shape[1:]
    rows, columns = read_both(query_tokens, key_tokens, L, S)
    hidden = hidden_cells(mask, (L, S))
    ends = [pattern(frame, hidden, rows if rows == columns else None) for frame in (maps[0], maps[-1])]
    found = each_line(lang, lambda one: _finding(name, ends, columns, maps, hidden, one))
    above = found if title is None else title
    page = open_page(lambda *room: FilmLayout(*room, len(maps), L, S, rows, columns, above), fig=fig, ax=ax, size=size)
    layout = page.layout
    entropies = [entropy(frame, hidden) for frame in maps]
    charts = _charts(page, layout, curve_steps, curve, curve_label, steps, entropies, lang)
    for place, k in enumerate(layout.shown):
        left = layout.left + place * layout.step
        axes = page.axes(left, layout.top, layout.wide, layout.tall)
        pitch = layout.wide * page.scale / max(S, 1), layout.tall * page.scale / max(L, 1)
        draw_matrix(axes, maps[k], weight_scale(), pitch=pitch, hidden=hidden, numbers=maps[k].size <= 64,
                    size=page.points(8), rows=None if place else rows, columns=columns,
                    words=(query_axis(lang) if not place else "", key_axis(lang) if not place else ""))
        page.write(left + layout.wide / 2, layout.top - layout.labels - 0.05, say(lang, f"第 {steps[k]} 步",
                   f"step {steps[k]}"), fontsize=9, va="bottom")
        _tie(page, axes, charts, steps[k])
    weight_bar(page, layout.size[0] - 0.85, layout.top, layout.tall, weight_scale(), S, lang, wide=0.13)
    page.write(0.15, 0.1, layout.title, ha="left", fontsize=12, keep=True, room=layout.size[0] - 0.3)

    def alt(lang):
        seen = say(lang, "；", "; ").join(looks(maps[-1], rows, columns, lang)[:6])
        first, last = number(entropies[0][0]), number(entropies[-1][0])
        change = f"{first} → {last} nats", f"{curve_label} {curve[0]:.3g} → {curve[-1]:.3g}"
        between = f"{steps[0]}–{steps[-1]}"
        return say(lang, f"第 {between} 步的 {len(maps)} 张快照：平均熵 {'，'.join(change)}。最后 {seen}。",
                   f"{len(maps)} snapshots of steps {between}: mean entropy {', '.join(change)}. At the end {seen}.")

    words = say(lang, "步", "step"), say(lang, "熵", "entropy")
    lines = [f"{words[0]} {step}: {words[1]} {number(e)} nats" for step, (e, _) in zip(steps, entropies, strict=True)]
    return finish(page, each(lang, alt), "\n".join([title or found, *lines]))


def _read_curve(curve, steps):
    """A curve and its steps, as two arrays of one length."""
    curve = to_array(curve, "curve")
    steps = np.arange(curve.size) if steps is None else to_array(steps, "curve_steps")
    if curve.ndim != 1 or steps.shape != curve.shape:
        raise ValueError(f"curve must be (n,), and so curve_steps: they are {curve.shape} and {steps.shape}")
    return curve, steps


def _finding(name, ends, columns, maps, hidden, lang):
    """What the head has come to do."""
    who = name or say(lang, "这个头", "the head")
    now = pattern_words(ends[1], columns, lang)
    if ends[1].kind not in ("mixed", "uniform"):
        text = say(lang, f"{who}学会了看{now}", f"{who} learns to look at {now}")
    else:
        before, after = (number(entropy(frame, hidden)[0]) for frame in (maps[0], maps[-1]))
        text = say(lang, f"{who}是怎样变化的：平均熵 {before} → {after} nats",
                   f"how {who} changed: mean entropy {before} → {after} nats")
    return text[0].upper() + text[1:]


class FilmLayout:
    """Frames side by side, the curve and the entropy below them."""

    def __init__(self, room, most, scale, count, L, S, rows, columns, title):
        frames = max(2, min(MOST_FRAMES, int((room - 2.0) / 1.15), count)) if count > 1 else 1
        self.shown = np.unique(np.linspace(0, count - 1, frames).round().astype(int))
        self.left = 0.3 + max(0.5, row_room(rows))
        self.wide = max(0.6, min(2.4, (room - self.left - 1.3) / len(self.shown) - 0.25))
        self.tall = self.wide * min(max(L / max(S, 1), 0.125), 2.0)
        self.step = self.wide + 0.25
        across = self.left + self.step * len(self.shown) + 1.1
        self.title = fold(title, across - 0.3, 12)
        self.labels = column_room(columns, self.wide / max(S, 1), size=8) + 0.16
        self.top = 0.3 + title_room(self.title) + self.labels + 0.2
        self.charts = self.top + self.tall + 0.45
        self.size = across, self.charts + 2.62


def _charts(page, layout, curve_steps, curve, label, steps, entropies, lang):
    """The curve, and below it the mean entropy of the rows beside the most it could be."""
    wide = layout.step * len(layout.shown) - 0.25
    below = page.axes(layout.left, layout.charts, wide, 1.15)
    spread = page.axes(layout.left, layout.charts + 1.45, wide, 0.6, sharex=below)
    line = 1.4 * min(1, page.scale)
    below.plot(curve_steps, curve, color=foreground(), linewidth=line, marker="o" if len(curve) < 3 else None)
    spread.plot(steps, [found for found, _ in entropies], color=HUES[0], linewidth=line, marker="o", markersize=3)
    most = entropies[0][1]
    if np.isfinite(most):
        spread.axhline(most, color=GREY, linewidth=0.7, linestyle="--")
        spread.set_ylim(0, most * 1.15 or 1)
        spread.set_yticks([0, most], ["0", number(most)])
    size = page.points(8)
    for axes in (below, spread):
        axes.tick_params(labelsize=size or 1, length=2, labelleft=bool(size), labelbottom=bool(size) and axes is spread)
        axes.spines[["top", "right"]].set_visible(False)
    words = ((layout.charts - 0.02, label), (layout.charts + 1.43, say(lang, "平均熵（nats）", "mean entropy, nats")))
    for y, text in words:
        page.write(layout.left + 0.06, y, text + " ↑", ha="left", va="bottom", fontsize=8.5)
    page.write(layout.left + wide / 2, layout.charts + 2.28, say(lang, "训练步数", "training step") + " →", fontsize=9)
    page.write(layout.left + wide + 0.05, layout.charts + 1.47, say(lang, "虚线：最大", "dashed: its maximum"),
               fontsize=8, color=GREY, ha="left", room=1.05)
    return below, spread


def _tie(page, above, charts, step):
    """A thin line from a snapshot down to its step on the curves."""
    for axes in charts:
        axes.axvline(step, color=GREY, linewidth=0.7, linestyle=":")
    page.add(ConnectionPatch((0.5, -0.04), (step, 1), above.transAxes, charts[0].get_xaxis_transform(),
                             color=GREY, linewidth=0.7, linestyle=":"))


@checked
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
    maps, path = to_array(snapshots, "snapshots"), path_of("path", path)
    steps = [whole("steps", step) for step in listed("steps", steps, "whole numbers, one for each snapshot")]
    maps = maps[:, None] if maps.ndim == 3 else maps
    if maps.ndim != 4 or not len(maps):
        raise ValueError(f"snapshots must be (k, L, S) or (k, H, L, S), weights at k steps; they are {maps.shape}")
    if len(steps) != len(maps):
        raise ValueError(f"steps has {len(steps)} entries, but there are k = {len(maps)} snapshots")
    if path.suffix not in (".html", ".gif"):
        raise ValueError(f"path must end in .html or .gif, not {path.name!r}")
    check_weights(maps, "snapshots")
    H, L, S = maps.shape[1:]
    names = [panel_name(head, False, lang) for head in range(H)] if names is None else [
        a_text("names", name) for name in listed("names", names, "texts")]
    if len(names) != H:
        raise ValueError(f"names has {len(names)} entries, but there are H = {H} heads")
    rows, columns = read_both(query_tokens, key_tokens, L, S)
    curve, curve_steps = _read_curve(curve, curve_steps)
    if path.suffix == ".gif":
        return _gif(maps, steps, path, query_tokens, key_tokens, mask, title, lang)
    hidden = None if mask is None else read_hidden(mask, (H, L, S))
    known = np.isfinite(curve)
    curve, curve_steps = curve[known].tolist(), curve_steps[known].tolist()
    heads = []
    for head, name in enumerate(names):
        lost = None if hidden is None else hidden[head]
        found = [pattern(frame, lost, rows if rows == columns else None) for frame in maps[:, head]]
        heads.append({"name": name, "does": [pattern_words(one, columns, lang) for one in found],
                      "frames": [map_bytes(frame, lost) for frame in maps[:, head]]})
    if title is None:
        title = two_lines(lang, f"{H} 个头从第 {steps[0]} 步到第 {steps[-1]} 步怎样变化",
                          f"How {H} head{'s' * (H > 1)} changed from step {steps[0]} to step {steps[-1]}")
    data = {"heads": heads, "steps": steps, "rows": L, "columns": S, "colours": map_colours(), "curve": curve,
            "curve_steps": curve_steps, "words": {"step": say(lang, "步", "step"), "play": say(lang, "播放", "play"),
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
