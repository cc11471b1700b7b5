"""What titles and alt texts say about a map of attention weights."""

import math

import numpy as np


def entropy(weights, hidden=None):
    """Mean entropy of the rows in nats, and the most it could be: ln of the number of visible keys.

    Rows that see nothing are left out.

    >>> entropy(np.array([[0.5, 0.5], [1.0, 0.0]]))
    (0.34657359027997264, 0.6931471805599453)
    """
    visible = np.ones(weights.shape, bool) if hidden is None else ~hidden
    seeing = visible.any(axis=-1) & (weights.sum(axis=-1) != 0)
    if not seeing.any():
        return math.nan, math.nan
    positive = np.where(weights > 0, weights, 1)
    rows = -np.sum(weights * np.log(positive), axis=-1)
    most = np.log(np.maximum(visible.sum(axis=-1), 1))
    return float(rows[seeing].mean()) + 0.0, float(most[seeing].mean())


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
    """What the rows sum to, and what a reader must know before trusting the colours: (en, zh) pairs."""
    found = []
    bad = sum(int(np.sum(~np.isfinite(layer))) for layer in layers)
    if bad:
        found.append((f"{bad} cells not finite", f"{bad} 个格子不是有限数"))
    sums = np.concatenate([np.ravel(layer.sum(axis=-1)) for layer in layers])
    off = sums[np.isfinite(sums) & (sums != 0) & (np.abs(sums - 1) > 0.02)]
    if off.size:
        found.append((f"some rows sum to {off.min():.2f}…{off.max():.2f}, not 1: after dropout?",
                      f"有的行之和是 {off.min():.2f}…{off.max():.2f}，不是 1：是 dropout 之后的吗？"))
    elif not bad and (sums == 0).any():
        found.append(("rows sum to 1, or to 0 where a query sees nothing", "每行之和为 1，什么也看不到的行为 0"))
    elif not bad:
        found.append(("each row sums to 1", "每行之和为 1"))
    return found


def looks(weights, rows, columns, lang):
    """One clause per query: which key it looks at most.

    >>> looks(np.array([[0.2, 0.8]]), ["我"], ["爱", "AI"], "en")
    ['我 looks mostly at AI (0.80)']
    """
    from .words import say

    clauses = []
    for row, token in zip(weights, rows, strict=True):
        if not np.isfinite(row).all():
            clauses.append(say(lang, f"{token} is not finite", f"{token} 不是有限数"))
            continue
        if not row.any():
            clauses.append(say(lang, f"{token} sees nothing", f"{token} 什么也看不到"))
            continue
        best = int(np.argmax(row))
        clauses.append(say(lang, f"{token} looks mostly at {columns[best]} ({row[best]:.2f})",
                           f"{token} 主要看 {columns[best]}（{row[best]:.2f}）"))
    return clauses
