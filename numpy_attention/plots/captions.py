"""The words on and about the plots: what axes are called, titles that say the finding, alt texts and plain text.

Chinese comes first. Where both languages are asked for, titles take two lines, one for each.
"""

import math
from collections import Counter
from functools import partial

import numpy as np

from ..words.languages import each, languages, lines, say
from ..words.terminal import width
from . import statistics
from .inputs import pretty
from .matrix import number, table
from .statistics import PATTERNS, SHORT


def query_axis(lang):
    """What the rows are.

    >>> query_axis("en"), query_axis("both")
    ('query ↓', '查询\\nquery ↓')
    """
    return "\n".join(lines(lang, "查询", "query")) + " ↓"


def key_axis(lang):
    """What the columns are."""
    return say(lang, "键", "key") + " →"


def title(lang, zh, en):
    """A title, one line for each language."""
    return "\n".join(lines(lang, zh, en))


def each_line(lang, write):
    """What ``write`` returns for each language, one below the other."""
    return each(lang, write, between="\n")


def panel_name(head, mean, lang):
    """What a panel is of."""
    return say(lang, "各头平均", "Mean of heads") if mean else say(lang, f"头 {head}", f"Head {head}")


def panel_title(name, values, hidden, room, lang, found, columns):
    """As much as fits of what the head does, and below it "entropy 0.41 of 2.08 nats · max 0.93"."""
    spread, most = statistics.entropy(values, hidden)
    top = statistics.largest(values)
    top = number(top) if math.isfinite(top) else "–"
    share = "–" if not math.isfinite(spread) else "≈0" if 0 < spread < 0.005 else number(spread)
    most = number(most) if math.isfinite(most) else "–"
    does = each_line(lang, lambda one: f"{name(one)} · {pattern_words(found, columns, one)}")
    brief = f"{name('en').split()[-1]} {SHORT[found.kind].say('en' if lang == 'en' else 'zh')}"
    high, spread_word = say(lang, "最大", "max"), say(lang, "熵", "entropy")
    of = f"{share}，至多 {most} nats" if lang == "zh" else f"{share} of {most} nats"
    for line, numbers in ((does, f"{spread_word} {of} · {high} {top}"), (does, f"{spread_word} {share} · {high} {top}"),
                          (does, f"{share} · {top}"), (brief, f"{share} · {top}"), (brief, top)):
        wide = max(map(width, line.split("\n")))
        if max(wide * 0.071, width(numbers) * 0.065) <= room:
            return f"{line}\n{numbers}"
    return name("en").split()[-1]


def pattern_words(found, columns, lang):
    """What a head does, with its score: "the token before 0.93"."""
    words = PATTERNS[found.kind].say(lang)
    if found.kind == "back":
        words = say(lang, f"往前第 {found.key} 个词元", f"the token {found.key} before")
    if found.kind == "sink":
        words = say(lang, f"汇聚于 {columns[found.key]}", f"a sink: {columns[found.key]}")
    return words if found.kind == "mixed" else f"{words} {number(found.score)}"


def what_heads_do(maps, patterns, labels, lang):
    """The finding of a grid: which heads do what."""
    def one(lang):
        named = len(maps) > 1
        if sum(map(len, patterns)) == 1:
            index = next(i for i, found in enumerate(patterns) if found)
            layer, (rows, columns) = maps[index], labels[index]
            return statistics.finding(layer.values[0], rows, columns, lang,
                                      None if layer.hidden is None else layer.hidden[0])
        groups = {}
        for layer, found in zip(maps, patterns, strict=True):
            for head, what in zip(layer.heads, found, strict=True):
                groups.setdefault(what.kind, []).append(f"{layer.number}.{head}" if named else str(head))
        order = Counter({kind: len(members) for kind, members in groups.items() if kind != "mixed"}).most_common()
        clauses = []
        for kind, count in order[:4]:
            members = ", ".join(groups[kind][:3]) + ("…" if count > 3 else "")
            verb = "looks" if count == 1 else "look"
            clauses.append(say(lang, f"{count} 个看{PATTERNS[kind].zh}（{members}）",
                               f"{count} {verb} at {PATTERNS[kind].en} ({members})"))
        total = sum(map(len, patterns))
        if not clauses:
            return say(lang, f"{total} 个头，没有一个有单一规律", f"{total} heads, none with a single pattern")
        rest = len(groups.get("mixed", ()))
        ending = say(lang, f"；{rest} 个没有单一规律", f"; {rest} with no single pattern") if rest else ""
        start = say(lang, f"{total} 个头：", f"{total} heads: ")
        return start + say(lang, "，", ", ").join(clauses) + ending
    return each_line(lang, one)


def subline(maps, batch, averaged, pooled, uniform, lang):
    """The line below the title: what is drawn, and what a reader must know before trusting it."""
    def one(lang):
        parts = [say(lang, "注意力权重", "Attention weights")]
        if len(maps) > 1:
            parts.append(say(lang, f"{len(maps)} 层", f"{len(maps)} layers"))
        heads = max(len(layer.heads) for layer in maps)
        if not averaged and heads > 1:
            parts.append(say(lang, f"{heads} 个头", f"{heads} heads"))
        if maps[0].batch_size > 1:
            parts.append(say(lang, f"批次 {maps[0].batch_size} 个中的第 {batch} 个",
                             f"item {batch} of a batch of {maps[0].batch_size}"))
        parts += [remark.say(lang) for remark in statistics.remarks([layer.values for layer in maps])]
        if any(layer.hidden is not None and layer.hidden.any() for layer in maps):
            parts.append(say(lang, "斜线：掩码遮住", "hatched: hidden by the mask"))
        if max(pooled) > 1:
            parts.append(pooled_words(pooled, lang))
        if uniform:
            parts.append(say(lang, "颜色：权重 × 可见的键数，白色是平均分配",
                             "colour: weight × visible keys, white is what no preference gives"))
        return " · ".join(parts)
    return each_line(lang, one)


def pooled_words(pooled, lang):
    """What one dot of a pooled map stands for."""
    rows, columns = pooled
    return say(lang, f"每个点是 {rows} × {columns} 格中最大的", f"each dot: the largest of {rows} × {columns}")


def heads_alt_text(maps, patterns, labels, headline, remarks, lang):
    """The grid in sentences: what each head does; with few tokens, whom each of them looks at."""
    clauses = []
    for layer, found, (rows, columns) in zip(maps, patterns, labels, strict=True):
        where = say(lang, f"层 {layer.number}，头", f"Layer {layer.number}, head") if len(maps) > 1 else say(
            lang, "头", "Head")
        for head, what, values in zip(layer.heads, found, layer.values, strict=True):
            if len(rows) <= 6:
                seen = statistics.looks(values, rows, columns, lang)
                if not all(clause in headline for clause in seen):
                    clauses.append(f"{where} {head}: " + ", ".join(seen))
            else:
                clauses.append(f"{where} {head}: {pattern_words(what, columns, lang)}")
    if len(clauses) > 12:
        clauses[12:] = [say(lang, f"另有 {len(clauses) - 12} 个", f"and {len(clauses) - 12} more")]
    stop = say(lang, "。", ". ")
    return stop.join([headline, remarks, *([say(lang, "；", "; ").join(clauses)] if clauses else []), ""]).rstrip()


def heads_plain_text(maps, patterns, labels, headline, averaged, lang):
    """The grid as tables."""
    blocks = [headline]
    for layer, found, (rows, columns) in zip(maps, patterns, labels, strict=True):
        for place, head in enumerate(layer.heads):
            lost = None if layer.hidden is None else layer.hidden[place]
            where = say(lang, f"层 {layer.number}", f"Layer {layer.number}") + ", " if len(maps) > 1 else ""
            values = layer.values[place]
            words = panel_title(partial(panel_name, head, averaged and len(layer.heads) == 1), values, lost, math.inf,
                                lang, found[place], columns)
            numbers = table(values, rows, columns, sums=True, hidden=lost)
            blocks.append(where + words.replace("\n", " · ") + "\n" + numbers)
    return "\n\n".join(blocks)


def headings(column, trace, half, values, lang):
    """Name, formula, shape and axes of one matrix of the walkthrough; name and formula are the step's own."""
    name = "d" * half + column.name
    formula = pretty(trace[name].formula)
    if column.transposed and formula != "given":
        formula = f"{name} = {formula}"
    shape = f"{column.rows} × {column.columns} = {values.shape[0]} × {values.shape[1]}"
    down = {"L": query_axis(lang), "S": key_axis(lang).replace("→", "↓")}.get(column.rows, "")
    right = key_axis(lang) if column.columns == "S" else ""
    return "d" * half + column.label, formula, shape, (down, right)


def walkthrough_alt_text(trace, halves, tokens, which, lang):
    """Whom each query looks at."""
    seen = say(lang, "；", "; ").join(statistics.looks(halves[0]["weights"], tokens["L"], tokens["S"], lang)[:6])
    both = len(halves) > 1
    return say(lang, f"{trace.title} 的注意力{'，前向与反向' if both else ''}{which}：{seen}。",
               f"Attention{', forward and backward,' if both else ''} for {trace.title}{which}: {seen}.")


def walkthrough_plain_text(trace, headline, columns, halves, tokens, made):
    """Every matrix as a table, forward and then backward."""
    blocks = [headline]
    for half, matrices in enumerate(halves):
        for column in columns if not half else reversed(columns):
            values, name = matrices[column.name], "d" * half + column.name
            if values is not None:
                rows, names = (tokens.get(symbol) or list(map(str, range(count))) for symbol, count in
                               zip((column.rows, column.columns), values.shape, strict=True))
                head = f"{name}{'ᵀ' * column.transposed} ({column.rows}, {column.columns}): {trace[name].formula}"
                blocks.append(head + "\n" + table(values, rows, names, sums=name in ("weights", "dscores")))
    return "\n\n".join([*blocks, *[made] * bool(made)])


def in_both(lang):
    """Whether two lines are written where one would do."""
    return len(languages(lang)) > 1


def share(value):
    """A share of attention in words."""
    return f"{value:.0%}" if np.isfinite(value) else "–"
