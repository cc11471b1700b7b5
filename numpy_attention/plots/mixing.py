"""What a weight moved: the output of one query as a stack of what each value contributed."""

import numpy as np

from ..words.colours import GREY, HUES
from ..words.languages import each, say
from ..words.terminal import shorten
from .captions import title as two_lines
from .figure import finish, styled
from .inputs import read_heads, tokens_of
from .matrix import number, number_format, table
from .page import fold, foreground, open_page, title_room
from .tokens import read_both

MOST_KEYS = len(HUES) - 1


@styled
def plot_mixing(
    weights, V=None, *, query=0, query_tokens=None, key_tokens=None, head=0, batch=0, title=None, lang="en", size=None,
    fig=None, ax=None
):
    """Draw one query's output as stacked bars: for each of its d_v numbers, weights[query, j] · V[j] of every key j.

    Contributions above zero are stacked to the right, those below zero to the left; a diamond marks their sum.

    Args:
        weights: (L, S), (H, L, S) or (N, H, L, S); or a layer or trace that holds weights and V.
        V: (S, d_v), or with the same leading axes.
        query: which row of the weights.
        query_tokens, key_tokens: labels.
        head, batch: which head and item of the batch.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.

    >>> plot_mixing(na.worked_example("by-hand").trace(), query=1).alt_text
    "爱's output, stacked from the values: 我 0.11, 爱 0.11, AI 0.79 of the weight."
    """
    shares, values = read_heads(weights, ("weights", "V"), (V,), head=head, batch=batch)
    if shares.shape[1] != len(values):
        raise ValueError(f"weights and V must share the source length S: they are {shares.shape} and {values.shape}")
    (L, S), d_v = shares.shape, values.shape[1]
    if not d_v:
        raise ValueError(f"V has no columns (d_v = 0): it is {values.shape}")
    if not -L <= query < L:
        raise ValueError(f"query={query} is out of range: there are L = {L} queries")
    rows, columns = read_both(*tokens_of(weights, query_tokens, key_tokens), L, S)
    parts = shares[query][:, None] * values
    kept = np.sort(np.argsort(-shares[query], kind="stable")[:MOST_KEYS])
    stack = [(f"{shorten(columns[j], 12)} · {number(shares[query, j])}", parts[j], HUES[n]) for n, j in enumerate(kept)]
    if S > MOST_KEYS:
        rest = np.delete(np.arange(S), kept)
        name = say(lang, f"其他 {len(rest)} 个", f"{len(rest)} others") + f" · {number(shares[query, rest].sum())}"
        stack.append((name, parts[rest].sum(axis=0), "0.7"))
    pitch = min(0.42, 4.5 / max(d_v, 1))
    best = int(kept[np.argmax(shares[query, kept])])
    finding = two_lines(
        lang, f"{rows[query]} 的输出主要来自 {columns[best]} 的值（{shares[query, best]:.0%}）",
        f"{rows[query]}’s output is mostly the value of {columns[best]} ({shares[query, best]:.0%})")
    headline = fold(finding if title is None else title, 8.5, 12)
    down = title_room(headline)
    size_of_page = 8.8, 1.65 + down + pitch * d_v
    page = open_page(size_of_page, fig=fig, ax=ax, size=size)
    axes = page.axes(1.1, 0.62 + down, 5.0, pitch * d_v)
    _stack(axes, stack, parts.sum(axis=0), pitch, page)
    page.write(0.9 + 2.6, size_of_page[1] - 0.52, say(lang, "对输出的贡献", "contribution to the output"), fontsize=9,
               color=GREY)
    page.write(1.02, 0.58 + down, say(lang, "维", "dimension") + " ↓", ha="right", va="bottom", fontsize=8, color=GREY)
    if page.points(9):
        axes.legend(loc="upper left", bbox_to_anchor=(1.03, 1.0), frameon=False, fontsize=page.points(9),
                    borderaxespad=0, title=say(lang, "键 · 权重", "key · weight"), title_fontsize=page.points(9),
                    alignment="left")
    formula = f"heads[{rows[query]}] = Σⱼ weights[{rows[query]}, j] V[j]"
    page.write(0.15, 0.1, headline, ha="left", fontsize=12, keep=True, room=8.5)
    page.write(0.15, size_of_page[1] - 0.27, formula, ha="left", fontsize=9, color=GREY, room=8.5)
    used = ", ".join(f"{columns[j]} {number(shares[query, j])}" for j in kept)
    alt = each(lang, lambda one: say(one, f"{rows[query]} 的输出由各个值叠加而成：权重 {used}。",
                                     f"{rows[query]}'s output, stacked from the values: {used} of the weight."))
    listed = np.vstack([parts, parts.sum(axis=0)])
    return finish(page, alt, f"{title or formula}\n" + table(listed, [*columns, "Σ"], [str(n) for n in range(d_v)]))


def _stack(axes, stack, output, pitch, page):
    d_v = len(output)
    places = np.arange(d_v)
    right, left = np.zeros(d_v), np.zeros(d_v)
    for name, part, hue in stack:
        # What is not finite has no length; the sum beside the bar says NaN.
        part = np.nan_to_num(part, posinf=0, neginf=0)
        start = np.where(part >= 0, right, left)
        axes.barh(places, part, left=start, height=0.72, color=hue, label=name, edgecolor="white", linewidth=0.6)
        right, left = right + np.maximum(part, 0), left + np.minimum(part, 0)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_xlim(*_with_room(left.min(initial=0), right.max(initial=0)))
    size = 5 if pitch > 0.2 else 3
    axes.plot(right + left, places, "D", color=foreground(), markersize=size * min(1, page.scale),
              markeredgecolor="white", markeredgewidth=0.8 * min(1, page.scale), label="Σ")
    write = number_format(output)
    for place, value in enumerate(output if pitch > 0.2 and page.points(9) else ()):
        axes.annotate(f"Σ {write(value)}", (right[place], place), (7, 0), textcoords="offset points",
                      va="center", fontsize=page.points(9))
    step = max(1, round(0.2 / pitch))
    axes.set_yticks(places[::step], [str(place) for place in places[::step]])
    axes.set_ylim(d_v - 0.5, -0.5)
    label = page.points(9)
    axes.tick_params(labelsize=label or 1, length=2, labelleft=bool(label), labelbottom=bool(label))
    axes.spines[["top", "right", "left"]].set_visible(False)


def _with_room(low, high):
    """Limits that leave room for the sums to the right of the longest bar."""
    span = high - low or 1.0
    return low - 0.04 * span if low < 0 else 0, high + 0.16 * span
