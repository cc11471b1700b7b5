"""Sweeps: the same training with many seeds and settings, side by side.

One run proves little: another seed may do otherwise. So whatever is claimed here was measured several times, and
that is what more processors are good for. A sweep hands its runs to an executor, Python's common interface of all
things that run functions elsewhere: processes on this machine, or a cluster's, such as dask.distributed's. Each run is
decided by its settings alone, so it does not matter who does it.
"""
import contextlib
import functools
import os
import signal
import sys
from concurrent.futures import Executor, Future

from ..engine.arguments import size
from .loop import train
from .step import Diverged

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def sweep(settings, executor=None, *, measure=None):
    """Train once for each entry of `settings`, wherever the executor does it.

    Args:
        settings: dicts of arguments for train, such as {"task": "reverse", "seed": 3}; see `grid`.
        executor: any concurrent.futures.Executor; processes on this machine unless given.
        measure: function of the settings that does the work, importable where it runs; outcome unless given.

    Returns: a list of what `measure` returned, in the order of the settings. New processes read the script that started
        them, so in a script call it below `if __name__ == "__main__":`.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as threads:
    ...     found = na.training.sweep(na.training.grid(task="reverse", steps=60, seed=[0, 1]), threads)
    >>> [each["accuracy"] > 0.9 for each in found]
    [True, True]
    """
    return list(outcomes(settings, executor, measure=measure))


def outcomes(settings, executor=None, *, measure=None):
    """The same as sweep, one after the other as they are ready."""
    settings, measure = [dict(each) for each in settings], measure or outcome
    with contextlib.nullcontext(executor) if executor is not None else processes() as executor:
        futures = [executor.submit(measure, each) for each in settings]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()         # those that have not begun, if one of them raised


def outcome(settings):
    """Train with these settings and tell how it went, as plain numbers and arrays that travel between machines."""
    try:
        run = train(**{"progress": False, **settings})
    except Diverged as broken:
        return {"settings": settings, "stopped": f"diverged: {broken}", "step": broken.step, "accuracy": float("nan"),
                "steps to 99 %": None}
    return {"settings": settings, "stopped": run.stopped, "step": run.step, "accuracy": run.accuracy,
            "steps to 99 %": run.steps_to(0.99), "parameters": run.parameters, "history": dict(run.history)}


def grid(**choices):
    """All combinations of the choices; a list is a choice, anything else is fixed.

    >>> na.training.grid(task="induction", layers=[1, 2], seed=[0, 1])[1:3]
    [{'task': 'induction', 'layers': 1, 'seed': 1}, {'task': 'induction', 'layers': 2, 'seed': 0}]
    """
    def with_choice(made, choice):
        name, values = choice
        return [{**each, name: value} for each in made for value in (values if isinstance(values, list) else [values])]

    return functools.reduce(with_choice, choices.items(), [{}])


class InThisProcess(Executor):
    """Where no process can be started, as in a browser: each function runs here when its result is asked for.

    >>> from numpy_attention.training.sweeps import InThisProcess
    >>> InThisProcess().submit(max, 2, 3).result()
    3
    """

    def submit(self, function, /, *args, **keywords):
        return _Later(functools.partial(function, *args, **keywords))


class _Later(Future):
    def __init__(self, work):
        super().__init__()
        self.work = work

    def result(self, timeout=None):
        if not self.done():
            try:
                self.set_result(self.work())
            except Exception as error:
                self.set_exception(error)
        return super().result()


@contextlib.contextmanager
def processes(workers=None):
    """An executor of processes on this machine, one a processor, each with one thread for its matrix products."""
    workers = None if workers is None else size("workers", workers)
    if sys.platform in ("emscripten", "wasi"):
        yield InThisProcess()
        return
    import multiprocessing  # a browser's Python cannot even import what this needs
    from concurrent.futures import ProcessPoolExecutor
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))      # small products are slower with two threads than with one
    try:
        others = multiprocessing.active_children()
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), signal.signal,
                                 (signal.SIGINT, signal.SIG_IGN)) as executor:      # Ctrl-C is for us to hear
            try:
                yield executor
            except BaseException:                                                   # nobody waits for the rest
                for process in multiprocessing.active_children():
                    if process not in others:
                        process.terminate()
                raise
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
