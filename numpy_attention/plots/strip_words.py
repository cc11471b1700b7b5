"""The words on and about the walkthrough strip."""

import numpy as np

from .statistics import looks
from .text import table
from .words import say


def headings(column, trace, half, values, lang):
    """Name, formula, shape and axes of one matrix; name and formula are the step's own."""
    name = "d" * half + column.name
    formula = trace[name].formula
    if column.transposed and formula != "given":
        formula = f"{name} = {formula}"
    shape = f"{column.rows} × {column.columns} = {values.shape[0]} × {values.shape[1]}"
    down = {"L": say(lang, "query ↓", "查询 ↓"), "S": say(lang, "key ↓", "键 ↓")}.get(column.rows, "")
    right = say(lang, "key →", "键 →") if column.columns == "S" else ""
    return "d" * half + column.label, formula, shape, f"{down}  {right}".strip()


def caption(trace, head, lang):
    """Which of several heads is shown."""
    shape = np.shape(trace["weights"].value)
    heads = shape[-3] if len(shape) > 2 else 1
    return say(lang, f" · head {head} (of {heads})", f" · 头 {head}（共 {heads} 个）") if heads > 1 else ""


def alt_text(trace, halves, tokens, lang):
    """Whom each query looks at."""
    seen = "; ".join(looks(halves[0]["weights"], tokens["L"], tokens["S"], lang)[:6])
    both = len(halves) > 1
    return say(lang, f"Attention{', forward and backward,' if both else ''} for {trace.title}: {seen}.",
               f"{trace.title} 的注意力{'，前向与反向' if both else ''}：{seen}。")


def plain_text(trace, title, columns, halves, tokens, made):
    """Every matrix as a table, forward and then backward."""
    blocks = [title]
    for half, matrices in enumerate(halves):
        for column in columns if not half else reversed(columns):
            values, name = matrices[column.name], "d" * half + column.name
            if values is not None:
                rows, names = (tokens.get(symbol) or list(map(str, range(count))) for symbol, count in
                               zip((column.rows, column.columns), values.shape, strict=True))
                head = f"{name}{'ᵀ' * column.transposed} ({column.rows}, {column.columns}): {trace[name].formula}"
                blocks.append(head + "\n" + table(values, rows, names, sums=name in ("weights", "dscores")))
    return "\n\n".join([*blocks, *[made] * bool(made)])
