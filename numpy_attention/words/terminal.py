"""Text for a terminal: how wide it is, filled up, cut, wrapped, and set in columns.

A Chinese character takes two columns of a terminal and a combining mark none, so `len` does not say how wide a text
is; `width` does, and everything here counts with it. Nothing is ever coloured.

    table([("tensor", "error"), ("dQ", "1e-9")], "<>")     lines of aligned cells: gradient reports, museum, grades
    wrap(text, indent=4, further=9)                        a paragraph, continued lines set in: reports, questions
    pad, shorten                                           labels of rows and columns, in plots too
"""
import re
import shutil
import unicodedata

COLUMNS, NARROWEST = 80, 40
WIDE, OPENING, CLOSING = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef", "（《「“", "，。；：？！、）》」”"
PIECE = re.compile(f"[{OPENING}]*(?:[{WIDE}]|[^\\s{WIDE}]+)[{CLOSING}]*\\s*")


def screen_width():
    """How many columns a line may have: as many as the terminal, or COLUMNS in the environment; from 40 to 80.

    >>> screen_width() in range(40, 81)
    True
    """
    return min(COLUMNS, max(NARROWEST, shutil.get_terminal_size((COLUMNS, 24)).columns))


def is_han(character):
    """Whether a character is Chinese: an ideograph, or punctuation as wide as one.

    >>> is_han("我"), is_han("，"), is_han("A")
    (True, True, False)
    """
    return "\u3000" <= character <= "\u303f" or "\u4e00" <= character <= "\u9fff" or "\uff01" <= character <= "\uff5e"


def width(text):
    """How many columns `text` takes.

    >>> width("我 AI")
    5
    """
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character):
    wide = unicodedata.east_asian_width(character) in "WF"
    return 0 if unicodedata.combining(character) else 2 if wide else 1


def pad(text, columns, align="<"):
    """`text` filled with blanks to a number of columns; "<" puts it to the left, ">" to the right.

    >>> pad("我", 4), pad("AI", 4, ">")
    ('我  ', '  AI')
    """
    blanks = " " * max(0, columns - width(text))
    return blanks + text if align == ">" else text + blanks


def shorten(text, columns):
    """`text`, cut to at most `columns` columns, with … where something is missing; what cannot be printed is a dot.

    >>> shorten("attention", 6), shorten("注意力", 5)
    ('atten…', '注意…')
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else "·" for c in text)
    start = _beginning(text, columns)
    return text if start == text else _beginning(start, columns - 1) + "…"


def _beginning(text, columns):
    """As much of `text` as fits."""
    taken = 0
    for at, character in enumerate(text):
        taken += _columns_of(character)
        if taken > columns:
            return text[:at]
    return text


def wrap(text, columns=None, indent=0, further=None):
    """`text` as lines of at most `columns` columns, as many as the screen has unless given.

    Lines break at blanks and between Chinese characters, but not before their punctuation. A longer word keeps a line
    of its own. The first line is set in by `indent`, those after it by `further` (also `indent` unless given).

    >>> wrap("注意力，就是加权平均。", columns=8)
    ['注意力，', '就是加权', '平均。']
    >>> wrap("a very long line", columns=8, further=2)
    ['a very', '  long', '  line']
    """
    columns = screen_width() if columns is None else columns
    further = indent if further is None else further
    lines, line, start = [], "", indent
    for piece in PIECE.findall(" ".join(filter(None, map(str.strip, text.split("\n"))))):
        if line and start + width(line + piece.rstrip()) > columns:
            lines.append(" " * start + line.rstrip())
            line, start = "", further
        line += piece
    return [*lines, " " * start + line.rstrip()] if line else lines


def table(rows, align="<", *, gap=1, columns=None, cut=None):
    """Rows of cells as aligned lines.

    Args:
        rows: lists of texts, all as long as the first, which may be the heading.
        align: "<" or ">" for each column; the last one stands for all that follow.
        gap: blanks between two columns.
        columns: how wide the lines may be, as the screen unless given. Where cells are too wide for that, those of
            one column are cut, or else a long first cell gets a line of its own; on a narrow screen what does not fit
            beside the first column is set below.
        cut: the number of the column that is cut, from 0.

    >>> table([("tensor", "error"), ("dQ", "1e-9"), ("dscores", "0.1")], "<>")
    ['tensor  error', 'dQ       1e-9', 'dscores   0.1']
    """
    rows = [[str(cell) for cell in row] for row in rows]
    if not rows:
        return []
    columns = screen_width() if columns is None else columns
    align += align[-1] * len(rows[0])
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    give = cut or 0
    widths[give] = min(widths[give], max(12, columns - sum(widths) + widths[give] - gap * (len(widths) - 1)))
    if cut is not None:
        rows = [[shorten(cell, widths[cut]) if i == cut else cell for i, cell in enumerate(row)] for row in rows]
    fitting = _fitting(widths, gap, columns)
    if columns < COLUMNS and fitting < len(widths):
        left, right = ([[*row[:fitting]] for row in rows], [[row[0], *row[fitting:]] for row in rows])
        beside = table(right, align[0] + align[fitting:], gap=gap, columns=columns)
        return [*table(left, align, gap=gap, columns=columns), "", *beside]
    lines = []
    for first, *others in rows:
        if width(first) > widths[0]:
            lines.append(first)
            first = ""
        cells = [pad(cell, wide, side) for cell, wide, side in zip([first, *others], widths, align, strict=False)]
        lines.append((" " * gap).join(cells).rstrip())
    return lines


def _fitting(widths, gap, columns):
    """How many of the columns fit side by side: the first, the second, and what else there is room for."""
    fitting = 2
    while fitting < len(widths) and sum(widths[:fitting + 1]) + gap * fitting <= columns:
        fitting += 1
    return min(fitting, len(widths))
