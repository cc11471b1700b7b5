"""Steps as plain text: for terminals, pipes and screen readers.

Columns line up although Chinese characters are two columns wide. Small matrices show every number, large ones their
corners. Nothing is ever coloured.
"""
import re
import unicodedata

import numpy as np

ROW_SUMS = ("weights", "dscores", "dproduct")      # their rows sum to 1, 0 and 0
MOST_ROWS, MOST_COLUMNS, CORNER = 12, 8, 3


def width(text):
    """How many terminal columns `text` takes: two for a Chinese character, none for a combining mark.

    >>> width("我 AI")
    5
    """
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def pad(text, columns, align="<"):
    """`text` filled with blanks to a number of terminal columns, aligned "<" or ">"."""
    blanks = " " * max(0, columns - width(text))
    return blanks + text if align == ">" else text + blanks


def shorten(text, columns):
    """`text`, cut to at most `columns` terminal columns, with … where something is missing."""
    text = "".join(c if c.isprintable() else "·" for c in text)
    if width(text) <= columns:
        return text
    while text and width(text) > columns - 1:
        text = text[:-1]
    return text + "…"


def wrap(text, columns=80, indent=0):
    """`text` as lines of at most so many terminal columns; Chinese may break between any two characters."""
    lines, line = [], ""
    for piece in re.findall(r"[^\s\u2e80-\uffef]+\s*|[\u2e80-\uffef][，。：；？！、）]*\s*", text):
        if line and width(line + piece.rstrip()) > columns - indent:
            lines.append(line)
            line = ""
        line += piece
    return [" " * indent + line.rstrip() for line in [*lines, line] if line]


def numbers(array, precision=4):
    """The numbers of an array as equally formatted strings: integers as such, others with `precision` decimals."""
    array = np.asarray(array)
    finite = np.abs(array[np.isfinite(array)])
    if array.dtype.kind in "biu" or ((finite == np.round(finite)).all() and finite.max(initial=0) < 1e6):
        shown = "{:.0f}".format
    elif finite.max() >= 1e6 or finite.max() < 10.0 ** -precision:
        shown = f"{{:.{precision}e}}".format
    else:
        shown = f"{{:.{precision}f}}".format
    zero = shown(0.0)
    texts = [[shown(x) for x in row] for row in np.atleast_2d(array).tolist()]
    return [[zero if text == f"-{zero}" else text for text in row] for row in texts]


def matrix(array, rows=None, columns=None, *, precision=4, sums=False, indent=4):
    """A matrix with its labels; a Σ column if `sums`. One that is too large or too wide shows its corners."""
    array = np.atleast_2d(array)
    if array.size == 0:
        return " " * indent + "(no numbers)"
    keep_rows = _kept(array.shape[0], MOST_ROWS, CORNER)
    for most, corner in ((MOST_COLUMNS, CORNER), (2, CORNER), (2, 2), (2, 1)):
        lines = _lines(array, rows, columns, keep_rows, _kept(array.shape[1], most, corner), precision, sums)
        if max(map(width, lines)) <= 80 - indent:
            break
    return "\n".join(" " * indent + line for line in lines)


def _lines(array, rows, columns, keep_rows, keep_columns, precision, sums):
    """The lines of the rows and columns that are kept; a None among them is the gap."""
    shown = array[np.ix_([i for i in keep_rows if i is not None], [j for j in keep_columns if j is not None])]
    cells = [_with_gaps(row, keep_columns) for row in numbers(shown, precision)]
    cells = [list(row) for row in _with_gaps(cells, keep_rows, ["…"] * len(keep_columns))]
    heads = [""] * len(keep_columns)
    if columns is not None:
        heads = ["…" if j is None else shorten(columns[j], 10) for j in keep_columns]
    if sums:
        totals = [f"{array[i].sum():.{precision}f}" for i in keep_rows if i is not None]
        totals = [text.removeprefix("-") if not text.strip("-0.") else text for text in totals]
        cells = [[*row, total] for row, total in zip(cells, _with_gaps(totals, keep_rows), strict=True)]
        heads.append("Σ")
    labels = ["" if rows is None or i is None else shorten(rows[i], 12) for i in keep_rows]
    table = [["", *heads], *([label, *row] for label, row in zip(labels, cells, strict=True))]
    each = [max(width(row[j]) for row in table) for j in range(len(table[0]))]
    lines = ["  ".join(pad(text, each[j], ">" if j else "<") for j, text in enumerate(row) if each[j]).rstrip()
             for row in table]
    return lines if any(heads) else lines[1:]


def step_text(trace, which, *, lang="both", precision=4):
    """One step of a trace: number, name, formula, shapes, the numbers, one sentence."""
    number = trace.index(which) if isinstance(which, str) else which
    step = trace[number]
    formula = step.formula if step.formula in ("given", "upstream gradient") else f"= {step.formula}"
    shape = f"{_sizes(step)}"
    head = f"{number + 1:>3}  {step.name} {formula}"
    gap = 80 - width(head) - width(shape)
    lines = [head + " " * gap + shape if gap >= 2 else f"{head}\n{shape:>80}"]
    lines += [line for note in notes(step, lang) for line in wrap(note, indent=5)]
    array, which = step.value, ""
    if array.ndim > 2:
        leading = zip(step.symbols.split(), array.shape[:-2], strict=False)
        which = ", ".join(f"{symbol} = 0 of {n}" for symbol, n in leading if n > 1)
        array = array[(0,) * (array.ndim - 2)] if 0 not in array.shape else array.reshape(0, 0)
    if step.value.size > 64:
        lines.append(f"     {array_line(step.value, precision)}" + (f"; shown: {which}" if which else ""))
    symbols = step.symbols.split()
    rows, columns = (trace.tokens(symbols[-2]) if len(symbols) > 1 else None,
                     trace.tokens(symbols[-1]) if symbols else None)
    lines.append(matrix(array, rows, columns, precision=precision, sums=step.short_name in ROW_SUMS, indent=5))
    return "\n".join(lines)


def notes(step, lang):
    """The step's sentence, or two of them: Chinese first."""
    return {"en": [step.note_en], "zh": [step.note_zh], "both": [step.note_zh, step.note_en]}[lang]


def array_line(array, precision=4):
    """One line about an array: dtype, range, mean; NaN and inf are shouted."""
    finite = array[np.isfinite(array)]
    if not finite.size:
        return f"{array.dtype}, no finite numbers"
    low, high, mean = (numbers([[v]], precision)[0][0] for v in (finite.min(), finite.max(), finite.mean()))
    bad = f", {array.size - finite.size} NaN or INF!" if finite.size < array.size else ""
    return f"{array.dtype}, from {low} to {high}, mean {mean}{bad}"


def summary_rows(trace, precision=2):
    """The cells of the summary table: a list of rows of texts, the heading first."""
    rows = [["#", "step", "formula", "shape", "is", "from … to"]]
    for number, step in enumerate(trace, 1):
        finite = step.value[np.isfinite(step.value)]
        ends = (finite.min(), finite.max()) if finite.size else ()
        span = [numbers([[end]], precision)[0][0] for end in ends] or ["no numbers"]
        rows.append([str(number), step.name, step.formula, step.symbols, "×".join(map(str, step.shape)) or "1",
                     " … ".join(span) + (" NaN!" if finite.size < step.value.size else "")])
    return rows


def summary(trace):
    """The summary table as text, 80 columns wide at most; a long formula is shortened."""
    rows = [row[:-1] for row in summary_rows(trace)]
    each = [max(width(row[j]) for row in rows) for j in range(len(rows[0]))]
    each[2] = max(12, min(each[2], 80 - 2 * (len(each) - 1) - (sum(each) - each[2])))
    lines = ["  ".join(pad(shorten(text, w), w, ">" if j == 0 else "<") for j, (text, w) in
                       enumerate(zip(row, each, strict=True))).rstrip() for row in rows]
    half = len(trace.forward)
    if half < len(trace):
        lines.insert(half + 1, "-" * max(map(width, lines)))
    return "\n".join(lines)


def _sizes(step):
    """"N H L S = 1 × 8 × 3 × 3"; leading symbols that this run does not have are left out."""
    symbols = step.symbols.split()[-step.value.ndim:] if step.value.ndim else []
    return f"{' '.join(symbols)} = {' × '.join(map(str, step.shape))}".removeprefix(" = ")


def _kept(count, most, corner):
    """Which of `count` rows are shown; None stands for the gap."""
    return list(range(count)) if count <= most else [*range(corner), None, *range(count - corner, count)]


def _with_gaps(items, kept, gap="…"):
    items = iter(items)
    return [gap if k is None else next(items) for k in kept]
