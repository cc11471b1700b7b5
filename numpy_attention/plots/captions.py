"""The words on and about a grid of heads: panel titles, the line on top, alt text and plain text."""

import math

import numpy as np

from ..walkthrough.text import width
from . import statistics
from .text import table
from .words import say


def panel_name(head, mean, lang):
    """What a panel is of."""
    return say(lang, "Mean of heads", "各头平均") if mean else say(lang, f"Head {head}", f"头 {head}")


def panel_title(name, values, hidden, room, lang):
    """As much of "Head 3 · entropy 0.41/2.08 nats · max 0.93" as fits, and its font size."""
    found, most = statistics.entropy(values, hidden)
    share = f"{found:.2f}/{most:.2f}" if math.isfinite(found) else "–"
    top = statistics.largest(values)
    top = f"{top:.2f}" if math.isfinite(top) else "–"
    entropy, high = say(lang, "entropy", "熵"), say(lang, "max", "最大")
    full = f"{name} · {entropy} {share} nats · {high} {top}"
    if width(full) * 0.068 <= room:
        return full, 9
    if room >= 2.1:
        return f"{name}\n{entropy} {share} nats · {high} {top}", 8.5
    if room >= 1.15:
        return f"{name}\n{share} · {high} {top}", 7.5
    return f"{name.split()[-1]}\n{found:.1f} · {top}", 6.5 if room > 0.6 else 5.5


def key(room, S, lang):
    """What the shortened titles say."""
    if room >= 2.1:
        return say(lang, "entropy: mean over the rows / its maximum", "熵：各行的平均 / 最大可能值")
    if room >= 1.15:
        return say(lang, "under each head: mean entropy of its rows / its maximum, in nats · largest weight",
                   "每个头下面：各行的平均熵 / 最大可能值（nats）· 最大权重")
    most = f"{math.log(max(S, 1)):.2f} nats"
    return say(lang, f"over each panel: its number, the mean entropy of its rows (at most {most}) · largest weight",
               f"每幅图上面：头的编号，各行的平均熵（至多 {most}）· 最大权重")


def headline(layers, batch, weights, averaged, lang):
    """The line on top: what is drawn, and what a reader must know before trusting it."""
    heads = sorted({len(layer) for layer in layers})
    parts = [say(lang, "Attention weights", "注意力权重")]
    if len(layers) > 1:
        parts.append(say(lang, f"{len(layers)} layers", f"{len(layers)} 层"))
    if not averaged and heads[-1] > 1:
        parts.append(say(lang, f"{heads[-1]} heads", f"{heads[-1]} 个头"))
    first = weights[0] if isinstance(weights, (list, tuple)) else weights
    shape = np.shape(getattr(first, "weights", first)) if not hasattr(first, "query_tokens") else ()
    if len(shape) == (3 if averaged else 4) and shape[0] > 1:
        parts.append(say(lang, f"item {batch} of a batch of {shape[0]}", f"批次 {shape[0]} 个中的第 {batch} 个"))
    found = statistics.remarks(layers)
    parts += [say(lang, *remark) for remark in found]
    return " · ".join(parts)


def alt_text(layers, labels, title, lang):
    """The grid in a sentence; with few tokens, whom each of them looks at."""
    clauses = []
    for number, (layer, (rows, columns)) in enumerate(zip(layers, labels, strict=True)):
        where = say(lang, f"Layer {number}, head", f"层 {number}，头") if len(layers) > 1 else say(lang, "Head", "头")
        for head, values in enumerate(layer if len(rows) <= 6 else ()):
            clauses.append(f"{where} {head}: " + ", ".join(statistics.looks(values, rows, columns, lang)))
    return f"{title}. " + "; ".join(clauses[:4]) + ("; …" if len(clauses) > 4 else "")


def plain_text(layers, labels, hidden, title, averaged, lang):
    """The grid as tables."""
    blocks = [title]
    for number, (layer, (rows, columns)) in enumerate(zip(layers, labels, strict=True)):
        for head, values in enumerate(layer):
            lost = None if hidden[number] is None else hidden[number][head]
            where = say(lang, f"Layer {number}", f"层 {number}") + ", " if len(layers) > 1 else ""
            name = where + panel_name(head, averaged and len(layer) == 1, lang)
            full = panel_title(name, values, lost, math.inf, lang)[0]
            blocks.append(full + "\n" + table(values, rows, columns, sums=True, hidden=lost))
    return "\n\n".join(blocks)
