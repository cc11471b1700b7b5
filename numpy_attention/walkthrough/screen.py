"""The stepper on a whole terminal: operands @ operands = result in colour, one key an action, painted over in place.

Colours are the page's. With NO_COLOR the picture stays, and what is lit stands in brackets; in a pipe or with TERM=dumb
the prompt of session.py serves: it prints and scrolls. `paint` makes the picture as a list of lines and knows no
terminal; `Screen` shows it and reads keys.

    ← → or n p   step        ↑ ↓ tab   cell        b   the gradient        c   check it        f   the page
    l   language             g   first             ?   this line           q   quit
"""
import os
import re
import select
import shutil
import sys

import numpy as np

from ..words.colours import ACCENT, NAMES, colour
from ..words.languages import lines
from ..words.numbers import numbers
from ..words.terminal import pad, shorten, width, wrap
from .formula import code
from .made import made, reads
from .why import why

KEYS = "← → step   ↑ ↓ ⇥ cell   b gradient   c check   f page   l 中/En   q quit"
BOLD, SOFT = "1", "2"
MOST = 12


def depth(stream=None, environment=None):
    """How many colours the terminal has: 24 bits, 8 (256 colours), or 0 for none at all.

    >>> depth(environment={"NO_COLOR": "1", "TERM": "xterm-256color"})
    0
    """
    stream = sys.stdout if stream is None else stream
    known = os.environ if environment is None else environment
    if known.get("NO_COLOR") or not can_paint(stream, known):
        return 0
    if known.get("COLORTERM", "").lower() in ("truecolor", "24bit") or "WT_SESSION" in known:
        return 24
    return 8 if "256color" in known.get("TERM", "") or sys.platform == "win32" else 0


def can_paint(stream=None, environment=None):
    """Can the terminal be painted over in place? Not a pipe or a file, and not one that calls itself dumb."""
    stream = sys.stdout if stream is None else stream
    known = os.environ if environment is None else environment
    return known.get("TERM") != "dumb" and getattr(stream, "isatty", lambda: False)()


def paint(stepper, cell=None, *, columns=80, rows=None, bits=24):
    """The whole picture of the step where we are, as lines of at most `columns` columns; `cell` is the chosen one.

    Where there are fewer than that many `rows`, the remarks go first, then the operands.
    """
    trace, step = stepper.trace, stepper.step
    part = made(trace, step.name)
    lit = reads(part, [[place] for place in cell]) if part is not None and cell is not None else {}
    boxes = []
    if part is not None:
        for name, sign in _operands(step.tree):
            if isinstance(name, str):
                array = trace.run.constants[name] if name in trace.run.constants else trace[name].value
                boxes.append(_box(trace, name, np.asarray(array), lit.get(name), sign, cell, bits, columns))
            else:
                boxes.append([name[0]])
        boxes.append(["="])
    own = None if cell is None else [[place] for place in cell]
    boxes.append(_box(trace, step.name, step.value, own, False, cell, bits, columns))
    said = []
    if cell is not None:
        text = why(trace, step.name, cell, lang=stepper.lang, columns=columns - 2, precision=stepper.precision)
        said = [_ink(line, BOLD, bits) for line in text.split("\n")]
    notes = [line for text in lines(stepper.lang, step.note_zh, step.note_en) for line in wrap(text, columns - 2)]
    lesson = [] if part is None else [_ink(shorten(step.lesson, columns - 2), SOFT, bits)]
    keys = ["", *(_ink(line, SOFT, bits) for line in wrap(KEYS, columns))]
    head, matrices = _head(stepper, columns, bits), _beside(boxes, columns)
    for remarks in (notes, lesson, keys, None):
        picture = [*head, "", *matrices, "", *said, *lesson, *notes, *keys]
        if rows is None or len(picture) <= rows:
            break
        if remarks is None:
            picture = [*head, "", *_beside(boxes[-1:], columns), "", *said][:rows]
        else:
            remarks.clear()
    return picture


def _head(stepper, columns, bits):
    trace, number, count = stepper.trace, stepper.number, len(stepper.trace)
    bar = "".join("■" if k < number else "□" if k < len(trace.forward) else "·" for k in range(count))
    formula = stepper.step.formula
    title = f"{number}/{count} {stepper.step.name}"
    title += "" if formula in ("given", "upstream gradient") else f" = {formula}"
    first = f"{bar}  {title}" if width(bar) + width(title) + 2 <= columns else title
    first = shorten(first, columns)
    right = stepper.step.direction
    gap = columns - width(first) - width(right) - 1
    marked = _ink(first, f"{BOLD};38;{_spelt(ACCENT, bits)}", bits)
    return [marked + " " * gap + _ink(right, SOFT, bits)] if gap > 0 else [marked]


def _operands(tree):
    """(name, is it transposed?) and ([sign], False), from left to right."""
    head, *inside = tree
    if head == "name":
        return [(inside[0], False)]
    if head == "number":
        return [([code(tree)], False)]
    if head == "root" and inside[0][0] == "number":
        return [([f"√{code(inside[0])}"], False)]
    if head == "transposed" and inside[0][0] == "name":
        return [(inside[0][1], True)]
    signs = {"matmul": "@", "plus": "+", "minus": "−", "times": "∘", "over": "/"}
    if head in signs and len(inside) == 2:
        return [*_operands(inside[0]), ([signs[head]], False), *_operands(inside[1])]
    inner = [part for part in inside if isinstance(part, tuple)]
    word = {"root": "√", "sum": "Σ", "total": "Σ", "all": "Σ", "negative": "−", "gather": "Σ"}.get(head, head)
    return [([f"{word}("], False), *(piece for part in inner for piece in _operands(part)), ([")"], False)]


def _box(trace, name, array, lit, flipped, cell, bits, columns):
    """One matrix as lines: name and shape, the labels of the columns, the coloured cells."""
    symbols = trace[name].symbols.split()[-array.ndim:] if name in trace and array.ndim else []
    symbols = [""] * (array.ndim - len(symbols)) + symbols
    front = tuple(_front(cell, array.shape, k) for k in range(max(0, array.ndim - 2)))
    matrix = array[front].reshape((1,) * max(0, 2 - array.ndim) + array.shape[-2:])
    light = _lit(lit, front, array, matrix.shape)
    labels = [trace.tokens(symbol) for symbol in (["", ""] + symbols)[-2:]]
    if flipped:
        matrix, light, labels = matrix.T, light.T, labels[::-1]
    matrix, light = matrix[:MOST, :MOST], light[:MOST, :MOST]
    short = name.rpartition(".")[2]
    weights = short in ("weights", "dropped", "mask")
    gradient = name in trace and trace[name].direction == "backward"
    finite = np.abs(array[np.isfinite(array)]) if array.dtype.kind == "f" else np.zeros(1)
    limit = None if weights else float(finite.max(initial=0)) or 1.0
    texts = numbers(matrix, 3)
    wide = max((width(text) for row in texts for text in row), default=1) + 2
    rows = [shorten(str(label), 6) for label in labels[0][:MOST]] if labels[0] else [""] * len(matrix)
    side = max(map(width, rows), default=0)
    shape = f"{short}{'ᵀ' if flipped else ''}"
    room = max(1, (columns - side - 2) // wide)                     # what is wider than the terminal is cut
    sizes = " × ".join(map(str, matrix.shape)) + (" …" if room < matrix.shape[1] else "")
    texts, light = [row[:room] for row in texts], light[:, :room]
    scale = f" ±{limit:.3g}" if gradient else ""
    found = [_named(shape, short, bits) + " " + _ink(sizes + scale, SOFT, bits)]
    if labels[1]:
        heads = [pad(shorten(str(label), wide - 1), wide - 1, ">") + " " for label in labels[1][:min(MOST, room)]]
        found.append(" " * (side + 1) + "".join(heads))
    for i, row in enumerate(texts):
        cells = "".join(_cell(text, value, limit, gradient, on, wide, bits) for text, value, on in zip(
            row, matrix[i], light[i], strict=False))
        found.append(pad(rows[i], side) + " " + cells)
    return found


def _front(cell, shape, axis):
    return min(int(cell[axis]) if cell is not None and axis < len(cell) - 2 else 0, shape[axis] - 1)


def _lit(lit, front, array, shape):
    """True for the cells of the shown matrix that are lit."""
    light = np.zeros(shape, bool)
    if lit is None or not all(front[k] in lit[k] for k in range(len(front))):
        return light
    rows, columns = (lit[-2], lit[-1]) if array.ndim > 1 else ([0], lit[-1] if lit else [0])
    light[np.ix_(rows, columns)] = True
    return light


def _cell(text, value, limit, gradient, on, wide, bits):
    if not bits:
        return pad(f"[{text}]" if on else f"{text} ", wide, ">")
    if not np.isfinite(value):
        return f"\x1b[1;97;41m{pad(text, wide, '>')}\x1b[0m"
    back, ink = colour(float(value), limit, gradient)
    look = f"48;{_spelt(back, bits)}"
    front = ("38;5;231" if ink == "white" else "38;5;16") + (";1;4" if on else "")
    return f"\x1b[{look};{front}m{pad(text + ' ', wide, '>')}\x1b[0m"


def _spelt(code, bits):
    """A colour as the terminal spells it: all 24 bits, or the nearest of the 6 × 6 × 6 that a terminal with 256 has."""
    parts = bytes.fromhex(code[1:])
    if bits == 24:
        return "2;" + ";".join(map(str, parts))
    return f"5;{16 + sum(round(part / 255 * 5) * factor for part, factor in zip(parts, (36, 6, 1), strict=True))}"


def _named(text, name, bits):
    """A tensor's name in its colour: that of the figures can be read on black and on white."""
    code = NAMES.get(name.removeprefix("d").removeprefix("W_"))
    return _ink(text, BOLD if code is None else f"{BOLD};38;{_spelt(code, bits)}", bits)


def _ink(text, look, bits):
    return f"\x1b[{look}m{text}\x1b[0m" if bits else text


def seen(text):
    """How many columns a text with colours takes."""
    return width(re.sub(r"\x1b\[[\d;]*m", "", text))


def _beside(boxes, columns):
    """Boxes of lines side by side, centred; a new row of boxes where the terminal ends."""
    rows, row, used = [], [], 0
    for box in boxes:
        wide = max(map(seen, box))
        if row and used + wide + 2 > columns:
            rows.append(row)
            row, used = [], 0
        row.append(box)
        used += wide + 2
    rows.append(row)
    found = []
    for row in rows:
        height = max(map(len, row))
        blocks = []
        for box in row:
            wide, above = max(map(seen, box)), height - len(box) if len(box) > 1 else height // 2
            padded = [""] * above + box
            padded += [""] * (height - len(padded))
            blocks.append([line + " " * (wide - seen(line)) for line in padded])
        found += ["  ".join(parts).rstrip() for parts in zip(*blocks, strict=True)]
    return found


class Screen:
    """Shows the picture and obeys keys. Args: stepper; read: a function that waits for one key; write: prints."""

    def __init__(self, stepper, read=None, write=None, bits=None):
        self.stepper, self.read, self.write = stepper, read or read_key, write or sys.stdout.write
        self.bits, self.cell, self.said = depth() if bits is None else bits, self._first(), ""

    def _first(self):
        return (0,) * self.stepper.step.value.ndim if self.stepper.step.value.size else None

    def loop(self):
        """Paint and obey until q. Returns the exit status."""
        if sys.platform == "win32":
            os.system("")                                           # lets an old console understand what follows
        self.write("\x1b[?1049h\x1b[?25l")
        try:
            while True:
                size = shutil.get_terminal_size()
                columns = max(40, size.columns)
                said = [f"  {line}" for line in wrap(self.said, columns - 2)] if self.said else []
                picture = paint(self.stepper, self.cell, columns=columns - 1, rows=size.lines - 1 - len(said),
                                bits=self.bits)
                self.write("\x1b[H" + "".join(f"{line}\x1b[K\n" for line in [*picture, *said]) + "\x1b[J")
                sys.stdout.flush()
                key = self.read()
                if key in ("q", "", "\x03", "\x04"):
                    return 130 if key == "\x03" else 0
                self.said = ""
                try:
                    self.obey(key)
                except (LookupError, ValueError, OSError) as error:
                    self.said = str(error.args[0] if isinstance(error, KeyError) else error)
        except KeyboardInterrupt:
            return 130
        finally:
            self.write("\x1b[?25h\x1b[?1049l")

    def obey(self, key):
        """One key."""
        before = self.stepper.number
        if key in ("right", "n", " "):
            self.stepper.next()
        elif key in ("left", "p"):
            self.stepper.prev()
        elif key == "g":
            self.stepper.goto(1)
        elif key == "b":
            self.stepper.goto(self.stepper.backward_of().name)
        elif key in ("up", "down", "\t"):
            self._walk(key)
        elif key == "c":
            report = self.stepper.check()
            self.said = str(report).split("\n")[0]
        elif key == "f":
            self.said = f"wrote {self.stepper.trace.save_html('attention.html')}"
        elif key == "l":
            self.stepper.lang = {"both": "zh", "zh": "en", "en": "both"}[self.stepper.lang]
        elif key == "?":
            self.said = KEYS
        if self.stepper.number != before:
            self.cell = self._first()

    def _walk(self, key):
        """Tab goes along the row and on; up and down change the row."""
        shape = self.stepper.step.value.shape
        if self.cell is None or not shape:
            return
        along = shape[-1] if key != "\t" and len(shape) > 1 else 1
        at = (int(np.ravel_multi_index(self.cell, shape)) + (-along if key == "up" else along)) % int(np.prod(shape))
        self.cell = tuple(map(int, np.unravel_index(at, shape)))


ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left"}


def read_key():
    """Waits for one key, without Enter: a letter, or "up", "down", "left", "right"."""
    if sys.platform == "win32":
        import msvcrt
        key = msvcrt.getwch()
        arrows = {"H": "up", "P": "down", "M": "right", "K": "left"}
        return arrows.get(msvcrt.getwch(), "?") if key in "\x00\xe0" else key
    import termios
    import tty
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle, termios.TCSANOW)          # not TCSAFLUSH, which throws away what was typed ahead
        key = os.read(handle, 1)                # one key at a time: what was typed ahead waits its turn
        if key == b"\x1b" and select.select([handle], [], [], 0.05)[0]:
            return ARROWS.get(os.read(handle, 2)[1:].decode(errors="replace"), "?")
        return key.decode(errors="replace")
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)

