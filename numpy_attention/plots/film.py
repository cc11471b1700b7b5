"""How a head learned: snapshots of its weights above the curve of the training, tied together by step."""

import numpy as np
from matplotlib.patches import ConnectionPatch

from . import marks
from .bar import weight_bar
from .colours import GREY, weight_scale
from .figure import axes_at, finish, picture
from .maps import hidden_cells
from .matrix import draw_matrix
from .sources import to_array
from .statistics import check_weights, entropy, largest, looks
from .text import decimal
from .tokens import column_room, read_both, row_room
from .words import each, key_axis, query_axis, say

MOST_FRAMES = 8


def plot_film(
    snapshots, steps, curve, *, curve_steps=None, curve_label="loss", query_tokens=None, key_tokens=None,
    mask=None, lang="en", fig=None,
):
    """Draw snapshots of one head over the curve of the training; thin lines tie each snapshot to its step.

    Args:
        snapshots: (k, L, S), the weights of one head at k steps.
        steps: the k steps at which they were taken.
        curve: (n,), the loss or another number at each step.
        curve_steps: the steps of the curve; 0, 1, ... n − 1 unless given.
        curve_label: what the curve shows.
        query_tokens, key_tokens: labels of rows and columns.
        mask: boolean, True where a query may attend.
        lang: "en", "zh" or "both".
        fig: a Figure or SubFigure to draw into.

    Returns:
        a Figure, with ``alt_text`` and ``plain_text``. Of more than 8 snapshots 8 are shown, first and last included.

    >>> maps = np.array([[[0.5, 0.5]], [[1.0, 0.0]]])
    >>> plot_film(maps, [0, 9], [1, 0], curve_steps=[0, 9], query_tokens=["a"], key_tokens=["a", "b"]).alt_text
    '2 snapshots of steps 0–9: mean entropy 0.69 → 0.00 nats, loss 1 → 0. At the end a looks mostly at a (1.00).'
    """
    maps, curve = to_array(snapshots, "snapshots"), to_array(curve, "curve")
    steps = [int(step) for step in steps]
    curve_steps = np.arange(len(curve)) if curve_steps is None else np.asarray(curve_steps)
    if maps.ndim != 3 or not len(maps):
        raise ValueError(f"snapshots must be (k, L, S), the weights of one head at k steps; they are {maps.shape}")
    check_weights(maps, "snapshots")
    if len(steps) != len(maps):
        raise ValueError(f"steps has {len(steps)} entries, but there are k = {len(maps)} snapshots")
    if curve.ndim != 1 or not len(curve) or len(curve) != len(curve_steps):
        raise ValueError(f"curve must be (n,), and so curve_steps: they are {curve.shape} and {curve_steps.shape}")
    L, S = maps.shape[1:]
    rows, columns = read_both(query_tokens, key_tokens, L, S)
    hidden = hidden_cells(mask, (L, S))
    shown = np.unique(np.linspace(0, len(maps) - 1, min(len(maps), MOST_FRAMES)).round().astype(int))
    wide = min(2.4, 12 / len(shown) - 0.25)
    tall = wide * min(max(L / max(S, 1), 0.4), 2.0)
    left, above = 0.55 + row_room(rows), 0.8 + column_room(columns, wide / max(S, 1), size=8)
    size = left + (wide + 0.25) * len(shown) + 1.2, above + tall + 3.0
    figure = picture(fig, *size)
    below = axes_at(figure, size, left, above + tall + 0.75, (wide + 0.25) * len(shown) - 0.25, 1.5)
    below.plot(curve_steps, curve, color="black", linewidth=1.4, marker="o" if len(curve) < 3 else None)
    below.set_xlabel(say(lang, "training step", "训练步数"), fontsize=9)
    below.set_ylabel(curve_label, fontsize=9)
    below.tick_params(labelsize=8, length=2)
    below.spines[["top", "right"]].set_visible(False)
    for place, k in enumerate(shown):
        axes = axes_at(figure, size, left + place * (wide + 0.25), above, wide, tall)
        pitch = wide / max(S, 1), tall / max(L, 1)
        draw_matrix(axes, maps[k], weight_scale(), pitch=pitch, hidden=hidden, numbers=min(pitch) > 0.36, size=8,
                    rows=None if place else rows, columns=columns)
        middle = left + place * (wide + 0.25) + wide / 2
        marks.write(figure, size, middle, 0.42, say(lang, f"step {steps[k]}", f"第 {steps[k]} 步"), fontsize=9)
        found, most = entropy(maps[k], hidden)
        spread = " · ".join([f"{decimal(found)}/{decimal(most)}", decimal(largest(maps[k]))])
        marks.write(figure, size, middle, 0.58, spread, fontsize=7.5, color=GREY)
        _tie(figure, axes, below, steps[k])
        axes.set_ylabel("" if place else query_axis(lang), fontsize=8, color=GREY)
        axes.set_xlabel(key_axis(lang), fontsize=8, color=GREY, labelpad=2)
    weight_bar(figure, axes_at(figure, size, size[0] - 0.85, above, 0.13, tall), weight_scale(), S, lang)
    title = say(lang, "How the head learned", "这个头是怎样学会的")
    marks.write(figure, size, 0.15, 0.1, title, ha="left", fontsize=12)
    note = say(lang, "grey: mean entropy of the rows / its maximum, in nats · largest weight",
               "灰字：各行的平均熵 / 最大可能值（nats）· 最大权重")
    marks.write(figure, size, left, size[1] - 0.18, note, ha="left", fontsize=8, color=GREY)
    entropies = [entropy(frame, hidden)[0] for frame in maps]

    def alt(lang):
        seen = "; ".join(looks(maps[-1], rows, columns, lang)[:6])
        first, last = decimal(entropies[0]), decimal(entropies[-1])
        change = f"{first} → {last} nats", f"{curve_label} {curve[0]:.3g} → {curve[-1]:.3g}"
        ends = f"{steps[0]}–{steps[-1]}"
        return say(lang, f"{len(maps)} snapshots of steps {ends}: mean entropy {', '.join(change)}. At the end {seen}.",
                   f"第 {ends} 步的 {len(maps)} 张快照：平均熵 {'，'.join(change)}。最后 {seen}。")

    lines = [f"{say(lang, 'step', '步')} {step}: {say(lang, 'entropy', '熵')} {decimal(e)} nats" for step, e in
             zip(steps, entropies, strict=True)]
    return finish(figure, each(lang, alt), "\n".join([title, *lines]))


def _tie(figure, above, below, step):
    """A thin line from a snapshot down to its step on the curve."""
    below.axvline(step, color=GREY, linewidth=0.7, linestyle=":")
    figure.add_artist(ConnectionPatch((0.5, -0.13), (step, 1), above.transAxes, below.get_xaxis_transform(),
                                      color=GREY, linewidth=0.7, linestyle=":"))
