"""Sheets on paper: an A4 page for each student with boxes to fill, and a key of the same matrices with numbers in them.

Everything on a page is a block: a line of words above one matrix, or two for two heads. Blocks are put side by side
until a row is full, then below. A page is drawn once for each level; from sheet to sheet only its texts change.
"""
import io
import logging
import math
from typing import NamedTuple

import matplotlib
import numpy as np
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.patches import Rectangle

from ..plots.figure import Picture, own_settings
from ..plots.fonts import dress
from ..words.colours import GREY, NAMES
from ..words.files import write_whole
from ..words.languages import Words
from ..words.terminal import width, wrap
from .sheets import EXPONENTIALS, LEVELS, SIZES

WIDE, HIGH, MARGIN = 8.27, 11.69, 0.6       # inches of an A4 page
EM = 0.0083                                 # inches a column of text takes for each point of its size
BLANK, GIVEN, KEY = (0.62, 0.34), (0.4, 0.27), (0.5, 0.2)       # inches of a cell
NARROW = {BLANK: (0.52, 0.26), GIVEN: (0.33, 0.24), KEY: KEY}   # the same where two heads go back as well

TITLE = Words("手算注意力", "Attention by hand")
NAME, DATE = Words("姓名", "name"), Words("日期", "date")
KEY_TITLE = Words("手算注意力：答案", "Attention by hand: the key")
HOW = Words("每个空格填一个数。weights 写 4 位小数，其他除不尽的写 3 位；少写一位也算对。",
            "A number in every box. Weights to 4 decimals, others that do not come out even to 3; one digit fewer "
            "is right, too.")
HELP = Words("只用加、减、乘、除。", "You need + − × ÷ only.")
ROUGH = Words("草稿", "rough work")
MASK = Words("因果掩码：一个词元看不见后面的词元，斜线的格子不用填。",
             "A causal mask: a token does not see the ones behind it. Hatched boxes stay empty.")
CONCAT = Words("concat：把两个头的 heads 并排。", "concat: the heads of both, side by side.")
SPLIT = Words("concat：把两个头的 heads 并排；dheads：dconcat 的第 1 列给 h1，第 2 列给 h2。",
              "concat: the heads of both, side by side. dheads: column 1 of dconcat for h1, column 2 for h2.")


class PageBlock(NamedTuple):
    """A title, words below it, and matrices (L, S) side by side, with labels of their rows and columns."""

    title: str
    words: tuple
    matrices: tuple     # (head, values or None, shown, rows, columns)
    cell: tuple
    hue: str = "black"
    scratch: bool = False

    def label(self):
        return max((width(str(row)) for _, _, _, rows, _ in self.matrices for row in rows), default=0) * EM * 8 + 0.08

    def body(self):
        """Width and height of the matrices."""
        wide = sum(self.label() + len(shown[0]) * self.cell[0] + 0.14 for _, _, shown, _, _ in self.matrices) - 0.14
        high = max(len(shown) for _, _, shown, _, _ in self.matrices) * self.cell[1]
        named = any(head or columns for head, _, _, _, columns in self.matrices)
        return wide, high + (0.17 if named else 0)

    def lines(self, room):
        columns = max(20, int(room / (EM * 7.5)))
        return [line for text in self.words for line in wrap(text, columns)]

    def size(self):
        wide, high = self.body()
        said = max((width(text) * EM * 7.5 for text in self.words), default=0)
        wide = max(wide, width(self.title) * EM * 10, min(2.15, said))
        return wide, high + 0.23 + 0.145 * len(self.lines(wide))


class Paper:
    """One A4 page: lines, boxes and texts in inches from its top left corner, drawn at the end in a few pieces."""

    def __init__(self):
        self.figure = Picture(figsize=(WIDE, HIGH))
        self.figure.whole_page = True
        self.axes = self.figure.add_axes((0, 0, 1, 1), xlim=(0, WIDE), ylim=(HIGH, 0))
        self.axes.set_axis_off()
        self.lines, self.dashes, self.hidden = [], [], []

    def write(self, x, y, text, size=9, *, ha="left", va="top", **style):
        """Text at (x, y)."""
        if text:
            self.axes.text(x, y, text, fontsize=size, ha=ha, va=va, **style)

    def grid(self, x, y, rows, columns, cell, lines):
        """The lines of a table."""
        wide, high = columns * cell[0], rows * cell[1]
        lines += [((x, y + i * cell[1]), (x + wide, y + i * cell[1])) for i in range(rows + 1)]
        lines += [((x + j * cell[0], y), (x + j * cell[0], y + high)) for j in range(columns + 1)]

    def finish(self):
        """Draw what was collected, and find a font for every text."""
        self.axes.add_collection(PatchCollection(self.hidden, facecolor="0.93", edgecolor="0.65", hatch="////",
                                                 linewidth=0), autolim=False)
        self.axes.add_collection(LineCollection(self.lines, colors="0.25", linewidths=0.6), autolim=False)
        self.axes.add_collection(LineCollection(self.dashes, colors=GREY, linewidths=0.5, linestyles=(0, (2, 2))),
                                 autolim=False)
        dress(self.figure)
        return self.figure


def draw_block(paper, block, x, y, room):
    """A block with its top left corner at (x, y)."""
    paper.write(x, y, block.title, 10 if block.cell is not KEY else 8, color=block.hue)
    y += 0.2 if block.cell is not KEY else 0.16
    for line in block.lines(room):
        paper.write(x, y, line, 7.5, color="0.3")
        y += 0.145
    small, size = (7, 8) if block.cell is KEY else (8, 10)
    top = y
    for head, values, shown, rows, columns in block.matrices:
        y, left = top, x + block.label()
        if head or columns:
            paper.write(x, y + 0.14, head, 7, va="bottom", color=GREY)
            for j, name in enumerate(columns):
                paper.write(left + (j + 0.5) * block.cell[0], y + 0.15, name, small, ha="center", va="bottom",
                            color="0.3")
            y += 0.17
        for i, name in enumerate(rows):
            paper.write(left - 0.05, y + (i + 0.5) * block.cell[1], name, small, ha="right", va="center_baseline",
                        color="0.3")
        paper.grid(left, y, *np.shape(shown), block.cell, paper.dashes if block.scratch else paper.lines)
        for (i, j), here in np.ndenumerate(shown):
            if not here:
                paper.hidden.append(Rectangle((left + j * block.cell[0], y + i * block.cell[1]), *block.cell))
            elif values is not None:
                paper.write(left + (j + 0.5) * block.cell[0], y + (i + 0.5) * block.cell[1], values[i][j], size,
                            ha="center", va="center_baseline")
        x = left + len(shown[0]) * block.cell[0] + 0.14


def flow(blocks, gap=0.24):
    """Rows of blocks that fit side by side: [[(block, x, width), ...], ...], with the height of each row."""
    rows, x = [[]], MARGIN
    for block in blocks:
        wide, _ = block.size()
        if rows[-1] and x + wide > WIDE - MARGIN + 0.01:
            rows.append([])
            x = MARGIN
        rows[-1].append((block, x, wide))
        x += wide + gap
    return [(row, max(block.size()[1] for block, _, _ in row)) for row in rows if row]


def put(paper, blocks, y, between=0.2):
    """Draw blocks from y on; returns where the next thing may stand."""
    for row, high in flow(blocks):
        for block, x, wide in row:
            draw_block(paper, block, x, y, wide)
        y += high + between
    return y


def fraction(value):
    """A given number as it is written by hand: −½, 1½, 2.

    >>> fraction(-0.5), fraction(1.5), fraction(2.0)
    ('−½', '1½', '2')
    """
    whole = math.floor(abs(value))
    half = "½" if abs(value) % 1 else ""
    return "−" * (value < 0) + (f"{whole}{half}" if whole or not half else half)


def asked_for(part):
    """The numbers of the key as text, with as many decimals as are asked for."""
    def text(value):
        exact = not value * 4 % 1
        said = f"{value:g}" if exact else f"{value:.{part.digits}f}"
        return said.replace("-", "−")
    return np.vectorize(text, otypes=[object])(part.value + 0.0)


def labels(sheet, name):
    """Labels of the rows and columns of a tensor: tokens where an axis counts queries or keys."""
    base = name.removeprefix("d")
    queries, keys = sheet.tokens[:LEVELS[sheet.level].L], sheet.tokens
    if base in ("W_O",):
        return ("",) * sheet.given[name].shape[0], ()
    rows = keys if base in ("K", "V") else queries
    return rows, keys if base in ("scores", "weights") else ()


def matrices(sheet, name, texts, shown):
    """The (L, S) pieces of a tensor, one for each head."""
    rows, columns = labels(sheet, name)
    if np.ndim(shown) == 2:
        return (("", texts, shown, rows, columns),)
    return tuple((f"h{head + 1}", None if texts is None else texts[head], shown[head], rows, columns)
                 for head in range(len(shown)))


def cell_of(sheet, cell):
    """The cell of a kind, narrow where much has to go on a page."""
    level = LEVELS[sheet.level]
    return NARROW[cell] if level.heads > 1 and level.backward else cell


def given_blocks(sheet):
    """What is printed with its numbers."""
    for name, value in sheet.given.items():
        texts = np.vectorize(fraction, otypes=[object])(value)
        yield PageBlock(name, (), matrices(sheet, name, texts, np.ones(value.shape, bool)),
                    cell_of(sheet, GIVEN), NAMES.get(name, "black"))


def asked_blocks(sheet, lang, key=False):
    """What is to be filled in; in the key, with its numbers and without words."""
    level = LEVELS[sheet.level]
    for number, part in enumerate(sheet.parts, 1):
        # Whoever goes back as well knows what the forward steps mean, and needs the room.
        notes = [] if key or level.backward else part.meaning.lines(lang)
        title = part.name if key else f"{number}. {part.name} = {pretty(part.formula)}"
        yield PageBlock(title, tuple(notes), matrices(sheet, part.name, asked_for(part) if key else None, part.shown),
                    cell_of(sheet, KEY if key else BLANK))
        if part.name == "scores" and not key and level.heads == 1:
            queries = sheet.tokens[:level.L]
            shown = np.column_stack([part.shown, np.ones(level.L, bool)])
            yield PageBlock("exp(scores), Σ", tuple(ROUGH.lines(lang)),
                        (("", None, shown, queries, (*sheet.tokens, "Σ")),), BLANK, GREY, True)


def pretty(formula):
    """A formula as it is printed.

    >>> pretty("Q Kᵀ / √d_k")
    'Q Kᵀ / √dₖ'
    """
    return formula.replace("d_k", "dₖ").replace("Σ_S", "Σ")


def helpers():
    """The numbers that are given to the pencil."""
    powers = "    ".join(f"e{sign} ≈ {value:.4f}" for sign, value in zip(("", "²", "³"), EXPONENTIALS[1:], strict=True))
    return f"√dₖ = √{SIZES['d_k']} = {math.sqrt(SIZES['d_k']):g}    {powers}"


def page(sheet, lang="both"):
    """The page of one student, as a Figure."""
    with own_settings((1, 1, 1)):
        paper = Paper()
        level = LEVELS[sheet.level]
        paper.write(MARGIN, 0.5, TITLE.say(lang), 17)
        paper.write(WIDE - MARGIN, 0.55, sheet.code, 9, ha="right", color=GREY)
        paper.write(MARGIN, 0.88, f"{sheet.level} · {level.title.say(lang)}  ({level.minutes} min)", 9.5, color="0.3")
        paper.write(MARGIN, 1.16, f"{NAME.say(lang)}: {sheet.student}", 11)
        paper.write(WIDE - MARGIN - 2.2, 1.16, f"{DATE.say(lang)}:", 11)
        y = 1.42
        paper.lines.append(((MARGIN, y), (WIDE - MARGIN, y)))
        y += 0.09
        two = [SPLIT if level.backward else CONCAT] if level.heads > 1 else []
        for words in (HOW, *([MASK] if sheet.mask is not None else []), *two):
            for line in words.lines(lang):
                for piece in wrap(line, int((WIDE - 2 * MARGIN) / (EM * 8.5))):
                    paper.write(MARGIN, y, piece, 8.5)
                    y += 0.165
        paper.write(MARGIN, y + 0.04, f"{helpers()}    {HELP.say(lang)}", 9)
        y = put(paper, list(given_blocks(sheet)), y + 0.33, 0.12)
        crowded = level.heads > 1 and level.backward
        end = put(paper, list(asked_blocks(sheet, lang)), y + 0.08, 0.12 if crowded else 0.2)
        assert end < HIGH - 0.3, f"a page of level {sheet.level} is {end:.2f} inches long"
        if HIGH - 0.4 - end > 0.7:
            paper.write(MARGIN, end, f"{ROUGH.say(lang)}:", 8, color=GREY)
        return paper.finish()


def key_pages(sheets, lang="both"):
    """The key: the answers of all sheets, several on a page, as Figures one after the other."""
    paper, y, number = None, HIGH, 0
    for sheet in sheets:
        blocks = list(asked_blocks(sheet, lang, key=True))
        high = 0.24 + sum(h + 0.08 for _, h in flow(blocks))
        if paper is None or y + high > HIGH - 0.45:
            if paper is not None:
                yield paper.finish()
            paper, number, y = Paper(), number + 1, 0.9
            paper.write(MARGIN, 0.5, KEY_TITLE.say(lang), 13)
            paper.write(WIDE - MARGIN, 0.52, f"{number}", 9, ha="right", color=GREY)
        paper.lines.append(((MARGIN, y), (WIDE - MARGIN, y)))
        paper.write(MARGIN, y + 0.04, f"{sheet.student}", 9.5)
        paper.write(WIDE - MARGIN, y + 0.05, f"{sheet.level} · {sheet.code}", 8, ha="right", color=GREY)
        y = put(paper, blocks, y + 0.25, 0.08) + 0.06
    if paper is not None:
        yield paper.finish()


def write_pdf(path, figures):
    """Write figures as the pages of one PDF, whole or not at all; the same pages give the same bytes."""
    buffer = io.BytesIO()
    metadata = {"Title": TITLE.say("both"), "Creator": "numpy_attention", "Producer": "", "CreationDate": None}
    fonttools = logging.getLogger("fontTools")      # it finds the dates in our small fonts very early
    before = fonttools.level
    fonttools.setLevel(logging.ERROR)
    try:
        own = matplotlib.rc_context({"pdf.fonttype": 42, "savefig.bbox": None})
        with own, PdfPages(buffer, metadata=metadata) as pages:
            for figure in figures:
                pages.savefig(figure)
    finally:
        fonttools.setLevel(before)
    return write_whole(path, buffer.getvalue())
