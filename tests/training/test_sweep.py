"""Sweeps: whoever does the runs, in whatever order, the results are the same to the last bit."""
import multiprocessing
import os
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np
import pytest

from numpy_attention.training import grid, sweep
from numpy_attention.training.sweeps import processes

SETTINGS = grid(task="reverse", steps=12, measure_every=4, d_model=[8, 12], seed=[0, 1])


class Here(Executor):
    """Does everything at once, in this thread."""

    def submit(self, function, /, *arguments, **options):
        future = Future()
        try:
            future.set_result(function(*arguments, **options))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.fixture(scope="module")
def here():
    return sweep(SETTINGS, Here())


def assert_same(first, second):
    assert [each["settings"] for each in first] == [each["settings"] for each in second]
    for one, other in zip(first, second, strict=True):
        assert one.keys() == other.keys()
        for name in one.keys() - {"settings"}:
            np.testing.assert_equal(one[name], other[name], err_msg=name)       # to the last bit


def test_a_grid_has_every_combination():
    assert grid(task="reverse", d_model=[8, 12], seed=[0, 1]) == [
        {"task": "reverse", "d_model": d, "seed": s} for d in (8, 12) for s in (0, 1)]
    assert grid() == [{}]


def test_results_come_in_the_order_of_the_settings(here):
    assert [each["settings"] for each in here] == SETTINGS
    assert [each["parameters"] for each in here] == [480, 480, 912, 912]
    assert here[0]["history"]["accuracy"] != here[1]["history"]["accuracy"]


def test_threads_and_processes_agree_and_leave_the_environment_alone(here):
    before = dict(os.environ)
    with ThreadPoolExecutor(2) as threads:
        assert_same(sweep(SETTINGS, threads), here)
    assert_same(sweep(SETTINGS), here)                  # processes, by default
    assert dict(os.environ) == before


def test_a_cluster_agrees(here):
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    with (distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
          distributed.Client(cluster) as client):
        assert_same(sweep(SETTINGS, client.get_executor()), here)


def test_a_run_that_breaks_does_not_break_the_sweep():
    found = sweep(grid(task="reverse", steps=30, measure_every=30, lr=[1e40, 0.01]), Here())
    assert found[0]["stopped"].startswith("diverged: step 2: the loss is")
    assert np.isnan(found[0]["accuracy"])
    assert found[1]["stopped"] == "done"


def test_a_mistake_in_the_settings_is_told_at_once():
    with ThreadPoolExecutor(1) as threads, pytest.raises(ValueError, match="there is no task 'nothing'"):
        sweep([{"task": "nothing"}, {"task": "reverse"}], threads, measure=_slow)


def _slow(settings):
    time.sleep(0.01)
    return sweep([settings], Here())


def test_an_interrupt_waits_for_nobody():
    def interrupted():
        with processes(1) as executor:
            executor.submit(int).result()                   # it has begun to work
            waiting.extend(executor.submit(time.sleep, 3600) for _ in range(5))
            raise KeyboardInterrupt

    waiting, others = [], multiprocessing.active_children()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert all(future.done() for future in waiting)
    assert multiprocessing.active_children() == others
