"""The V-curve: the error of a numerical derivative against its step, both on logarithmic scales."""

import numpy as np
from matplotlib.ticker import NullLocator

from .colours import GREY, HUES
from .figure import axes_at, finish, picture
from .words import each, say

SMALLEST = 1e-17
MARKERS = "osv^D*X"
CHINESE = {"one-sided": "单边差分", "central": "中心差分", "complex step": "复数步长"}
SIZE = 9.4, 4.6


def plot_step_curve(steps, errors, *, name=None, lang="en", fig=None):
    """Draw one line for each way of measuring a slope; its lowest point is ringed and told in the legend.

    Args:
        steps: the steps h.
        errors: {way: the relative error at each step}; an error of 0 is drawn at 1e-17.
        name: of the gradient, such as "dQ".
        lang: "en", "zh" or "both".
        fig: a Figure or SubFigure to draw into.

    Returns:
        a Figure, with ``alt_text`` and ``plain_text``.
    Raises: ValueError if an error is missing for a step.

    >>> plot_step_curve([1e-2, 1e-4], {"float64 central": [1e-5, 1e-9]}, name="dQ").alt_text
    'Error of dQ against the step: float64 central is best at h = 1e-04 with 1.0e-09.'
    """
    steps = np.asarray(steps, float)
    errors = {way: np.asarray(values, float) for way, values in errors.items()}
    for way, values in errors.items():
        if values.shape != steps.shape:
            raise ValueError(f"errors of {way!r} must be one for each of the {steps.size} steps; got {values.shape}")
    figure = picture(fig, *SIZE)
    axes = axes_at(figure, SIZE, 0.9, 0.55, 5.6, SIZE[1] - 1.2)
    best = {way: int(np.argmin(np.where(np.isfinite(values), values, np.inf))) for way, values in errors.items()}
    for i, (way, values) in enumerate(errors.items()):
        drawn, lowest = np.clip(values, SMALLEST, None), best[way]
        colour = HUES[i % len(HUES)]
        axes.plot(steps, drawn, color=colour, marker=MARKERS[i % len(MARKERS)], markersize=4, linewidth=1.5,
                  linestyle="--" if "float32" in way else "-", label=f"{_word(way, lang)}: {values[lowest]:.0e}")
        axes.plot(steps[lowest], drawn[lowest], "o", markersize=11, markerfacecolor="none", markeredgecolor=colour)
    axes.set(xscale="log", yscale="log", xlabel=say(lang, "step h", "步长 h"),
             ylabel=say(lang, "largest relative error", "最大相对误差"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: f"{value:.0e}")
        axis.set_minor_locator(NullLocator())
    axes.grid(color=GREY, alpha=0.2)
    axes.legend(fontsize=8, title=say(lang, "ringed: the best step", "圆圈：最好的步长"), title_fontsize=8,
                loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    axes.set_title(say(lang, f"Error of {name or 'the gradient'} against the step",
                       f"{name or '梯度'} 的误差与步长"), fontsize=12, loc="left")

    def alt(lang):
        lowest = [say(lang, f"{_word(way, lang)} is best at h = {steps[i]:.0e} with {errors[way][i]:.1e}",
                      f"{_word(way, lang)} 在 h = {steps[i]:.0e} 时最好，误差 {errors[way][i]:.1e}")
                  for way, i in best.items()]
        return say(lang, f"Error of {name or 'the gradient'} against the step: {'; '.join(lowest)}.",
                   f"{name or '梯度'} 的误差随步长的变化：{'；'.join(lowest)}。")

    lines = ["h        " + "  ".join(errors)]
    lines += [f"{h:.0e}  " + "  ".join(f"{values[i]:{len(way)}.1e}" for way, values in errors.items())
              for i, h in enumerate(steps)]
    return finish(figure, each(lang, alt), "\n".join(lines))


def _word(way, lang):
    dtype, _, kind = way.partition(" ") if way.startswith("float") else ("", "", way)
    return say(lang, way, f"{dtype} {CHINESE.get(kind, kind)}".strip())
