"""Reading a trace off a layer that has run.

The layer's statement says which tensors there are and in which order; its cache and grads hold the numbers. Nothing is
computed twice, except the product Q Kᵀ before the division by √d_k, which is shown as a step of its own because that
is how one does it on paper.
"""
from dataclasses import replace

import numpy as np

from ..engine.layer import Layer
from ..layers.variants.repeat_heads import group_size, repeat
from .run import Run
from .step import Step, source_line
from .trace import Trace

GIVEN = {
    "Q": ("One row a query: what it is looking for.", "每行一个查询：它在找什么。"),
    "K": ("One row a key: what it can be found by.", "每行一个键：它凭什么被找到。"),
    "V": ("One row a value: what it hands over.", "每行一个值：它交出什么内容。"),
    "upstream": ("How much the loss would change with each number of the result: where the way back begins.",
                 "结果的每个数变一点，损失会变多少：反向从这里开始。"),
    "product": ("Each cell is one query times one key, number by number, added up.",
                "每一格是一个查询和一个键逐项相乘再相加。"),
    "dproduct": ("Back through the division by √d_k: divide again.", "沿着除以 √d_k 传回去：再除一次。"),
    "": ("Given.", "已给定。"),
}


def read_trace(layer, *, tokens=None, query_tokens=None, key_tokens=None, title=None):
    """The trace of a layer that has run forward (and backward); see `trace`."""
    if not isinstance(layer, Layer):
        raise TypeError(f"trace takes a layer, a worked example or its name; got {type(layer).__name__}")
    if not layer.cache:
        raise RuntimeError(f"{type(layer).__name__} has not run yet: call layer(...) first, then trace(layer)")
    forward = [*_given(layer), *_steps(layer, "forward")]
    backward = []
    if layer.grads:
        last = next(reversed(layer.cache))
        backward = [_step(layer, f"d{last}", "upstream gradient", forward[-1].symbols, layer.grads[last],
                          GIVEN["upstream"], "backward"),
                    *_steps(layer, "backward"), *_parameter_steps(layer)]
    steps = [*forward, *backward]
    query_tokens, key_tokens = query_tokens or tokens, key_tokens or tokens
    _check_labels(steps, "query_tokens", query_tokens, "L")
    _check_labels(steps, "key_tokens", key_tokens, "S")
    return Trace(steps, query_tokens=query_tokens, key_tokens=key_tokens, title=title or type(layer).__name__,
                 run=Run(layer))


def _check_labels(steps, name, labels, symbol):
    for step in steps:
        symbols = step.symbols.split()[-len(step.shape):]
        if labels is not None and symbol in symbols:
            length = step.shape[symbols.index(symbol) - len(symbols)]
            if len(labels) != length:
                raise ValueError(f"{name} must hold {symbol} = {length} labels, got {len(labels)}: {list(labels)}")


def _given(layer):
    """The inputs: what lies in the cache and is not stated as computed."""
    computed = {step.name for step in _steps(layer, "forward")}
    shown = {id(layer.cache[name]) for name in computed & layer.cache.keys()}
    for name, array in layer.cache.items():
        if not isinstance(array, np.ndarray) or id(array) in shown:
            continue
        shown.add(id(array))        # x is query, key and value at once: shown once
        yield _step(layer, name, "given", _symbols(layer, name), array, GIVEN.get(name, GIVEN[""]), "forward")


def _symbols(layer, name):
    """An input's symbolic shape is stated with its gradient; masks and biases have the scores'."""
    if name in ("mask", "bias"):
        return "N H L S"
    return next((s.shape for s in layer.BACKWARD if not isinstance(s, str) and s.name == f"d{name}"), "")


def _steps(layer, direction, path=(), shown=None):
    """The stated steps of `layer`, its sublayers' in their places; those that this run did not take are left out."""
    shown = set() if shown is None else shown
    for stage in layer.FORWARD if direction == "forward" else layer.BACKWARD:
        if isinstance(stage, str):
            if stage in layer.sublayers():
                yield from _steps(layer.sublayers()[stage], direction, (*path, (layer, stage)), shown)
            continue
        name = stage.name if direction == "forward" else stage.name.removeprefix("d")
        array = (layer.cache if direction == "forward" else layer.grads).get(name)
        if array is None or name in layer.params or id(array) in shown:     # an option that is off hands its input on
            continue
        shown.add(id(array))
        for outer, _ in reversed(path):
            stage = stage._replace(shape=outer.inner_shapes.get(stage.name, stage.shape))
        step = _step(layer, stage.name, stage.formula, stage.shape, array, (stage.en, stage.zh), direction,
                     _name(path, direction, name, array))
        attends = name == "scores" and {"Q", "K"} <= layer.cache.keys()
        if attends and direction == "forward":
            yield _product(layer, step)
        yield step
        if attends and direction == "backward":
            yield _product_gradient(layer, step)


def _name(path, direction, name, array):
    """What the outermost layer that knows this tensor calls it, after the names of the layers outside of that one."""
    d = "" if direction == "forward" else "d"
    for depth, (layer, _) in enumerate(path):
        held = layer.cache if direction == "forward" else layer.grads
        known = name if held.get(name) is array else next((key for key in held if held[key] is array), None)
        if known:
            return "".join(f"{inner}." for _, inner in path[:depth]) + d + known
    return "".join(f"{inner}." for _, inner in path) + d + name


def _product(attention, scores):
    """Q Kᵀ as it is before the scale."""
    Q, K = attention.cache["Q"], attention.cache["K"]
    return replace(scores, name=scores.name.replace("scores", "product"), formula="Q Kᵀ", value=Q @ repeat(
        K, group_size(Q, K)).mT, note_en=GIVEN["product"][0], note_zh=GIVEN["product"][1])


def _product_gradient(attention, dscores):
    scale = attention.scale_for(attention.cache["Q"])
    where, code = source_line(attention, "backward", "dQ")      # the line that has the factor in it
    factor = "/ √d_k" if attention.scale is None else f"· {attention.scale:g}"
    return replace(dscores, name=dscores.name.replace("dscores", "dproduct"), formula=f"dscores {factor}",
                   value=dscores.value * scale, note_en=GIVEN["dproduct"][0], note_zh=GIVEN["dproduct"][1],
                   where=where, code=code)


def _parameter_steps(layer, prefix=""):
    """The gradients of learned arrays, layer by layer."""
    for stage in layer.BACKWARD:
        if not isinstance(stage, str) and stage.name.removeprefix("d") in layer.params.keys() & layer.grads.keys():
            yield _step(layer, stage.name, stage.formula, stage.shape, layer.grads[stage.name.removeprefix("d")],
                        (stage.en, stage.zh), "backward", prefix + stage.name)
    for name, inner in layer.sublayers().items():
        yield from _parameter_steps(inner, f"{prefix}{name}.")


def _step(layer, name, formula, symbols, value, notes, direction, shown=None):
    value = np.asarray(value).view()
    value.flags.writeable = False
    where, code = ("", "") if formula in ("given", "upstream gradient") else source_line(layer, direction, name)
    return Step(shown or name, formula, symbols, value, *notes, direction, where, code)
