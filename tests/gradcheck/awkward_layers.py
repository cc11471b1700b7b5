# ruff: noqa: E501  (an entry is a line)
"""Right but awkward layers, each a few lines with a name: the checker must not accuse any of them."""
import functools
import itertools
import logging
import queue
import re
import tempfile
import threading
from collections import ChainMap, OrderedDict, deque
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType, SimpleNamespace

import numpy as np

import numpy_attention as na

from .collection import Linear, collector, sigmoid, softmax, softmax_back, table
from .wrong_backwards import (
    CONTAINERS,
    UNUSUAL,
    Around,
    Box,
    Called,
    Carried,
    Named,
    Pair,
    Table,
    Tensor,
    objects,
    windows,
    windows_back,
)

RIGHT = {}
TOLD = set()            # right gradients, but the layer breaks a rule: the rows agree and a line says what it does
right = collector(RIGHT)
S34, S65 = (3, 4), (6, 5)


def scattered(x, places, values, axis):
    out = np.zeros_like(x)
    np.put_along_axis(out, places, values, axis)
    return out


def plus(d, place, more):
    d = d.copy()
    d[place] += more
    return d


def by_numbers(x):
    return np.array([[float(v) ** 2 for v in row] for row in x])


table(RIGHT, [
    ("identity, the very same array", lambda x: (x, None), lambda d, c: d, S34),
    ("a view of the input", lambda x: (x[1:], x.shape), lambda d, c: np.concatenate([0 * d[:1], d]), S34),
    ("transposed view", lambda x: (x.T, None), lambda d, c: d.T, S34),
    ("reversed view", lambda x: (x[::-1, ::2], x), lambda d, x: scattered(x, np.array([[0, 2]] * 3), d[::-1], 1), S34),
    ("a broadcast view", lambda x: (np.broadcast_to(x, (5, 3, 4)), None), lambda d, c: d.sum(0), S34),
    ("constant output", lambda x: (np.ones((2, 2)), x), lambda d, x: 0 * x, S34),
    ("scalar output of shape ()", lambda x: ((x * x).sum(), x), lambda d, x: 2 * x * d, S34),
    ("scalar output as a float", lambda x: (float((x.real ** 2).sum()), x), lambda d, x: 2 * x * d, S34),
    ("a list as output", lambda x: ([list(row) for row in x * 2], None), lambda d, c: 2 * d, S34),
    ("one number", lambda x: (x * x, x), lambda d, x: 2 * x * d, (1,)),
    ("four axes", lambda x: (x * x, x), lambda d, x: 2 * x * d, (2, 1, 3, 2)),
    # corners
    ("maximum with 0", lambda x: (np.maximum(x, 0), x), lambda d, x: d * (x > 0), S65),
    ("maximum with 0, as a product", lambda x: (x * (x > 0), x), lambda d, x: d * (x > 0), S65),
    ("leaky", lambda x: (np.where(x > 0, x, 0.01 * x), x), lambda d, x: d * np.where(x > 0, 1, 0.01), S65),
    ("abs", lambda x: (np.abs(x), x), lambda d, x: d * np.sign(x), (10, 4)),
    ("abs beside 1e6", lambda x: (np.abs(x) + 1e6 * 1.0, x), lambda d, x: d * np.sign(x), S34),
    ("mean absolute error", lambda x: (np.abs(x).mean(), x), lambda d, x: d * np.sign(x) / x.size, (10, 4)),
    ("log of abs", lambda x: (np.log(np.abs(x)), x), lambda d, x: d / x, (10, 4)),
    ("root of abs", lambda x: (np.sqrt(np.abs(x)), x), lambda d, x: d * np.sign(x) / 2 / np.sqrt(np.abs(x)), (10, 4)),
    ("largest of a row", lambda x: (x.max(axis=1), x), lambda d, x: scattered(x, x.argmax(1)[:, None], d[:, None], 1), S65),
    ("smallest of all", lambda x: (x.min(), x), lambda d, x: d * (x == x.min()), S65),
    ("sorted", lambda x: (np.sort(x, axis=1), np.argsort(x, axis=1)), lambda d, i: scattered(d, i, d, 1), S65),
    ("median", lambda x: (np.median(x, axis=1), x),
     lambda d, x: scattered(x, np.argsort(x, 1)[:, 2:3], d[:, None], 1), S65),
    ("the two largest", lambda x: (np.sort(x, axis=1)[:, -2:], np.argsort(x, axis=1)[:, -2:]),
     lambda d, i: scattered(np.zeros((len(d), 5)), i, d, 1), S65),
    ("larger of two", lambda x, y: (np.maximum(x, y), x > y), lambda d, m: (d * m, d * ~m), S34, S34),
    ("Huber", lambda x: (np.where(np.abs(x) < 1, x * x / 2, np.abs(x) - 0.5), x), lambda d, x: d * np.clip(x, -1, 1), S65),
    ("clip at ±1", lambda x: (np.clip(x, -1, 1), x), lambda d, x: d * (np.abs(x) < 1), S65),
    ("shrink", lambda x: (np.sign(x) * np.maximum(np.abs(x) - 0.3, 0), x), lambda d, x: d * (np.abs(x) > 0.3), S65),
    ("floor, with slope 0", lambda x: (np.floor(x), x), lambda d, x: 0 * d, S34),
    ("rounding, with slope 0", lambda x: (np.round(x), x), lambda d, x: 0 * d, S34),
    ("sign, with slope 0", lambda x: (np.sign(x), x), lambda d, x: 0 * d, S34),
    ("hard gate", lambda x, y: ((x > 0) * y, x > 0), lambda d, m: (0 * d, d * m), S34, S34),
    ("Euclidean length", lambda x: (np.linalg.norm(x, axis=1), x),
     lambda d, x: d[:, None] * x / np.linalg.norm(x, axis=1, keepdims=True), S34),
    ("squared length by conj", lambda x: ((x * np.conj(x)).real, x), lambda d, x: 2 * x * d, S34),
    ("real part", lambda x: (x.real ** 2, x), lambda d, x: 2 * x * d, S34),
    ("number by number", lambda x: (by_numbers(x), x), lambda d, x: 2 * x * d, S34),
    ("real only, by assertion", lambda x: (1 * (x * x if x.dtype == float else 1 / 0), x), lambda d, x: 2 * x * d, S34),
    ("another formula for complex numbers", lambda x: (3 * x if np.iscomplexobj(x) else 2 * x, x), lambda d, x: 2 * d, S34),
    ("by way of a list", lambda x: (np.array((x * 2).tolist()), None), lambda d, c: 2 * d, S34),
    # rows that feel each other
    ("x + x[3]", lambda x: (x + x[3], None), lambda d, c: plus(d, 3, d.sum(0)), (10, 4)),
    ("x + 3 x[-1]", lambda x: (x + 3 * x[-1:], None), lambda d, c: plus(d, -1, 3 * d.sum(0)), (16, 6)),
    ("x · x[5]", lambda x: (x * x[5], x), lambda d, x: plus(d * x[5], 5, (d * x).sum(0)), (16, 6)),
    ("minus the largest of the batch", lambda x: (x - x.max(axis=0), x),
     lambda d, x: d - scattered(x, x.argmax(0)[None], d.sum(0)[None], 0), (20, 3)),
    ("minus the rolled", lambda x: (x - np.roll(x, 1, 0), None), lambda d, c: d - np.roll(d, -1, 0), (9, 3)),
    ("minus the batch's mean", lambda x: (x - x.mean(axis=0), None), lambda d, c: d - d.mean(0), S65),
    ("cumulated", lambda x: (np.cumsum(x, axis=0), None), lambda d, c: np.cumsum(d[::-1], axis=0)[::-1], S65),
    ("differences of neighbours", lambda x: (np.diff(x, axis=0), None),
     lambda d, c: np.concatenate([-d[:1], -np.diff(d, axis=0), d[-1:]]), S65),
    ("all pairs", lambda x: (x[:, None] * x[None], x), lambda d, x: (d * x[None]).sum(1) + (d * x[:, None]).sum(0), S34),
    ("Gram matrix", lambda x: (x @ x.T, x), lambda d, x: (d + d.T) @ x, S34),
    ("as long as the batch", lambda x: (x * len(x), None), lambda d, c: d * len(d), S34),
    ("first item only", lambda x: (x[0] * 2, x), lambda d, x: plus(0 * x, 0, 2 * d), S34),
    ("einsum", lambda x, w: (np.einsum("ij,jk->ki", x, w), (x, w)), lambda d, c: (d.T @ c[1].T, c[0].T @ d.T), (5, 4), (4, 3)),
    ("broadcast", lambda x, b: (x + b, None), lambda d, c: (d, d.sum(0)), S34, (4,)),
    ("quotient", lambda x, y: (x / y, (x, y)), lambda d, c: (d / c[1], -d * c[0] / c[1] ** 2), S34, S34),
    ("chosen by index", lambda x: (x[[0, 0, 2]], x), lambda d, x: np.stack([d[0] + d[1], 0 * d[0], d[2]]), S34),
    ("padded", lambda x: (np.pad(x, 1), None), lambda d, c: d[1:-1, 1:-1], S34),
    ("a product of a row", lambda x: (np.prod(x, axis=1), x), lambda d, x: d[:, None] * np.prod(x, 1)[:, None] / x, S34),
    ("100,000 numbers", lambda x: (x * x, x), lambda d, x: 2 * x * d, (100_000,)),
    ("30,000 numbers with corners", lambda x: (np.abs(x), x), lambda d, x: np.sign(x) * d, (30_000,)),
])


def at_unit(name, forward, backward, shape=S34):
    """A pair on x / s: a function that is curved where its numbers are."""
    assert name not in RIGHT
    RIGHT[name] = lambda x, n, s: ((lambda x: (forward(x / s), x / s), lambda d, u: backward(d, u) / s), x(*shape))


def normed(u):
    return (u - u.mean(0)) / np.sqrt(u.var(0) + 1e-5)


def normed_back(d, u):
    y = normed(u)
    return (d - d.mean(0) - y * (d * y).mean(0)) / np.sqrt(u.var(0) + 1e-5)


at_unit("tanh", np.tanh, lambda d, u: d * (1 - np.tanh(u) ** 2))
at_unit("softmax", softmax, lambda d, u: softmax_back(softmax(u), d))
at_unit("log-softmax", lambda u: np.log(softmax(u)), lambda d, u: d - softmax(u) * d.sum(-1, keepdims=True))
at_unit("sharp softmax", lambda u: softmax(12 * u), lambda d, u: 12 * softmax_back(softmax(12 * u), d))
at_unit("very sharp softmax", lambda u: softmax(30 * u), lambda d, u: 30 * softmax_back(softmax(30 * u), d))
at_unit("very sharp softmax of real numbers", lambda u: softmax(30 * u.real), lambda d, u: 30 * softmax_back(softmax(30 * u), d))
at_unit("a softmax that is a maximum", lambda u: softmax(100 * u), lambda d, u: 100 * softmax_back(softmax(100 * u), d))
at_unit("log Σ exp of thousands", lambda u: 1000 * u.real.max(1) + np.log(np.exp(1000 * (u - u.real.max(1, keepdims=True))).sum(1)),
        lambda d, u: 1000 * d[:, None] * softmax(1000 * u))
at_unit("singular values", lambda u: np.linalg.svd(u.real, compute_uv=False),
        lambda d, u: (lambda U, _, V: U * d @ V)(*np.linalg.svd(u, full_matrices=False)), (5, 3))
at_unit("contrast of a batch", lambda u: -np.log(np.diag(softmax(u @ u.T))),
        lambda d, u: (lambda g: g @ u + g.T @ u)(d[:, None] * (softmax(u @ u.T) - np.eye(4))), (4, 3))
at_unit("batch norm by var", normed, normed_back, S65)
at_unit("wild curve", lambda u: np.sin(1000 * u), lambda d, u: 1000 * d * np.cos(1000 * u))
at_unit("wild curve of abs", lambda u: np.abs(np.sin(100 * u)), lambda d, u: 100 * d * np.cos(100 * u) * np.sign(np.sin(100 * u)))
at_unit("steep at 0", lambda u: np.tanh(1e6 * u.real * 1e-5), lambda d, u: 10 * d * (1 - np.tanh(10 * u) ** 2))
at_unit("nearly a corner", lambda u: np.sqrt(u * u + 1e-8), lambda d, u: d * u / np.sqrt(u * u + 1e-8))
at_unit("saturated", lambda u: sigmoid(40 * u.real), lambda d, u: 40 * d * sigmoid(40 * u) * (1 - sigmoid(40 * u)))
at_unit("bell", lambda u: np.exp(-u * u), lambda d, u: -2 * u * d * np.exp(-u * u))
at_unit("max-out", lambda u: np.maximum(u, -2 * u), lambda d, u: d * np.where(u > 0, 1, -2))
at_unit("eps of 1e-12", lambda u: u / np.sqrt((u * u).mean(-1, keepdims=True) + 1e-12),
        lambda d, u: (lambda r: d / r - u * (d * u).mean(-1, keepdims=True) / r ** 3)(
            np.sqrt((u * u).mean(-1, keepdims=True) + 1e-12)))


@right("layer norm by var")
def _(x, n, s):
    def forward(x):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True)), x

    def backward(d, x):
        y, _ = forward(x)
        return (d - d.mean(-1, keepdims=True) - y * (d * y).mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True))
    return (forward, backward), 7 * x(4, 6)


@right("layer norm by var, large batch")
def _(x, n, s):
    return RIGHT["layer norm by var"](x, n, s)[0], 10 * x(32, 16)


@right("layer norm around a large mean")
def _(x, n, s):
    return RIGHT["layer norm by var"](x, n, s)[0], x(4, 6) + 1e5 * s


@right("the package's layer norm around a large mean")
def _(x, n, s):
    return na.LayerNorm(6), n(4, 6) + 1e5


@right("erf-like at its own scale")
def _(x, n, s):
    k = 1e6 / s
    return (lambda x: (np.tanh(k * x.real), x), lambda d, x: k * d * (1 - np.tanh(k * x) ** 2)), 1e-6 * x(3, 4)


# ------------------------------------------------------------------------------------------------- corners, exactly there

@right("ReLU at exactly 0")
def _(x, n, s):
    given = x(3, 4)
    given[0, 1] = given[2, 2] = 0
    return (lambda x: (np.maximum(x, 0), x), lambda d, x: d * (x > 0)), given


@right("ReLU at exactly 0, slope 1 there")
def _(x, n, s):
    given = x(3, 4)
    given[0, 1] = given[2, 2] = 0
    return (lambda x: (np.maximum(x, 0), x), lambda d, x: d * (x >= 0)), given


@right("ReLU very near 0")
def _(x, n, s):
    given = x(3, 4)
    given[0, 1], given[2, 2] = 1e-7 * s, -1e-6 * s
    return (lambda x: (np.maximum(x, 0), x), lambda d, x: d * (x > 0)), given


@right("padding rows of zeros")
def _(x, n, s):
    given = x(4, 5)
    given[2:] = 0
    return (lambda x: (np.abs(x).sum(1), x), lambda d, x: d[:, None] * np.sign(x)), given


@right("ties of a maximum, to the first")
def _(x, n, s):
    given = x(3, 4)
    given[:, :2] = 5 * s
    return (lambda x: (x.max(axis=1), x), lambda d, x: scattered(x, x.argmax(1)[:, None], d[:, None], 1)), given


@right("ties of a maximum, shared")
def _(x, n, s):
    given = x(3, 4)
    given[:, :2] = 5 * s

    def backward(d, x):
        top = x == x.max(axis=1, keepdims=True)
        return d[:, None] * top / top.sum(1, keepdims=True)
    return (lambda x: (x.max(axis=1), x), backward), given


@right("a corner at 1, numbers near it")
def _(x, n, s):
    given = s * (1 + 1e-6 * n(3, 4))
    return (lambda x: (np.minimum(x, s), x), lambda d, x: d * (x < s)), given


# ------------------------------------------------------------------------------------------------------------- scales

@right("1e9 beside 1")
def _(x, n, s):
    return (lambda x: (x ** 2, x), lambda d, x: 2 * x * d), s * np.array([[1e9, 1.0, 2.0]])


@right("1e9 beside 1, of abs")
def _(x, n, s):
    return (lambda x: (x * np.abs(x), x), lambda d, x: 2 * np.abs(x) * d), s * np.array([[1e9, 1.0, 2.0]])


@right("outputs of 1e9 and 1e-9")
def _(x, n, s):
    scale = np.array([1e9, 1.0, 1e-9])
    return (lambda x: (scale * np.abs(x), x), lambda d, x: scale * np.sign(x) * d), x(4, 3)


@right("beside 1e14")
def _(x, n, s):
    return (lambda x: (x ** 2 + 1e14 * s * s, x), lambda d, x: 2 * x * d), x(3, 4)


@right("inputs of 1e12")
def _(x, n, s):
    return (lambda x, w: (x @ w, (x, w)), lambda d, c: (d @ c[1].T, c[0].T @ d)), 1e12 * x(2, 4), n(4, 3)


@right("inputs of 1e-12")
def _(x, n, s):
    return (lambda x: (np.sin(x) + np.abs(x), x), lambda d, x: d * (np.cos(x) + np.sign(x))), 1e-12 * n(3, 4)


@right("a tiny weight")
def _(x, n, s):
    return (lambda x, g: (x + 1e-8 * s * g, None), lambda d, c: (d, 1e-8 * s * d.sum(0))), x(3, 4), n(4)


@right("a gradient that cancels")
def _(x, n, s):
    return (lambda x, b: (softmax(x / s + b[:, None]), x), lambda d, x: (
        softmax_back(softmax(x / s), d) / s, softmax_back(softmax(x / s), d).sum(1))), x(3, 4), n(3)


@right("an input that does not matter")
def _(x, n, s):
    return (lambda x, y: (np.abs(x) + 0 * y, x), lambda d, x: (d * np.sign(x), 0 * d)), x(3, 4), x(3, 4)


# ---------------------------------------------------------------------------------------------------- float32, integers

@right("float32 given")
def _(x, n, s):
    return (lambda x: (x * x, x), lambda d, x: 2 * x * d), x(3, 4).astype(np.float32)


@right("float32 only")
def _(x, n, s):
    def forward(x):
        assert x.dtype == np.float32
        return np.abs(x) * x, x
    return (forward, lambda d, x: 2 * np.abs(x) * d), x(3, 4).astype(np.float32)


@right("float32 only, complex too")
def _(x, n, s):
    def forward(x):
        assert x.dtype in (np.float32, np.complex64)
        return x * x, x
    return (forward, lambda d, x: 2 * x * d), x(3, 4).astype(np.float32)


@right("computed in float32 inside")
def _(x, n, s):
    def forward(x):
        u = (x / s).astype(np.float32)
        return np.tanh(u).astype(np.float64), u
    return (forward, lambda d, u: d * (1 - np.tanh(u) ** 2) / s), x(3, 4)


TOLD.add("computed in float32 inside")      # what is linear in float64 is so in float32 to 7 digits only


@right("a float32 Linear")
def _(x, n, s):
    return na.Linear(4, 3, rng=0, dtype=np.float32), x(5, 4).astype(np.float32)


@right("float32 input, float64 weights")
def _(x, n, s):
    return (lambda x, w: (x @ w, (x, w)), lambda d, c: (d @ c[1].T, c[0].T @ d)), x(5, 4).astype(np.float32), n(4, 3)


@right("whole numbers as input")
def _(x, n, s):
    return na.Linear(4, 3, rng=0), np.arange(8).reshape(2, 4)


@right("ids")
def _(x, n, s):
    return na.Embedding(6, 4, rng=0), np.array([[1, 4, 1], [2, 2, 3]])


@right("ids of a foreign embedding")
def _(x, n, s):
    def backward(d, cache):
        ids, table = cache
        dt = np.zeros_like(table)
        np.add.at(dt, ids, d)
        return None, dt
    return (lambda ids, table: (table[ids], (ids, table)), backward), np.array([1, 4, 1]), x(6, 3)


@right("a Boolean input")
def _(x, n, s):
    return (lambda x, keep: (x * keep, keep), lambda d, keep: (d * keep, None)), x(3, 4), n(3, 4) > 0


@right("a loss that starts by itself")
def _(x, n, s):
    class Loss:
        def forward(self, x, t):
            self.x, self.t = x, t
            return ((x - t) ** 2).mean()

        def backward(self):
            return 2 * (self.x - self.t) / self.x.size
    return Loss(), x(3, 4), np.arange(12).reshape(3, 4)


@right("lists of numbers as inputs")
def _(x, n, s):
    return na.Softmax(), [[0.0, 1.0, 2.0], [1.0, 1.5, -1.0]]


# --------------------------------------------------------------------------------------------------------- randomness

class Draws:
    """Dropout that draws from wherever `draw` says."""

    def __init__(self, draw):
        self.draw, self.rng = draw, np.random.default_rng(0)

    def forward(self, x):
        self.keep = self.draw(self, x.shape) > 0.5
        return 2 * x * self.keep

    def backward(self, d):
        return 2 * d * self.keep


for _name, _draw in {"its own generator": lambda self, shape: self.rng.random(shape),
                     "a seed at each call": lambda self, shape: np.random.default_rng(3).random(shape),
                     "NumPy's global generator": lambda self, shape: np.random.mtrand._rand.random_sample(shape)}.items():
    RIGHT[f"dropout by {_name}"] = lambda x, n, s, draw=_draw: (Draws(draw), x(6, 5))


@right("dropout by a generator in a closure")
def _(x, n, s):
    hidden = np.random.default_rng(5)
    return Draws(lambda self, shape: hidden.random(shape)), x(6, 5)


@right("dropout by Python's generator")
def _(x, n, s):
    import random
    own = random.Random(3)
    return Draws(lambda self, shape: np.array([own.random() for _ in range(np.prod(shape))]).reshape(shape)), x(4, 3)


@right("the package's dropout")
def _(x, n, s):
    return na.Dropout(0.4, rng=0), x(6, 5)


@right("noise added")
def _(x, n, s):
    class Noise:
        def __init__(self):
            self.rngs = {"a": [np.random.default_rng(1)]}

        def forward(self, x):
            return x + s * self.rngs["a"][0].standard_normal(x.shape)

        def backward(self, d):
            return d
    return Noise(), x(3, 4)


# --------------------------------------------------------------------------------------------------------- containers

for _name, (_put, _get) in CONTAINERS.items():
    RIGHT[f"in {_name}"] = lambda x, n, s, put=_put, get=_get: (Around(na.Linear(4, 3, rng=0), put, get), x(5, 4))
    RIGHT[f"attributes in {_name}"] = lambda x, n, s, put=_put, get=_get: (
        Around(Linear(n(4, 3), n(3)), put, get), x(5, 4))


class Weights:
    """Learned arrays in a container called `name`, their gradients in another called `grads`."""

    def __init__(self, name, container, grads, make):
        setattr(self, name, container)
        self.name, self.grads_name, self.make = name, grads, make

    def forward(self, x):
        box = getattr(self, self.name)
        W, = box.values() if isinstance(box, dict) else box
        self.x, self.W = x, W
        return x @ W

    def backward(self, d):
        setattr(self, self.grads_name, self.make(self.x.T @ d))
        return d @ self.W.T


for _name, _make in {"a dict": lambda a: {"W": a}, "an OrderedDict": lambda a: OrderedDict(W=a), "a list": lambda a: [a],
                     "a tuple": lambda a: (a,), "a deque": lambda a: deque([a])}.items():
    for _where in (("params", "grads"), ("weights", "grads"), ("theta", "dtheta"), ("parameters", "grads")):
        RIGHT[f"{_where[0]} and {_where[1]} as {_name}"] = lambda x, n, s, where=_where, make=_make: (
            Weights(where[0], make(n(4, 3)), where[1], make), x(5, 4))


@right("params in params")
def _(x, n, s):
    class Nested:
        def __init__(self):
            self.params, self.grads = {"first": {"W": n(4, 3)}}, {"first": {}}

        def forward(self, x):
            self.x = x
            return x @ self.params["first"]["W"]

        def backward(self, d):
            self.grads["first"]["W"] = self.x.T @ d
            return d @ self.params["first"]["W"].T
    return Nested(), x(5, 4)


@right("parameters as objects")
def _(x, n, s):
    class Module:
        """In the manner of torch: __call__, parameters in a dictionary, data and grad."""

        def __init__(self):
            self._parameters = {"W": Box(n(4, 3)), "b": Box(n(3))}
            self.training = True

        def __getattr__(self, name):
            if name in self.__dict__.get("_parameters", {}):
                return self._parameters[name]
            raise AttributeError(name)

        def __call__(self, x):
            self.x = x
            return x @ self.W.data + self.b.data

        def zero_grad(self):
            for p in self._parameters.values():
                p.grad = None

        def backward(self, d):
            for p, g in ((self.W, self.x.T @ d), (self.b, d.sum(0))):
                p.grad = g if p.grad is None else p.grad + g
            return d @ self.W.data.T
    return Module(), x(5, 4)


@right("slots")
def _(x, n, s):
    class Slots:
        __slots__ = ("W", "__dict__", "buffer", "dW")

        def __init__(self):
            self.W, self.buffer = n(4, 3), np.zeros((5, 3))

        def forward(self, x):
            self.x = x
            np.matmul(x, self.W, out=self.buffer)
            return self.buffer

        def backward(self, d):
            self.dW = self.x.T @ d
            return d @ self.W.T
    return Slots(), x(5, 4)


@right("a generator in slots")
def _(x, n, s):
    class Slots:
        __slots__ = ("keep", "rng")

        def __init__(self):
            self.rng = np.random.default_rng(0)

        def forward(self, x):
            self.keep = self.rng.random(x.shape) > 0.5
            return x * self.keep

        def backward(self, d):
            return d * self.keep
    return Slots(), x(5, 4)


@right("views into one vector")
def _(x, n, s):
    class Flat:
        def __init__(self):
            self.flat, self.dflat = n(15), np.zeros(15)
            self.W, self.b = self.flat[:12].reshape(4, 3), self.flat[12:]
            self.dW, self.db = self.dflat[:12].reshape(4, 3), self.dflat[12:]

        def forward(self, x):
            self.x = x
            return x @ self.W + self.b

        def backward(self, d):
            self.dW[...], self.db[...] = self.x.T @ d, d.sum(0)
            return d @ self.W.T
    return Flat(), x(5, 4)


@right("one vector, cut at each call")
def _(x, n, s):
    class Cut:
        def __init__(self):
            self.flat, self.dflat = n(15), None

        def forward(self, x):
            self.x = x
            return x @ self.flat[:12].reshape(4, 3) + self.flat[12:]

        def backward(self, d):
            self.dflat = np.concatenate([(self.x.T @ d).reshape(-1), d.sum(0)])
            return d @ self.flat[:12].reshape(4, 3).T
    return Cut(), x(5, 4)


@right("a shared weight, both roles")
def _(x, n, s):
    class Tied:
        def __init__(self):
            self.W = n(4, 4)
            self.V = self.W

        def forward(self, x):
            self.x = x
            return x @ self.W @ self.V

        def backward(self, d):
            self.dW = self.x.T @ (d @ self.V.T)
            self.dV = (self.x @ self.W).T @ d
            return d @ self.V.T @ self.W.T
    return Tied(), x(5, 4)


@right("a shared layer, caches kept")
def _(x, n, s):
    class Twice:
        def __init__(self):
            self.lin = Linear(n(4, 4), n(4))

        def forward(self, x):
            self.first, self.second = x, self.lin.forward(x)
            return self.lin.forward(self.second)

        def backward(self, d):
            d1 = self.lin.backward(d)
            dW, db = self.lin.dW, self.lin.db
            self.lin.x = self.first
            dx = self.lin.backward(d1)
            self.lin.dW, self.lin.db = self.lin.dW + dW, self.lin.db + db
            self.lin.x = self.second
            return dx
    return Twice(), x(5, 4)


@right("Fortran order")
def _(x, n, s):
    return (lambda x, w: (x @ w, (x, w)), lambda d, c: (d @ c[1].T, c[0].T @ d)), np.asfortranarray(x(5, 4)), n(3, 4).T


@right("inputs that are views")
def _(x, n, s):
    return (lambda x: (x * x, x), lambda d, x: 2 * x * d), x(6, 8)[::2, ::-2]


@right("query, key and value are one array")
def _(x, n, s):
    q = n(2, 3, 4)
    return na.ScaledDotProductAttention(), q, q[:], q


@right("inputs that overlap in part")
def _(x, n, s):
    q = n(2, 3, 6)
    return na.ScaledDotProductAttention(), q[..., :4], q[..., 2:], q[..., 1:5].copy()


@right("read-only inputs")
def _(x, n, s):
    given = x(3, 4)
    given.flags.writeable = False
    return na.ReLU(), given


@right("a list of inputs")
def _(x, n, s):
    return (lambda xs: (xs[0] * xs[1], xs), lambda d, xs: [d * xs[1], d * xs[0]]), [x(3, 4), x(3, 4)]


@right("a dict of inputs")
def _(x, n, s):
    return (lambda xs: (xs["a"] * xs["b"], xs), lambda d, xs: {"a": d * xs["b"], "b": d * xs["a"]}), {
        "options": False, "a": x(3, 4), "b": x(3, 4)}


@right("gradients by name")
def _(x, n, s):
    return (lambda x, w: (x * w, (x, w)), lambda d, c: {"dw": d * c[0], "dx": d * c[1]}), x(3, 4), x(3, 4)


@right("a keyword with its gradient")
def _(x, n, s):
    class Keyword:
        grads = {}

        def forward(self, x, *, w):
            self.x, self.w = x, w
            return x * w

        def backward(self, d):
            self.grads = {"w": (d * self.x).sum(0)}
            return d * self.w
    return Keyword(), x(3, 4), {"w": n(4)}


@right("an inner layer that is called")
def _(x, n, s):
    class Right(Called):
        def backward(self, d):
            self.dW = self.x.T @ d
            return d @ self.W.T

    class Outer:
        def __init__(self):
            self.inner = Right(n(4, 3))

        def forward(self, x):
            return self.inner(x)

        def backward(self, d):
            return self.inner.backward(d)
    return Outer(), x(5, 4)


# --------------------------------------------------------------------------------------------------------------- state

class PositionTable:
    pe = None

    def forward(self, x):
        if self.pe is None:
            self.pe = np.ones(x.shape[1])
        return x + self.pe

    def backward(self, d):
        return d


@right("a position table at first use")
def _(x, n, s):
    return PositionTable(), x(3, 4)


@right("weights built at first use")
def _(x, n, s):
    class Lazy(Linear):
        def forward(self, x):
            if self.W is None:
                self.W = np.linspace(-1, 1, x.shape[1] * 3).reshape(-1, 3)
            return super().forward(x)
    return Lazy(None, n(3)), x(5, 4)


@right("params built at first use")
def _(x, n, s):
    class Build:
        def __init__(self):
            self.params, self.grads = {}, {}

        def forward(self, x):
            if not self.params:
                self.params["W"] = np.linspace(-1, 1, x.shape[1] * 3).reshape(-1, 3)
            self.x = x
            return x @ self.params["W"]

        def backward(self, d):
            self.grads["W"] = self.x.T @ d
            return d @ self.params["W"].T
    return Build(), x(5, 4)


@right("running averages")
def _(x, n, s):
    class BatchNorm:
        def __init__(self):
            self.gamma, self.running_mean, self.calls = n(5), np.zeros(5), 0

        def forward(self, x):
            self.u = x / s
            self.running_mean = 0.9 * self.running_mean + 0.1 * x.real.mean(0)
            self.calls += 1
            return self.gamma * normed(self.u)

        def backward(self, d):
            self.dgamma = (d * normed(self.u)).sum(0)
            return normed_back(d * self.gamma, self.u) / s
    return BatchNorm(), x(6, 5)


@right("running averages in place")
def _(x, n, s):
    class InPlace:
        def __init__(self):
            self.running, self.seen = np.zeros(4), np.zeros(1, int)

        def forward(self, x):
            self.x = x
            self.running *= 0.9
            self.running += 0.1 * x.real.mean(0)
            self.seen += 1
            return x * x

        def backward(self, d):
            return 2 * self.x * d
    return InPlace(), x(6, 4)


@right("a work buffer")
def _(x, n, s):
    class Buffer:
        buffer = None

        def forward(self, x):
            if self.buffer is None or self.buffer.dtype != x.dtype or self.buffer.shape != x.shape:
                self.buffer = np.empty(x.shape, x.dtype)
            np.multiply(x, x, out=self.buffer)
            self.x = x
            return self.buffer

        def backward(self, d):
            return 2 * self.x * d
    return Buffer(), x(3, 4)


@right("the same gradient buffer each time")
def _(x, n, s):
    class Buffer(PositionTable):
        def __init__(self):
            self.dx = np.zeros((3, 4))

        def forward(self, x):
            self.x = x
            return x * x

        def backward(self, d):
            self.dx[...] = 2 * self.x * d
            return self.dx
    return Buffer(), x(3, 4)


@right("adds up, with zero_grad")
def _(x, n, s):
    class AddsUp(Linear):
        dW, db = 0, 0

        def zero_grad(self):
            self.dW = self.db = 0

        def backward(self, d):
            self.dW, self.db = self.dW + self.x.T @ d, self.db + d.sum(0)
            return d @ self.W.T
    return AddsUp(n(4, 3), n(3)), x(5, 4)


@right("a cache by content")
def _(x, n, s):
    kept = {}

    def forward(x):
        key = x.tobytes()
        if key not in kept:
            kept[key] = x * x
        return kept[key], x
    return (forward, lambda d, x: 2 * x * d), x(3, 4)


@right("functools.cache by shape")
def _(x, n, s):
    @functools.cache
    def table(length):
        return np.linspace(1, 2, length)
    return (lambda x: (x * table(x.shape[1]), x), lambda d, x: d * table(x.shape[1])), x(3, 4)


@right("a stack of caches, popped")
def _(x, n, s):
    class Stack:
        def __init__(self):
            self.xs = []

        def forward(self, x):
            self.xs = [*self.xs[-3:], x]
            return x * x

        def backward(self, d):
            return 2 * self.xs[-1] * d
    return Stack(), x(3, 4)


@right("normalises its weights in place")
def _(x, n, s):
    class Unit(Linear):
        def forward(self, x):
            self.norm = np.sqrt((self.W ** 2).sum())
            self.U = self.W / self.norm
            self.x = x
            return x @ self.U + self.b

        def backward(self, d):
            dU = self.x.T @ d
            self.dW, self.db = (dU - self.U * (dU * self.U).sum()) / self.norm, d.sum(0)
            return d @ self.U.T
    return Unit(n(4, 3), n(3)), x(5, 4)


# ---------------------------------------------------------------------------------------------------- written in place

@right("writes to its input")
def _(x, n, s):
    def forward(x):
        x += s
        return np.tanh(x / s), x.copy()
    return (forward, lambda d, x: d * (1 - np.tanh(x / s) ** 2) / s), x(3, 4)


@right("writes to its weights")
def _(x, n, s):
    class Decays(Linear):
        def forward(self, x):
            self.W *= 0.5
            return super().forward(x)

        def backward(self, d):
            dx = super().backward(d)
            self.dW = 0.5 * self.dW
            return dx
    return Decays(n(4, 3), n(3)), x(5, 4)


@right("sorts its input in place")
def _(x, n, s):
    def forward(x):
        order = np.argsort(x, axis=1)
        x.sort(axis=1)
        return x * 2, order
    return (forward, lambda d, i: scattered(d, i, 2 * d, 1)), x(3, 4)


TOLD |= {"writes to its input", "writes to its weights", "sorts its input in place"}


@right("works in place on a copy")
def _(x, n, s):
    def forward(x):
        y = x.copy()
        y *= 3
        y[0] += y[1]
        return y, None
    return (forward, lambda d, c: 3 * plus(d, 1, d[0])), x(3, 4)


# ---------------------------------------------------------------------------------------------------------- odd objects

@right("a lock, a thread, a file, a module inside")
def _(x, n, s):
    class Odd(Linear):
        def __init__(self, W, b):
            super().__init__(W, b)
            self.lock, self.module, self.log = threading.Lock(), np, open(__file__)     # noqa: SIM115
            self.log.close()
            self.numbers = (i for i in range(3))

        def forward(self, x):
            with self.lock:
                return super().forward(x)
    return Odd(n(4, 3), n(3)), x(5, 4)


@right("threads inside")
def _(x, n, s):
    class Threads:
        def forward(self, x):
            self.x, out = x, np.empty(x.shape, x.dtype)

            def work(i):
                out[i] = x[i] * x[i]
            threads = [threading.Thread(target=work, args=(i,)) for i in range(len(x))]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            return out

        def backward(self, d):
            return 2 * self.x * d
    return Threads(), x(2, 3)


@right("properties that raise")
def _(x, n, s):
    class Raises(Linear):
        @property
        def params(self):
            raise RuntimeError("not ready")

        @property
        def zero_grad(self):
            raise RuntimeError("not ready")

        def __getattr__(self, name):
            raise ValueError(f"no {name}")
    return Raises(n(4, 3), n(3)), x(5, 4)


@right("zero_grad that is a flag")
def _(x, n, s):
    class Flag(Linear):
        zero_grad = True
    return Flag(n(4, 3), n(3)), x(5, 4)


@right("a frozen parameter")
def _(x, n, s):
    class Frozen:
        def __init__(self):
            self.params, self.grads = {"W": n(4, 3), "frozen": n(3)}, {}

        def forward(self, x):
            self.x = x
            return x @ self.params["W"] + self.params["frozen"]

        def backward(self, d):
            self.grads["W"] = self.x.T @ d
            return d @ self.params["W"].T
    return Frozen(), x(5, 4)


@right("objects that refuse to be compared")
def _(x, n, s):
    class Rude(Linear):
        def __eq__(self, other):
            raise RuntimeError("no")

        __hash__ = None

        def __repr__(self):
            raise RuntimeError("no")

        def __len__(self):
            return 0
    return Rude(n(4, 3), n(3)), x(5, 4)


@right("two outputs")
def _(x, n, s):
    class Two:
        def forward(self, x):
            self.x = x
            return x * x, 3 * x

        def backward(self, d1, d2):
            return 2 * self.x * d1 + 3 * d2
    return Two(), x(3, 4)


@right("an output and the weights beside it")
def _(x, n, s):
    class Beside:
        def forward(self, x):
            self.x = x
            return x * x, softmax(x / s)

        def backward(self, d):
            return 2 * self.x * d
    return Beside(), x(3, 4)


@right("functions of functions")
def _(x, n, s):
    def forward(power, x):
        return x ** power, x
    return (functools.partial(forward, 3), lambda d, x: 3 * x * x * d), x(3, 4)


@right("methods as a pair")
def _(x, n, s):
    holder = SimpleNamespace()

    class Methods:
        def go(self, x):
            return x * x, x

        def back(self, d, x):
            return 2 * x * d
    holder.it = Methods()
    return (holder.it.go, holder.it.back), x(3, 4)


@right("options as a namedtuple")
def _(x, n, s):
    return (lambda x, p: (x * p.first, p), lambda d, p: d * p.first), x(3, 4), Pair(3.0, None)


@right("infinity in a mask")
def _(x, n, s):
    hide = np.where(np.tri(4, dtype=bool), 0.0, -np.inf)
    return (lambda x: (softmax(x / s + hide), x), lambda d, x: softmax_back(softmax(x / s + hide), d) / s), x(4, 4)


for _name, _make in {
    "attention": lambda n: (na.ScaledDotProductAttention(), n(2, 3, 4, 6), n(2, 3, 5, 6), n(2, 3, 5, 7)),
    "self-attention": lambda n: (na.MultiHeadAttention(8, 2, rng=0), n(2, 4, 8)),
    "unbatched attention, causal": lambda n: (na.MultiHeadAttention(8, 2, rng=0), n(4, 8), {"mask": na.causal_mask(4)}),
    "a query that sees nothing": lambda n: (na.Softmax(), n(2, 3, 4), {"mask": np.arange(12).reshape(3, 4) > 5}),
    "feed-forward with ReLU": lambda n: (na.FeedForward(8, 11, activation="relu", rng=0), n(2, 4, 8)),
    "an encoder layer with dropout": lambda n: (na.TransformerEncoderLayer(8, 2, 11, dropout=0.2, rng=0), n(2, 4, 8)),
    "cross entropy": lambda n: (na.CrossEntropyLoss(), n(2, 4, 5), np.array([[1, 4, 1, 0], [2, 2, 3, 1]])),
}.items():
    RIGHT[f"the package's {_name}"] = lambda x, n, s, make=_make: make(n)



# ---------------------------------------------------------------------------------------------- more of every kind

@right("equal numbers in two inputs of a maximum: to the first")
def _(x, n, s):
    a = x(3, 4)
    b = np.concatenate([x(2, 4), a[2:]])
    return (lambda x, y: (np.maximum(x, y), x >= y), lambda d, m: (d * m, d * ~m)), a, b


@right("ties in windows, to the last")
def _(x, n, s):
    given = x(2, 3, 2)
    given[0, 0], given[1, 2] = 4 * s, -2 * s

    def backward(d, x):
        return scattered(x, 1 - x[..., ::-1].argmax(axis=-1)[..., None], d[..., None], -1)
    return (lambda x: (x.max(axis=-1), x), backward), given


@right("numbers on the bound of a clip")
def _(x, n, s):
    given = x(3, 4)
    given[0, :2], given[1, 0] = s, -s
    return (lambda x: (np.clip(x, -s, s), x), lambda d, x: d * (np.abs(x) <= s)), given


@right("probabilities near 0")
def _(x, n, s):
    return (lambda p: (p * np.log(p), p), lambda d, p: d * (np.log(p) + 1)), 10.0 ** (-12 * np.abs(n(3, 4)))


@right("one number without axes")
def _(x, n, s):
    return (lambda x: (x * x, x), lambda d, x: 2 * x * d), np.array(x())


@right("scores of −inf among the inputs")
def _(x, n, s):
    given = x(3, 4)
    given[0, 1] = given[2, 3] = -np.inf
    return (lambda x: (softmax(x / s), x), lambda d, x: softmax_back(softmax(x / s), d) / s), given


@right("columns of all scales in one sum")
def _(x, n, s):
    return (lambda x: (np.abs(x).sum(1), x), lambda d, x: np.sign(x) * d[:, None]), x(3, 4) * np.array([1e-8, 1e-3, 1, 1e6])


@right("a sum that cancels")
def _(x, n, s):
    return (lambda x: (x + 1e8 * s - 1e8 * s + x * x / s, x), lambda d, x: d * (1 + 2 * x / s)), x(3, 4)


@right("Newton's steps until they are short")
def _(x, n, s):
    def root(u):
        y = np.ones_like(u)
        while np.abs(y ** 3 + y - u).max() > 1e-13 * np.abs(u).max():
            y = y - (y ** 3 + y - u) / (3 * y * y + 1)
        return y
    return (lambda x: (root(x / s), x / s), lambda d, u: d / (3 * root(u) ** 2 + 1) / s), x(3, 4)


@right("endless for complex numbers")
def _(x, n, s):
    def forward(x):
        while np.iscomplexobj(x):
            pass
        return x * x, x
    return (forward, lambda d, x: 2 * x * d), x(2, 2), {"seconds": 0.5}


@right("forward again in backward")
def _(x, n, s):
    class Again(Linear):
        def backward(self, d):
            super().forward(self.x.copy())
            return super().backward(d)
    return Again(n(4, 3), n(3)), x(5, 4)


@right("a recurrence")
def _(x, n, s):
    class Recurrence:
        def __init__(self):
            self.W, self.U = n(3, 4) / 2, n(4, 4) / 2

        def forward(self, x):
            self.x, self.hs = x / s, [np.zeros((2, 4))]
            for t in range(x.shape[1]):
                self.hs.append(np.tanh(self.x[:, t] @ self.W + self.hs[-1] @ self.U))
            return self.hs[-1]

        def backward(self, d):
            dx = np.zeros(self.x.shape)
            self.dW, self.dU = 0 * self.W, 0 * self.U
            for t in reversed(range(dx.shape[1])):
                d = d * (1 - self.hs[t + 1] ** 2)
                self.dW += self.x[:, t].T @ d
                self.dU += self.hs[t].T @ d
                dx[:, t], d = d @ self.W.T / s, d @ self.U.T
            return dx
    return Recurrence(), x(2, 5, 3)


table(RIGHT, [
    ("gradients yielded", lambda x, y: (x * y, (x, y)), lambda d, c: (d * a for a in c[::-1]), S34, S34),
    ("a gradient as nested lists", lambda x: (2 * x, None), lambda d, c: (2 * d).tolist(), S34),
    ("any number of inputs", lambda *xs: (2 * sum(xs), len(xs)), lambda d, k: (2 * d,) * k, S34, S34, S34),
])


@right("options that get no gradient")
def _(x, n, s):
    def forward(x, mode, y, z=None):
        return x * y if mode == "times" else x + y, (x, y)
    return (forward, lambda d, c: (d * c[1], None, d * c[0])), x(3, 4), "times", x(3, 4), None


class Returns:
    """x² and 3 x, handed out by `pack`; backward reads the upstream gradients by `unpack`."""

    def __init__(self, pack, unpack):
        self.pack, self.unpack = pack, unpack

    def forward(self, x):
        self.x = x
        return self.pack(x * x, 3 * x)

    def backward(self, d):
        first, second = self.unpack(d)
        return 2 * self.x * first + 3 * second


RIGHT["outputs in a dictionary"] = lambda x, n, s: (
    Returns(lambda a, b: {"out": a, "more": b}, lambda d: (d["out"], d["more"])), x(3, 4))
RIGHT["two outputs, their gradients in one tuple"] = lambda x, n, s: (Returns(lambda a, b: (a, b), lambda d: (d[0], d[1])), x(3, 4))


@right("a gradient left as dx")
def _(x, n, s):
    class Leaves:
        def forward(self, x):
            self.x = x
            return x * x

        def backward(self, d):
            self.dx = 2 * self.x * d
    return Leaves(), x(3, 4)


@right("a loss of two arrays, the gradient of the first")
def _(x, n, s):
    class SquaredError:
        def forward(self, found, wanted):
            self.apart = found - wanted
            return (self.apart ** 2).mean()

        def backward(self):
            return 2 * self.apart / self.apart.size
    return SquaredError(), x(3, 4), x(3, 4)


# ------------------------------------------------------------------------------------------------- refusing to be copied

@right("forward made in __init__")
def _(x, n, s):
    class Made:
        def __init__(self):
            def forward(x):
                self.x = x
                return x @ self.W
            self.forward, self.W = forward, n(4, 3)

        def backward(self, d):
            self.dW = self.x.T @ d
            return d @ self.W.T
    return Made(), x(5, 4)


@right("all that cannot be copied")
def _(x, n, s):
    class Odd(Linear):
        def __init__(self, *arrays):
            super().__init__(*arrays)
            self.odd = [logging.getLogger("odd"), re.compile("a"), queue.Queue(), ThreadPoolExecutor(1), threading.local(),
                        threading.Condition(), memoryview(b"a"), (i for i in [1]), itertools.count(), MappingProxyType({})]
    return Odd(n(4, 3), n(3)), x(5, 4)


@right("a pool of threads that is kept")
def _(x, n, s):
    class Pool:
        def __init__(self):
            self.pool = ThreadPoolExecutor(2)

        def forward(self, x):
            self.x = x
            return np.stack(list(self.pool.map(lambda row: row * row, x)))

        def backward(self, d):
            return 2 * self.x * d
    return Pool(), x(4, 3)


class Copies(Linear):
    """With a deepcopy of its own."""

    def __deepcopy__(self, memo):
        return Copies(self.W.copy(), self.b.copy())


class Refuses(Linear):
    def __deepcopy__(self, memo):
        raise TypeError("never")


class RefusesToo(Linear):
    def __reduce_ex__(self, protocol):
        raise TypeError("never")


class Viewed(Linear):
    """Its weights are read by a view of a dictionary."""

    def __init__(self, W, b):
        self.arrays = {"W": W, "b": b}
        self.view = MappingProxyType(self.arrays)

    def forward(self, x):
        self.x = x
        return x @ self.view["W"] + self.view["b"]

    def backward(self, d):
        self.grads = {"W": self.x.T @ d, "b": d.sum(0)}
        return d @ self.view["W"].T


for _name, _kind in {"a deepcopy of its own": Copies, "no deepcopy": Refuses, "no copy of any kind": RefusesToo,
                     "a view of a dictionary": Viewed}.items():
    RIGHT[_name] = lambda x, n, s, kind=_kind: (kind(n(4, 3), n(3)), x(5, 4))


@right("a weight in a file")
def _(x, n, s):
    with tempfile.NamedTemporaryFile() as file:
        W = np.memmap(file, float, "w+", shape=(4, 3))
        W[...] = n(4, 3)
    return Linear(W, n(3)), x(5, 4)


RIGHT["weights in a ChainMap"] = lambda x, n, s: (Named("params", ChainMap({"W": n(4, 3)}, {}), "grads", "W", 1), x(5, 4))
RIGHT["weights in an array of objects"] = lambda x, n, s: (Named("params", objects(n(4, 3), None), "grads", 0, 1), x(5, 4))
RIGHT["weights that are arrays of a class of their own"] = lambda x, n, s: (
    type("Right", (Carried,), {"factor": 1})(n(4, 3).view(Tensor), n(3)), x(5, 4))

# Nobody can tell: what is measured is said not to be, and nothing is accused. Stairs of 1 on numbers of 10,000 look like
# numbers of few digits; a nudge of 1e-8 drowns beside 1e6, and one that 1e8 takes up and gives back comes out in steps.
UNDECIDED = {"floor, with slope 0", "rounding, with slope 0", "columns of all scales in one sum", "a sum that cancels"}


# ---------------------------------------------------------------------------------- what may be taken for a wrong layer

for name, make in UNUSUAL.items():
    def exact(x, n, s, make=make):
        layer = make()
        layer.factor = 1
        return layer, x(3, 4)
    RIGHT[name] = exact


@right("ids that repeat, added")
def _(x, n, s):
    layer = Table(x(6, 3))
    layer.added = True
    return layer, np.array([1, 2, 1, 4])


table(RIGHT, [
    ("windows that overlap, added", windows, lambda d, x: windows_back(d, x, added=True), (3, 7)),
    ("another formula for three axes", lambda x: (x * x if x.ndim == 2 else 3 * x, x), lambda d, x: 2 * x * d, S34),
    ("another formula for long batches", lambda x: (x * x if len(x) < 9 else x, x), lambda d, x: 2 * x * d, S34),
    ("remainder", lambda x: (np.mod(x, 1e5), x), lambda d, x: d, S34),
    ("real if nearly so", lambda x: (np.real_if_close(x * x), x), lambda d, x: 2 * x * d, S34),
])


@right("a table between its points")
def _(x, n, s):
    points, values = s * np.linspace(-3, 3, 7), np.array([0.0, 2, -1, 3, 1, 0, 4])

    def backward(d, x):
        inside = np.clip(np.searchsorted(points, x) - 1, 0, 5)
        return d * np.where(np.abs(x) > points[-1], 0, np.diff(values)[inside] / s)
    return (lambda x: (np.interp(x, points, values), x), backward), x(3, 4)


@right("hidden numbers are NaN")
def _(x, n, s):
    mask = np.arange(12).reshape(3, 4) % 3 != 0
    forward = lambda x, mask: (np.where(mask, x, 0) ** 2, (x, mask))                                    # noqa: E731
    return (forward, lambda d, c: (np.where(c[1], 2 * c[0] * d, 0), None)), np.where(mask, x(3, 4), np.nan), mask


@right("the same output array each time")
def _(x, n, s):
    class Reused:
        out = np.zeros(0)

        def forward(self, x):
            self.x = x
            if self.out.shape != x.shape or self.out.dtype != x.dtype:
                self.out = np.empty_like(x)
            return np.multiply(x, x, out=self.out)

        def backward(self, d):
            return 2 * self.x * d
    return Reused(), x(3, 4)


class Behind:
    """A descriptor, as frameworks have them."""

    def __set_name__(self, owner, name):
        self.name = f"_{name}"

    def __get__(self, thing, kind=None):
        return thing.__dict__[self.name]

    def __set__(self, thing, value):
        thing.__dict__[self.name] = value


@right("weights behind a descriptor")
def _(x, n, s):
    class Described(Linear):
        W, dW = Behind(), Behind()
    return Described(n(4, 3), n(3)), x(5, 4)


@right("the package's attention in float32, as it is")
def _(x, n, s):
    return na.MultiHeadAttention(4, 2, rng=0, dtype=np.float32), n(2, 3, 4).astype(np.float32), {"dtype": None}


@right("float16 given")
def _(x, n, s):
    return na.Linear(4, 3, rng=0), n(5, 4).astype(np.float16)
