"""Cross-attention: queries of one sequence read from a memory of another length, like a soft dictionary."""

import numpy as np

from ..engine.arguments import listed, whole
from ..words.languages import each, say
from .captions import title as two_lines
from .drawing import weight_scale
from .figure import finish, styled
from .inputs import find, formula_of, hidden_cells, one_head, tokens_of
from .matrix import outline
from .row import Panel, draw_row, row_text
from .statistics import check_weights, finding, looks
from .tokens import read_both, read_tokens


@styled
def plot_cross_attention(
    weights, query_tokens=None, key_tokens=None, *, value_tokens=None, gold=None, mask=None,
    head=0, batch=0, title=None, lang="en", size=None, fig=None, ax=None,
):
    """Draw queries against a memory; each column says "key→value", and the place where a query should look is framed.

    Args:
        weights: (L, S), (H, L, S) or (N, H, L, S); or a layer or trace that holds them.
        query_tokens, key_tokens: labels of rows and columns.
        value_tokens: what each place of the memory hands over, for the column labels.
        gold: for each query the index of the key it should find, None for none.
        mask: boolean, True where a query may attend; the layer's own unless given.
        head, batch: which head and item of the batch.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.

    >>> weights = np.array([[0.1, 0.8, 0.1], [0.6, 0.2, 0.2]])
    >>> figure = plot_cross_attention(weights, ["b?", "c?"], ["a", "b", "c"], value_tokens=["1", "2", "3"], gold=[1, 2])
    >>> figure.alt_text
    '1 of 2 queries look most at the framed key: b? looks mostly at b→2 (0.80); c? looks mostly at a→1 (0.60).'
    """
    values = one_head(find(weights, "weights"), "weights", head=head, batch=batch)
    check_weights(values, "weights")
    L, S = values.shape
    rows, columns = read_both(*tokens_of(weights, query_tokens, key_tokens), L, S)
    if value_tokens is not None:
        given = read_tokens(value_tokens, S, "value_tokens", f"S = {S} keys (columns)")
        columns = [f"{key}→{value}" for key, value in zip(columns, given, strict=True)]
    gold = _read_gold(gold, L, S)
    hidden = hidden_cells(mask, values.shape, head=head, batch=batch, source=weights)
    panel = Panel("weights", values, weight_scale(), formula_of(weights, "weights"),
                  say(lang, "注意力权重", "attention weight"), hidden, sums=True)
    found = sum(j is not None and np.argmax(row) == j for row, j in zip(values, gold, strict=True))
    wanted = sum(j is not None for j in gold)
    if title is None and wanted:
        title = two_lines(lang, f"{wanted} 个查询里有 {found} 个找到它该看的地方",
                          f"{found} of {wanted} queries find the place where they should look")
    elif title is None:
        title = two_lines(lang, *(finding(values, rows, columns, one, hidden) for one in ("zh", "en")))
    footer = say(lang, "加框：应该看的地方", "framed: where the query should look") if wanted else ""
    page, (axes,) = draw_row([panel], rows, columns, title=title, lang=lang,
                             fig=fig, ax=ax, size=size, footer=footer)
    for i, j in enumerate(gold):
        if j is not None:
            outline(axes, i, j)

    def alt(lang):
        seen = say(lang, "；", "; ").join(looks(values, rows, columns, lang)[:8])
        if not wanted:
            return f"{say(lang, f'{L} 个查询对 {S} 个键：{seen}。', f'{L} queries against {S} keys: {seen}.')}"
        return say(lang, f"{wanted} 个查询里有 {found} 个最看加框的键：{seen}。",
                   f"{found} of {wanted} queries look most at the framed key: {seen}.")

    return finish(page, each(lang, alt), row_text(title, [panel], rows, columns))


def _read_gold(gold, L, S):
    if gold is None:
        return [None] * L
    gold = [j if j is None else whole("gold", j) for j in listed("gold", gold, "key numbers, None for none")]
    if len(gold) != L:
        raise ValueError(f"gold has {len(gold)} entries, but there are L = {L} queries (rows)")
    for i, j in enumerate(gold):
        if j is not None and not 0 <= j < S:
            raise ValueError(f"gold[{i}] = {j} is out of range: there are S = {S} keys (columns)")
    return gold
