"""Reading a trace off a layer that has run.

The layer's statement says which tensors there are and in which order; its cache and grads hold the numbers. A name in
a statement that is no step, but a layer, stands for that layer's own steps; so does a layer that a formula calls. A
tensor is called what the outermost layer that knows it calls it, and both must hold the same array: a test says where
a copy would break that. Nothing is computed twice, except the product Q Kᵀ before the division by √d_k, which is shown
as a step of its own because that is how one does it on paper.
"""
import inspect
from dataclasses import replace

import numpy as np

from ..engine.layer import Layer
from ..engine.named_parts import NamedParts
from ..layers.multi_head import MultiHeadAttention
from ..layers.variants.repeat_heads import group_size, repeat
from .binding import Binding, Unbound, called, calls, without_nothing
from .formula import NotAFormula, parse, replaced
from .run import LayerRun
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
    reader = _Reading(layer)
    steps = [*reader.given(), *reader.steps(layer, "forward")]
    if layer.grads:
        last = next(reversed(layer.cache))
        upstream = layer.grads[last]
        reader.binding.add(f"d{last}", upstream)
        reader.shown["backward"].add(id(upstream))
        steps += [_step(layer, f"d{last}", "upstream gradient", steps[-1].symbols, upstream, GIVEN["upstream"],
                        "backward")]
        steps += [*reader.steps(layer, "backward"), *reader.parameters(layer)]
    query_tokens, key_tokens = query_tokens or tokens, key_tokens or tokens
    _check_labels(steps, "query_tokens", query_tokens, "L")
    _check_labels(steps, "key_tokens", key_tokens, "S")
    return Trace(steps, query_tokens=query_tokens, key_tokens=key_tokens, title=title or type(layer).__name__,
                 run=LayerRun(layer, reader.binding))


def _check_labels(steps, name, labels, symbol):
    for step in steps:
        symbols = step.symbols.split()[-len(step.shape):]
        if labels is not None and symbol in symbols:
            length = step.shape[symbols.index(symbol) - len(symbols)]
            if len(labels) != length:
                raise ValueError(f"{name} must hold {symbol} = {length} labels, got {len(labels)}: {list(labels)}")


class _Reading:
    """Goes through the statements of a layer and of the layers inside it."""

    def __init__(self, layer):
        self.layer, self.binding = layer, Binding(layer)
        self.shown = {"forward": set(), "backward": set()}

    def given(self):
        """The inputs: what lies in the cache and is not stated as computed."""
        layer, taken = self.layer, self.shown["forward"]
        stated = {step.name for step in _Reading(layer).steps(layer, "forward")}
        computed = {id(array) for name, array in layer.cache.items() if name in stated}
        for name, array in layer.cache.items():
            if not isinstance(array, np.ndarray) or id(array) in computed | taken:
                continue
            taken.add(id(array))        # x is query, key and value at once: shown once
            self.binding.add(name, array)
            yield _step(layer, name, "given", _symbols(layer, name), array, GIVEN.get(name, GIVEN[""]), "forward")

    def steps(self, layer, direction, path=(), bound=None, until=None):
        """The stated steps of `layer`, those of the layers inside it in their places; what did not run is left out.

        `path` leads there, (layer, name, is it called in a formula?) each; `bound` are the trees of its arguments. The
        step that makes the array `until` is stated by the layer outside: here it leaves its tree, and is not shown.
        """
        for stage in layer.FORWARD if direction == "forward" else layer.BACKWARD:
            if isinstance(stage, str):
                if layer.part(stage) is not None:
                    yield from self.steps(layer.part(stage), direction, (*path, (layer, stage, False)))
                continue
            name = stage.name if direction == "forward" else stage.name.removeprefix("d")
            array = (layer.cache if direction == "forward" else layer.grads).get(name)
            if array is None or name in layer.params or id(array) in self.shown[direction]:
                continue                                # an option that is off hands its input on
            yield from self._called(layer, stage, direction, array, path, bound)
            tree = self._tree(layer, stage, array, path, bound)
            if array is until:
                self.binding.trees[id(array)] = array, tree
                continue
            self.shown[direction].add(id(array))
            for outer, part, _ in reversed(path):
                if _is_self_attention(outer.part(part)):
                    stage = stage._replace(shape=" ".join("L" if s == "S" else s for s in stage.shape.split()))
                stage = stage._replace(shape=outer.inner_shapes.get(stage.name, stage.shape))
            shown = _name(path, direction, name, array)
            step = _step(layer, stage.name, stage.formula, stage.shape, array, (stage.en, stage.zh), direction, shown,
                         tree)
            attends = name == "scores" and {"Q", "K"} <= layer.cache.keys()
            if attends and direction == "forward":
                product = _product(layer, step)
                if product is not None:
                    yield product
                    step = replace(step, tree=replaced(tree, lambda part, product=product: ("name", product.name)
                                                       if part == product.tree else part))
            self.binding.add(shown, array)
            yield step
            if attends and direction == "backward" and hasattr(layer, "scale_for"):
                yield _product_gradient(layer, step)

    def _called(self, layer, stage, direction, array, path, bound):
        """The steps of the layers that a formula calls."""
        try:
            formula = parse(stage.formula)
        except NotAFormula:
            return
        for _, call, *arguments in calls(formula):
            if (".backward" in call) != (direction == "backward"):
                continue
            try:
                trees = [without_nothing(self.binding.resolve(layer, tree, (), _prefix(path), bound))
                         for tree in arguments]
            except Unbound:
                trees = []
            for name, inner in called(layer, call):
                first, last = next(iter(inner.cache.values())), inner.cache[next(reversed(inner.cache))]
                if first is last:                       # a dropout that is off
                    continue
                names = list(inspect.signature(inner.forward).parameters) if direction == "forward" else (
                    [f"d{next(reversed(inner.cache))}"])
                yield from self.steps(inner, direction, (*path, (layer, name, True)),
                                      dict(zip(names, trees, strict=False)), array)

    def _tree(self, layer, stage, array, path, bound=None):
        tree = self.binding.tree(layer, stage, array, _prefix(path), bound)
        return None if tree is None else without_nothing(tree)

    def parameters(self, layer, prefix="", path=()):
        """The gradients of learned arrays, layer by layer."""
        for stage in layer.BACKWARD:
            if not isinstance(stage, str) and stage.name.removeprefix("d") in layer.params.keys() & layer.grads.keys():
                array = layer.grads[stage.name.removeprefix("d")]
                yield _step(layer, stage.name, stage.formula, stage.shape, array, (stage.en, stage.zh), "backward",
                            prefix + stage.name, self._tree(layer, stage, array, path))
        for name, inner in layer.sublayers().items():
            yield from self.parameters(inner, f"{prefix}{name}.", (*path, (layer, name, True)))


def _names(path):
    """[(name, is it called?)] of the layers on the way; a part of a part goes by the name that the whole has for it."""
    names, outer = [], None
    for layer, name, is_called in path:
        own = outer and outer.own_name(f"{names[-1][0]}.{name}")
        names = [*names[:-1], (own, is_called)] if own else [*names, (name, is_called)]
        outer = layer if isinstance(layer, NamedParts) else None
    return names


def _dotted(path):
    """What stands before the name of a tensor that only the innermost layer knows."""
    return "".join(f"{name}." for name, _ in _names(path))


def _prefix(path):
    """What stands before the name of a learned array: the layers that were called on the way to it."""
    return "".join(f"{name}." for name, is_called in _names(path) if is_called)


def _is_self_attention(layer):
    """Its keys are its own queries, so inside another layer, where S may be of another sequence, its S is L."""
    return isinstance(layer, MultiHeadAttention) and "x" in layer.cache


def _symbols(layer, name):
    """An input's symbolic shape is stated with its gradient, here or in a part; masks and biases have the scores'."""
    if name.endswith(("mask", "bias")):     # beside a memory_mask, mask is for the sequence itself
        return "N H L L" if f"memory_{name}" in inspect.signature(layer.forward).parameters else "N H L S"
    for path, stage in sorted(layer.statement("BACKWARD"), key=lambda stated: len(stated[0])):
        part = layer
        for inner in path:
            part = part.part(inner)
        if stage.name == f"d{name}" and part.cache.get(name) is layer.cache[name]:
            return stage.shape
    return ""


def _name(path, direction, name, array):
    """What the outermost layer that knows this tensor calls it, after the names of the layers outside of that one."""
    d = "" if direction == "forward" else "d"
    for depth, (layer, *_) in enumerate(path):
        held = layer.cache if direction == "forward" else layer.grads
        known = name if held.get(name) is array else next((key for key in held if held[key] is array), None)
        if known:
            return _dotted(path[:depth]) + d + known
    return _dotted(path) + d + name


def _product(attention, scores):
    """Q Kᵀ as it is before the scale; None if the formula of the scores has no such part."""
    Q, K = attention.cache["Q"], attention.cache["K"]
    if scores.tree is None or scores.tree[0] not in ("over", "times") or scores.tree[1][0] != "matmul":
        return None
    return replace(scores, name=scores.name.replace("scores", "product"), formula="Q Kᵀ", value=_frozen(Q @ repeat(
        K, group_size(Q, K)).mT), note_en=GIVEN["product"][0], note_zh=GIVEN["product"][1], tree=scores.tree[1])


def _product_gradient(attention, dscores):
    scale = attention.scale_for(attention.cache["Q"])
    where, code = source_line(attention, "backward", "dQ")      # the line that has the factor in it
    if attention.scale is None:
        factor, tree = "/ √d_k", ("over", ("name", dscores.name), ("root", ("number", float(
            attention.cache["Q"].shape[-1]), "d_k")))
    else:
        factor, tree = f"· {attention.scale:g}", ("times", ("name", dscores.name), ("number", float(scale)))
    return replace(dscores, name=dscores.name.replace("dscores", "dproduct"), formula=f"dscores {factor}",
                   value=_frozen(dscores.value * scale), note_en=GIVEN["dproduct"][0], note_zh=GIVEN["dproduct"][1],
                   where=where, code=code, tree=tree)


def _frozen(array):
    array = np.asarray(array).view()
    array.flags.writeable = False
    return array


def _step(layer, name, formula, symbols, value, notes, direction, shown=None, tree=None):
    where, code = ("", "") if formula in ("given", "upstream gradient") else source_line(layer, direction, name)
    return Step(shown or name, formula, symbols, _frozen(value), *notes, direction, where, code, tree)
