"""How long it takes to check every number of one MultiHeadAttention: ours against the loop that courses teach.

All ways run in turns, in one process, and their medians are compared, so that a busy machine slows all of them alike.
"""
from statistics import median

import numpy as np

from ..layers.multi_head import MultiHeadAttention
from .check import check_gradients
from .layout import table
from .overview import seconds_of

COLUMNS = ("way", ">ms", ">times ours", ">largest error")


def benchmark(rounds=5):
    """The measured table as text; `ours` is check_gradients as it comes, with everything else that it verifies."""
    return "\n".join(["Every number of one MultiHeadAttention checked: N, H, L, S, d_k, d_v, D = 2, 3, 4, 5, 6, 7, 8",
                      *table(COLUMNS, [[way, f"{1000 * seconds:.0f}", f"{ratio:.2f}", f"{error:.1e}"]
                                       for way, seconds, ratio, error in measure(rounds)])])


def standard_case():
    """A layer and its inputs, all sizes different."""
    draw = np.random.default_rng(0).standard_normal
    mha = MultiHeadAttention(8, 3, d_k=6, d_v=7, kdim=9, vdim=10, rng=0)
    return mha, (draw((2, 4, 8)), draw((2, 5, 9)), draw((2, 5, 10)))


def measure(rounds=5, case=None):
    """[(way, median seconds, ratio to ours, largest error)] for one MultiHeadAttention and its inputs."""
    mha, inputs = case or standard_case()
    ways = {"ours: complex step": lambda: check_gradients(mha, *inputs).largest,
            "ours: central differences, extrapolated": lambda: check_gradients(mha, *inputs, method="central").largest,
            "the plain loop of a course": lambda: plain_loop(mha, inputs)}
    seconds, errors = {way: [] for way in ways}, {}
    for _ in range(rounds):
        for way, run in ways.items():
            seconds[way].append(seconds_of(lambda way=way, run=run: errors.update({way: run()})))
    ours = median(seconds["ours: complex step"])
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
