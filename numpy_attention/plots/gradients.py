"""Gradients of one head on both sides of the softmax; and a gradient beside its measurement, number by number."""

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import LogNorm

from ..words.colours import ACCENT
from ..words.languages import each, say
from .captions import title as two_lines
from .drawing import signed_scale, weight_scale
from .figure import finish, styled
from .inputs import formula_of, hidden_cells, read_heads, to_array, tokens_of
from .matrix import number, outline
from .row import Panel, draw_row, row_text
from .tokens import read_both

SATURATED = 0.95
SMALLEST = 1e-16


@styled
def plot_gradients(
    weights, dweights=None, dscores=None, *, query_tokens=None, key_tokens=None, mask=None, same_scale=False,
    head=0, batch=0, title=None, lang="en", size=None, fig=None, ax=None,
):
    """Draw weights, dweights and dscores of one head; the last has rows that sum to 0.

    Args:
        weights: (L, S), (H, L, S) or (N, H, L, S); or a layer or trace after backward, which holds all three.
        dweights, dscores: gradients of the same shape.
        query_tokens, key_tokens: labels of rows and columns.
        mask: boolean, True where a query may attend; the layer's own unless given.
        same_scale: both gradients on one scale, instead of each on its own.
        head, batch: which head and item of the batch.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.

    >>> figure = plot_gradients(na.worked_example("by-hand").trace())
    >>> [axes.get_label() for axes in figure.axes[:3]]
    ['weights', 'dweights', 'dscores']
    """
    names = ("weights", "dweights", "dscores")
    arrays = read_heads(weights, names, (dweights, dscores), head=head, batch=batch)
    if len({array.shape for array in arrays}) > 1:
        raise ValueError("weights, dweights and dscores must share (L, S): " + ", ".join(str(a.shape) for a in arrays))
    rows, columns = read_both(*tokens_of(weights, query_tokens, key_tokens), *arrays[0].shape)
    hidden = hidden_cells(mask, arrays[0].shape, head=head, batch=batch, source=weights)
    scales = [weight_scale(), *(signed_scale(*(arrays[1:] if same_scale else [array]), gradients=True)
                                for array in arrays[1:])]
    bars = [say(lang, "注意力权重", "attention weight"), *[say(lang, "梯度", "gradient")] * 2]
    panels = [Panel(name, array, scale, formula_of(weights, name), bar, hidden, sums=name != "dweights")
              for name, array, scale, bar in zip(names, arrays, scales, bars, strict=True)]
    full = np.argwhere(arrays[0] > SATURATED)
    note = "" if not len(full) else say(
        lang, f"加框：权重大于 {SATURATED}，softmax 饱和，几乎不传梯度",
        f"framed: weights above {SATURATED}, where the softmax is saturated and hardly passes a gradient")
    finding = two_lines(lang, *(_finding(arrays[2], head, rows, columns, one) for one in ("zh", "en")))
    page, drawn = draw_row(panels, rows, columns, title=finding if title is None else title, lang=lang,
                           fig=fig, ax=ax, size=size, footer=note)
    for axes in drawn[::2]:
        for i, j in full if full.size <= 200 else ():
            outline(axes, i, j)
    alt = each(lang, lambda one: _alt_text(arrays[2], len(full), head, rows, columns, one))
    return finish(page, alt, row_text(title or finding, panels, rows, columns))


def _finding(dscores, head, rows, columns, lang):
    """Where the scores are pushed hardest."""
    if not np.any(np.nan_to_num(dscores)):
        return say(lang, f"头 {head}：没有梯度穿过 softmax", f"Head {head}: no gradient gets through the softmax")
    i, j = np.unravel_index(np.argmax(np.abs(np.nan_to_num(dscores))), dscores.shape)
    value = number(dscores[i, j])
    return say(lang, f"头 {head}：穿过 softmax 之后，{rows[i]} 看 {columns[j]} 的分数得到最大的梯度（{value}）",
               f"Head {head}: back through the softmax, the score of {rows[i]} on {columns[j]} is moved most ({value})")


def _alt_text(dscores, saturated, head, rows, columns, lang):
    """Where the largest gradient is, and how much of the softmax is saturated."""
    largest = ""
    if dscores.size:
        i, j = np.unravel_index(np.argmax(np.abs(np.nan_to_num(dscores))), dscores.shape)
        place = f"{dscores[i, j]:.3g} ({rows[i]}, {columns[j]})".replace("-", "−")
        largest = say(lang, f"最大的 dscores 是 {place}。", f" The largest dscores is {place}.")
    return say(lang, f"头 {head} 的权重与梯度。{largest}大于 {SATURATED} 的权重：{saturated} 个。",
               f"Weights and gradients of head {head}.{largest} Weights above {SATURATED}: {saturated}.")


@styled
def plot_gradient_check(analytic, numeric=None, *, tolerance=1e-6, name=None, title=None, lang="en",
                        size=None, fig=None, ax=None):
    """Draw a gradient computed by backward, the measured one, and their relative error on a logarithmic scale.

    The error of a number is |analytic − numeric| / max(|analytic|, |numeric|), where the largest number of the
    gradient is taken down a thousandfold as the least divisor: rounding noise around zero is no bug.

    Args:
        analytic: gradient by backward, any shape (leading axes are folded into the rows); or one row of a
            GradientReport, which holds both.
        numeric: gradient by measurement, the same shape.
        tolerance: the largest relative error that passes.
        name: of the tensor, such as "dQ".
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.

    >>> plot_gradient_check(np.array([[1.0, 2.0]]), np.array([[1.0, 4.0]]), name="dW").alt_text
    'dW is WRONG: 1 of 2 numbers differ by more than 1e-06; worst at (0, 1): 2 by backward, 4 measured.'
    """
    if hasattr(analytic, "numeric"):
        name, numeric, analytic = name or f"d{analytic.name}", analytic.numeric, analytic.analytic
    if numeric is None:
        raise TypeError("numeric must be given too, unless analytic is a row of a GradientReport")
    name = name or say(lang, "梯度", "gradient")
    analytic, numeric = to_array(analytic, "analytic"), to_array(numeric, "numeric")
    if analytic.shape != numeric.shape:
        raise ValueError(f"analytic and numeric must share a shape: {analytic.shape} and {numeric.shape}")
    if not analytic.size:
        raise ValueError(f"analytic {analytic.shape} holds no numbers to compare")
    error = relative_error(analytic, numeric)
    flat = (-1, analytic.shape[-1] if analytic.ndim > 1 else analytic.size)
    bad = int(np.sum(~(error <= tolerance)))
    worst = np.unravel_index(np.argmax(np.nan_to_num(error, nan=np.inf)), error.shape)
    place = f"({', '.join(map(str, worst))})"
    signed, steps = signed_scale(analytic, numeric, gradients=True), (colormaps["Greys"], LogNorm(SMALLEST, 1))
    axes = two_lines(lang, "行", "row") + " ↓", say(lang, "列", "column") + " →"
    panels = [
        Panel(say(lang, "反向求得", "by backward"), analytic.reshape(flat), signed, name, name, axes=axes),
        Panel(say(lang, "数值测得", "measured"), numeric.reshape(flat), signed, name, axes=axes),
        Panel(say(lang, "相对误差", "relative error"), np.clip(error.reshape(flat), SMALLEST, 1), steps, axes=axes,
              bar=say(lang, f"容差 {tolerance:g}", f"tolerance {tolerance:g}"),
              numbers=lambda value: f"{value:.0e}".replace("e-0", "e-")),
    ]
    verdict = two_lines(lang, f"{name} 一致：没有误差超过 {tolerance:g}",
                        f"{name} agrees: no error above {tolerance:g}")
    if bad:
        verdict = two_lines(lang, f"{name} 不对：{error.size} 个数里有 {bad} 个误差超过 {tolerance:g}",
                            f"{name} is WRONG: {bad} of {error.size} numbers differ by more than {tolerance:g}")
    found = say(lang, f"加框：最大误差 {error[worst]:.1e}，在 {place}",
                f"framed: the largest error, {error[worst]:.1e} at {place}")
    rows, columns = ([str(i) for i in range(n)] for n in panels[0].values.shape)
    page, drawn = draw_row(panels, rows, columns, title=verdict if title is None else title, lang=lang,
                           fig=fig, ax=ax, size=size, footer=found)
    outline(drawn[2], *divmod(int(np.ravel_multi_index(worst, error.shape)), flat[1]))
    page.bars[-1].axvline(tolerance, color=ACCENT, linewidth=2)

    def alt(lang):
        ends = f"{analytic[worst]:.3g}", f"{numeric[worst]:.3g}"
        if not bad:
            return say(lang, f"{name} 与数值测得的一致：最大相对误差 {error[worst]:.1e}，在 {place}。",
                       f"{name} agrees with the measurement: largest error {error[worst]:.1e} at {place}.")
        return say(lang, f"{name} 不对：{error.size} 个数里有 {bad} 个误差超过 {tolerance:g}；最差在 {place}："
                   f"反向 {ends[0]}，测得 {ends[1]}。",
                   f"{name} is WRONG: {bad} of {error.size} numbers differ by more than {tolerance:g}; worst at "
                         f"{place}: {ends[0]} by backward, {ends[1]} measured.")

    return finish(page, each(lang, alt), row_text(title or verdict, panels, rows, columns))


def relative_error(analytic, numeric):
    """|analytic − numeric| / max(|analytic|, |numeric|, a thousandth of the largest); NaN is an infinite error.

    >>> relative_error(np.array([1.0, 0.0]), np.array([2.0, 1e-9])).tolist()
    [0.5, 5e-07]
    """
    with np.errstate(invalid="ignore"):
        difference = np.abs(analytic - numeric)
    size = np.maximum(np.abs(analytic), np.abs(numeric))
    least = np.max(size, where=np.isfinite(size), initial=0) / 1000
    divisor = np.maximum(np.where(np.isfinite(size), size, 1), least)
    error = np.divide(difference, divisor, out=np.zeros_like(difference), where=divisor > 0)
    return np.where(np.isfinite(error), error, np.inf)
