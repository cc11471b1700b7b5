"""What a step depends on, found by trying: the layer runs once more with one array replaced, and one looks who changed.

Needed only where a step's formula is a sentence and cannot be executed: the page must know which of its numbers would
be wrong after a change.
"""
import numpy as np


def influence(trace, names, steps):
    """{step name: the `names` on which its numbers depend}; all of them where the layer has run on since.

    Args: names: inputs, learned arrays and the upstream gradient, as the trace calls them. steps: some of its steps.

    >>> from numpy_attention.walkthrough.reading import read_trace
    >>> layer = na.LearnedPositions(3, 4, rng=0)
    >>> _ = layer.backward(layer(np.ones((2, 4))))
    >>> trace = read_trace(layer)
    >>> influence(trace, ["x", "dout"], [trace["dW"]])
    {'dW': ['dout']}
    """
    run = trace.run
    where = {step.name: _place(run.layer, step.value) for step in steps} if run.layer is not None else {}
    found = {step.name: [] for step in steps}
    if any(where.get(name) is None for name in found):
        return {name: list(names) for name in found}
    layer, forward = run.copy()
    upstream = next((step for step in trace.backward if step.formula == "upstream gradient"), None)

    def numbers(name=None, value=None):
        forward(name, value) if upstream is None or name != upstream.name else forward()
        if upstream is not None:
            layer.backward(value if name == upstream.name else upstream.value)
        return {step: np.array(_held(layer, place)) for step, place in where.items()}

    before = numbers()
    for name in names:
        old = trace[name].value if name in trace else run.constants[name]
        other = old + np.random.default_rng(0).standard_normal(old.shape).astype(old.dtype)
        after = numbers(run.learned.get(name, name), other)
        for step, array in after.items():
            if array.shape != before[step].shape or not np.array_equal(array, before[step], equal_nan=True):
                found[step].append(name)
    return found


def _place(layer, value, path=()):
    """(names of the layers inside, "cache" or "grads", key) of the array that a step shows; None if it is gone."""
    for kind in ("cache", "grads"):
        for key, array in getattr(layer, kind).items():
            if isinstance(array, np.ndarray) and np.shares_memory(array, value) and array.shape == value.shape:
                return path, kind, key
    places = (_place(inner, value, (*path, name)) for name, inner in layer.sublayers().items())
    return next((place for place in places if place is not None), None)


def _held(layer, place):
    path, kind, key = place
    for name in path:
        layer = layer.sublayers()[name]
    return getattr(layer, kind)[key]
