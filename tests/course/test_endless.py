"""Loops that never end, seen before they start, and only those."""
import threading
import time

import numpy as np
import pytest

from numpy_attention import course
from numpy_attention.course.endless import endless_loop


def forever():
    while True:
        pass


def forgot_to_count(n):
    i = total = 0
    while i < n:
        total += i
    return total


def inner_break_only():
    while 1:
        for k in range(3):
            if k:
                break


def condition_of_others(x):
    done = False
    while not done:
        y = x * 2
        x = y


ENDLESS = {forever: 2, forgot_to_count: 3, inner_break_only: 2, condition_of_others: 3}


def counts(n):
    i = 0
    while i < n:
        i += 1


def leaves(n):
    while True:
        n -= 1
        if n < 0:
            break


def returns():
    while True:
        return 1


def raises(it):
    while True:
        next(it)


def calls(x):
    while len(x) < 3:
        x.append(1)


def another_name(x):
    y = x
    while x[0] < 3:
        y[0] += 1


def walrus(n):
    while n > 0:
        (n := n - 1)


def unpacks(n):
    while n > 0:
        n, _ = n - 1, 0


def never_starts():
    while False:
        pass


def helper_counts():
    n = 3

    def less():
        nonlocal n
        n -= 1
    while n:
        less()


@pytest.mark.parametrize("function", ENDLESS, ids=lambda f: f.__name__)
def test_an_endless_loop_is_named_by_its_line(function):
    assert endless_loop(function) == ENDLESS[function]


@pytest.mark.parametrize("function", [counts, leaves, returns, raises, calls, another_name, walrus, unpacks,
                                      never_starts, helper_counts, np.tanh, len], ids=lambda f: f.__name__)
def test_a_loop_that_can_end_is_left_alone(function):
    assert endless_loop(function) is None


def test_no_solution_looks_endless():
    assert not [name for name, exercise in course.exercises().items() if endless_loop(exercise.solution)]


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_without_threads_a_check_says_so_at_once(monkeypatch, lang):
    def no_thread(self):
        raise RuntimeError("can't start new thread")

    def softmax_backward(weights, dweights):
        step = 0
        while step < 10:
            dweights = dweights - weights

    monkeypatch.setattr(threading.Thread, "start", no_thread)
    before = course.language()
    course.language(lang)
    try:
        start = time.perf_counter()
        said = str(course.check("softmax-backward", softmax_backward))
        assert time.perf_counter() - start < 5
        assert {"zh": "第 3 行的 while 循环永远不会结束", "en": "loop in line 3 of softmax_backward"}[lang] in said
        solution = course.exercises()["softmax-backward"].solution
        assert course.check("softmax-backward", solution).ok
    finally:
        course.language(before)
