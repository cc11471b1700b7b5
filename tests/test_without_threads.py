"""What a browser's Python lacks: threads, processes, timers. The package does without, in the same process."""
import signal
import sys
import threading

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.training.sweeps import InThisProcess


@pytest.fixture
def browser(monkeypatch):
    def no_thread(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    monkeypatch.setattr(sys, "platform", "emscripten")
    monkeypatch.delattr(signal, "setitimer", raising=False)
    for name in ("_multiprocessing", "multiprocessing.connection", "concurrent.futures.process"):
        monkeypatch.setitem(sys.modules, name, None)        # importing it raises


def test_gradients_are_checked(browser):
    x = np.random.default_rng(0).standard_normal((2, 3, 8))
    assert na.check_gradients(na.MultiHeadAttention(8, 2, rng=0), x).ok


def test_claims_are_measured_one_after_the_other(browser):
    (verdict,) = na.training.check_claims(["gradient-without-scale"], seeds=range(2))
    assert verdict.holds


def test_what_a_function_raises_is_raised_where_its_result_is_asked_for():
    future = InThisProcess().submit(lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        future.result()
    with pytest.raises(ZeroDivisionError):
        future.result()
