"""From the shell: one layer in full, every layer of the package in a table, or how long the ways of checking take."""
import time
from statistics import median

import numpy as np

from ..layers.multi_head import MultiHeadAttention
from ..words.terminal import table
from .catalogue import catalogue
from .check import check_gradients
from .loading import load

COLUMNS = ("layer", "method", "largest error", "numbers", "ms", "verdict")


def command(target=None, **options):
    """(text, ok): the report on somebody's layer, or without a target the table of every layer of the package.

    Args: target: "module:factory", see loading.py. options: as for check_gradients.
    Raises: ValueError/TypeError with one sentence if there is nothing that could be checked.

    >>> text, ok = command("numpy_attention.gradcheck.loading:example")
    >>> print(text.splitlines()[0])
    Gradient check of Linear: all 23 numbers agree
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
    return {title: check_gradients(layer, *inputs, **keywords, **options)
            for title, (layer, inputs, keywords) in catalogue().items() if names is None or title in names}


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
    return mha, (draw((2, 4, 8)), draw((2, 5, 9)), draw((2, 5, 10)))


def race(rounds=5, case=None):
    """[(way, median seconds, ratio to ours, largest error)] for one MultiHeadAttention and its inputs.

    All ways run in turns, in one process, and their medians are compared: a busy machine slows all of them alike.
    """
    mha, inputs = case or standard_case()
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
