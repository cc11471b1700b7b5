"""The matrices of a page: tables with numbers and colours.

Every text that comes from outside (a token, a name) goes through `escape` here: it is shown and never run. A matrix
that is too large shows its corners; of many heads the first ones; `left_out` says what is missing.
"""
import re
from html import escape
from itertools import product
from typing import NamedTuple

import numpy as np

from ..words.colours import NAMES, colour
from ..words.labels import visible
from ..words.numbers import numbers
from ..words.terminal import shorten
from .text import ROW_SUMS
from .why import hidden

AXES = {"L": ("query", "查询"), "S": ("key", "键"), "H": ("head", "头"), "N": ("sequence", "序列")}
SHARED = {"Q": "compare", "K": "compare", "V": "values", "heads": "values", "product": "scores", "scores": "scores",
          "capped": "scores", "biased": "scores"}


class Crop(NamedTuple):
    """How much of a large matrix is shown: rows and columns at most, how many at a corner, heads and sequences."""

    most: int
    corner: int
    tables: int


CROPS = (Crop(16, 6, 8), Crop(12, 4, 4), Crop(8, 3, 2), Crop(8, 3, 1), Crop(5, 2, 1))


def two(zh, en):
    """A text in both languages; the page shows one of them or both."""
    return f'<span class="zh" lang="zh">{zh}</span> <span class="en" lang="en">{en}</span>'


def label(text):
    """A token as it may stand in a page: escaped, blanks and invisible characters made visible."""
    text = visible(text)
    shown = escape(shorten(text, 12))
    full = f' title="{escape(text)}"' if shown != escape(text) else ""
    return f"<bdi{full}>{shown}</bdi>"


def math(text):
    """A formula or shape, escaped, with its indices set lower: d_k, Σ_S.

    >>> math("√d_k < in_features")
    '√d<sub>k</sub> &lt; in_features'
    """
    return re.sub(r"(?<=[A-Za-zΣ])_([A-Za-z]{1,2})\b", r"<sub>\1</sub>", escape(text))


def kept(count, crop):
    """The places that are shown along an axis; None stands for a gap."""
    return list(range(count)) if count <= crop.most else [*range(crop.corner), None,
                                                          *range(count - crop.corner, count)]


def leading(shape, crop):
    """The sequences and heads that are shown, as index tuples."""
    return [index for index, _ in zip(product(*map(range, shape[:-2])), range(crop.tables), strict=False)]


def cells(shape, crop):
    """How many cells a step takes on the page."""
    return len(leading(shape, crop)) * int(np.prod([min(n, crop.most, 2 * crop.corner + 1) if n > crop.most else n
                                                    for n in shape[-2:]]))


def left_out(shape, crop):
    """How many numbers of a step are not on the page."""
    shown = len(leading(shape, crop)) * int(np.prod([n if n <= crop.most else 2 * crop.corner for n in shape[-2:]]))
    return int(np.prod(shape)) - shown


def limits(trace):
    """{step name: largest |number| of its colour scale}; None for weights, which go from 0 to 1.

    What is compared or mixed shares a scale, as Q and K do; each gradient has its own, or most would look like zeros.
    """
    scale, role = {}, {}
    for step in trace:
        finite = np.abs(step.value[np.isfinite(step.value)])
        shared = SHARED.get(step.short_name) if step.direction == "forward" else None
        role[step.name] = shared or step.name
        scale[role[step.name]] = max(scale.get(role[step.name], 0), float(finite.max(initial=0)))
    return {step.name: None if step.short_name in ("weights", "dropped", "mask") else scale[role[step.name]]
            for step in trace}


def tables(trace, name, array, symbols, limit, crop, *, masked=None, sums=False, gradient=False):
    """The tables of one tensor, a table for each sequence and head that is shown."""
    symbols = (["", "", "", "", *symbols.split()])[-max(array.ndim, 2):]
    whole = array.reshape((1,) * (2 - array.ndim) + array.shape)
    if not whole.size:
        return f"<p>{two('没有数', 'no numbers')}</p>"
    texts = None
    if whole.size <= 10 ** 5:       # all in one format; formatting millions would take minutes
        texts = np.array(numbers(whole.reshape(-1, whole.shape[-1]), 3)).reshape(whole.shape)
    return "".join(_table(trace, name, whole, texts, symbols, lead, limit, crop, masked, sums, array.ndim, gradient)
                   for lead in leading(whole.shape, crop))


def _table(trace, name, whole, texts, symbols, lead, limit, crop, masked, sums, ndim, gradient):
    matrix = whole[lead]
    rows, columns = (kept(n, crop) for n in matrix.shape)
    row_labels, column_labels = (trace.tokens(symbol) for symbol in symbols[-2:])
    head = [f'<th scope="col">{"…" if j is None else label(column_labels[j]) if column_labels else j}</th>'
            for j in columns]
    if sums:
        head.append('<th scope="col" class="sum">Σ</th>')
    body = []
    for i in rows:
        tds = [f'<th scope="row">{"…" if i is None else label(row_labels[i]) if row_labels else i}</th>']
        for j in columns:
            if i is None or j is None:
                tds.append('<td class="gap">…</td>')
                continue
            index = (*lead, i, j)
            text = texts[index] if texts is not None else numbers([[whole[index]]], 3)[0][0]
            tds.append(_cell(whole[index], text, index[-ndim:] if ndim else (), limit,
                             masked is not None and masked[index[-ndim:]], name, gradient))
        if sums:
            total = "…" if i is None else f"{matrix[i].sum():.3f}".replace("-0.000", "0.000")
            tds.append(f'<td class="sum">{total}</td>')
        body.append(f"<tr>{''.join(tds)}</tr>")
    return (f'<table role="grid"><caption>{_caption(name, symbols, lead, limit if gradient else None)}</caption>'
            f"<thead><tr><td></td>{''.join(head)}</tr></thead><tbody>{''.join(body)}</tbody></table>")


def named(name):
    """A tensor's name in its colour: Q, K, V and their gradients look alike everywhere."""
    short = name.rpartition(".")[2].removeprefix("d").removeprefix("W_")
    kind = f' class="{short.lower()}"' if short in NAMES else ""
    return f"<b{kind}>{escape(name)}</b>"


def _caption(name, symbols, lead, limit):
    """"weights · head 1 · query ↓ · key →", in both languages; beneath a gradient's name the end of its scale."""
    def word(symbol):
        return two(*AXES[symbol][::-1]) if symbol in AXES else math(symbol)
    where = [f"{word(s)} {n}" for s, n in zip(symbols[:-2], lead, strict=True) if s != "N" or n]
    axes = [f"{word(s)} {arrow}" for s, arrow in zip(symbols[-2:], "↓→", strict=True) if s]
    scale = "" if limit is None else f'<br><span class="limit">±{limit:.3g}</span>'
    return f"{named(name)} {' · '.join([*where, *axes])}{scale}"


def _cell(value, text, index, limit, is_hidden, name, gradient):
    at, text = ",".join(map(str, index)), text.replace("-", "−")
    if is_hidden:
        short = name.rpartition(".")[2]
        return f'<td data-at="{at}" class="hidden">{"–" if short in ("weights", "dscores", "dproduct") else text}</td>'
    if not np.isfinite(value):
        return f'<td data-at="{at}" class="bad">{text}</td>'
    if value.dtype.kind in "iu":
        return f'<td data-at="{at}">{text}</td>'
    background, ink = colour(float(value), limit, gradient)
    dark = ' class="w"' if ink == "white" else ""
    return f'<td data-at="{at}"{dark} style="background:{background}">{text}</td>'


def matrix_of(trace, step, limit, crop):
    """A step's tables."""
    return tables(trace, step.name, step.value, step.symbols, limit, crop, masked=hidden(trace, step),
                  sums=step.short_name in ROW_SUMS, gradient=step.direction == "backward")
