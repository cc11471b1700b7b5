"""One thread of BLAS for each process of a test run.

The matrices here are so small that waking a second thread costs more than it saves, and tests that run side by side
(pytest -n) would fight for the cores. This must be set before numpy is imported: it is, wherever the package is not
installed, in every worker of pytest-xdist and in every process that a test starts, since they inherit it.
"""
import os

for library in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
