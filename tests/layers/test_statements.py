"""What a layer states about itself, held against what it really does at the standard sizes.

Docstrings, traces and plots are made from these statements, so a wrong one would be told everywhere.
"""
import pytest

import numpy_attention as na

from ..standard import EXAMPLES, OPEN, run


def stages(layer, which):
    """The layer's statement with its parts' steps in their places, those that both have by the same name."""
    d, held = (1, "grads") if which == "BACKWARD" else (0, "cache")
    found = {}
    for path, stage in layer.statement(which):
        part = layer
        for name in path:
            part = part.part(name)
            if isinstance(part, na.MultiHeadAttention) and "x" in part.cache:
                stage = stage._replace(shape=stage.shape.replace("S", "L"))     # self-attention inside the layer
        name = stage.name[d:]
        if part is layer or getattr(part, held).get(name) is getattr(layer, held).get(name):
            found.pop(stage.name, None)     # a norm's out is its residual's out: stated twice, where it is last
            found[stage.name] = stage
    return list(found.values())


def kind(name):
    return name.split(",")[0]


def skip_if_open(name):
    if ("shapes", name) in OPEN:
        pytest.skip(OPEN["shapes", name])


@pytest.mark.parametrize("name", EXAMPLES)
def test_forward_shapes_and_order(name):
    skip_if_open(name)
    example = EXAMPLES[name]
    layer = example.layer()
    run(layer, example.inputs, example.options)
    stated = [stage for stage in stages(layer, "FORWARD") if stage.name in layer.cache]
    assert {s.name: layer.cache[s.name].shape for s in stated} == {s.name: example.size_of(s.shape) for s in stated}
    assert [key for key in layer.cache if key in {s.name for s in stated}] == [s.name for s in stated]


@pytest.mark.parametrize("name", EXAMPLES)
def test_backward_shapes_and_names(name):
    skip_if_open(name)
    example = EXAMPLES[name]
    layer = example.layer()
    run(layer, example.inputs, example.options)
    known = {**layer.params, **layer.cache}
    stated = [stage for stage in stages(layer, "BACKWARD") if stage.name[1:] in layer.grads]
    assert all(stage.name.startswith("d") for stage in stages(layer, "BACKWARD"))
    assert {s.name: layer.grads[s.name[1:]].shape for s in stated} == {s.name: example.size_of(s.shape) for s in stated}
    assert {s.name[1:] for s in stated} <= set(known)


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_gradient_has_the_shape_of_its_own(name):
    example = EXAMPLES[name]
    layer = example.layer()
    run(layer, example.inputs, example.options)
    known = {**layer.params, **layer.cache}
    assert {key: grad.shape for key, grad in layer.grads.items()} == {key: known[key].shape for key in layer.grads}
    params, grads = layer.named_params(), layer.named_grads()
    assert {key: array.shape for key, array in params.items()} == {key: array.shape for key, array in grads.items()}


@pytest.mark.parametrize("cls", sorted({kind(name) for name in EXAMPLES}))
def test_nothing_is_stated_that_never_happens(cls):
    # A step may depend on how the layer is called; in one of the examples it must happen.
    layers = [(example, example.layer()) for name, example in EXAMPLES.items() if kind(name) == cls]
    for example, layer in layers:
        run(layer, example.inputs, example.options)
    own = type(layers[0][1])
    forward, backward = ({stage.name for stage in half if not isinstance(stage, str)}
                         for half in (own.FORWARD, own.BACKWARD))
    assert own.FORWARD
    assert own.BACKWARD
    assert forward <= {key for _, layer in layers for key in layer.cache}
    assert {name[1:] for name in backward} <= {key for _, layer in layers for key in layer.grads}
    # Every parameter of its own has a stated gradient.
    assert {f"d{name}" for _, layer in layers for name in layer.params} <= backward


@pytest.mark.parametrize("cls", sorted({kind(name) for name in EXAMPLES}))
def test_the_docstring_tells_the_statement_in_two_languages(cls):
    cls = getattr(na, cls)
    for stage in (*cls.FORWARD, *cls.BACKWARD):
        if not isinstance(stage, str):
            assert f"{stage.name} " in cls.__doc__
            assert not stage.shape or f"({stage.shape})" in cls.__doc__
            assert stage.en
            assert stage.zh
