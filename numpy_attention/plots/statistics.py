"""What titles and alt texts say about a map of attention weights: how spread it is, and what the head does."""

import math
from typing import NamedTuple

import numpy as np

from ..measures import row_entropy
from ..words.languages import Words, say

# What a head may be found to do: as a predicate after "looks at".
PATTERNS = {
    "previous": Words("前一个词元", "the token before"),
    "itself": Words("自己", "itself"),
    "next": Words("后一个词元", "the token after"),
    "back": Words("往前固定几个的词元", "a token some places before"),
    "first": Words("第一个词元", "the first token"),
    "induction": Words("上次之后的词元", "what came next last time"),
    "sink": Words("同一个词元", "one and the same token"),
    "uniform": Words("所有词元，一样多", "all tokens alike"),
    "mixed": Words("没有单一规律", "no single pattern"),
}
SHORT = {
    "previous": Words("前一个", "before"), "itself": Words("自己", "itself"), "next": Words("后一个", "after"),
    "back": Words("往前", "back"), "first": Words("第一个", "first"), "induction": Words("归纳", "induction"),
    "sink": Words("汇聚", "sink"), "uniform": Words("平均", "uniform"), "mixed": Words("混合", "mixed"),
}
CLEAR, EVEN = 0.35, 0.92
MOST_BACK = 8       # places


class Pattern(NamedTuple):
    """What a head does: ``kind`` is a key of PATTERNS, ``score`` the share of its attention that says so.

    ``key`` is the column of a sink, or how many places back.
    """

    kind: str
    score: float
    key: int = -1


def pattern(weights, hidden=None, tokens=None):
    """What the head with these (L, S) weights does.

    Each kind is scored by the mean share of attention that it explains, over the rows that could show it; the one that
    is furthest above chance wins. Even rows are "uniform" (score: entropy over its maximum). With ``tokens``, a head
    that looks at what followed the same token earlier is an induction head (Olsson et al. 2022).

    >>> pattern(np.eye(4, k=-1) + np.eye(4)[:1] * [[1], [0], [0], [0]])
    Pattern(kind='previous', score=1.0, key=-1)
    >>> pattern(np.full((4, 4), 0.25)).kind
    'uniform'
    """
    L, S = weights.shape
    weights = np.nan_to_num(weights, posinf=0)
    visible = np.full(L, S) if hidden is None else (~hidden).sum(axis=1)
    seeing = (visible > 1) & (weights.sum(axis=1) > 0)
    if not seeing.any():
        return Pattern("mixed", 0.0)
    found, most = entropy(weights[seeing], None if hidden is None else hidden[seeing])
    if most and found / most >= EVEN:
        return Pattern("uniform", found / most)
    chance = 1 / np.maximum(visible, 1)
    rivals = []
    if L == S:
        place = np.arange(L)
        for kind, rows, columns in (("previous", place[1:], place[:-1]), ("itself", place, place),
                                    ("next", place[:-1], place[1:]), ("first", place[1:], 0 * place[1:])):
            keep = seeing[rows] & (True if hidden is None else ~hidden[rows, columns])
            if keep.sum() >= 3:       # in fewer rows it would be chance
                rivals.append((kind, weights[rows, columns][keep].mean(), chance[rows][keep].mean(), -1))
        for steps in range(2, min(MOST_BACK, L - 3) + 1):
            rows, columns = place[steps:], place[:-steps]
            keep = seeing[rows] & (True if hidden is None else ~hidden[rows, columns])
            if keep.sum() >= 3:
                rivals.append(("back", weights[rows, columns][keep].mean(), chance[rows][keep].mean(), steps))
        if tokens is not None and L <= 2048:
            rivals += _induction(weights, seeing, chance, tokens)
    mass = weights[seeing].mean(axis=0)
    top = int(np.argmax(mass[1:] if L == S and S > 1 else mass)) + (L == S and S > 1)
    rivals.append(("sink", mass[top], chance[seeing].mean(), top))
    # What followed the same token says more than how many places back that was.
    kind, score, expected, key = max(rivals, key=lambda one: (
        (one[1] - one[2]) / max(1 - one[2], 1e-9) + 0.02 * (one[0] == "induction")))
    if score < max(CLEAR, 1.5 * expected):
        return Pattern("mixed", float(score))
    return Pattern(kind, float(score), int(key) if kind in ("sink", "back") else -1)


def _induction(weights, seeing, chance, tokens):
    """Mean share on the keys that come right after an earlier occurrence of the query's token."""
    names = np.asarray([str(token) for token in tokens])
    L = len(names)
    target = np.zeros((L, L), bool)
    target[:, 1:] = names[:, None] == names[None, :-1]
    target &= np.arange(L)[None] < np.arange(L)[:, None]         # an earlier occurrence, and what followed it
    rows = target.any(axis=1) & seeing
    if rows.sum() < 2:
        return []
    return [("induction", (weights * target).sum(axis=1)[rows].mean(),
             float(np.mean(target.sum(axis=1)[rows] * chance[rows])), -1)]


def entropy(weights, hidden=None):
    """Mean entropy of the rows in nats, and the most it could be: ln of the number of visible keys.

    Rows that see nothing are left out.

    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]]))
    (0.34657359027997264, 0.6931471805599453)
    """
    visible = np.full(len(weights), weights.shape[-1]) if hidden is None else (~hidden).sum(axis=-1)
    seeing = (visible > 0) & (weights.sum(axis=-1) != 0)
    if not seeing.any():
        return math.nan, math.nan
    rows = row_entropy(weights)
    most = np.log(np.maximum(visible, 1))
    return float(rows[seeing].mean()), float(most[seeing].mean())


def times_uniform(weights, hidden=None):
    """Weight × visible keys: 1 is what each key gets from a query without preference.

    >>> times_uniform(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [[1.0, 1.0], [2.0, 0.0]]
    """
    visible = weights.shape[-1] if hidden is None else np.maximum((~hidden).sum(axis=-1, keepdims=True), 1)
    return weights * visible


def largest(weights):
    """The largest weight, NaN if there is none."""
    finite = weights[np.isfinite(weights)]
    return float(finite.max()) if finite.size else math.nan


def check_weights(weights, name):
    """Refuse what cannot be attention weights: negative numbers are usually scores."""
    lowest = np.min(weights, where=np.isfinite(weights), initial=0)
    if lowest < 0:
        raise ValueError(f"{name} must not be negative, the lowest is {lowest:.3g}: if these are scores, apply softmax")


def remarks(layers):
    """What the rows sum to, and what a reader must know before trusting the colours: a list of Words."""
    found = []
    bad = sum(int(np.sum(~np.isfinite(layer))) for layer in layers)
    if bad:
        found.append(Words(f"{bad} 个格子不是有限数", f"{bad} cells not finite"))
    sums = np.concatenate([np.ravel(layer.sum(axis=-1)) for layer in layers])
    off = sums[np.isfinite(sums) & (sums != 0) & (np.abs(sums - 1) > 0.02)]
    if off.size:
        found.append(Words(f"有的行之和是 {off.min():.2f}…{off.max():.2f}，不是 1：是 dropout 之后的吗？",
                           f"some rows sum to {off.min():.2f}…{off.max():.2f}, not 1: after dropout?"))
    elif not bad and (sums == 0).any():
        found.append(Words("每行之和为 1，什么也看不到的行为 0", "rows sum to 1, or to 0 where a query sees nothing"))
    elif not bad:
        found.append(Words("每行之和为 1", "each row sums to 1"))
    return found


def looks(weights, rows, columns, lang):
    """One clause per query: which key it looks at most.

    >>> looks(np.array([[0.2, 0.8]]), ["我"], ["爱", "AI"], "en")
    ['我 looks mostly at AI (0.80)']
    """
    clauses = []
    for row, token in zip(weights, rows, strict=True):
        if not np.isfinite(row).all():
            clauses.append(say(lang, f"{token} 不是有限数", f"{token} is not finite"))
            continue
        if not row.any():
            clauses.append(say(lang, f"{token} 什么也看不到", f"{token} sees nothing"))
            continue
        best = int(np.argmax(row))
        clauses.append(say(lang, f"{token} 主要看 {columns[best]}（{row[best]:.2f}）",
                           f"{token} looks mostly at {columns[best]} ({row[best]:.2f})"))
    return clauses


def finding(weights, rows, columns, lang, hidden=None):
    """The one thing that a map shows, as a sentence without a full stop.

    >>> finding(np.array([[0.1, 0.9], [0.3, 0.7]]), ["我", "爱"], ["我", "爱"], "en")
    '爱 draws 70–90 % of everybody’s attention'
    """
    finite = np.isfinite(weights).all(axis=1) & weights.any(axis=1) if weights.size else np.zeros(len(rows), bool)
    if not finite.any():
        return say(lang, "没有可看的权重", "no weights to look at")
    found = pattern(weights, hidden, rows if list(rows) == list(columns) else None)
    best = weights[finite].argmax(axis=1)
    if found.kind == "uniform":
        return say(lang, "每个查询对每个键看得差不多一样多", "every query looks at every key about alike")
    if len(best) > 1 and len(set(best)) == 1 and found.kind in ("sink", "first", "mixed"):
        low, high = (f"{100 * end:.0f}" for end in (weights[finite, best[0]].min(), weights[finite, best[0]].max()))
        share = f"{low}–{high} %" if low != high else f"{low} %"
        return say(lang, f"{columns[best[0]]} 得到每个查询 {share} 的注意力",
                   f"{columns[best[0]]} draws {share} of everybody’s attention")
    if found.kind not in ("mixed", "sink") and len(rows) > 3:
        return say(lang, f"每个查询主要看{PATTERNS[found.kind].zh}（{found.score:.2f}）",
                   f"each query looks mostly at {PATTERNS[found.kind].en} ({found.score:.2f})")
    kept = np.flatnonzero(finite)
    if len(kept) <= 3:
        return say(lang, "；", "; ").join(looks(weights[kept], [rows[i] for i in kept], columns, lang))
    i, j = np.unravel_index(np.argmax(np.where(finite[:, None], weights, 0)), weights.shape)
    return say(lang, f"最强的一处：{rows[i]} 看 {columns[j]}（{weights[i, j]:.2f}）",
               f"strongest: {rows[i]} looks at {columns[j]} ({weights[i, j]:.2f})")
