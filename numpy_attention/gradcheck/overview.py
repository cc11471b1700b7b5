"""From the shell: one layer in full, every layer of the package in a table, or how long the ways of checking take.

Somebody's own layer is named as module:factory, or file.py:factory:

    # my_layer.py
    def factory():
        return MyLayer(8, 3), np.ones((2, 8))                  # the layer, its inputs, and if wanted {"mask": ...}
"""
import importlib
import importlib.util
import os
import sys
import time
from statistics import median

import numpy as np

from ..catalogue import EXAMPLES
from ..layers.multi_head import MultiHeadAttention
from ..words.terminal import table
from .check import check_gradients

HOW = "a factory returns the layer and its inputs: return MyLayer(), np.ones((2, 3)), or with a dictionary of options"
COLUMNS = ("layer", "method", "largest error", "numbers", "ms", "verdict")


def command(target=None, **options):
    """(text, ok): the report on somebody's layer, or without a target the table of every layer of the package.

    Args: target: "module:factory". options: as for check_gradients.
    Raises: ValueError/TypeError with one sentence if there is nothing that could be checked.

    >>> text, ok = command("numpy_attention.gradcheck.overview:standard_case")
    >>> print(text.splitlines()[0])
    Gradient check of MultiHeadAttention: all 1,003 numbers agree
    """
    if target is not None:
        layer, inputs, keywords = load(target)
        report = check_gradients(layer, *inputs, **{**options, **keywords})
        return str(report), report.ok
    reports = check_all(**options)
    failed = [str(report) for report in reports.values() if not report.ok]
    return "\n\n".join(["\n".join(overview(reports)), *failed]), not failed


def check_all(names=None, **options):
    """{title: GradientReport} of every layer in the catalogue, or of those named."""
    return {title: check_gradients(example.layer(), *example.inputs, **example.options, **options)
            for title, example in EXAMPLES.items() if names is None or title in names}


def overview(reports):
    """The table, as lines: one layer a line, with the largest error and the milliseconds of its whole check."""
    rows = []
    for title, report in reports.items():
        method = "complex step" if "complex" in report.method else "central" if report.rows else "none"
        rows.append([title, method, f"{report.largest:.1e}", f"{report.elements:,}", f"{report.seconds * 1000:.0f}",
                     "ok" if report.ok else "FAIL"])
    bad = sum(not report.ok for report in reports.values())
    numbers = sum(report.elements for report in reports.values())
    total = f"{len(rows)} layers, {numbers:,} numbers, {sum(r.seconds for r in reports.values()):.1f} s: "
    return [*table([COLUMNS, *rows], "<<>>><"), "", total + (f"{bad} FAIL" if bad else "all agree")]


def benchmark(rounds=5):
    """The measured table as text; `ours` is check_gradients as it comes, with everything else that it verifies."""
    rows = [[way, f"{1000 * seconds:.0f}", f"{ratio:.2f}", f"{error:.1e}"]
            for way, seconds, ratio, error in race(rounds)]
    return "\n".join(["Every number of one MultiHeadAttention checked: N, H, L, S, d_k, d_v, D = 2, 3, 4, 5, 6, 7, 8",
                      *table([("way", "ms", "times ours", "largest error"), *rows], "<>>>")])


def standard_case():
    """A layer and its inputs, all sizes different."""
    draw = np.random.default_rng(0).standard_normal
    mha = MultiHeadAttention(8, 3, d_k=6, d_v=7, kdim=9, vdim=10, rng=0)
    return mha, draw((2, 4, 8)), draw((2, 5, 9)), draw((2, 5, 10))


def race(rounds=5, case=None):
    """[(way, median seconds, ratio to ours, largest error)] for one MultiHeadAttention and its inputs.

    All ways run in turns, in one process, and their medians are compared: a busy machine slows all of them alike.
    """
    mha, *inputs = case or standard_case()
    ways = {"ours: complex step, confirmed": lambda: check_gradients(mha, *inputs).largest,
            "ours: central differences": lambda: check_gradients(mha, *inputs, method="central").largest,
            "the plain loop of a course": lambda: plain_loop(mha, inputs)}
    seconds, errors = {way: [] for way in ways}, {}
    for _ in range(rounds):
        for way, run in ways.items():
            started = time.perf_counter()
            errors[way] = run()
            seconds[way].append(time.perf_counter() - started)
    ours = median(next(iter(seconds.values())))
    return [(way, median(taken), median(taken) / ours, errors[way]) for way, taken in seconds.items()]


def plain_loop(mha, inputs, h=1e-5):
    """Central differences as courses write them: two forwards for each number. Returns the largest difference."""
    inputs = [x.copy() for x in inputs]
    dout = np.random.default_rng(1).standard_normal(mha(*inputs).shape)
    returned = mha.backward(dout)
    gradients = list(returned) if isinstance(returned, tuple) else [returned]
    arrays = inputs + list(mha.named_params().values())
    gradients += list(mha.named_grads().values())
    largest = 0.0
    for array, gradient in zip(arrays, gradients, strict=True):
        for index in np.ndindex(array.shape):
            kept = array[index]
            array[index] = kept + h
            above = mha(*inputs)
            array[index] = kept - h
            below = mha(*inputs)
            array[index] = kept
            slope = np.sum((above - below) * dout) / (2 * h)
            largest = max(largest, abs(slope - gradient[index]))
    return largest


def load(target):
    """(layer, inputs, options) of what `target` names.

    Raises: ValueError with a sentence for whatever is wrong with the name, the module or what its factory returns.
    """
    module, colon, name = target.rpartition(":")
    if not colon or not module or not name:
        raise ValueError(f"{target!r} should read module:factory, such as my_layer:factory or my_layer.py:factory")
    factory = _imported(module)
    for part in name.split("."):
        if not hasattr(factory, part):
            raise ValueError(f"{module} has no {name}")
        factory = getattr(factory, part)
    try:
        made = factory() if callable(factory) and not isinstance(factory, tuple) else factory
    except (Exception, SystemExit) as error:
        raise ValueError(f"{target} raised {_said(error)}; {HOW}") from None
    if not isinstance(made, tuple) or len(made) < 2:
        raise ValueError(f"{target} returned {type(made).__name__} alone; {HOW}")
    layer, *inputs = made
    options = inputs.pop() if isinstance(inputs[-1], dict) else {}
    return layer, inputs, options


def _imported(module):
    try:
        if module.endswith(".py"):
            spec = importlib.util.spec_from_file_location(os.path.basename(module)[:-3], module)
            loaded = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loaded)
            return loaded
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{module} cannot be imported: {_said(error)}") from None


def _said(error):
    if isinstance(error, SystemExit):
        return f"it ended the program (SystemExit: {error})"
    return f"{type(error).__name__}: {error}"
