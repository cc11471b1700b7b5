# ruff: noqa: E501  (an entry is a line)
"""Layers built to fool the checker, of other kinds than those in the two collections."""
import time

import numpy as np
import pytest

import numpy_attention as na

SCALES = np.array([1e9, 1e-9, 1.0, 1e5])
HILBERT = 1 / (np.arange(6)[:, None] + np.arange(6) + 1.0)
MODULE_RNG = np.random.default_rng(3)


def x(*shape, seed=7):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def near_corners():
    given = x(3, 4)
    given[0, 0], given[1, 1] = 1e-9, -1e-8
    return given


def one_zero_row():
    given = x(3, 4)
    given[1] = 0
    return given


def draws_from_the_module(x):
    mask = MODULE_RNG.random(x.shape)
    return x * mask, mask


def last_row(d, factor):
    return d * np.where(np.arange(len(d)) == len(d) - 1, factor, 1)[:, None]


S34 = (x(3, 4),)
WRONG_PAIRS = [
    ("the wall clock", lambda x: (x * (1 + 1e-9 * (time.time() % 1)), None), lambda d, c: d, S34),
    ("output is the input", lambda x: (x, None), lambda d, c: 2 * d, S34),
    ("float64 alone is wrong", lambda x: (x * x, x), lambda d, x: (2 if x.dtype == np.float32 else 2.001) * x * d, S34),
    ("nearly symmetric inputs, swapped", lambda x, y: (x * y + 1e-3 * x, (x, y)), lambda d, c: (d * c[0], d * (c[1] + 1e-3)), (x(3, 4), x(3, 4, seed=8))),
    ("last row, a hundred-thousandth", lambda x: (np.sin(x), x), lambda d, x: last_row(np.cos(x) * d, 1 + 1e-5), (x(6, 5),)),
    ("grows by a ten-millionth", lambda x: (np.sin(x), x), lambda d, x: np.cos(x) * d * (1 + 1e-7 * np.arange(30).reshape(6, 5)), (x(6, 5),)),
    ("one number of a real function", lambda x: (np.abs(x) ** 1.5, x), lambda d, x: 1.5 * np.sign(x) * np.sqrt(np.abs(x)) * d * (1 + 1e-5 * (np.arange(30) == 17).reshape(6, 5)), (x(6, 5),)),
    ("beyond left and right, a billionth from a corner", lambda x: (np.maximum(x, 0), x), lambda d, x: d * (x > 0) + 3 * d * (np.abs(x) < 1e-7), (near_corners(),)),
    ("stairs, straight through", lambda x: (x + np.floor(3 * x), x), lambda d, x: 4 * d, S34),
    ("1e7 added and taken away", lambda x: (np.abs(x + 1e7) - 1e7, None), lambda d, c: 1.01 * d, S34),
    ("the smallest of four outputs", lambda x: (SCALES * np.sin(x), x), lambda d, x: SCALES * np.cos(x) * d * np.array([1, 1.0001, 1, 1]), S34),
    ("a small term in a large output", lambda x: (1e9 * np.sin(x[:, 0]) + 1e-9 * np.sin(x[:, 1]), x), lambda d, x: np.stack([1e9 * np.cos(x[:, 0]) * d, 2e-9 * np.cos(x[:, 1]) * d, 0 * d, 0 * d], 1), S34),
    ("a small term of a real function", lambda x: (1e4 * np.abs(x[:, 0]) + 1e-3 * np.abs(x[:, 1]), x), lambda d, x: np.stack([1e4 * np.sign(x[:, 0]) * d, 0 * d, 0 * d, 0 * d], 1), S34),
    ("another function for complex numbers", lambda x: (x * x * (1.5 if np.iscomplexobj(x) else 1), x), lambda d, x: 3 * x * d, S34),
    ("another function for stacks", lambda x: (x * x * (1.5 if x.ndim == 3 else 1), x), lambda d, x: 3 * x * d, S34),
    ("another function for long batches", lambda x: (x * x * (1.5 if len(x) > 3 else 1), x), lambda d, x: 3 * x * d, S34),
    ("a gradient where there is none", lambda x: (np.abs(x[:, :2]), x), lambda d, x: np.concatenate([np.sign(x[:, :2]) * d, np.full((3, 2), 1e-7)], 1), S34),
    ("not a number at all", lambda x: (x / 0 * 0 + x, None), lambda d, c: d, S34),
    ("roots near 0", lambda x: (np.sqrt(x), x), lambda d, x: 0.6 * d / np.sqrt(x), (np.abs(x(3, 4)) * 1e-12,)),
    ("small slopes of exp", lambda x: (np.exp(x), x), lambda d, x: d * np.exp(x) * np.where(x < 0, 1.001, 1), (100 * x(3, 4),)),
    ("square weights, transposed", lambda x, w: (x @ w, (x, w)), lambda d, c: (d @ c[1].T, (c[0].T @ d).T), (x(4, 4), x(4, 4, seed=8))),
]
RIGHT_PAIRS = [
    ("NumPy's generator in forward", lambda x: (lambda mask: (x * mask, mask))(np.random.mtrand._rand.random_sample(x.shape)), lambda d, mask: d * mask, S34),
    ("a generator of the module", draws_from_the_module, lambda d, mask: d * mask, S34),
    ("a billionth from a corner", lambda x: (np.maximum(x, 0), x), lambda d, x: d * (x > 0), (near_corners(),)),
    ("stairs on a slope", lambda x: (x + np.floor(3 * x), x), lambda d, x: d, S34),
    ("1e7 added and taken away", lambda x: ((x + 1e7) - 1e7, None), lambda d, c: d, S34),
    ("the same of real numbers", lambda x: (np.abs(x + 1e7) - 1e7, None), lambda d, c: d, S34),
    ("the same, a thousand times", lambda x: (1000 * (np.abs(x + 1e7) - 1e7), None), lambda d, c: 1000 * d, S34),
    ("the same, a thousandth", lambda x: ((np.abs(x + 1e7) - 1e7) / 1000, None), lambda d, c: d / 1000, S34),
    ("an ill-conditioned system", lambda x: (np.linalg.solve(HILBERT, x), None), lambda d, c: np.linalg.solve(HILBERT.T, d), (x(6, 5),)),
    ("a small term in a large output", lambda x: (1e9 * np.sin(x[:, 0]) + 1e-9 * np.sin(x[:, 1]), x), lambda d, x: np.stack([1e9 * np.cos(x[:, 0]) * d, 1e-9 * np.cos(x[:, 1]) * d, 0 * d, 0 * d], 1), S34),
    ("a norm with a row of zeros", lambda x: (np.sqrt((x * x).sum(1) + 1e-300), x), lambda d, x: d[:, None] * x / np.sqrt((x * x).sum(1, keepdims=True) + 1e-300), (one_zero_row(),)),
    ("no numbers", lambda x: (2 * x, None), lambda d, c: 2 * d, (np.zeros((0, 3)),)),
    ("roots near 0", lambda x: (np.sqrt(x), x), lambda d, x: d / 2 / np.sqrt(x), (np.abs(x(3, 4)) * 1e-12,)),
    ("exp of large numbers", lambda x: (np.exp(x), x), lambda d, x: d * np.exp(x), (100 * x(3, 4),)),
    ("the upstream handed back", lambda x: (x + 1, None), lambda d, c: d, S34),
]


@pytest.mark.parametrize(("forward", "backward", "inputs"), [row[1:] for row in WRONG_PAIRS], ids=[row[0] for row in WRONG_PAIRS])
def test_a_wrong_pair_does_not_pass(forward, backward, inputs):
    assert not na.check_gradients((forward, backward), *inputs).ok


@pytest.mark.parametrize(("forward", "backward", "inputs"), [row[1:] for row in RIGHT_PAIRS], ids=[row[0] for row in RIGHT_PAIRS])
def test_a_right_pair_passes(forward, backward, inputs):
    na.check_gradients((forward, backward), *inputs).assert_ok()


class Shared:
    """One array under two names, one gradient for each role."""

    def __init__(self):
        self.a = x(4)
        self.b = self.a

    def forward(self, given):
        self.x = given
        return given * self.a + np.sin(self.b)

    def backward(self, d):
        self.da, self.db = (d * self.x).sum(0), d.sum(0) * np.cos(self.b)
        return d * self.a


class OneRole(Shared):
    def backward(self, d):
        dx = super().backward(d)
        self.db = 0 * self.db
        return dx


class Clobbers:
    """backward works inside the array that forward has handed out."""

    def forward(self, given):
        self.out = given * given
        return self.out

    def backward(self, d):
        self.out[...] = d
        return 2 * self.out


class Sparse:
    """Some numbers matter to nothing."""

    none = 0.0

    def forward(self, given):
        self.x = given
        return given[:, [0, 2]] ** 2

    def backward(self, d):
        dx = np.full_like(self.x, self.none)
        dx[:, [0, 2]] = 2 * self.x[:, [0, 2]] * d
        return dx


class SparseWrong(Sparse):
    none = 1e-6


class LaterWrong:
    """Right for the first two backwards of all its copies."""

    calls = [0]

    def forward(self, given):
        self.x = given
        return given * given

    def backward(self, d):
        self.calls[0] += 1
        return 2 * self.x * d * (1 if self.calls[0] < 3 else 1.1)


class Gain:
    def forward(self, given, gain=2.0):
        self.gain = gain
        return given * gain

    def backward(self, d):
        return d * self.gain


@pytest.mark.parametrize("kind", [OneRole, Clobbers, SparseWrong, LaterWrong])
def test_a_wrong_layer_does_not_pass(kind):
    assert not na.check_gradients(kind(), x(3, 4)).ok


@pytest.mark.parametrize("kind", [Shared, Sparse])
def test_a_right_layer_passes(kind):
    na.check_gradients(kind(), x(3, 4)).assert_ok()


def test_a_bare_number_is_an_option():
    na.check_gradients(Gain(), x(3, 4), gain=3.0).assert_ok()


def test_a_table_made_at_first_use_is_named():
    class Table:
        table = None

        def forward(self, given):
            self.table = np.ones(given.shape[1]) if self.table is None else self.table
            return given + self.table

        def backward(self, d):
            return d
    report = na.check_gradients(Table(), x(3, 4))
    assert report.ok
    assert "not checked: table" in report.headline()


def test_more_than_can_be_walked_through_is_said():
    class Deep:
        def __init__(self):
            self.many = [[] for _ in range(30_000)]

        def forward(self, given):
            return 2 * given

        def backward(self, d):
            return 2 * d
    assert "not checked: what lies beyond" in na.check_gradients(Deep(), x(2), rules=False).headline()
