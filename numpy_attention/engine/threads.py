"""One thread for each matrix product, while several products run at the same time.

NumPy hands matrix products to a library that may use every processor for each of them. When we run several heads at
once, that is one crowd too many: the threads get in each other's way and everything takes several times as long. So
for that while the library is asked to use a single thread. This works for OpenBLAS, which NumPy's own packages bring.
"""
import contextlib
import ctypes
import functools
import threading
from pathlib import Path

import numpy as np

_lock, _inside = threading.Lock(), [0, 1]        # how many are inside, and how many threads there were before


@contextlib.contextmanager
def one_thread_each():
    """Inside, a matrix product uses one thread. Yields whether that could be arranged."""
    control = _control()
    if control is None:
        yield False
        return
    get, put = control
    with _lock:
        if _inside[0] == 0:
            _inside[1] = get()
            put(1)
        _inside[0] += 1
    try:
        yield True
    finally:
        with _lock:
            _inside[0] -= 1
            if _inside[0] == 0:
                put(_inside[1])


@functools.cache
def _control():
    """OpenBLAS's functions that get and set its number of threads, or None if NumPy uses something else."""
    package = Path(np.__file__).parent
    for path in (*(package.parent / "numpy.libs").glob("*openblas*"), *(package / ".dylibs").glob("*openblas*")):
        library = ctypes.CDLL(str(path))
        for prefix in ("scipy_openblas", "openblas"):
            for suffix in ("64_", ""):
                if hasattr(library, f"{prefix}_set_num_threads{suffix}"):
                    return (getattr(library, f"{prefix}_get_num_threads{suffix}"),
                            getattr(library, f"{prefix}_set_num_threads{suffix}"))
    return None
