"""A step in words, always in the same order: where we are, formula, shapes, numbers, one sentence, what comes next."""
import numpy as np

from ..words.languages import Words
from ..words.numbers import matrix
from ..words.terminal import pad, width, wrap
from .formula import names
from .made import made
from .text import ROW_SUMS, array_line, notes

NEXT, END, SHOWN = Words("下一步", "next"), Words("结束", "the end"), Words("显示", "shown")
GIVEN = {"given": Words("已给定", "given"),
         "upstream gradient": Words("上游梯度：已给定", "upstream gradient: given")}


def heading(trace, number):
    """"我 爱 AI · step 4/14 · product", with the direction at the right and NaN or inf shouted.

    >>> heading(na.worked_example("by-hand").trace(), 4)
    '我 爱 AI · step 4/14 · product                                         [forward]'
    """
    step = trace[number - 1]
    left, right = f"{trace.title} · step {number}/{len(trace)} · {step.name}", f"[{step.direction}]"
    line = pad(left, 79 - width(right)) + " " + right if width(left + right) < 79 else f"{left} {right}"
    bad = first_bad(trace)
    return line + (f"\n!! {bad}" if bad else "")


def first_bad(trace):
    """Where NaN, inf or a row of weights that does not sum to 1 or 0 first appears, in words; "" if nowhere."""
    for number, step in enumerate(trace, 1):
        value = step.value
        if value.dtype.kind in "fc" and not np.isfinite(value).all():
            kind = "NaN" if np.isnan(value).any() else "INF"
            return f"{kind} first appears at step {number}, {step.name}"
        if step.short_name == "weights" and step.symbols.endswith("L S"):
            sums = value.sum(axis=-1)
            if not (np.isclose(sums, 1, atol=1e-3) | (sums == 0)).all():
                return f"rows do not sum to 1 at step {number}, {step.name}"
    return ""


def title(step, lang="en"):
    """"product = Q Kᵀ", or "Q: given"."""
    if step.formula in GIVEN:
        return f"{step.name}: {GIVEN[step.formula].say(lang)}"
    return f"{step.name} = {step.formula}"


def shapes(trace, step):
    """"Q L d_k = 3 × 4,  K S d_k = 3 × 4  →  L S = 3 × 3"."""
    used = names(step.tree) if made(trace, step.name) else ()
    before = ",  ".join(f"{name} {sizes(trace[name])}" for name in used if name in trace)
    return f"{before}  →  {sizes(step)}" if before else sizes(step)


def sizes(step):
    """"L S = 3 × 3"; leading symbols that this run does not have are left out."""
    symbols = " ".join(step.symbols.split()[-step.value.ndim:]) if step.value.ndim else ""
    return f"{symbols} = {' × '.join(map(str, step.shape))}".removeprefix(" = ")


def explanation(trace, number, lang="both", precision=4):
    """The whole text of one step."""
    step = trace[number - 1]
    lines = [heading(trace, number), *wrap(title(step, lang), indent=2), *wrap(shapes(trace, step), indent=2), ""]
    lines += [table(trace, step, lang, precision), ""]
    lines += [line for note in notes(step, lang) for line in wrap(note, indent=2)]
    after = title(trace[number], lang) if number < len(trace) else END.say(lang)
    return "\n".join([*lines, *wrap(f"{NEXT.say(lang)}: {after}", indent=2)])


def table(trace, step, lang="both", precision=4):
    """The numbers of a step with its tokens; of several sequences and heads the first; a large one's corners."""
    symbols, array, lines, shown = step.symbols.split(), step.value, [], []
    while array.ndim > 2 and len(array):
        if len(array) > 1:
            shown.append(f"{symbols[-array.ndim] if len(symbols) >= array.ndim else 'axis'} = 0 of {len(array)}")
        array = array[0]
    if step.value.size > 64 or shown:
        remark = f"; {SHOWN.say(lang)}: {', '.join(shown)}" if shown else ""
        lines.append(f"    {array_line(step.value, precision)}{remark}")
    labels = [trace.tokens(symbol) for symbol in ["", "", *symbols][-2:]]
    if array.ndim < 2:
        labels[0] = None
    lines.append(matrix(array, *labels, precision=precision, sums=step.short_name in ROW_SUMS))
    return "\n".join(lines)
