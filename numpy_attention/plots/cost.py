"""What attention costs: time and memory against the length, both axes logarithmic.

On such axes a power of L is a straight line and its exponent the slope, so grey guides show what growing with L and
with L² looks like. Whiskers reach from the lower to the upper quartile.
"""
from .figure import axes_at, finish, picture

COLOURS = {"plain": "0.4", "direct": "#0072B2", "blocked": "#D55E00", "torch with weights": "#009E73",
           "torch SDPA": "#CC79A7"}
MARKERS = {"plain": "x", "direct": "o", "blocked": "s", "torch with weights": "^", "torch SDPA": "v"}


def plot_cost(results, *, fig=None):
    """Draw the results of the benchmark.

    Args:
        results: dicts with contender, size (N, L, D, H), ms, low, high and mb, as numpy_attention.bench measures them;
            of these, the sizes with the commonest N, D and H are drawn.
        fig: a Figure to draw into.

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
    kinds = [("ms", "milliseconds, forward + backward")]
    if any(row["mb"] for row in rows):
        kinds.append(("mb", "peak memory, MB"))
    width, height = 1.2 + 5.2 * len(kinds), 4.6
    figure = picture(fig, width, height)
    figure.text(0.25 / width, 1 - 0.3 / height, f"What attention costs · N {N}, D {D}, H {H}, {dtype}", fontsize=13,
                va="top")
    for place, (key, label) in enumerate(kinds):
        axes = axes_at(figure, (width, height), 0.9 + 5.2 * place, 0.9, 4.0, 3.0)
        _panel(axes, rows, key, label)
    names = list(dict.fromkeys(row["contender"] for row in rows))
    lines = [f"{row['contender']}, L {row['size'][1]}: {row['ms']:.3g} ms" for row in rows]
    lines = [f"{line}, {row['mb']:.0f} MB" if row["mb"] else line for line, row in zip(lines, rows, strict=True)]
    return finish(figure, f"Time{' and memory' * (len(kinds) > 1)} of {', '.join(names)} against the length, log–log. "
                  + "; ".join(lines) + ".", "\n".join(lines))


def _panel(axes, rows, key, label):
    lengths = sorted({row["size"][1] for row in rows})
    for name in dict.fromkeys(row["contender"] for row in rows):
        mine = sorted((row["size"][1], row) for row in rows if row["contender"] == name and row[key])
        x, y = [L for L, _ in mine], [row[key] for _, row in mine]
        bars = None
        if key == "ms":
            bars = [[max(0, row["ms"] - row["low"]) for _, row in mine],
                    [max(0, row["high"] - row["ms"]) for _, row in mine]]
        axes.errorbar(x, y, yerr=bars, marker=MARKERS.get(name, "o"), color=COLOURS.get(name), label=name, capsize=2)
    values = [row[key] for row in rows if row[key]]
    for power, words in ((1, "∝ L"), (2, "∝ L²")):
        guide = [min(values) * (L / lengths[0]) ** power for L in lengths]
        axes.plot(lengths, guide, color="0.75", linestyle=":", zorder=0)
        axes.annotate(words, (lengths[-1], guide[-1]), color="0.45", fontsize=8, ha="left", va="center",
                      xytext=(3, 0), textcoords="offset points")
    axes.set(xscale="log", yscale="log", xlabel="length L", ylabel=label, xticks=lengths)
    axes.set_xticklabels(map(str, lengths))
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.tick_params(labelsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
