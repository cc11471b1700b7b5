"""Matrix products keep to one thread while several run at once, and get their threads back afterwards."""
import sys
import threading
import types

import pytest

from numpy_attention.engine import threads


class Library:
    """What threadpoolctl finds: a library with a number of threads."""

    def __init__(self, now):
        self.now, self.lib_controllers = now, ["a library"]

    def select(self, user_api):
        return self if user_api == "blas" else None

    def limit(self, limits):
        before, self.now = self.now, limits
        return types.SimpleNamespace(restore_original_limits=lambda: setattr(self, "now", before))


@pytest.fixture
def fresh():
    threads._limit.cache_clear()
    yield
    threads._limit.cache_clear()


def test_threadpoolctl_is_asked_where_it_is_installed(monkeypatch, fresh):
    library = Library(5)
    monkeypatch.setitem(sys.modules, "threadpoolctl", types.SimpleNamespace(ThreadpoolController=lambda: library))
    with threads.one_thread_each() as arranged:
        assert arranged
        assert library.now == 1
        with threads.one_thread_each():
            assert library.now == 1
        assert library.now == 1             # the inner one does not give back what the outer one still needs
    assert library.now == 5
    with pytest.raises(KeyError), threads.one_thread_each():
        raise KeyError
    assert library.now == 5


def test_without_it_openblas_is_asked(monkeypatch, fresh):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)         # importing it fails
    number = [3]
    monkeypatch.setattr(threads, "_by_ourselves",
                        lambda: lambda: threads._put_one(lambda: number[0], lambda n: number.__setitem__(0, n)))
    with threads.one_thread_each() as arranged:
        assert arranged
        assert number == [1]
    assert number == [3]


def test_nobody_knows_how(monkeypatch, fresh):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    monkeypatch.setattr(threads, "_by_ourselves", lambda: None)
    with threads.one_thread_each() as arranged:
        assert not arranged


def test_the_last_of_several_threads_gives_back(monkeypatch, fresh):
    library, inside, leave = Library(4), threading.Barrier(2, timeout=10), threading.Event()
    monkeypatch.setitem(sys.modules, "threadpoolctl", types.SimpleNamespace(ThreadpoolController=lambda: library))

    def stay():
        with threads.one_thread_each():
            inside.wait()
            leave.wait(10)

    other = threading.Thread(target=stay)
    with threads.one_thread_each():
        other.start()
        inside.wait()
    assert library.now == 1
    leave.set()
    other.join()
    assert library.now == 4
