"""The error of a gradient check, number by number: where a backward pass and a measurement part."""

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import LogNorm

from ..words.colours import ACCENT
from ..words.languages import each, say
from .captions import title as two_lines
from .drawing import signed_scale
from .figure import finish, styled
from .inputs import to_array
from .matrix import outline
from .row import Panel, draw_row, row_text

SMALLEST = 1e-16


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
    if not tolerance > 0:
        raise ValueError(f"tolerance must be positive, not {tolerance}")
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
    verdict = title or two_lines(lang, f"{name} 一致：没有误差超过 {tolerance:g}",
                                 f"{name} agrees: no error above {tolerance:g}")
    if bad and not title:
        verdict = two_lines(lang, f"{name} 不对：{error.size} 个数里有 {bad} 个误差超过 {tolerance:g}",
                      f"{name} is WRONG: {bad} of {error.size} numbers differ by more than {tolerance:g}")
    found = say(lang, f"加框：最大误差 {error[worst]:.1e}，在 {place}",
                f"framed: the largest error, {error[worst]:.1e} at {place}")
    rows, columns = ([str(i) for i in range(n)] for n in panels[0].values.shape)
    page, drawn = draw_row(panels, rows, columns, title=verdict, lang=lang,
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

    return finish(page, each(lang, alt), row_text(verdict, panels, rows, columns))


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
