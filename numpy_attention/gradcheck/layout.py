"""Plain text that lines up and fits 80 columns, Chinese characters (two columns wide) included."""
import re
import unicodedata

WIDTH = 80
WIDE, CLOSING = r"\u2e80-\u9fff\uff00-\uffef", "[，。；：？！、）》”]* *"
BREAKABLE = re.compile(f"[{WIDE}]{CLOSING}|[^\\s{WIDE}]+{CLOSING}")


def columns(text):
    """How many columns of a terminal the text takes."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def padded(text, width, right=False):
    """The text filled up with spaces to `width` columns."""
    space = " " * max(0, width - columns(text))
    return space + text if right else text + space


def table(heads, rows):
    """Aligned lines; a head that begins with > stands over a column of numbers, set to the right.

    A first cell that is too long for its column gets a line of its own.
    """
    right = [head.startswith(">") for head in heads]
    rows = [[head.lstrip(">") for head in heads], *([str(cell) for cell in row] for row in rows)]
    widths = [max(columns(row[i]) for row in rows) for i in range(len(heads))]
    room = max(12, WIDTH - sum(widths[1:]) - len(widths) + 1)
    widths[0] = min(widths[0], room)
    lines = []
    for first, *others in rows:
        if columns(first) > widths[0]:
            lines.append(first)
            first = ""
        cells = [padded(cell, width, to_right)
                 for cell, width, to_right in zip([first, *others], widths, right, strict=True)]
        lines.append(" ".join(cells).rstrip())
    return lines


def paragraphs(texts, indent=0, width=WIDTH):
    """Each text wrapped to the width, continued lines set in a little."""
    further = " " * (indent + 5 if indent else 2)
    return [line for text in texts for line in _wrapped(text, width, " " * indent, further)]


def _wrapped(text, width, first, further):
    """Lines may break at spaces, and between Chinese characters but not before their punctuation."""
    lines, line = [], first
    for word in BREAKABLE.findall(text):
        if columns(line) + columns(word.rstrip()) > width and line.strip():
            lines.append(line.rstrip())
            line = further
        line += word
    return [*lines, line.rstrip()]
