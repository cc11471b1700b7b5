"""What a weight moved: the output of one query as a stack of what each value contributed."""

import numpy as np

from . import marks
from .colours import GREY, HUES
from .figure import axes_at, finish, picture
from .sources import read_heads, tokens_of
from .text import decimal, table
from .tokens import read_both
from .words import each, say

MOST_KEYS = len(HUES) - 1


def plot_mixing(
    weights, V=None, *, query=0, query_tokens=None, key_tokens=None, head=0, batch=0, lang="en", fig=None
):
    """Draw one query's output as stacked bars: for each of its d_v numbers, weights[query, j] · V[j] of every key j.

    Contributions above zero are stacked to the right, those below zero to the left; a diamond marks their sum.

    Args:
        weights: (L, S), (H, L, S) or (N, H, L, S); or a layer or trace that holds weights and V.
        V: (S, d_v), or with the same leading axes.
        query: which row of the weights.
        query_tokens, key_tokens: labels.
        head, batch: which head and item of the batch.
        lang: "en", "zh" or "both".
        fig: a Figure or SubFigure to draw into.

    Returns:
        a Figure, with ``alt_text`` and ``plain_text``.

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
    stack = [(f"{columns[j]} · {decimal(shares[query, j])}", parts[j], HUES[n]) for n, j in enumerate(kept)]
    if S > MOST_KEYS:
        rest = np.delete(np.arange(S), kept)
        name = say(lang, f"{len(rest)} others", f"其他 {len(rest)} 个") + f" · {decimal(shares[query, rest].sum())}"
        stack.append((name, parts[rest].sum(axis=0), "0.7"))
    pitch = min(0.42, 4.5 / max(d_v, 1))
    size = 8.8, 1.5 + pitch * d_v
    figure = picture(fig, *size)
    axes = axes_at(figure, size, 0.9, 0.75, 5.2, pitch * d_v)
    _stack(axes, stack, parts.sum(axis=0), pitch)
    axes.set_xlabel(say(lang, "contribution to the output", "对输出的贡献"), fontsize=9, color=GREY)
    axes.set_ylabel(say(lang, "dimension ↓", "维 ↓"), fontsize=9, color=GREY)
    axes.legend(loc="upper left", bbox_to_anchor=(1.03, 1.0), frameon=False, fontsize=9, borderaxespad=0,
                title=say(lang, "key · weight", "键 · 权重"), title_fontsize=9, alignment="left")
    title = f"heads[{rows[query]}] = Σ weights[{rows[query]}] · V" + f" · {say(lang, 'head', '头')} {head}"
    marks.write(figure, size, 0.15, 0.1, title, ha="left", fontsize=12)
    used = ", ".join(f"{columns[j]} {decimal(shares[query, j])}" for j in kept)
    alt = each(lang, lambda one: say(one, f"{rows[query]}'s output, stacked from the values: {used} of the weight.",
                                     f"{rows[query]} 的输出由各个值叠加而成：权重 {used}。"))
    listed = np.vstack([parts, parts.sum(axis=0)])
    return finish(figure, alt, f"{title}\n" + table(listed, [*columns, "Σ"], [str(n) for n in range(d_v)]))


def _stack(axes, stack, output, pitch):
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
    axes.plot(right + left, places, "D", color="black", markersize=size, markeredgecolor="white", label="Σ")
    for place, value in enumerate(output if pitch > 0.2 else ()):
        axes.annotate(f"Σ {decimal(value)}", (right[place], place), (7, 0), textcoords="offset points",
                      va="center", fontsize=9)
    step = max(1, round(0.2 / pitch))
    axes.set_yticks(places[::step], [str(place) for place in places[::step]], fontsize=9)
    axes.set_ylim(d_v - 0.5, -0.5)
    axes.tick_params(labelsize=9, length=2)
    axes.spines[["top", "right", "left"]].set_visible(False)


def _with_room(low, high):
    """Limits that leave room for the sums to the right of the longest bar."""
    span = high - low or 1.0
    return low - 0.04 * span if low < 0 else 0, high + 0.16 * span
