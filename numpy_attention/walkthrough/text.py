"""Steps as plain text: for terminals, pipes and screen readers.

Small matrices show every number, large ones their corners. Nothing is ever coloured.
"""
import numpy as np

from ..words.languages import lines as in_languages
from ..words.numbers import matrix, numbers
from ..words.terminal import pad, screen_width, table, width, wrap

ROW_SUMS = ("weights", "dscores", "dproduct")      # their rows sum to 1, 0 and 0


def step_text(trace, which, *, lang="both", precision=4):
    """One step of a trace: number, name, formula, shapes, the numbers, one sentence."""
    number = trace.index(which) if isinstance(which, str) else which
    step = trace[number]
    formula = step.formula if step.formula in ("given", "upstream gradient") else f"= {step.formula}"
    shape = f"{_sizes(step)}"
    head = f"{number + 1:>3}  {step.name} {formula}"
    gap = screen_width() - width(head) - width(shape)
    lines = [head + " " * gap + shape] if gap >= 2 else [*wrap(head, indent=len(head) - len(head.lstrip()), further=7),
                                                        pad(shape, screen_width(), ">")]
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
    return in_languages(lang, step.note_zh, step.note_en)


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
    """The summary table as text, as wide as the screen at most; a long formula is shortened."""
    rows = [row[:-1] for row in summary_rows(trace)]
    lines = table(rows, "><", gap=2, cut=2)
    half = len(trace.forward)
    if half < len(trace):
        lines.insert(half + 1, "-" * max(map(width, lines)))
    return "\n".join(lines)


def _sizes(step):
    """"N H L S = 1 × 8 × 3 × 3"; leading symbols that this run does not have are left out."""
    symbols = step.symbols.split()[-step.value.ndim:] if step.value.ndim else []
    return f"{' '.join(symbols)} = {' × '.join(map(str, step.shape))}".removeprefix(" = ")
