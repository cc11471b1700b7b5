"""Row blocks: the same small function on a block of rows at a time, and large jobs on several processors at once.

What is done to each row by itself, such as a softmax, can be done to any group of rows. A group that fits into the
processor's cache is read from memory once instead of once an operation. Heads have nothing to do with each other, and
NumPy lets several threads compute at the same time. The numbers are the same for every block size and every number of
threads.
"""
import contextvars
import functools
import os

import numpy as np

from .threads import one_thread_each

BLOCK = 1 << 17         # numbers in a block: half a megabyte of float32
THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def by_rows(function, *tables, out=None):
    """function(*tables), a block of rows at a time; all tables and the result have one shape (..., S).

    The result goes to `out`, which may be one of the tables, or to a new array.
    """
    if tables[0].size <= BLOCK and out is None:
        return function(*tables)
    shape = tables[0].shape
    tables = [table.reshape(-1, shape[-1]) for table in tables]
    height = max(1, BLOCK // shape[-1])
    for top in range(0, len(tables[0]), height):
        rows = function(*(table[top:top + height] for table in tables))
        if out is None:
            out = np.empty(shape, rows.dtype)
        out.reshape(-1, shape[-1])[top:top + height] = rows     # a view: out is contiguous
    return out


def at_once(function, jobs, numbers):
    """function(*job) for every job, on as many threads as there are processors; few numbers are not worth a thread."""
    if THREADS > 1 and len(jobs) > 1 and numbers > BLOCK:
        with one_thread_each() as arranged:
            if arranged:
                contexts = [contextvars.copy_context() for _ in jobs]   # else a thread would print NumPy's warnings
                for _ in _pool().map(lambda context, job: context.run(function, *job), contexts, jobs):
                    pass
                return
    for job in jobs:
        function(*job)


@functools.cache
def _pool():
    from concurrent.futures import ThreadPoolExecutor  # slow to import, and small layers never need it
    return ThreadPoolExecutor(THREADS, thread_name_prefix="numpy_attention")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)       # a child process has none of its parent's threads
