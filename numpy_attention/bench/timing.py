"""Timing: alternating runs, medians and quartiles, and this machine's own rate of matrix products."""
import statistics
import time

import numpy as np

REST = 0.15         # seconds: a library's threads wait, spinning, for more work before they go to sleep
TURN = 0.02         # seconds: a short function is called again until these are over


def alternate(functions, seconds, *, least=5, rest=REST):
    """Let the functions run in turn until the time is up; returns a sorted list of seconds a call for each.

    Alternating means that whatever else the machine is doing disturbs all of them alike. The rest before each turn
    means that nobody pays for the threads which the one before has left spinning.
    """
    for function in functions:
        function()                      # the first call also warms caches and starts threads
    times = [[] for _ in functions]
    end = time.perf_counter() + seconds
    while min(map(len, times)) < least or time.perf_counter() < end:
        for function, taken in zip(functions, times, strict=True):
            time.sleep(rest)
            over = time.perf_counter() + TURN
            while True:
                start = time.perf_counter()
                function()
                now = time.perf_counter()
                taken.append(now - start)
                if now > over:
                    break
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
