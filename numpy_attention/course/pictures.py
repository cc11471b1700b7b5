"""The plots of the lessons that the package does not have: curves, a table, numbers coloured by their origin."""
import numpy as np
from matplotlib.patches import Rectangle

from ..plots.curves import power
from ..plots.figure import Picture, finish, styled
from ..words.colours import GREY, HUES, WEIGHTS, ink
from ..words.terminal import width as text_width

MARKERS = "osD^vP*"


@styled
def curves(x, lines, *, xlabel, ylabel, title="", log="", marks=(), limits=None, alt, size=(7.5, 3.6)):
    """Several curves over the same x, told apart by colour and by marker, each named at the right.

    Args:
        x: numbers. lines: {"name": values or None where there is none, ...}.
        xlabel, ylabel, title: texts. log: "x", "y" or "xy" for logarithmic axes.
        marks: (x, text) of vertical lines. limits: (low, high) of y.
        alt: the picture in a sentence.

    Returns: a matplotlib Figure with alt text.

    >>> figure = curves([1, 2], {"a": [1.0, 2.0]}, xlabel="x", ylabel="y", alt="A line.")
    >>> print(figure.plain_text)
    x  1  2
    a  1  2
    """
    figure = Picture(figsize=size)
    axes = figure.add_axes((0.11, 0.16, 0.66, 0.72))
    for axis in log:
        getattr(axes, f"set_{axis}scale")("log")
        getattr(axes, f"{axis}axis").set_major_formatter(power)
        getattr(axes, f"{axis}axis").set_minor_formatter("")
    for number, ((name, y), marker) in enumerate(zip(lines.items(), MARKERS * 3, strict=False)):
        axes.plot(x, np.asarray(y, float), color=HUES[number % len(HUES)], marker=marker, markersize=4,
                  linewidth=1.4, label=name)
    for at, text in marks:
        axes.axvline(at, color=GREY, linewidth=0.8, linestyle=":")
        axes.text(at, 1.01, text, transform=axes.get_xaxis_transform(), ha="center", fontsize=8, color=GREY)
    if limits:
        axes.set_ylim(*limits)
    if "x" in log and len(x) <= 8:
        axes.set_xticks(x, [power(value) for value in x])
    axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9)
    axes.set_xlabel(xlabel, fontsize=9)
    axes.set_ylabel(ylabel, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.set_title(title, fontsize=10, loc="left", pad=16 if marks else 6)
    axes.spines[["top", "right"]].set_visible(False)
    text = [f"{xlabel}  " + "  ".join(f"{v:.4g}" for v in x)]
    text += [f"{name}  " + "  ".join(f"{v:.4g}" for v in np.asarray(y, float)) for name, y in lines.items()]
    return finish(figure, alt, "\n".join(text))


@styled
def table(values, rows, columns, *, title="", rowlabel="", columnlabel="", digits=2, limits=(0, 1), alt):
    """A small table of numbers, coloured by value, with names on both sides.

    >>> figure = table([[0.5, 1.0]], ["a"], ["x", "y"], alt="Two cells.")
    >>> print(figure.plain_text)
    a  0.50  1.00
    """
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    from ..plots.matrix import draw_matrix

    values = np.asarray(values, float)
    cell_wide, cell_high = 0.85, 0.42
    wide, high = values.shape[1] * cell_wide, values.shape[0] * cell_high
    left = 0.45 + 0.08 * max(map(text_width, map(str, rows)))
    size = max(left + wide + 0.4, 4.5), high + 1.25
    figure = Picture(figsize=size)
    axes = figure.add_axes((left / size[0], 0.12 / size[1], wide / size[0], high / size[1]))
    draw_matrix(axes, values, (colormaps[WEIGHTS], Normalize(*limits)), pitch=(cell_wide, cell_high), numbers=True,
                digits=digits, size=9)
    axes.set_yticks(range(len(rows)), [str(name) for name in rows], fontsize=9)
    axes.set_xticks(range(len(columns)), [str(name) for name in columns], fontsize=9)
    axes.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    axes.set_ylabel(rowlabel, fontsize=9)
    axes.set_title(f"{title}\n{columnlabel}".strip(), fontsize=10, loc="left", pad=8)
    lines = [f"{name}  " + "  ".join(f"{v:.{digits}f}" for v in row) for name, row in zip(rows, values, strict=True)]
    return finish(figure, alt, "\n".join(lines))


@styled
def coloured(panels, *, title="", alt):
    """Several small tables in a row; each number has the colour of the group that it came from.

    Args: panels: (name, numbers, groups) each, the last two of the same two axes. alt: the picture in a sentence.

    >>> figure = coloured([("x", [[1, 2]], [[0, 1]])], alt="Two numbers in two colours.")
    >>> print(figure.plain_text)
    x
    1 2
    """
    cell = 0.5, 0.36
    left, lefts = 0.3, []
    for _, numbers, _ in panels:
        lefts.append(left)
        left += len(numbers[0]) * cell[0] + 0.55
    tall = max(len(numbers) for _, numbers, _ in panels)
    size = left, tall * cell[1] + 1.1
    figure = Picture(figsize=size)
    for at, (name, numbers, groups) in zip(lefts, panels, strict=True):
        rows, columns = np.shape(numbers)
        axes = figure.add_axes((at / size[0], (size[1] - 0.85 - rows * cell[1]) / size[1], columns * cell[0] / size[0],
                                rows * cell[1] / size[1]), xlim=(0, columns), ylim=(rows, 0), xticks=[], yticks=[])
        for (i, j), number in np.ndenumerate(np.asarray(numbers)):
            hue = HUES[int(np.asarray(groups)[i, j]) % len(HUES)]
            axes.add_patch(Rectangle((j, i), 1, 1, facecolor=hue, edgecolor="white"))
            axes.text(j + 0.5, i + 0.5, f"{number}", ha="center", va="center", color=ink(hue), fontsize=9)
        axes.set_title(name, fontsize=9, loc="left", pad=4)
        axes.spines[:].set_visible(False)
    figure.text(0.3 / size[0], 1 - 0.12 / size[1], title, va="top", fontsize=10)
    return finish(figure, alt, "\n\n".join("\n".join([name, *(" ".join(map(str, row)) for row in np.asarray(numbers))])
                                           for name, numbers, _ in panels))


@styled
def four_ways(weights, tokens, *, alt):
    """One table of weights drawn four ways: scaled to its own range, 0 to 1, upside down, and on a logarithmic scale.

    >>> len(four_ways(np.full((2, 2), 0.5), ["a", "b"], alt="Four pictures of the same.").axes)
    4
    """
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, Normalize

    weights = np.asarray(weights, float)
    low, high = weights.min(), max(weights.max(), weights.min() + 1e-12)
    ways = [("A: own range 自动范围", Normalize(low, high), "upper"), ("B: 0 … 1", Normalize(0, 1), "upper"),
            ("C: 原点在下 origin below", Normalize(0, 1), "lower"), ("D: 对数 logarithmic", LogNorm(1e-6, 1), "upper")]
    figure = Picture(figsize=(11, 3.1))
    for place, (name, norm, origin) in enumerate(ways):
        axes = figure.add_axes((0.04 + 0.245 * place, 0.1, 0.2, 0.72))
        axes.imshow(np.maximum(weights, 1e-6), cmap=colormaps[WEIGHTS], norm=norm, origin=origin)
        axes.set_xticks(range(len(tokens)), tokens, fontsize=7)
        axes.set_yticks(range(len(tokens)), tokens, fontsize=7)
        axes.set_title(name, fontsize=9)
        axes.tick_params(length=0)
    return finish(figure, alt, "\n".join(" ".join(f"{w:.2f}" for w in row) for row in weights))
