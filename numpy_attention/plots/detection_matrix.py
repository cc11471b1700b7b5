"""The detection matrix: a filled dot where a detector catches a bug, an empty one where it does not."""

from .colours import ACCENT, GREY
from .figure import axes_at, finish, picture
from .words import each, say

ROW, COLUMN, NAMES = 0.24, 0.95, 3.1
MARKS = {True: "●", False: "○", None: "–"}
CHINESE = {"golden numbers": "参考数值", "row sums": "行和", "causality probe": "因果探针", "permutation": "置换",
           "gradient check": "梯度检查"}


def plot_detection_matrix(specimens, detectors, caught, *, lang="en", fig=None):
    """Draw bugs × detectors; filled and empty dots, so that it can be read without colours.

    Args:
        specimens, detectors: names of the rows and the columns.
        caught: a row for each specimen with True, False or None (does not apply) for each detector.
        lang: "en", "zh" or "both".
        fig: a Figure or SubFigure to draw into.

    Returns:
        a Figure, with ``alt_text`` and ``plain_text``.
    Raises: ValueError if caught has other sizes.

    >>> plot_detection_matrix(["no mask"], ["golden numbers", "row sums"], [[True, False]]).alt_text
    'Which detector catches which of 1 bugs: golden numbers 1, row sums 0. Not caught by any: none.'
    """
    if len(caught) != len(specimens) or any(len(row) != len(detectors) for row in caught):
        raise ValueError(f"caught must have {len(specimens)} rows of {len(detectors)} values")
    size = NAMES + COLUMN * len(detectors) + 0.3, 1.35 + ROW * len(specimens) + 0.45
    figure = picture(fig, *size)
    axes = axes_at(figure, size, NAMES, 1.15, COLUMN * len(detectors), ROW * len(specimens))
    axes.set(xlim=(-0.5, len(detectors) - 0.5), ylim=(len(specimens) - 0.5, -0.5))
    for i, row in enumerate(caught):
        for j, mark in enumerate(row):
            if mark is None:
                axes.plot(j, i, marker="_", color=GREY, markersize=7)
            else:
                axes.plot(j, i, marker="o", markersize=8 if mark else 6, markeredgecolor=ACCENT if mark else GREY,
                          markerfacecolor=ACCENT if mark else "none", markeredgewidth=1)
    axes.set_yticks(range(len(specimens)), specimens, fontsize=8)
    axes.set_xticks(range(len(detectors)), [say(lang, d, CHINESE.get(d, d)).replace(" / ", "\n") for d in detectors],
                    fontsize=8)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    every_fifth = [i + 0.5 for i in range(4, len(specimens) - 1, 5)]
    axes.hlines(every_fifth, -0.5, len(detectors) - 0.5, color=GREY, linewidth=0.3)
    for side in axes.spines.values():
        side.set_visible(False)
    figure.text(0.15 / size[0], 1 - 0.3 / size[1], say(lang, "Which test catches which bug?", "哪种测试能抓住哪个虫？"),
                fontsize=12, va="center")
    figure.text(0.15 / size[0], 0.2 / size[1], say(lang, "● caught   ○ not seen   – does not apply",
                                                   "● 抓住   ○ 没发现   – 不适用"), fontsize=8, color=GREY)

    def alt(lang):
        totals = [(d, sum(row[j] is True for row in caught)) for j, d in enumerate(detectors)]
        free = [s for s, row in zip(specimens, caught, strict=True) if True not in row]
        return say(lang, f"Which detector catches which of {len(specimens)} bugs: "
                         f"{', '.join(f'{d} {n}' for d, n in totals)}. Not caught by any: {', '.join(free) or 'none'}.",
                   f"{len(specimens)} 个虫各被哪种测试抓住："
                   f"{'，'.join(f'{CHINESE.get(d, d)} {n}' for d, n in totals)}。漏网的：{'、'.join(free) or '没有'}。")

    widest = max((len(s) for s in specimens), default=0)
    lines = [f"{s:{widest}}  {' '.join(MARKS[mark] for mark in row)}" for s, row in zip(specimens, caught, strict=True)]
    return finish(figure, each(lang, alt), "\n".join([", ".join(detectors), *lines]))
