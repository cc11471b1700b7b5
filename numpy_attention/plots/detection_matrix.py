"""The detection matrix: a filled dot where a detector catches a bug, an empty one where it does not."""

from ..words.colours import ACCENT, GREY
from ..words.languages import each, lines, say
from ..words.terminal import width
from .captions import title as two_lines
from .figure import finish, styled
from .page import fold, open_page, title_room

ROW, COLUMN = 0.24, 0.95
MARKS = {True: "●", False: "○", None: "–"}
CHINESE = {"golden numbers": "参考数值", "row sums": "每行之和", "causality probe": "因果探针", "permutation": "置换",
           "gradient check": "梯度检查"}


@styled
def plot_detection_matrix(specimens, detectors, caught, *, groups=None, names_zh=None, title=None, lang="en", size=None,
                          fig=None, ax=None):
    """Draw bugs × detectors; filled and empty dots, so that it can be read without colours. Totals stand on top.

    Args:
        specimens, detectors: names of the rows and the columns.
        caught: a row for each specimen with True, False or None (does not apply) for each detector.
        groups: the family of each specimen, (zh, en); rows of one family stand together under its name.
        names_zh: Chinese names of the specimens.
        title: replaces the finding on top.
        lang: "en", "zh" or "both".
        size: "column", "page", "slide", or inches of width.
        fig, ax: a Figure, SubFigure or Axes to draw into, of any size.

    Returns: a Figure, with ``alt_text`` and ``plain_text``.
    Raises: ValueError if caught has other sizes.

    >>> plot_detection_matrix(["no mask"], ["golden numbers", "row sums"], [[True, False]]).alt_text
    'Which detector catches which of 1 bugs: golden numbers 1, row sums 0. Not caught by any: none.'
    """
    specimens, count = list(specimens), len(specimens)
    if len(caught) != count or any(len(row) != len(detectors) for row in caught):
        raise ValueError(f"caught must have {count} rows of {len(detectors)} values")
    if any(given is not None and len(given) != count for given in (groups, names_zh)):
        raise ValueError(f"groups and names_zh must have an entry for each of the {count} specimens")
    totals = [sum(row[j] is True for row in caught) for j in range(len(detectors))]
    alone = [sum(row[j] is True and sum(mark is True for mark in row) == 1 for row in caught)
             for j in range(len(detectors))]
    finding = _finding(detectors, alone, count, lang)
    order = _order(groups, caught)
    names = [_name(specimens[i], names_zh[i] if names_zh else "", lang) for i in range(count)]
    heading = say(lang, f"抓住，共 {count}", f"caught, of {count}")
    left = 0.4 + max(0.062 * max(map(width, names), default=0), 0.072 * width(heading))
    place = left + COLUMN * len(detectors) + 0.3
    title = fold(finding if title is None else title, place - 0.3, 12)
    head = 0.4 + title_room(title)
    top = head + 0.62
    layout = place, top + ROW * len(order) + 0.3
    page = open_page(layout, fig=fig, ax=ax, size=size)
    axes = page.axes(left, top, COLUMN * len(detectors), ROW * max(len(order), 1))
    axes.set(xlim=(-0.5, len(detectors) - 0.5), ylim=(len(order) - 0.5, -0.5), xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    _dots(axes, order, caught, min(1, page.scale))
    for j, name in enumerate(detectors):
        x = left + COLUMN * (j + 0.5)
        page.write(x, head + 0.3, "\n".join(dict.fromkeys(lines(lang, CHINESE.get(name, name), name))), va="bottom",
                   fontsize=8, linespacing=1.1)
        page.write(x, head + 0.33, str(totals[j]), fontsize=12, color=ACCENT, keep=True)
    page.write(left - 0.1, head + 0.36, heading, ha="right", fontsize=9)
    for at, item in enumerate(order):
        y = top + ROW * (at + 0.5)
        if isinstance(item, int):
            page.write(left - 0.1, y, names[item], ha="right", va="center", fontsize=8)
        else:
            page.write(0.15, y, " ".join(dict.fromkeys(lines(lang, *item))), ha="left", va="center", fontsize=8.5,
                       color=ACCENT)
            axes.axhline(at, color=GREY, linewidth=0.4)
    page.write(0.15, 0.1, title, ha="left", fontsize=12, keep=True, room=place - 0.3)
    page.write(0.15, 0.12 + title_room(title), say(lang, "● 抓住   ○ 没发现   – 不适用",
               "● caught   ○ not seen   – does not apply"), ha="left", fontsize=8, color=GREY)

    def alt(lang):
        pairs = list(zip(detectors, totals, strict=True))
        free = [s for s, row in zip(specimens, caught, strict=True) if True not in row]
        return say(lang, f"{count} 个虫各被哪种测试抓住："
                         f"{'，'.join(f'{CHINESE.get(d, d)} {n}' for d, n in pairs)}。"
                         f"漏网的：{'、'.join(free) or '没有'}。",
                   f"Which detector catches which of {count} bugs: "
                   f"{', '.join(f'{d} {n}' for d, n in pairs)}. Not caught by any: {', '.join(free) or 'none'}.")

    widest = max((len(s) for s in specimens), default=0)
    table = [f"{s:{widest}}  {' '.join(MARKS[mark] for mark in row)}" for s, row in zip(specimens, caught, strict=True)]
    return finish(page, each(lang, alt), "\n".join([title or finding, ", ".join(detectors), *table]))


def _finding(detectors, alone, count, lang):
    """The detector that sees most bugs that no other sees."""
    best = max(range(len(detectors)), key=alone.__getitem__, default=None)
    if best is None or not alone[best]:
        return two_lines(lang, "哪种测试能抓住哪个虫？", "Which test catches which bug?")
    name = detectors[best]
    return two_lines(lang, f"{count} 个虫里有 {alone[best]} 个，只有{CHINESE.get(name, name)}能发现",
                     f"{alone[best]} of {count} bugs only the {name} sees")


def _name(name, chinese, lang):
    """The specimen's name, with the Chinese one beside it where that is asked for."""
    return f"{chinese}  {name}" if chinese and lang != "en" else name


def _order(groups, caught):
    """Numbers of the specimens, family by family, those that the same detectors catch together; the families' names."""
    key = [tuple(mark is not True for mark in row) for row in caught]
    if groups is None:
        return list(range(len(caught)))
    found = []
    for group in dict.fromkeys(map(tuple, groups)):
        found.append(group)
        found += sorted((i for i, mine in enumerate(groups) if tuple(mine) == group), key=lambda i: (key[i], i))
    return found


def _dots(axes, order, caught, scale):
    for at, item in enumerate(order):
        for j, mark in enumerate(caught[item] if isinstance(item, int) else ()):
            if mark is None:
                axes.plot(j, at, marker="_", color=GREY, markersize=7 * scale)
            else:
                axes.plot(j, at, marker="o", markersize=(8 if mark else 6) * scale, markeredgewidth=scale,
                          markeredgecolor=ACCENT if mark else GREY, markerfacecolor=ACCENT if mark else "none")
