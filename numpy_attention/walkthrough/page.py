"""The page: a whole trace in one file that a browser can step through, without a network.

Python writes every step as plain HTML, so that the page can be read, printed and searched with scripts off. The
script only shows one step at a time, lights up the cells that a cell was made from, and switches the language.
page.html, page.css and the scripts are the parts that do not depend on the trace. A run that is small enough is a
bench: its numbers can be changed there, and everything after them follows (live.py, bench.js).
"""
import base64
import hashlib
import json
from html import escape
from pathlib import Path

import numpy as np

from ..words.colours import NAMES, readable
from ..words.files import write_whole
from ..words.languages import languages
from .font import subset
from .formula import names
from .live import live
from .made import made, reads
from .page_matrix import CROPS, cells, left_out, limits, math, matrix_of, tables, two
from .saying import shapes, title
from .thumbnail import thumbnail
from .why import why

HERE = Path(__file__).parent
# A run that can be changed in the page, and one that cannot: its steps, one by one.
BENCH = ("engine.js", "why.js", "state.js", "look.js", "hands.js", "puzzles.js", "bench.js")
STEPS = ("page.js",)
MOST_CELLS, MOST_STEPS, MOST_EXPLAINED = 4000, 120, 150
PUZZLES = 10                            # those of puzzles.js


def puzzle_number(text):
    """The number of a puzzle, from a text or an int. Raises ValueError where there is none with it."""
    if str(text) not in map(str, range(1, PUZZLES + 1)):
        raise ValueError(f"puzzle must be a number from 1 to {PUZZLES}, got {text!r}")
    return int(text)


def save(trace, path, *, lang="both", puzzle=None):
    """Write the page of a trace to `path`: all of it or, if something fails, nothing. Returns the path.

    >>> from numpy_attention.walkthrough.page import save
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     size = save(na.worked_example("by-hand").trace(), folder + "/page.html").stat().st_size
    >>> size < 300_000
    True
    """
    return write_whole(path, page(trace, lang=lang, puzzle=puzzle))


def page(trace, *, lang="both", start=1, puzzle=None):
    """The whole page as text. Args: lang: language at first. start: the step shown first. puzzle: 1 to 10, or none."""
    languages(lang)
    opened = None if puzzle is None else puzzle_number(puzzle)
    steps = trace[:MOST_STEPS]
    crop = next((crop for crop in CROPS if sum(cells(step.shape, crop) for step in steps) <= MOST_CELLS), CROPS[-1])
    scale, parts = limits(trace), [made(trace, step.name) for step in steps]
    found = live(trace) if len(trace) else None
    printed = "\n".join([*(_section(trace, k, step, parts[k], scale[step.name], crop) for k, step in enumerate(steps)),
                         _parameters(trace, parts, crop)])
    script = "".join((HERE / name).read_text(encoding="utf-8") for name in (BENCH if found else STEPS))
    known = {"live": found, "puzzle": opened} if found else {
        "steps": [_data(trace, step, parts[k], crop) for k, step in enumerate(steps)]}
    data = json.dumps({"start": start, **known}, ensure_ascii=False, separators=(",", ":"))
    parts = {
        "lang": lang, "title": escape(trace.title), "script": script,
        "style": _name_colours() + (HERE / "page.css").read_text("utf-8"),
        "policy": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "overview": _without_scripts(_overview(steps, scale), found), "count": str(len(steps)),
        "missing": _missing(trace, steps, crop),
        "steps": _without_scripts(printed, found),
        "heading": two("注意力，一个数一个数地看", "Attention, number by number"),
        "target": "board" if found else "steps",
        "skip": two("跳到数字", "to the numbers"),
        "made": two("由 numpy_attention 生成；做一个自己的：", "Made by numpy_attention. Make your own: ")
        + "<code>python -m numpy_attention page</code>",
        # "<" could close the script element that carries the data
        "data": data.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"),
    }
    text = (HERE / "page.html").read_text(encoding="utf-8")
    pieces = text.split("%%")           # %%name%% once each: what is put in is never looked at again
    parts["font"] = base64.b64encode(subset("".join([*pieces[::2], *parts.values()]))).decode()
    pieces[1::2] = [parts[name] for name in pieces[1::2]]
    return "".join(pieces)


def _name_colours():
    """The colours of Q, K and V as the style sheet's --q, --k, --v, for light paper and for dark."""
    def rule(paper):
        return ":root{" + "".join(f"--{name.lower()}:{readable(code, paper)};" for name, code in NAMES.items()) + "}"
    return f"{rule('#fbfaf7')}@media (prefers-color-scheme: dark){{{rule('#1f2229')}}}\n"


def _without_scripts(text, bench):
    """What a bench shows with scripts off and on paper; a browser with scripts does not build it until it prints."""
    return f"<noscript>{text}</noscript>" if bench else text


def _overview(steps, scale):
    """Two rows of small pictures: forward, and every gradient under its own tensor."""
    column = {}
    for step in steps:
        own = step.name.removesuffix(step.short_name)
        name = own + step.short_name.removeprefix("d") if step.direction == "backward" else step.name
        column.setdefault(name, len(column) + 1)
        column[step.name] = column[name]
    used = sorted(set(column.values()))
    rows = "".join(f'<div class="{direction}">{two(zh, en)}</div>' for direction, zh, en in
                   (("forward", "前向 →", "forward →"), ("backward", "← 反向", "← backward"))
                   if any(step.direction == direction for step in steps))
    pictures = rows + "".join(
        f'<a href="#step-{k}" data-go="{k}" class="{step.direction}" '
        f'style="grid-column:{used.index(column[step.name]) + 2}">'
        f"{thumbnail(step.value, scale[step.name], step.direction == 'backward')}<span>{escape(step.name)}</span></a>"
        for k, step in enumerate(steps, 1))
    return f'<nav class="overview" aria-label="all steps 所有步骤"><div class="strip">{pictures}</div></nav>'


def _section(trace, k, step, part, limit, crop):
    """One step: name and formula, shapes, code, sentence; then its numbers."""
    used = names(step.tree) if part else ()
    numbers = {s.name: n for n, s in enumerate(trace, 1)}
    links = ", ".join(f'<a href="#step-{numbers[name]}">{escape(name)}</a>' if name in numbers else escape(name)
                      for name in used)
    lesson = f"<code>{escape(step.lesson)}</code>" if part else ""
    code = (f'<p class="code">{lesson}<span class="where">{two("库里的写法：", "in the library:")} '
            f"{escape(step.code)} · {escape(step.where)}</span></p>" if step.code else "")
    formula = (math(title(step)) if step.formula not in ("given", "upstream gradient")
               else two(escape(title(step, "zh")), escape(title(step))))
    missing = left_out(step.shape, crop)
    remark = two(f"这里没有显示其中 {missing:,} 个数", f"{missing:,} of its numbers are not shown here")
    return f"""<section class="step {step.direction}" id="step-{k + 1}" aria-labelledby="name-{k + 1}" tabindex="-1">
<div class="words">
<h2 id="name-{k + 1}"><span class="number">{k + 1}</span> {escape(step.name)}
<small>{two("反向", "backward") if step.direction == "backward" else two("前向", "forward")}</small></h2>
<p class="formula">{formula}</p>
<p class="shapes">{math(shapes(trace, step))}</p>
<p class="note zh" lang="zh">{escape(step.note_zh)}</p><p class="note en" lang="en">{escape(step.note_en)}</p>
{code}{f'<p class="from">{two("由这些算出：", "made from:")} {links}</p>' if links else ""}
{f'<p class="missing">{remark}</p>' if missing else ""}
</div>
<div class="matrices"><div class="own" data-of="{escape(step.name)}">{matrix_of(trace, step, limit, crop)}</div></div>
</section>"""


def _parameters(trace, parts, crop):
    """The learned arrays that steps were made from."""
    used = {name: trace.run.constants[name] for step, part in zip(trace, parts, strict=False) if part
            for name in names(step.tree) if name in trace.run.constants}
    if not used:
        return ""
    body = "".join(f'<div class="own" data-of="{escape(name)}">'
                   f'{tables(trace, name, array, "", float(abs(array).max(initial=0)), crop)}</div>'
                   for name, array in used.items())
    return f'<section class="parameters"><h2>{two("学到的矩阵", "learned arrays")}</h2>{body}</section>'


def _data(trace, step, part, crop):
    """What the script knows of a step: where its cells come from, and why each one has its number."""
    found = {"name": step.name}
    if part is not None:
        found["parts"] = names(step.tree)
    if step.value.size <= MOST_EXPLAINED and len(trace) <= MOST_STEPS:
        found["why"] = {",".join(map(str, index)): why(trace, step.name, index, lang="en", columns=None)
                        for index in np.ndindex(step.shape)} if part is not None else {}
        found["reads"] = {",".join(map(str, index)): reads(part, [[place] for place in index])
                          for index in np.ndindex(step.shape)} if part is not None else {}
    return found


def _missing(trace, steps, crop):
    numbers = sum(left_out(step.shape, crop) for step in steps)
    texts = []
    if numbers:
        texts.append(two(f"矩阵太大，有 {numbers:,} 个数没有放进这一页；全部在 trace 里。", "Too large to show whole: "
                         f"{numbers:,} numbers are left out of this page; the trace has them."))
    if len(trace) > len(steps):
        texts.append(two(f"只显示前 {len(steps)} 步，共 {len(trace)} 步。",
                         f"Only the first {len(steps)} of {len(trace)} steps are shown."))
    return f'<p class="missing">{" ".join(texts)}</p>' if texts else ""
