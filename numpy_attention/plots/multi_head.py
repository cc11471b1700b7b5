"""The heads of one attention side by side: weights in their own colour, laid side by side, mixed by W_O."""


from ..words.colours import GREY, HUES
from ..words.languages import each, say
from . import captions, statistics
from .drawing import reach, signed_scale, small_bar, weight_scale
from .figure import finish, styled
from .inputs import find, hidden_cells, is_layer, is_trace, one_head, to_array, tokens_of
from .matrix import draw_matrix, table
from .page import fold, foreground, open_page, title_room
from .tokens import column_room, read_both, row_room

MOST_HEADS = 8


@styled
def plot_multi_head(layer, *, batch=0, mask=None, title=None, lang="en", size=None, fig=None, ax=None):
    """Draw what many heads are for: each head's weights and answer, concat in the heads' colours, W_O, out.

    Args:
        layer: MultiHeadAttention after its forward, or a trace of it.
        batch: which item of the batch.
        mask: boolean, True where a query may attend; the layer's own unless given.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``. Of more than 8 heads the first 8 are drawn.
    Raises: ValueError for anything without heads, concat and out.

    Source: Vaswani et al. 2017, section 3.2.2 and figure 2.

    >>> mha = na.MultiHeadAttention(4, 2, rng=0)
    >>> out = mha(np.eye(3, 4)[None])
    >>> plot_multi_head(mha).plain_text.splitlines()[0]
    '2 heads look, concat lays their answers side by side, W_O mixes them into out'
    """
    if not (is_layer(layer) or is_trace(layer)):
        raise TypeError("layer must be MultiHeadAttention after its forward, or a trace of it; got "
                        + type(layer).__name__)
    weights, heads = find(layer, "weights"), find(layer, "heads")
    N = len(weights) if weights.ndim == 4 else 1
    if not -N <= batch < N:
        raise ValueError(f"batch={batch} is out of range: there are N = {N}")
    if weights.ndim == 4:
        weights, heads = weights[batch], heads[batch]
    concat, out = (one_head(find(layer, name), name, head=batch, shared=True) for name in ("concat", "out"))
    if weights.ndim != 3:
        raise ValueError(f"layer must have several heads: its weights are {weights.shape}; use plot_walkthrough")
    H, L, S = weights.shape
    d_v, D = heads.shape[-1], out.shape[-1]
    inner = layer if is_layer(layer) else layer.run.layer
    W_O = to_array(inner.output_proj.params["W"], "W_O")
    rows, columns = read_both(*tokens_of(layer, None, None), L, S)
    shown = min(H, MOST_HEADS)
    more = (f"（画了 {shown} 个）", f" ({shown} drawn)") if shown < H else ("", "")
    finding = captions.title(
        lang, f"{H} 个头{more[0]}各看各的，concat 把答案并排放好，W_O 把它们混合成 out",
        f"{H} heads{more[1]} look, concat lays their answers side by side, W_O mixes them into out")
    above = finding if title is None else title
    page = open_page(lambda *room: HeadsLayout(*room, shown, L, S, d_v, D, rows, columns, above), fig=fig, ax=ax,
                     size=size)
    layout = page.layout
    values = signed_scale(heads)
    for h in range(shown):
        hidden = hidden_cells(mask, (L, S), head=h, batch=batch, source=layer)
        found = statistics.pattern(weights[h], hidden, rows)
        y, hue = layout.row(h), _hue(h)
        words = (captions.query_axis(lang), captions.key_axis(lang)) if not h else ("", "")
        _matrix(page, layout.weights, y, weights[h], weight_scale(), layout.cell, hidden=hidden, rows=rows,
                columns=columns if not h else None, words=words)
        _matrix(page, layout.heads, y, heads[h], values, layout.cell, tint=hue, high=layout.cell)
        page.write(layout.weights, y - layout.labels * (not h) - 0.05 - 0.12 * (not h),
                   f"{captions.panel_name(h, False, lang)} · {captions.pattern_words(found, columns, lang)}", ha="left",
                   va="bottom", fontsize=8.5, color=hue, room=layout.concat - layout.weights - 0.3)
        page.write((layout.weights + S * layout.cell + layout.heads) / 2, y + L * layout.cell / 2, "V →", va="center",
                   fontsize=9, color=GREY)
        middle = y + L * layout.cell / 2
        start = layout.heads + d_v * layout.cell
        left = layout.concat + h * d_v * layout.cell
        page.band((start + 0.06, middle), (layout.concat - 0.08, layout.middle), 0.05, hue, alpha=0.5)
        page.zone(left, layout.middle - L * layout.cell / 2 - 0.1, d_v * layout.cell, 0.08, hue, alpha=1)
    top = layout.middle - L * layout.cell / 2
    _matrix(page, layout.concat, top, concat[:, :shown * d_v], values, layout.cell, rows=rows)
    _matrix(page, layout.projection, layout.middle - H * d_v * layout.thin / 2, W_O[:shown * d_v], signed_scale(W_O),
            layout.cell, high=layout.thin)
    _matrix(page, layout.out, top, out, signed_scale(out), layout.cell, rows=rows)
    for h in range(shown):
        page.zone(layout.projection - 0.1, layout.middle - H * d_v * layout.thin / 2 + h * d_v * layout.thin, 0.08,
                  d_v * layout.thin, _hue(h), alpha=1)
    for left, wide, name, shape in (
        (layout.concat, shown * d_v, "concat", f"{L} × {H * d_v} · {reach(values)}"),
        (layout.projection, D, "W_O", f"{H * d_v} × {D} · {reach(signed_scale(W_O))}"),
        (layout.out, D, "out", f"{L} × {D} · {reach(signed_scale(out))}"),
    ):
        above = layout.middle - (H * d_v * layout.thin if name == "W_O" else L * layout.cell) / 2 - 0.16
        page.write(left + wide * layout.cell / 2, above - 0.16, name, va="bottom", fontsize=12, keep=True)
        page.write(left + wide * layout.cell / 2, above, shape, va="bottom", fontsize=7.5, color=GREY)
    for x, sign in ((layout.projection - 0.3, "@"), (layout.out - 0.42, "=")):
        page.write(x, layout.middle, sign, va="center", fontsize=15, color=GREY)
    page.write(0.15, 0.1, layout.title, ha="left", fontsize=12, keep=True, room=layout.size[0] - 0.3)
    small_bar(page, layout.weights, layout.size[1] - 0.32, 1.2, weight_scale(), say(lang, "权重", "weights"))
    small_bar(page, layout.weights + 2.0, layout.size[1] - 0.32, 1.2, values, say(lang, "数值", "values"), own=True)
    does = [statistics.pattern(weights[h], hidden_cells(mask, (L, S), head=h, batch=batch, source=layer), rows)
            for h in range(shown)]
    alt = each(lang, lambda one: say(one, "多头注意力：", "Multi-head attention: ") + say(one, "；", "; ").join(
        f"{captions.panel_name(h, False, one)} {captions.pattern_words(what, columns, one)}"
        for h, what in enumerate(does)) + say(one, "。", "."))
    blocks = [f"Head {h}\n" + table(weights[h], rows, columns, sums=True) for h in range(shown)]
    blocks += ["out\n" + table(out, rows, [str(n) for n in range(D)])]
    return finish(page, alt, "\n\n".join([title or finding, *blocks]))


def _hue(h):
    hue = HUES[h % len(HUES)]
    return foreground() if hue == "#000000" else hue


def _matrix(page, left, top, values, scale, cell, *, high=None, tint=None, hidden=None, rows=None, columns=None,
            words=("", "")):
    """One matrix of cells ``cell`` wide and ``high`` high, in design inches."""
    high = high or cell
    axes = page.axes(left, top, values.shape[1] * cell, values.shape[0] * high)
    draw_matrix(axes, values, scale, pitch=(cell * page.scale, high * page.scale), hidden=hidden, size=page.points(8),
                numbers=values.size <= 150, rows=rows, columns=columns, words=words)
    if tint is not None:
        axes.spines[:].set(color=tint, linewidth=1.6)
    return axes


class HeadsLayout:
    """Heads below each other on the left; concat, W_O and out in a row beside them."""

    def __init__(self, room, tall, scale, heads, L, S, d_v, D, rows, columns, title):
        fixed = 0.2 + max(0.55, row_room(rows)) + 0.55 + 0.7 + row_room(rows) + 0.75 + 0.9 + row_room(rows) + 0.3
        cells = S + d_v + heads * d_v + 2 * D
        self.cell = max(0.05, min(0.34, (room - fixed) / cells, 8.0 / (heads * L)))
        self.labels = column_room(columns, self.cell, size=8)
        self.weights = 0.2 + max(0.55, row_room(rows))
        self.heads = self.weights + max(S * self.cell, 0.9) + 0.55
        self.concat = self.heads + d_v * self.cell + 0.7 + row_room(rows)
        self.projection = self.concat + heads * d_v * self.cell + 0.75
        self.out = self.projection + D * self.cell + 0.9 + row_room(rows) / 2
        wide = self.out + D * self.cell + 0.3
        self.title = fold(title, wide - 0.3, 12)
        self.first = 0.36 + title_room(self.title) + self.labels + 0.2
        self.step = L * self.cell + 0.34
        down = self.first + heads * self.step
        self.thin = min(self.cell, (down - self.first) / max(heads * d_v, 1))
        self.middle = max((self.first + down - 0.34) / 2, self.first + heads * d_v * self.thin / 2)
        self.size = wide, max(down, self.middle + heads * d_v * self.thin / 2) + 0.65

    def row(self, head):
        return self.first + head * self.step
