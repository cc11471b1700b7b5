"""The name of a ratio: 0.5 is 1/N when N is 2, 2.449 is √d_k when d_k is 6."""
import itertools
import math
from fractions import Fraction

import numpy as np

from ..engine.layer import Layer
from ..layers.variants.dropout import Dropout


def sizes(subject, trial):
    """{symbol: length} of the axes: N, L, d_k ... where the layer states its shapes, else x.shape[0] and so on."""
    found = _stated(trial.layer) if isinstance(trial.layer, Layer) else {}
    if not found:
        shapes = {**{name: v.shape for name, v in subject.variables.items() if v.kind == "input"},
                  "out": subject.shapes[0]}
        found = {f"{name}.shape[{axis}]": n for name, shape in shapes.items() for axis, n in enumerate(shape)}
    found = {symbol: found[symbol] for symbol in sorted(found, key=lambda symbol: symbol != "d_k")}    # the usual scale
    return {symbol: n for symbol, n in found.items() if n > 1} | _dropouts(trial.layer)


def _dropouts(layer):
    """{"1 − p": its value} of a dropout layer inside, whose scale is easily forgotten."""
    parts = [layer, *layer.sublayers().values()] if isinstance(layer, Layer) else []
    kept = [1 - part.p for part in parts if isinstance(part, Dropout) and part.p]
    deeper = [_dropouts(part) for part in parts[1:]]
    return {"1 − p": kept[0]} if kept else next(filter(None, deeper), {})


def _stated(layer):
    found = {}
    for stage in (*layer.FORWARD, *layer.BACKWARD):
        if isinstance(stage, str):
            found.update(_stated(getattr(layer, stage)) if isinstance(getattr(layer, stage, None), Layer) else {})
            continue
        array = layer.cache.get(stage.name, layer.grads.get(stage.name.removeprefix("d")))
        if isinstance(array, np.ndarray):
            for symbol, n in zip(reversed(stage.shape.split()), reversed(array.shape), strict=False):
                if symbol.isidentifier() and "·" not in symbol:
                    found.setdefault(symbol, n)
    return found


def name_of(ratio, symbols):
    """The ratio in words, to stand after "... times what it should be"; nothing if several names would fit."""
    if not math.isfinite(ratio) or ratio == 0:
        return ""
    if math.isclose(ratio, -1, rel_tol=1e-4):
        return ": the sign is flipped"
    sign = ", and the sign is flipped" if ratio < 0 else ""
    for candidates in (_likely(symbols), _less_likely(symbols)):
        named = [text for value, text in candidates if math.isclose(abs(ratio), value, rel_tol=1e-4)]
        if named:
            break
    first = [text for text in named if "√d_k" in text and "the scale" in text]     # no scale is as common as this one
    named = first[:1] or named
    fraction = Fraction(abs(ratio)).limit_denominator(12)
    if not named and math.isclose(fraction, abs(ratio), rel_tol=1e-5) and fraction != 1:
        named = [str(fraction)]
    if len(named) > 1:
        return f", which could be {' or '.join(text.partition(':')[0] for text in named[:3])}{sign}"
    return f", which is {named[0]}{sign}" if named else sign


def _lengths(symbols):
    """One symbol for each length."""
    return {symbol: n for symbol, n in symbols.items()
            if symbol == next(other for other, m in symbols.items() if m == n) and symbol != "1 − p"}


def _likely(symbols):
    """(value, words) of one length, or of dropout."""
    kept = symbols.get("1 − p")
    if kept:
        yield kept, f"1 − p (p = {1 - kept:g}): the scale 1/(1 − p) of dropout is missing"
        yield 1 / kept, f"1/(1 − p) (p = {1 - kept:g}): the scale of dropout once too often"
    for symbol, n in _lengths(symbols).items():
        same = " = ".join([symbol, *(other for other, m in symbols.items() if m == n and other != symbol)][:3])
        plain = f" (or a plain factor {n})" if n == 2 else ""
        root = math.isqrt(n)
        square = f" (or a plain factor {root})" if root * root == n and symbol != "d_k" else ""
        yield math.sqrt(n), f"√{symbol} ({same} = {n}): the scale 1/√{symbol} is missing{square}"
        yield 1 / math.sqrt(n), f"1/√{symbol} ({same} = {n}): the scale 1/√{symbol} once too often{square}"
        yield 1 / n, f"1/{symbol} ({same} = {n}): a mean where a sum belongs, or the scale twice{plain}"
        yield n, f"{symbol} ({same} = {n}): a sum where a mean belongs, or no scale{plain}"


def _less_likely(symbols):
    """(value, words) of two lengths, or of none."""
    lengths = _lengths(symbols).items()
    for (a, n), (b, m) in itertools.combinations(lengths, 2):
        yield 1 / (n * m), f"1/({a} {b}) ({a} = {n}, {b} = {m}): a mean where a sum belongs"
        yield float(n * m), f"{a} {b} ({a} = {n}, {b} = {m}): a sum where a mean belongs"
    for (a, n), (b, m) in itertools.permutations(lengths, 2):
        yield math.sqrt(n / m), f"√({a} / {b}) ({a} = {n}, {b} = {m}): scaled by the wrong one of two lengths"
    for n in (2, 3, 4):
        yield float(n), f"counted {('twice', 'three times', 'four times')[n - 2]}"
        yield 1 / n, f"a forgotten factor {n}"
