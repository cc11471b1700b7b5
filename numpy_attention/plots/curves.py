"""Curves on logarithmic axes: the V of a numerical derivative, and what attention costs.

On such axes a power of L is a straight line and its exponent the slope, so grey guides show what growing with L and
with L² looks like. Whiskers reach from the lower to the upper quartile.
"""
from functools import partial

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ..words.colours import GREY, HUES
from ..words.languages import each, say
from .captions import title as two_lines
from .figure import finish, styled
from .page import fold, open_page, title_room

SMALLEST = 1e-17
MARKERS = "osv^D*X"
WAYS = {"one-sided": ("单边差分", HUES[0]), "central": ("中心差分", HUES[1]), "complex step": ("复数步长", HUES[2])}
CONTENDERS = {"direct": "o", "blocked": "s", "torch with weights": "^", "torch SDPA": "v", "plain": "D"}
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(value, _position=None, *, beyond=4):
    """A tick of a logarithmic axis: 10⁻⁵ for a power of ten beyond ten thousand, the number itself in between.

    >>> power(1e-5), power(100.0), power(100.0, beyond=0)
    ('10⁻⁵', '100', '10²')
    """
    exponent = round(np.log10(value)) if value > 0 else 0
    if value <= 0 or not np.isclose(value, 10.0 ** exponent) or abs(exponent) < beyond:
        return f"{value:g}"
    return "10" + str(exponent).translate(SUPERSCRIPT)


@styled
def plot_step_curve(steps, errors, *, name=None, title=None, lang="en", size=None, fig=None, ax=None):
    """Draw one line for each way of measuring a slope; its lowest point is ringed and told beside it.

    Args:
        steps: the steps h.
        errors: {way: the relative error at each step}; an error of 0 is drawn at 1e-17.
        name: of the gradient, such as "dQ".
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.
    Raises: ValueError if an error is missing for a step.

    >>> plot_step_curve([1e-2, 1e-4], {"float64 central": [1e-5, 1e-9]}, name="dQ").alt_text
    'Error of dQ against the step: float64 central is best at h = 1e-04 with 1.0e-09.'
    """
    steps = np.asarray(steps, float)
    errors = {way: np.asarray(values, float) for way, values in errors.items()}
    for way, values in errors.items():
        if values.shape != steps.shape:
            raise ValueError(f"errors of {way!r} must be one for each of the {steps.size} steps; got {values.shape}")
    best = {way: int(np.argmin(np.where(np.isfinite(values), values, np.inf))) for way, values in errors.items()}
    finding = _v_finding(steps, errors, best, name, lang)
    title = fold(finding if title is None else title, 9.1, 12)
    down = title_room(title)
    page = open_page((9.4, 4.6 + down), fig=fig, ax=ax, size=size)
    axes = page.axes(0.95, 0.6 + down, 5.3, 3.3)
    thin = min(1, page.scale)
    ends = []
    for i, (way, values) in enumerate(errors.items()):
        drawn, lowest = np.clip(values, SMALLEST, None), best[way]
        colour = hue_of(way, i)
        single = "float32" in way
        axes.plot(steps, drawn, color=colour, marker=MARKERS[i % len(MARKERS)], markersize=4 * thin,
                  linewidth=1.5 * thin, linestyle="--" if single else "-")
        axes.plot(steps[lowest], drawn[lowest], "o", color=colour, markersize=11 * thin, markerfacecolor="none")
        ends.append((drawn[np.argmin(steps)], f"{_word(way, lang)}: {values[lowest]:.0e}", colour))
    axes.set(xscale="log", yscale="log")
    _log_axes(page, axes)
    _end_labels(page, ends, 0.66 + down)
    page.write(0.95 + 2.65, 4.2 + down, say(lang, "步长 h", "step h") + " →", fontsize=9)
    for x, words in ((0.15, say(lang, "最大相对误差", "largest relative error") + " ↑"),
                     (6.45, say(lang, "圆圈：最好的步长", "ringed: the best step"))):
        page.write(x, 0.28 + down, words, ha="left", fontsize=9, color=GREY)
    page.write(0.15, 0.1, title, ha="left", fontsize=12, keep=True, room=9.1)

    def alt(lang):
        lowest = [say(lang, f"{_word(way, lang)} 在 h = {steps[i]:.0e} 时最好，误差 {errors[way][i]:.1e}",
                      f"{_word(way, lang)} is best at h = {steps[i]:.0e} with {errors[way][i]:.1e}")
                  for way, i in best.items()]
        return say(lang, f"{name or '梯度'} 的误差随步长的变化：{'；'.join(lowest)}。",
                   f"Error of {name or 'the gradient'} against the step: {'; '.join(lowest)}.")

    lines = ["h        " + "  ".join(errors)]
    lines += [f"{h:.0e}  " + "  ".join(f"{values[i]:{len(way)}.1e}" for way, values in errors.items())
              for i, h in enumerate(steps)]
    return finish(page, each(lang, alt), "\n".join(lines))


def hue_of(way, number):
    """The hue of a way of measuring a slope, the same wherever it is drawn; of anything else, the next one.

    >>> hue_of("float32 central", 0) == hue_of("float64 central", 5) == HUES[1], hue_of("loss", 3) == HUES[3]
    (True, True)
    """
    return next((hue for kind, (_, hue) in WAYS.items() if way.endswith(kind)), HUES[number % len(HUES)])


def _v_finding(steps, errors, best, name, lang):
    """Which way of measuring comes closest, and at which step."""
    if not errors:
        return two_lines(lang, "误差与步长", "Error against the step")
    way = min(best, key=lambda one: errors[one][best[one]])
    h, error = f"{steps[best[way]]:.0e}", f"{errors[way][best[way]]:.0e}"
    return two_lines(lang, f"{name or '梯度'} 量得最准的是{_word(way, 'zh')}：h = {h}，误差 {error}",
                     f"{name or 'the gradient'} is measured best by {_word(way, 'en')}: h = {h}, error {error}")


def _word(way, lang):
    dtype, _, kind = way.partition(" ") if way.startswith("float") else ("", "", way)
    return f"{dtype} {say(lang, WAYS.get(kind, (kind,))[0], kind)}".strip()


def _log_axes(page, axes):
    size = page.points(8.5)
    for axis in (axes.xaxis, axes.yaxis):
        low, high = np.log10(axis.get_view_interval())
        powers = np.arange(np.ceil(low), np.floor(high) + 1)
        powers = powers[:: max(1, -(-len(powers) // 8))]
        axis.set_major_locator(FixedLocator(10.0 ** powers))
        beyond = 0 if np.abs(powers).max(initial=0) >= 4 else 4         # all ticks of an axis are written one way
        axis.set_major_formatter(FuncFormatter(partial(power, beyond=beyond)))
        axis.set_minor_locator(NullLocator())
    axes.tick_params(labelsize=size or 1, length=2, labelleft=bool(size), labelbottom=bool(size))
    axes.grid(color=GREY, alpha=0.2, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _end_labels(page, ends, top):
    """Labels in the lines' colours, one below the other in the order of the lines."""
    for place, (_, text, colour) in enumerate(sorted(ends, key=lambda end: -end[0])):
        page.write(6.45, top + 0.3 * place, "— " + text, ha="left", fontsize=9, color=colour, room=2.9)


@styled
def plot_cost(results, *, title=None, lang="en", size=None, fig=None, ax=None):
    """Draw the results of the benchmark.

    Args:
        results: dicts with contender, size (N, L, D, H), ms, low, high and mb, as numpy_attention.bench measures them;
            of these, the sizes with the commonest N, D and H are drawn.
        title: replaces the line on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.
    Raises: ValueError if there is nothing to draw.

    >>> row = {"contender": "direct", "dtype": "float32", "ms": 2.0, "low": 1.9, "high": 2.2, "mb": 8.0}
    >>> figure = plot_cost([row | {"size": (1, 512, 64, 4)}, row | {"size": (1, 1024, 64, 4), "ms": 7.5}])
    """
    shapes = [(row["size"][0], *row["size"][2:], row["dtype"]) for row in results]
    if not shapes:
        raise ValueError("results must hold at least one measurement, got none")
    common = max(sorted(set(shapes)), key=lambda shape: len({row["size"][1] for row in results if (
        row["size"][0], *row["size"][2:], row["dtype"]) == shape}))
    rows = [row for row, shape in zip(results, shapes, strict=True) if shape == common]
    N, D, H, dtype = common
    kinds = [("ms", say(lang, "毫秒，前向 + 反向", "milliseconds, forward + backward"))]
    if any(row["mb"] for row in rows):
        kinds.append(("mb", say(lang, "内存峰值，MB", "peak memory, MB")))
    wide = 1.7 + 5.0 * len(kinds)
    sizes = f"N {N}, D {D}, H {H}, {dtype}"
    finding = two_lines(lang, f"注意力要花多少 · {sizes}", f"What attention costs · {sizes}")
    title = fold(finding if title is None else title, wide - 0.3, 12)
    down = title_room(title)
    page = open_page((wide, 4.6 + down), fig=fig, ax=ax, size=size)
    page.write(0.15, 0.1, title, ha="left", fontsize=12, keep=True, room=wide - 0.3)
    for place, (key, label) in enumerate(kinds):
        left = 0.9 + 5.0 * place
        page.write(left - 0.6, 0.4 + down, label + " ↑", ha="left", fontsize=9, color=GREY)
        page.write(left + 1.95, 4.1 + down, say(lang, "长度 L", "length L") + " →", fontsize=9)
        _cost_panel(page, page.axes(left, 0.7 + down, 3.9, 3.1), rows, key, place == len(kinds) - 1)
    names = list(dict.fromkeys(row["contender"] for row in rows))
    lines = [f"{row['contender']}, L {row['size'][1]}: {row['ms']:.3g} ms" for row in rows]
    lines = [f"{line}, {row['mb']:.0f} MB" if row["mb"] else line for line, row in zip(lines, rows, strict=True)]
    both = len(kinds) > 1
    alt = each(lang, lambda one: say(
        one, f"{'、'.join(names)} 的时间{'和内存' * both}与长度的关系，双对数坐标。{'；'.join(lines)}。",
        f"Time{' and memory' * both} of {', '.join(names)} against the length, log–log. {'; '.join(lines)}."))
    return finish(page, alt, "\n".join(lines))


def _cost_panel(page, axes, rows, key, legend):
    lengths = sorted({row["size"][1] for row in rows})
    thin, size = min(1, page.scale), page.points(8)
    for number, name in enumerate(dict.fromkeys(row["contender"] for row in rows)):
        mine = sorted((row["size"][1], row) for row in rows if row["contender"] == name and row[key])
        x, y = [L for L, _ in mine], [row[key] for _, row in mine]
        bars = None
        if key == "ms":
            bars = [[max(0, row["ms"] - row["low"]) for _, row in mine],
                    [max(0, row["high"] - row["ms"]) for _, row in mine]]
        axes.errorbar(x, y, yerr=bars, marker=CONTENDERS.get(name, "X"), color=HUES[number % 6], label=name, capsize=2,
                      linewidth=1.4 * thin, markersize=5 * thin)
    values = [row[key] for row in rows if row[key]]
    for slope, words in ((1, "∝ L"), (2, "∝ L²")):
        guide = [0.6 * min(values) * (L / lengths[0]) ** slope for L in lengths]
        axes.plot(lengths, guide, color="0.75", linestyle=":", zorder=0)
        if size:
            axes.annotate(words, (lengths[-1], guide[-1]), color=GREY, fontsize=size, ha="left", va="center",
                          xytext=(6, 0), textcoords="offset points")
    axes.set(xscale="log", yscale="log")
    axes.margins(x=0.08)
    low, high = axes.get_ylim()
    ticks = [part * 10.0 ** e for e in range(-3, 8) for part in (1, 2, 5) if low <= part * 10.0 ** e <= high]
    ticks = ticks if len(ticks) <= 8 else [tick for tick in ticks if f"{tick:e}".startswith("1")]
    _log_axes(page, axes)
    for axis, places in ((axes.xaxis, lengths), (axes.yaxis, ticks)):
        axis.set_major_locator(FixedLocator(places))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    if size and legend:
        axes.legend(frameon=False, fontsize=size, loc="upper left", borderaxespad=0)
