"""The picture to remember attention by: Q and K decide whom to look at, the weights then gather V's content."""

import numpy as np

from ..words.terminal import shorten
from . import marks
from .colours import GREY, signed_scale
from .figure import axes_at, finish, picture
from .matrix import draw_matrix
from .strip import matrix_of, used_columns
from .text import decimal
from .tokens import read_tokens
from .words import each, say

LOOK, GATHER = "#0072B2", "#D55E00"
HEADINGS = (
    ("Q and K decide whom to look at", "Q 和 K 决定看谁"),
    ("the weights gather V's content", "权重汇集 V 的内容"),
)
MOST_KEYS = 6
ROW, STACK = 1.15, 1.0
QUERY, KEY, WEIGHT, VALUE, OUTPUT, PAGE = 0.45, 4.75, 7.0, 7.75, 11.2, 13.1


def plot_mnemonic(trace=None, *, query=0, head=0, batch=0, lang="en", fig=None):
    """Draw one query's attention as ribbons: shares of its look go out to the keys, and come back as content.

    Args:
        trace: a trace of attention; the example 我 爱 AI unless given.
        query: which query to follow.
        head, batch: which head and item of the batch.
        lang: "en", "zh" or "both".
        fig: a Figure or SubFigure to draw into.

    Returns:
        a Figure, with ``alt_text`` and ``plain_text``.

    >>> plot_mnemonic(query=2).plain_text.splitlines()[-1]
    'heads[AI] = 0.04·V[我] + 0.11·V[爱] + 0.84·V[AI] = [0.04, 0.11, 0.84, 0.84]'
    """
    if trace is None:
        from ..walkthrough import worked_example
        trace = worked_example("by-hand").trace()
    names = ("Q", "K", "V", "heads", "weights", "scores")
    Q, K, V, heads, weights, scores = (_matrix(trace, name, head, batch) for name in names)
    L, S = weights.shape
    if not -L <= query < L:
        raise ValueError(f"query={query} is out of range: there are L = {L} queries")
    asks = read_tokens(trace.query_tokens, L, "query_tokens", f"L = {L} queries")[query]
    keys = read_tokens(trace.key_tokens, S, "key_tokens", f"S = {S} keys")
    # With many keys, those that are looked at most stand for all.
    shown = np.sort(np.argsort(-weights[query], kind="stable")[:MOST_KEYS])
    top, tall = 1.3, ROW * len(shown)
    size = PAGE, top + tall + 1.0
    figure = picture(fig, *size)
    middle = top + tall / 2
    marks.zone(figure, size, 0.15, 0.6, WEIGHT - 0.55, tall + 0.75, LOOK)
    marks.zone(figure, size, WEIGHT + 0.5, 0.6, PAGE - WEIGHT - 0.65, tall + 0.75, GATHER)
    compare, content = signed_scale(Q, K), signed_scale(V, heads)
    _card(figure, size, QUERY, middle, Q[query], asks, "q", compare)
    _card(figure, size, OUTPUT, middle, heads[query], asks, say(lang, "output", "输出"), content)
    spent = middle - STACK / 2
    for place, j in enumerate(shown):
        y, share = top + ROW * (place + 0.5), weights[query, j] * STACK
        marks.band(figure, size, (QUERY + 1.6, spent + share / 2), (KEY - 0.1, y), share, LOOK)
        marks.band(figure, size, (VALUE + 1.6, y), (OUTPUT - 0.1, spent + share / 2), share, GATHER)
        spent += share
        note = say(lang, "score", "分数") + " " + decimal(scores[query, j])
        _card(figure, size, KEY, y, K[j], keys[j], "k", compare, note)
        _card(figure, size, VALUE, y, V[j], keys[j], "v", content)
        weight = weights[query, j]
        marks.write(figure, size, WEIGHT + 0.05, y, decimal(weight), va="center", fontsize=12 + 10 * weight)
    _legend(figure, size, lang)
    left = f" ({MOST_KEYS} / {S})" if S > MOST_KEYS else ""
    mixed = " + ".join(f"{decimal(weights[query, j])}·V[{keys[j]}]" for j in shown) + " + …" * bool(left)
    result = ", ".join([*map(decimal, heads[query][:8]), *["…"] * (len(heads[query]) > 8)])
    total = f"heads[{asks}] = {mixed} = [{result}]"
    shares = ", ".join(f"{keys[j]} {decimal(weights[query, j])}" for j in shown)
    alt = each(lang, lambda one: say(
        one, f"Q and K decide whom {asks} looks at: {shares}. In these shares the values are gathered into its output.",
        f"Q 和 K 决定 {asks} 看谁：{shares}。再按这些份额把各个 V 汇集成它的输出。"))
    title = " · ".join(say(lang, *words) for words in HEADINGS)
    return finish(figure, alt, f"{title}\n{shares}\n{total}")


def _matrix(trace, name, head, batch):
    column = next(c for c in used_columns(trace) if c.name == name)
    values = matrix_of(trace, name, column, head, batch)
    return values.T if column.transposed else values


def _card(figure, size, left, y, vector, token, name, scale, note=""):
    """One vector as a row of cells, its token above."""
    cell = 1.5 / len(vector)
    axes = axes_at(figure, size, left, y - 0.17, 1.5, 0.36)
    draw_matrix(axes, vector[None], scale, pitch=(cell, 0.36), numbers=len(vector) <= 4, size=8.5)
    marks.write(figure, size, left, y - 0.22, shorten(token, 10), va="bottom", ha="left", fontsize=17)
    marks.write(figure, size, left + 1.5, y - 0.23, name, va="bottom", ha="right", fontsize=12, color=GREY)
    marks.write(figure, size, left, y + 0.24, note, ha="left", fontsize=9, color=GREY)


def _legend(figure, size, lang):
    """Headings of the two fields, the three questions, and the formula in the fields' colours."""
    middles = (0.15 + WEIGHT - 0.4) / 2, (WEIGHT + 0.5 + PAGE - 0.15) / 2
    for x, words, colour in zip(middles, HEADINGS, (LOOK, GATHER), strict=True):
        marks.write(figure, size, x, 0.18, say(lang, *words), fontsize=14 if lang == "both" else 16, color=colour)
    for x, en, zh in (
        (QUERY, "what am I looking for?", "我在找什么？"), (KEY, "what am I found by?", "我凭什么被找到？"),
        (VALUE, "what do I hand over?", "我交出什么？"), (OUTPUT, "what did I gather?", "我汇集到什么？"),
    ):
        marks.write(figure, size, x, 0.72, say(lang, en, zh).replace(" / ", "\n"), ha="left", color=GREY)
    x, y = WEIGHT + 0.05, size[1] - 0.42
    marks.write(figure, size, x, 0.72, say(lang, "weights", "权重").replace(" / ", "\n"), color=GREY)
    for text, shift, side, colour in (("softmax(Q Kᵀ / √dₖ)", -0.12, "right", LOOK), ("·", 0, "center", GREY),
                                      ("V", 0.12, "left", GATHER)):
        marks.write(figure, size, x + shift, y, text, ha=side, va="center", fontsize=20, color=colour)
