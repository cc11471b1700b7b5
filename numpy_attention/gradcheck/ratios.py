"""The name of a ratio: 0.5 is 1/N when N is 2, 2.449 is √d_k when d_k is 6."""
import itertools
import math

import numpy as np

from ..layers.layer import Layer


def sizes(subject, trial):
    """{symbol: length} of the axes: N, L, d_k ... where the layer states its shapes, else x.shape[0] and so on."""
    found = _stated(trial.callee.layer) if isinstance(trial.callee.layer, Layer) else {}
    if not found:
        shapes = {**{name: v.shape for name, v in subject.variables.items() if v.kind == "input"},
                  "out": subject.out.shape}
        found = {f"{name}.shape[{axis}]": n for name, shape in shapes.items() for axis, n in enumerate(shape)}
    return {symbol: n for symbol, n in found.items() if n > 1}


def _stated(layer):
    found = {}
    for stage in (*layer.FORWARD, *layer.BACKWARD):
        if isinstance(stage, str):
            found.update(_stated(getattr(layer, stage)) if isinstance(getattr(layer, stage, None), Layer) else {})
            continue
        array = layer.cache.get(stage.name, layer.grads.get(stage.name.removeprefix("d")))
        if isinstance(array, np.ndarray):
            for symbol, n in zip(reversed(stage.shape.split()), reversed(array.shape), strict=False):
                if symbol.isidentifier():
                    found.setdefault(symbol, n)
    return found


def name_of(ratio, symbols):
    """The ratio in words, to stand after "... times what it should be"."""
    if not math.isfinite(ratio) or ratio == 0:
        return ""
    if math.isclose(ratio, -1, rel_tol=1e-4):
        return ": the sign is flipped"
    sign = ", and the sign is flipped" if ratio < 0 else ""
    named = next((text for value, text in _candidates(symbols) if math.isclose(abs(ratio), value, rel_tol=1e-4)), None)
    return f", which is {named}{sign}" if named else sign


def _candidates(symbols):
    """(value, words), likelier ones first."""
    for symbol, n in symbols.items():
        same = " = ".join([symbol, *(other for other, m in symbols.items() if m == n and other != symbol)][:3])
        plain = f" (or a plain factor {n})" if n == 2 else ""
        yield math.sqrt(n), f"√{symbol} ({same} = {n}): the scale 1/√{symbol} is missing"
        yield 1 / math.sqrt(n), f"1/√{symbol} ({same} = {n}): the scale 1/√{symbol} once too often"
        yield 1 / n, f"1/{symbol} ({same} = {n}): a mean where a sum belongs, or the scale twice{plain}"
        yield n, f"{symbol} ({same} = {n}): a sum where a mean belongs, or no scale{plain}"
    for (a, n), (b, m) in itertools.combinations(symbols.items(), 2):
        yield 1 / (n * m), f"1/({a} {b}) ({a} = {n}, {b} = {m}): a mean where a sum belongs"
        yield float(n * m), f"{a} {b} ({a} = {n}, {b} = {m}): a sum where a mean belongs"
    for (a, n), (b, m) in itertools.permutations(symbols.items(), 2):
        yield math.sqrt(n / m), f"√({a} / {b}) ({a} = {n}, {b} = {m}): scaled by the wrong one of two lengths"
    for n in (2, 3, 4):
        yield float(n), f"counted {('twice', 'three times', 'four times')[n - 2]}"
        yield 1 / n, f"a forgotten factor {n}"
