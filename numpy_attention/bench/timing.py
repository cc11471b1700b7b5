"""Timing: alternating runs, medians and quartiles, and this machine's own rate of matrix products."""
import statistics
import time

import numpy as np


def alternate(functions, seconds, *, least=5):
    """Run the functions in turn until the time is up; returns a sorted list of seconds for each.

    Alternating means that whatever else the machine is doing disturbs all of them alike.
    """
    for function in functions:
        function()                      # the first call also warms caches and starts threads
    times = [[] for _ in functions]
    end = time.perf_counter() + seconds
    while len(times[0]) < least or time.perf_counter() < end:
        for function, taken in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return [sorted(taken) for taken in times]


def quartiles(times):
    """(lower quartile, median, upper quartile)."""
    return tuple(statistics.quantiles(times, n=4, method="inclusive"))


def product(dtype, width=1536):
    """A function that multiplies two matrices once, and how many operations that is: the machine's own speed."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((width, width)).astype(dtype) for _ in range(2))
    out = np.empty_like(a)
    return lambda: np.matmul(a, b, out=out), 2 * width ** 3
