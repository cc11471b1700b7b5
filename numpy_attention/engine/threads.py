"""One thread for each matrix product, while several products run at the same time.

NumPy hands matrix products to a library that may use every processor for each of them. When we run several heads at
once, that is one crowd too many: the threads get in each other's way and everything takes several times as long. So
for that while the library is asked to use a single thread. Which library that is, and how to ask it, the package
threadpoolctl knows, for OpenBLAS, MKL and BLIS; it is used where it is installed. Without it we ask OpenBLAS ourselves,
which NumPy's own packages bring.
"""
import contextlib
import ctypes
import functools
import threading
from pathlib import Path

import numpy as np

_lock, _inside = threading.Lock(), [0, None]        # how many are inside, and what undoes the limit


@contextlib.contextmanager
def one_thread_each():
    """Inside, a matrix product uses one thread. Yields whether that could be arranged."""
    limit = _limit()
    if limit is None:
        yield False
        return
    with _lock:
        if _inside[0] == 0:
            _inside[1] = limit()
        _inside[0] += 1
    try:
        yield True
    finally:
        with _lock:
            _inside[0] -= 1
            if _inside[0] == 0:
                _inside[1]()


@functools.cache
def _limit():
    """A function that limits matrix products to one thread and returns what undoes it; None if nobody knows how."""
    return _by_threadpoolctl() or _by_ourselves()


def _by_threadpoolctl():
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    controller = ThreadpoolController().select(user_api="blas")     # looks once: looking takes milliseconds
    if not controller.lib_controllers:
        return None
    return lambda: controller.limit(limits=1).restore_original_limits


def _by_ourselves():
    package = Path(np.__file__).parent
    for path in (*(package.parent / "numpy.libs").glob("*openblas*"), *(package / ".dylibs").glob("*openblas*")):
        library = ctypes.CDLL(str(path))
        for prefix in ("scipy_openblas", "openblas"):
            for suffix in ("64_", ""):
                if hasattr(library, f"{prefix}_set_num_threads{suffix}"):
                    get = getattr(library, f"{prefix}_get_num_threads{suffix}")
                    put = getattr(library, f"{prefix}_set_num_threads{suffix}")
                    return functools.partial(_put_one, get, put)
    return None


def _put_one(get, put):
    before = get()
    put(1)
    return functools.partial(put, before)
