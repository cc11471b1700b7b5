"""The picture to remember attention by: Q and K decide whom to look at, the weights then gather V's content."""

import numpy as np

from ..walkthrough import worked_example
from ..words.colours import GREY, NAMES
from ..words.languages import each, lines, say
from ..words.terminal import shorten
from .drawing import signed_scale
from .figure import finish, styled
from .inputs import read_trace
from .matrix import draw_matrix, number
from .page import open_page
from .strip import matrix_of, used_columns
from .tokens import read_tokens

LOOK, GATHER = NAMES["Q"], NAMES["V"]
HEADINGS = (
    ("Q 和 K 决定看谁", "Q and K decide whom to look at"),
    ("权重汇集 V 的内容", "the weights gather V’s content"),
)
MOST_KEYS = 6
ROW, STACK = 1.15, 1.0
QUERY, KEY, WEIGHT, VALUE, OUTPUT, PAGE = 0.45, 4.75, 7.0, 7.75, 11.2, 13.1


@styled
def plot_mnemonic(trace=None, *, query=0, head=0, batch=0, title=None, lang="en", size=None, fig=None, ax=None):
    """Draw one query's attention as ribbons: shares of its look go out to the keys, and come back as content.

    Args:
        trace: a trace of attention, or the layer; the example 我 爱 AI unless given.
        query: which query to follow.
        head, batch: which head and item of the batch.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.

    >>> plot_mnemonic(query=2).plain_text.splitlines()[-1]
    'heads[AI] = 0.04·V[我] + 0.11·V[爱] + 0.84·V[AI] = [0.04, 0.11, 0.84, 0.84]'
    """
    trace = worked_example("by-hand").trace() if trace is None else read_trace(trace)
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
    size_of_page = PAGE, top + tall + 1.0
    page = open_page(size_of_page, fig=fig, ax=ax, size=size)
    middle = top + tall / 2
    page.zone(0.15, 0.6, WEIGHT - 0.55, tall + 0.75, LOOK)
    page.zone(WEIGHT + 0.5, 0.6, PAGE - WEIGHT - 0.65, tall + 0.75, GATHER)
    compare, content = signed_scale(Q, K), signed_scale(V, heads)
    _card(page, QUERY, middle, Q[query], asks, "q", compare)
    _card(page, OUTPUT, middle, heads[query], asks, say(lang, "输出", "output"), content)
    spent = middle - STACK / 2
    for place, j in enumerate(shown):
        y, share = top + ROW * (place + 0.5), weights[query, j] * STACK
        page.band((QUERY + 1.6, spent + share / 2), (KEY - 0.1, y), share, LOOK)
        page.band((VALUE + 1.6, y), (OUTPUT - 0.1, spent + share / 2), share, GATHER)
        spent += share
        note = say(lang, "分数", "score") + " " + number(scores[query, j])
        _card(page, KEY, y, K[j], keys[j], "k", compare, note)
        _card(page, VALUE, y, V[j], keys[j], "v", content)
        weight = weights[query, j]
        page.write(WEIGHT + 0.05, y, number(weight), va="center", fontsize=12 + 10 * weight, keep=True)
    _legend(page, title, lang)
    left = f" ({MOST_KEYS} / {S})" if S > MOST_KEYS else ""
    mixed = " + ".join(f"{number(weights[query, j])}·V[{keys[j]}]" for j in shown) + " + …" * bool(left)
    result = ", ".join([*map(number, heads[query][:8]), *["…"] * (len(heads[query]) > 8)])
    total = f"heads[{asks}] = {mixed} = [{result}]"
    shares = ", ".join(f"{keys[j]} {number(weights[query, j])}" for j in shown)
    alt = each(lang, lambda one: say(
        one, f"Q 和 K 决定 {asks} 看谁：{shares}。再按这些份额把各个 V 汇集成它的输出。",
        f"Q and K decide whom {asks} looks at: {shares}. In these shares the values are gathered into its output."))
    title = title or " · ".join(say(lang, *words) for words in HEADINGS)
    return finish(page, alt, f"{title}\n{shares}\n{total}")


def _matrix(trace, name, head, batch):
    column = next(c for c in used_columns(trace) if c.name == name)
    values = matrix_of(trace, name, column, head, batch)
    return values.T if column.transposed else values


def _card(page, left, y, vector, token, name, scale, note=""):
    """One vector as a row of cells, its token above."""
    cell = 1.5 / len(vector)
    axes = page.axes(left, y - 0.17, 1.5, 0.36)
    draw_matrix(axes, vector[None], scale, pitch=(cell * page.scale, 0.36 * page.scale), numbers=len(vector) <= 6,
                size=page.points(8.5))
    page.write(left, y - 0.22, shorten(token, 10), va="bottom", ha="left", fontsize=17,
               keep=True)
    page.write(left + 1.5, y - 0.23, name, va="bottom", ha="right", fontsize=12,
               color=NAMES.get(name.upper(), GREY))
    page.write(left, y + 0.24, note, ha="left", fontsize=9, color=GREY)


def _legend(page, title, lang):
    """Headings of the two fields, the three questions, and the formula in the fields' colours."""
    middles = (0.15 + WEIGHT - 0.4) / 2, (WEIGHT + 0.5 + PAGE - 0.15) / 2
    if title is not None:
        page.write(0.3, 0.16, title, ha="left", fontsize=14, keep=True, room=PAGE - 0.6)
    else:
        for x, words, colour in zip(middles, HEADINGS, (LOOK, GATHER), strict=True):
            text = "\n".join(lines(lang, *words))
            page.write(x, 0.3, text, va="center", fontsize=11 if lang == "both" else 16, color=colour, keep=True,
                       room=6.2, linespacing=1.1)
    for x, zh, en in (
        (QUERY, "我在找什么？", "what am I looking for?"), (KEY, "我凭什么被找到？", "what am I found by?"),
        (VALUE, "我交出什么？", "what do I hand over?"), (OUTPUT, "我汇集到什么？", "what did I gather?"),
    ):
        page.write(x, 0.72, "\n".join(lines(lang, zh, en)), ha="left", color=GREY, linespacing=1.1)
    x, y = PAGE / 2 + 1.3, page.size[1] - 0.42
    page.write(WEIGHT + 0.05, 0.72, "\n".join(lines(lang, "权重", "weights")), color=GREY, linespacing=1.1)
    page.write(x, y, "softmax(Q Kᵀ / √dₖ)", ha="right", va="center", fontsize=20, color=LOOK)
    page.write(x + 0.12, y, "V", ha="left", va="center", fontsize=20, color=GATHER)
