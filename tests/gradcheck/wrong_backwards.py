# ruff: noqa: E501  (an entry is a line)
"""Wrong backwards, each a few lines with a name: the checker has to see every one of them."""
import array
import math
import threading
from collections import ChainMap, deque, namedtuple
from functools import cache

import numpy as np

import numpy_attention as na

from .collection import Linear, collector, sigmoid, softmax, softmax_back, table

WRONG = {}
SAID = set()            # arrays out of reach of any check: the headline must name them as not checked
wrong = collector(WRONG)
S34, S65 = (3, 4), (6, 5)


def one(d, place, factor):
    """d, wrong at one place."""
    d = d.copy()
    d[place] *= factor
    return d


table(WRONG, [
    # one formula, one slip
    ("square, 3 for 2", lambda x: (x * x, x), lambda d, x: 3 * x * d, S34),
    ("square, sign", lambda x: (x * x, x), lambda d, x: -2 * x * d, S34),
    ("square, zero", lambda x: (x * x, x), lambda d, x: 0 * d, S34),
    ("square, no factor", lambda x: (x * x, x), lambda d, x: x * d, S34),
    ("square, upstream ignored", lambda x: (x * x, x), lambda d, x: 2 * x, S34),
    ("square, upstream squared", lambda x: (x * x, x), lambda d, x: 2 * x * d * d, S34),
    ("square, sign of upstream only", lambda x: (x * x, x), lambda d, x: 2 * x * np.sign(d), S34),
    ("square, clipped upstream", lambda x: (x * x, x), lambda d, x: 2 * x * np.clip(d, -1, 1), (30, 4)),
    ("square, normalised upstream", lambda x: (x * x, x), lambda d, x: 2 * x * d / np.linalg.norm(d), S34),
    ("square, off by 1e-6", lambda x: (x * x, x), lambda d, x: 2 * x * d * (1 + 1e-6), S34),
    ("abs, off by 1e-6", lambda x: (np.abs(x), x), lambda d, x: np.sign(x) * d * (1 + 1e-6), S34),
    ("one number off by 1e-6", lambda x: (x * x, x), lambda d, x: one(2 * x * d, (1, 2), 1 + 1e-6), S34),
    ("one row wrong", lambda x: (x * x, x), lambda d, x: one(2 * x * d, 2, 1.01), S65),
    ("last row forgotten", lambda x: (x * x, x), lambda d, x: one(2 * x * d, -1, 0), S65),
    ("last column forgotten", lambda x: (x * x, x), lambda d, x: one(2 * x * d, (slice(None), -1), 0), S65),
    ("last number only", lambda x: (x * x, x), lambda d, x: one(2 * x * d, (-1, -1), 2), S65),
    ("one item of the batch", lambda x: (x * x, x), lambda d, x: one(2 * x * d, 1, 1.5), (4, 3, 2)),
    ("odd columns", lambda x: (x * x, x), lambda d, x: one(2 * x * d, (slice(None), slice(1, None, 2)), -1), S65),
    ("error grows with the place", lambda x: (x * x, x),
     lambda d, x: 2 * x * d * (1 + 1e-5 * np.arange(x.size).reshape(x.shape)), S65),
    ("NaN at one place", lambda x: (x * x, x), lambda d, x: one(2 * x * d, (0, 0), np.nan), S34),
    ("infinity at one place", lambda x: (x * x, x), lambda d, x: one(2 * x * d, (0, 0), np.inf), S34),
    ("a constant added", lambda x: (x * x, x), lambda d, x: 2 * x * d + 0.1 * np.abs(x).max(), S34),
    ("negative numbers only", lambda x: (x ** 3, x), lambda d, x: 3 * x * np.abs(x) * d, S34),
    ("large numbers only", lambda x: (x * x, x), lambda d, x: 2 * np.where(np.abs(x) > np.median(np.abs(x)), 1.1, 1) * x * d, S65),
    ("cube as a square", lambda x: (x ** 3, x), lambda d, x: 2 * x * d * np.abs(x), S34),
    ("reciprocal, sign", lambda x: (1 / x, x), lambda d, x: d / x ** 2, S34),
    ("reciprocal, no square", lambda x: (1 / x, x), lambda d, x: -d / x, S34),
    ("one in 100,000", lambda x: (3 * x, x), lambda d, x: one(3 * d, 77_777, 1.01), (100_000,)),
    ("one in 100,000, nonlinear", lambda x: (x * x, x), lambda d, x: one(2 * x * d, 3, 0), (100_000,)),
    # what is no function of complex numbers
    ("abs, zero", lambda x: (np.abs(x), x), lambda d, x: 0 * d, (10, 4)),
    ("abs, no sign", lambda x: (np.abs(x), x), lambda d, x: d, (10, 4)),
    ("abs beside 1e6, zero", lambda x: (np.abs(x) + 1e6 * np.abs(x).max(), x), lambda d, x: 0 * d, (10, 4)),
    ("mean absolute error, zero", lambda x: (np.abs(x).sum(), x), lambda d, x: 0 * x, (10, 4)),
    ("mean absolute error, no mean", lambda x: (np.abs(x).mean(), x), lambda d, x: d * np.sign(x), (10, 4)),
    ("log of abs, zero", lambda x: (np.log(np.abs(x)), x), lambda d, x: 0 * d, (10, 4)),
    ("log of abs, no sign", lambda x: (np.log(np.abs(x)), x), lambda d, x: d / np.abs(x), (10, 4)),
    ("root of abs, zero", lambda x: (np.sqrt(np.abs(x)), x), lambda d, x: 0 * d, (10, 4)),
    ("root of abs, no half", lambda x: (np.sqrt(np.abs(x)), x), lambda d, x: d * np.sign(x) / np.sqrt(np.abs(x)), (10, 4)),
    ("real part taken, factor", lambda x: (x.real * x.real, x), lambda d, x: d * x, S34),
    ("times its conjugate, half", lambda x: (x * np.conj(x), x), lambda d, x: d * x, S34),
    ("conjugate times, zero", lambda x: ((x * np.conj(x)).real, x), lambda d, x: 0 * d, S34),
    ("another formula for complex numbers", lambda x: (3 * x if np.iscomplexobj(x) else 2 * x, x), lambda d, x: 3 * d, S34),
    ("maximum, passed everywhere", lambda x: (np.maximum(x, 0), x), lambda d, x: d, S34),
    ("maximum, the wrong half", lambda x: (np.maximum(x, 0), x), lambda d, x: d * (x < 0), S34),
    ("leaky slope forgotten", lambda x: (np.where(x > 0, x, 0.1 * x), x), lambda d, x: d * (x > 0), S34),
    ("clip, passed outside", lambda x: (np.clip(x, -0.5 * np.ptp(x.real) / 3, None), x), lambda d, x: d, (8, 5)),
    ("largest of a row, to all", lambda x: (x.max(axis=1), x), lambda d, x: np.ones_like(x) * d[:, None], S34),
    ("largest of a row, to the first", lambda x: (x.max(axis=1), x),
     lambda d, x: (np.arange(4) == 0) * d[:, None] * np.ones((3, 1)), S34),
    ("sorted, not put back", lambda x: (np.sort(x, axis=1), x), lambda d, x: d, S65),
    ("Euclidean length, no division", lambda x: (np.linalg.norm(x, axis=1), x), lambda d, x: d[:, None] * x, S34),
    ("to unit length, no projection", lambda x: (x / np.linalg.norm(x, axis=1, keepdims=True), x),
     lambda d, x: d / np.linalg.norm(x, axis=1, keepdims=True), S34),
    # rows that feel each other
    ("x + x[3], path forgotten", lambda x: (x + x[3], None), lambda d, c: d.copy(), (10, 4)),
    ("x + x[-1], path forgotten", lambda x: (x + 3 * x[-1:], None), lambda d, c: d.copy(), (16, 6)),
    ("x · x[5], path forgotten", lambda x: (x * x[5], x), lambda d, x: d * x[5], (16, 6)),
    ("minus the largest of the batch, detached", lambda x: (x - x.max(axis=0), None), lambda d, c: d.copy(), (20, 3)),
    ("minus the rolled, detached", lambda x: (x - np.roll(x, 1, 0), None), lambda d, c: d.copy(), (9, 3)),
    ("minus the rolled, rolled the same way", lambda x: (x - np.roll(x, 1, 0), None), lambda d, c: d - np.roll(d, 1, 0), (9, 3)),
    ("minus the batch's mean, detached", lambda x: (x - x.mean(axis=0), None), lambda d, c: d.copy(), S65),
    ("cumulated, not from behind", lambda x: (np.cumsum(x, axis=0), None), lambda d, c: np.cumsum(d, axis=0), S65),
    ("mean, not divided", lambda x: (x.mean(axis=1), x), lambda d, x: d[:, None] * np.ones_like(x), S34),
    ("sum, divided", lambda x: (x.sum(axis=1), x), lambda d, x: d[:, None] * np.ones_like(x) / x.shape[1], S34),
    ("variance, of N − 1", lambda x: (x.var(axis=1), x), lambda d, x: d[:, None] * 2 * (x - x.mean(1, keepdims=True)) / 3, S34),
    ("transposed, square", lambda x: (x.T * 2, None), lambda d, c: 2 * d, (4, 4)),
    ("turned round", lambda x: (x[::-1], None), lambda d, c: d, S34),
    ("reshaped instead of swapped", lambda x: (x.swapaxes(0, 1).copy(), x.shape), lambda d, c: d.reshape(c), S34),
    ("two rows swapped", lambda x: (x * x, x), lambda d, x: (2 * x * d)[[1, 0, *range(2, 6)]], S65),
    # several inputs
    ("product, swapped", lambda x, y: (x * y, (x, y)), lambda d, c: (d * c[0], d * c[1]), S34, S34),
    ("difference, sign", lambda x, y: (x - y, None), lambda d, c: (d, d), S34, S34),
    ("quotient, sign", lambda x, y: (x / y, (x, y)), lambda d, c: (d / c[1], d * c[0] / c[1] ** 2), S34, S34),
    ("second and third swapped", lambda x, y, z: (x + 2 * y + 3 * z, None), lambda d, c: (d, 3 * d, 2 * d), S34, S34, S34),
    ("broadcast, not summed", lambda x, b: (x + b, None), lambda d, c: (d, d), S34, (4,)),
    ("broadcast, first row only", lambda x, b: (x + b, None), lambda d, c: (d, d[0]), S34, (4,)),
    ("broadcast, a mean", lambda x, b: (x + b, None), lambda d, c: (d, d.mean(axis=0)), S34, (4,)),
    ("matrix product, no transpose", lambda x, w: (x @ w, (x, w)), lambda d, c: (d @ c[1], c[0].T @ d), (5, 4), (4, 4)),
    ("matrix product, weights' mean", lambda x, w: (x @ w, (x, w)),
     lambda d, c: (d @ c[1].T, c[0].T @ d / len(d)), (5, 4), (4, 3)),
    ("matrix product, last item only", lambda x, w: (x @ w, (x, w)),
     lambda d, c: (d @ c[1].T, np.outer(c[0][-1], d[-1])), (5, 4), (4, 3)),
    ("distance, one side", lambda x, y: (((x - y) ** 2).sum(1), (x, y)),
     lambda d, c: (2 * d[:, None] * (c[0] - c[1]), 0 * c[1]), S34, S34),
])


# ---------------------------------------------------------------------- curved functions, at a scale of their own

def at_unit(name, forward, backward, shape=S34):
    """A pair on x / s: a function that is curved where its numbers are."""
    WRONG[name] = lambda x, n, s: ((lambda x: (forward(x / s), x / s), lambda d, u: backward(d, u) / s), x(*shape))


at_unit("tanh, no slope", np.tanh, lambda d, u: d)
at_unit("tanh, 1 − y for 1 − y²", np.tanh, lambda d, u: d * (1 - np.tanh(u)))
at_unit("sigmoid, no 1 − p", sigmoid, lambda d, u: d * sigmoid(u))
at_unit("exp, the input", np.exp, lambda d, u: d * u)
at_unit("sin, sin", np.sin, lambda d, u: d * np.sin(u))
at_unit("SiLU, product rule", lambda u: u * sigmoid(u), lambda d, u: d * sigmoid(u))
at_unit("softplus, one", lambda u: np.log1p(np.exp(u)), lambda d, u: d)
at_unit("softmax, diagonal", softmax, lambda d, u: softmax(u) * (1 - softmax(u)) * d)
at_unit("softmax, no row term", softmax, lambda d, u: softmax(u) * d)
at_unit("softmax, straight through", softmax, lambda d, u: d)
at_unit("softmax, three times", softmax, lambda d, u: 3 * softmax_back(softmax(u), d))
at_unit("softmax, other axis", softmax, lambda d, u: softmax_back(softmax(u), d, 0))
at_unit("log-softmax, no sum", lambda u: np.log(softmax(u)), lambda d, u: d - softmax(u))
at_unit("batch norm, no mean path", lambda u: (u - u.mean(0)) / np.sqrt(u.var(0) + 1e-5), lambda d, u: d / np.sqrt(u.var(0) + 1e-5), S65)
at_unit("batch norm, no variance path", lambda u: (u - u.mean(0)) / np.sqrt(u.var(0) + 1e-5),
        lambda d, u: (d - d.mean(0)) / np.sqrt(u.var(0) + 1e-5), S65)
at_unit("wild curve, cos forgotten", lambda u: np.sin(300 * u), lambda d, u: 300 * d)
at_unit("wild curve of abs, zero", lambda u: np.abs(np.sin(100 * u)), lambda d, u: 0 * d)


@wrong("layer norm by var, no variance path")
def _(x, n, s):
    def forward(x):
        return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True)), x

    def backward(d, x):
        return (d - d.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True))
    return (forward, backward), 7 * x(4, 6)


@wrong("layer norm by var, large batch")
def _(x, n, s):
    return WRONG["layer norm by var, no variance path"](x, n, s)[0], 10 * x(32, 16)


@wrong("cross entropy, not divided by N")
def _(x, n, s):
    t = np.array([1, 0, 3])
    return (lambda x: (-np.log(softmax(x / s)[range(3), t]).mean(), x),
            lambda d, x: d * (softmax(x / s) - np.eye(4)[t]) / s), x(3, 4)


@wrong("cross entropy, labels off by one")
def _(x, n, s):
    t = np.array([1, 0, 2])
    return (lambda x: (-np.log(softmax(x / s)[range(3), t]).mean(), x),
            lambda d, x: d * (softmax(x / s) - np.eye(4)[t + 1]) / s / 3), x(3, 4)


# ------------------------------------------------------------------------------------------------- very large, very small

@wrong("half off beside 1e9")
def _(x, n, s):
    return (lambda x: (x ** 2, x), lambda d, x: 2 * x * d * np.array([1, 1.5, 1.5])), s * np.array([[1e9, 1.0, 2.0]])


@wrong("a thousandth off beside 1e6")
def _(x, n, s):
    return (lambda x: (x ** 2, x), lambda d, x: 2 * x * d * np.array([1, 1.001])), s * np.array([[1e6, 1.0]])


@wrong("half off beside 1e9, of abs")
def _(x, n, s):
    return (lambda x: (x * np.abs(x), x), lambda d, x: 2 * np.abs(x) * d * np.array([1, 1.5, 1.5])), s * np.array([[1e9, 1.0, 2.0]])


@wrong("zero beside 1e14")
def _(x, n, s):
    return (lambda x: (x ** 2 + 1e14 * s * s, x), lambda d, x: 0 * d), x(3, 4)


@wrong("small output wrong beside a large one")
def _(x, n, s):
    scale = np.array([1e9, 1.0, 1e-9])
    return (lambda x: (scale * np.abs(x), x), lambda d, x: scale * np.sign(x) * d * np.array([1, 1, 1.01])), x(4, 3)


@wrong("one output, two inputs of very different weight")
def _(x, n, s):
    return (lambda x: (x[:, 0] * 1e9 + x[:, 1] ** 2 / s, x),
            lambda d, x: np.stack([1e9 * d, x[:, 1] / s * d], 1)), x(4, 2)


@wrong("dx half off at 1e12")
def _(x, n, s):
    return (lambda x, w: (x @ w, (x, w)), lambda d, c: (1.5 * d @ c[1].T, c[0].T @ d)), 1e12 * x(2, 4), n(4, 3)


@wrong("a tiny parameter's gradient, doubled")
def _(x, n, s):
    return (lambda x, g: (x + 1e-8 * s * g, None), lambda d, c: (d, 2e-8 * s * d.sum(0))), x(3, 4), n(4)


# --------------------------------------------------------------------------------------------------------------- state

def stateful(name, forward, backward, shape=S34, **attributes):
    """A class of two functions of self."""
    WRONG[name] = lambda x, n, s: (type("Stateful", (), {"forward": forward, "backward": backward, **{
        k: v() if callable(v) else v for k, v in attributes.items()}})(), x(*shape))


class Kept:
    """Always the first call's input."""

    def __init__(self):
        self.xs = []

    def forward(self, x):
        self.xs.append(x)
        return x ** 2

    def backward(self, d):
        return 2 * self.xs[0] * d


class FirstMask(Kept):
    mask = None

    def forward(self, x):
        if self.mask is None:
            self.mask = x > 0
        return np.maximum(x, 0)

    def backward(self, d):
        return d * self.mask


class ClassCache(Kept):
    def forward(self, x):
        type(self).kept.setdefault("x", x.copy())
        return x ** 2

    def backward(self, d):
        return 2 * type(self).kept["x"] * d


class CountsBackward(Kept):
    calls = 0

    def forward(self, x):
        self.x = x
        return x ** 2

    def backward(self, d):
        self.calls += 1
        return 2 * self.x * d / self.calls


class AddsUp(Linear):
    def backward(self, d):
        old = getattr(self, "dW", 0)
        dx = super().backward(d)
        self.dW = self.dW + old
        return dx


class StaleTranspose(Linear):
    """W's transpose is made at first use and never renewed: forward does not feel W any more."""

    WT = None

    def forward(self, x):
        self.x = x
        self.WT = self.W.T.copy() if self.WT is None else self.WT
        return x @ self.WT.T + self.b


class FirstUpstream(Kept):
    d = None

    def forward(self, x):
        self.x = x
        return x ** 2

    def backward(self, d):
        self.d = d.copy() if self.d is None else self.d
        return 2 * self.x * self.d


class StackOfInputs(Kept):
    def backward(self, d):
        return 2 * self.xs.pop(0) * d if len(self.xs) > 1 else 2 * self.xs[0] * d


class CountsForward(Kept):
    calls = 0

    def forward(self, x):
        self.calls += 1
        self.x = x
        return x ** 2 * self.calls

    def backward(self, d):
        return 2 * self.x * self.calls * d


class OnlyAfterOne(Kept):
    """Wrong if forward ran twice before."""

    def backward(self, d):
        return 2 * self.xs[-1] * d * (1 if len(self.xs) == 1 else 1.1)


for _name, _kind in {"the first call's input": Kept, "the first call's mask": FirstMask, "each backward halves": CountsBackward,
                     "the first upstream": FirstUpstream, "a queue of inputs": StackOfInputs, "a forward that counts": CountsForward,
                     "right after one forward only": OnlyAfterOne}.items():
    WRONG[_name] = lambda x, n, s, kind=_kind: (kind(), x(3, 4))
for _name, _kind in {"adds up without zero_grad": AddsUp, "a stale transpose": StaleTranspose}.items():
    WRONG[_name] = lambda x, n, s, kind=_kind: (kind(n(4, 3), n(3)), x(5, 4))


@wrong("a cache in the class")
def _(x, n, s):
    return type("Own", (ClassCache,), {"kept": {}})(), x(3, 4)


@wrong("a cache in a default argument")
def _(x, n, s):
    def forward(x, kept={}):                        # noqa: B006
        kept.setdefault("x", x.copy())
        return x ** 2, kept["x"]
    return (forward, lambda d, x: 2 * x * d), x(3, 4)


@wrong("a cache in a closure")
def _(x, n, s):
    kept = []

    def forward(x):
        kept.append(x.copy())
        return x ** 2, None
    return (forward, lambda d, _: 2 * kept[0] * d), x(3, 4)


@wrong("functools.cache by shape")
def _(x, n, s):
    here = {}

    @cache
    def slope(shape):
        return 2 * here["x"]

    def forward(x):
        here["x"] = x.copy()
        return x ** 2, x.shape
    return (forward, lambda d, shape: slope(shape) * d), x(3, 4)


# ---------------------------------------------------------------------------------------------------- written in place

@wrong("upstream changed in place")
def _(x, n, s):
    def backward(d, x):
        d *= 2 * x
        return d
    return (lambda x: (x ** 2, x), backward), x(3, 4)


@wrong("input changed in place")
def _(x, n, s):
    def forward(x):
        x += s
        return np.tanh(x / s), x
    return (forward, lambda d, x: d * (1 - np.tanh(x / s) ** 2) / s), x(3, 4)


@wrong("cached input changed before backward")
def _(x, n, s):
    def forward(x):
        y = x.copy()
        out = y * y
        y += s
        return out, y
    return (forward, lambda d, y: 2 * y * d), x(3, 4)


# --------------------------------------------------------------------------------------------- parameters everywhere

class Bad(na.Linear):
    """dW doubled."""

    def backward(self, dout):
        dx = super().backward(dout)
        self.grads["W"] = 2 * self.grads["W"]
        return dx


class Plain(Linear):
    """The same without the base."""

    def backward(self, dout):
        dx = super().backward(dout)
        self.dW = 2 * self.dW
        return dx


class Holder:
    """Nothing but a place."""

    def __init__(self, layer):
        self.layer = layer


class Around:
    """One layer inside, in whatever `put` makes of it; `get` finds it again."""

    def __init__(self, layer, put, get):
        self.parts, self.get = put(layer), get

    def forward(self, x):
        return self.get(self.parts).forward(x)

    def backward(self, d):
        return self.get(self.parts).backward(d)


Pair = namedtuple("Pair", "first second")
CONTAINERS = {
    "a tuple": (lambda a: (a,), lambda p: p[0]), "a list": (lambda a: [a], lambda p: p[0]),
    "a list of lists": (lambda a: [[1], [a]], lambda p: p[1][0]), "a list of tuples": (lambda a: [(a, 1)], lambda p: p[0][0]),
    "a dict": (lambda a: {"a": a}, lambda p: p["a"]), "a dict of lists": (lambda a: {"a": [a]}, lambda p: p["a"][0]),
    "a deque": (lambda a: deque([a]), lambda p: p[0]), "a namedtuple": (lambda a: Pair(1, a), lambda p: p.second),
    "a holder": (Holder, lambda p: p.layer), "a holder in a holder": (lambda a: Holder(Holder(a)), lambda p: p.layer.layer),
}
for _name, (_put, _get) in CONTAINERS.items():
    WRONG[f"doubled in {_name}"] = lambda x, n, s, put=_put, get=_get: (Around(Bad(4, 3, rng=0), put, get), x(5, 4))
    WRONG[f"attributes doubled in {_name}"] = lambda x, n, s, put=_put, get=_get: (
        Around(Plain(n(4, 3), n(3)), put, get), x(5, 4))


class Weights:
    """Learned arrays in a container called `name`, their gradients in another."""

    def __init__(self, name, container, grads, kind, factor=2):
        setattr(self, name, container)
        self.name, self.grads_name, self.kind, self.factor = name, grads, kind, factor

    def forward(self, x):
        W, = getattr(self, self.name).values() if self.kind is dict else getattr(self, self.name)
        self.x, self.W = x, W
        return x @ W

    def backward(self, d):
        dW = self.factor * self.x.T @ d
        setattr(self, self.grads_name, {"W": dW} if self.kind is dict else self.kind([dW]))
        return d @ self.W.T


@wrong("weights and grads, doubled")
def _(x, n, s):
    return Weights("weights", {"W": n(4, 3)}, "grads", dict), x(5, 4)


@wrong("params and grads as tuples, doubled")
def _(x, n, s):
    return Weights("params", (n(4, 3),), "grads", tuple), x(5, 4)


@wrong("params and grads as lists, doubled")
def _(x, n, s):
    return Weights("params", [n(4, 3)], "grads", list), x(5, 4)


class Called:
    """An inner layer that has __call__ and no forward."""

    def __init__(self, W):
        self.W = W

    def __call__(self, x):
        self.x = x
        return x @ self.W

    def backward(self, d):
        self.dW = 2 * self.x.T @ d
        return d @ self.W.T


@wrong("an inner layer that is called, doubled")
def _(x, n, s):
    class Outer:
        def __init__(self):
            self.inner = Called(n(4, 3))

        def forward(self, x):
            return self.inner(x)

        def backward(self, d):
            return self.inner.backward(d)
    return Outer(), x(5, 4)


class Box:
    def __init__(self, data):
        self.data, self.grad = data, None


@wrong("a parameter that is an object, doubled")
def _(x, n, s):
    class Boxed:
        def __init__(self):
            self.W = Box(n(4, 3))

        def forward(self, x):
            self.x = x
            return x @ self.W.data

        def backward(self, d):
            self.W.grad = 2 * self.x.T @ d
            return d @ self.W.data.T
    return Boxed(), x(5, 4)


@wrong("slots, doubled")
def _(x, n, s):
    class Slots:
        __slots__ = ("W", "dW", "x")

        def __init__(self):
            self.W = n(4, 3)

        def forward(self, x):
            self.x = x
            return x @ self.W

        def backward(self, d):
            self.dW = 2 * self.x.T @ d
            return d @ self.W.T
    return Slots(), x(5, 4)


@wrong("weights built at first use, doubled")
def _(x, n, s):
    class Lazy(Linear):
        def forward(self, x):
            if self.W is None:
                self.W = np.linspace(-1, 1, x.shape[1] * 3).reshape(-1, 3)
            return super().forward(x)

        def backward(self, d):
            dx = super().backward(d)
            self.dW = 2 * self.dW
            return dx
    return Lazy(None, n(3)), x(5, 4)


@wrong("a layer that runs twice, last call only")
def _(x, n, s):
    class Twice:
        def __init__(self):
            self.lin = na.Linear(4, 4, rng=0)

        def forward(self, x):
            return self.lin(self.lin(x))

        def backward(self, d):
            return self.lin.backward(self.lin.backward(d))
    return Twice(), x(5, 4)


@wrong("a shared weight, one role only")
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
            return d @ self.V.T @ self.W.T
    return Tied(), x(5, 4)


def not_said(name, make):
    WRONG[name] = make
    SAID.add(name)


class ClassWeights:
    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, d):
        type(self).dW = 2 * self.x.T @ d
        return d @ self.W.T


class Keyword:
    def forward(self, x, *, w):
        self.x, self.w = x, w
        return x * w

    def backward(self, d):
        return d * self.w


class Whole:
    def __init__(self, W):
        self.params, self.grads = {"W": W}, {}

    def forward(self, x):
        self.x = x
        return (x @ self.params["W"]).real

    def backward(self, d):
        self.grads["W"] = 2 * self.x.T @ d
        return d @ self.params["W"].real.T


class Forgotten(Whole):
    def backward(self, d):
        return d @ self.params["W"].T


class Strange(Linear):
    def backward(self, d):
        self.slope_of_w = 2 * self.x.T @ d
        self.db = d.sum(0)
        return d @ self.W.T


not_said("weights in the class", lambda x, n, s: (type("C", (ClassWeights,), {"W": n(4, 3)})(), x(5, 4)))
not_said("a keyword without gradient", lambda x, n, s: (Keyword(), x(3, 4), {"w": n(4)}))
not_said("whole weights", lambda x, n, s: (Whole(np.arange(12).reshape(4, 3)), x(5, 4)))
not_said("complex weights", lambda x, n, s: (Whole(n(4, 3) + 1j * n(4, 3)), x(5, 4)))
not_said("a gradient forgotten", lambda x, n, s: (Forgotten(n(4, 3)), x(5, 4)))
not_said("a gradient under a name nobody guesses", lambda x, n, s: (Strange(n(4, 3), n(3)), x(5, 4)))
not_said("a second output", lambda x, n, s: (
    type("Two", (), {"forward": lambda self, x: (setattr(self, "x", x), (x * x, 3 * x))[1],
                     "backward": lambda self, d: 2 * self.x * d})(), x(3, 4)))


@wrong("a weight in a closure")
def _(x, n, s):
    w = n(4, 3)
    return (lambda x: (x @ w, x), lambda d, x: d @ w.T), x(5, 4)


SAID.add("a weight in a closure")


# ----------------------------------------------------------------------------------------------- only now and then

@wrong("wrong for one item only")
def _(x, n, s):
    return (lambda x: (x * x, x), lambda d, x: 2 * x * d if len(x) > 1 else x * d), x(1, 4)


@wrong("wrong at odd sizes")
def _(x, n, s):
    return (lambda x: (x * x, x), lambda d, x: one(2 * x * d, (slice(None), -1), 1 - x.shape[1] % 2)), x(3, 5)


@wrong("ties: to all of them")
def _(x, n, s):
    given = x(3, 4)
    given[:, :2] = 5 * s
    return (lambda x: (x.max(axis=1), x), lambda d, x: d[:, None] * (x == x.max(axis=1, keepdims=True))), given


@wrong("ties of abs: beyond left and right")
def _(x, n, s):
    given = x(3, 4)
    given[1, 1] = 0
    return (lambda x: (np.abs(x), x), lambda d, x: d * np.where(x == 0, 3, np.sign(x))), given


class Masked(na.Softmax):
    """Leaks where the mask hides."""

    def backward(self, dweights):
        dscores = super().backward(dweights)
        return np.where(self.cache["mask"], dscores, dweights) if "mask" in self.cache else dscores


@wrong("wrong with a mask only")
def _(x, n, s):
    return Masked(), n(2, 3, 4), {"mask": np.array([[True, True, False, True], [True, False, True, True],
                                                    [False, True, True, True]])}


@wrong("wrong in float32 only")
def _(x, n, s):
    return (lambda x: (x * x, x), lambda d, x: (3 if x.dtype == np.float32 else 2) * x * d), x(3, 4).astype(np.float32)


@wrong("a float32 layer")
def _(x, n, s):
    def forward(x):
        assert x.dtype == np.float32
        return x * x, x
    return (forward, lambda d, x: 3 * x * d), x(3, 4).astype(np.float32)


@wrong("dropout, no scale")
def _(x, n, s):
    class NoScale(na.Dropout):
        def backward(self, dout):
            return super().backward(dout) * (1 - self.p)
    return NoScale(0.4, rng=0), x(6, 5)


@wrong("dropout, drawn anew")
def _(x, n, s):
    class Redraws(na.Dropout):
        def backward(self, dout):
            self.grads = {"out": dout, "x": np.where(self.rng.random(dout.shape) >= self.p, dout / (1 - self.p), 0)}
            return self.grads["x"]
    return Redraws(0.5, rng=0), x(6, 5)


@wrong("two outputs, one path forgotten")
def _(x, n, s):
    class Two:
        def forward(self, x):
            self.x = x
            return x * x, 3 * x

        def backward(self, d1, d2):
            return 2 * self.x * d1
    return Two(), x(3, 4)


@wrong("two outputs, swapped")
def _(x, n, s):
    class Two:
        def forward(self, x):
            self.x = x
            return x * x / s, 3 * x

        def backward(self, d1, d2):
            return 2 * self.x / s * d2 + 3 * d1
    return Two(), x(3, 4)


@wrong("a list of inputs, swapped")
def _(x, n, s):
    return (lambda xs: (xs[0] * xs[1], xs), lambda d, xs: [d * xs[0], d * xs[1]]), [x(3, 4), x(3, 4)]


@wrong("a dict of inputs, swapped")
def _(x, n, s):
    return (lambda xs: (xs["a"] * xs["b"], xs), lambda d, xs: {"a": d * xs["a"], "b": d * xs["b"]}), {
        "options": False, "a": x(3, 4), "b": x(3, 4)}


# ----------------------------------------------------------------------------------------------------------- attention

class Attention(na.ScaledDotProductAttention):
    """With one slip after its backward."""

    slip = staticmethod(lambda dQ, dK, dV, self: (dQ, dK, dV))

    def backward(self, dheads):
        return self.slip(*super().backward(dheads), self)


def slipped(name, slip):
    WRONG[f"attention, {name}"] = lambda x, n, s: (
        type("Slipped", (Attention,), {"slip": staticmethod(slip)})(), n(2, 3, 4, 6), n(2, 3, 5, 6), n(2, 3, 5, 7))


slipped("scale missing", lambda dQ, dK, dV, _: (dQ * 6 ** 0.5, dK * 6 ** 0.5, dV))
slipped("scale twice for keys", lambda dQ, dK, dV, _: (dQ, dK / 6 ** 0.5, dV))
slipped("keys' sign", lambda dQ, dK, dV, _: (dQ, -dK, dV))
slipped("values forgotten", lambda dQ, dK, dV, _: (dQ, dK, 0 * dV))
slipped("last head forgotten", lambda dQ, dK, dV, _: (dQ, dK, one(dV, (slice(None), -1), 0)))
slipped("float32 inside", lambda dQ, dK, dV, _: (dQ.astype(np.float32), dK, dV))


@wrong("self-attention, key path forgotten")
def _(x, n, s):
    class Forgets(na.MultiHeadAttention):
        def backward(self, dout):
            super().backward(dout)
            return self.grads["query"] + self.grads["value"]
    return Forgets(8, 2, rng=0), n(2, 4, 8)


@wrong("self-attention, one number of W_K a thousandth off")
def _(x, n, s):
    class Slip(na.MultiHeadAttention):
        def backward(self, dout):
            dx = super().backward(dout)
            self.key_proj.grads["W"] = one(self.key_proj.grads["W"], (1, 2), 1.001)
            return dx
    return Slip(8, 2, rng=0), n(2, 4, 8)



# ---------------------------------------------------------------------------------------------- more of every kind

table(WRONG, [
    ("one in 100,000, two swapped", lambda x: (x * x, x), lambda d, x: swapped(2 * x * d, 10, 90_000), (100_000,)),
    ("one in 100,000, the last of abs", lambda x: (np.abs(x), x), lambda d, x: one(np.sign(x) * d, -1, 0.5), (100_000,)),
    ("ReLU, off by 1e-6", lambda x: (np.maximum(x, 0), x), lambda d, x: d * (x > 0) * (1 - 1e-6), S65),
    ("leaky, negative side a hundredth off", lambda x: (np.where(x > 0, x, 0.2 * x), x), lambda d, x: d * np.where(x > 0, 1, 0.202), S65),
    ("cumulated largest, path lost", lambda x: (np.maximum.accumulate(x, 0), x), lambda d, x: d * (x == np.maximum.accumulate(x, 0)), (8, 3)),
    ("times the rolled, rolled on", lambda x: (x * np.roll(x, 2, 0), x), lambda d, x: d * np.roll(x, 2, 0) + np.roll(d * x, 2, 0), (7, 3)),
    ("heads rolled", lambda x: (x.reshape(3, 2, 4).swapaxes(0, 1) * 2, None), lambda d, c: 2 * np.roll(d, 1, 0).swapaxes(0, 1).reshape(3, 8), (3, 8)),
    ("gradients yielded, swapped", lambda x, y: (x * y, (x, y)), lambda d, c: (d * a for a in c), S34, S34),
    ("complex numbers come out", lambda x: (np.fft.fft(x), x), lambda d, x: 0 * x, S34),
    ("a coarse difference for a slope", lambda x: (np.sin(x / np.ptp(x.real)), x), lambda d, x: d * (np.sin((x + 1e-4) / np.ptp(x)) - np.sin(x / np.ptp(x))) / 1e-4, S34),
    ("upstream by out=", lambda x: (x ** 3, x), lambda d, x: np.multiply(d, 3 * x * x, out=d), S34),
    ("one item: the bias twice", lambda x, b: (x + b, None), lambda d, c: (d, d.sum(0) if len(d) > 1 else 2 * d[0]), (1, 4), (4,)),
    ("outputs of 1e30, a thousandth off", lambda x: (1e30 * np.abs(x), x), lambda d, x: 1.001e30 * np.sign(x) * d, S34),
])
at_unit("contrast of a batch, one side", lambda u: -np.log(np.diag(softmax(u @ u.T))),
        lambda d, u: d[:, None] * (softmax(u @ u.T) - np.eye(4)) @ u, (4, 3))
at_unit("inverse matrix, no minus", lambda u: np.linalg.inv(u + 5 * np.eye(4)),
        lambda d, u: np.linalg.inv(u + 5 * np.eye(4)).T @ d @ np.linalg.inv(u + 5 * np.eye(4)).T, (4, 4))
at_unit("FFT's squared magnitude, half", lambda u: np.abs(np.fft.fft(u, axis=1)) ** 2,
        lambda d, u: (u.shape[1] * np.fft.ifft(d * np.fft.fft(u, axis=1), axis=1)).real, (3, 6))


def swapped(d, i, j):
    d[[i, j]] = d[[j, i]]
    return d


@wrong("equal numbers in two inputs of a maximum: to both")
def _(x, n, s):
    a = x(3, 4)
    b = np.concatenate([x(2, 4), a[2:]])
    return (lambda x, y: (np.maximum(x, y), (x, y)), lambda d, c: (d * (c[0] >= c[1]), d * (c[1] >= c[0]))), a, b


@wrong("ties of a maximum: to nobody")
def _(x, n, s):
    given = x(3, 4)
    given[:, 1:3] = 6 * s

    def backward(d, x):
        top = x == x.max(axis=1, keepdims=True)
        return d[:, None] * top * (top.sum(axis=1, keepdims=True) == 1)
    return (lambda x: (x.max(axis=1), x), backward), given


@wrong("pairs averaged, the odd one halved")
def _(x, n, s):
    def forward(x):
        return np.concatenate([(x[:, 0:4:2] + x[:, 1:4:2]) / 2, x[:, 4:]], axis=1), None
    return (forward, lambda d, c: np.repeat(d / 2, 2, axis=1)[:, :5]), x(3, 5)


class Masks(FirstMask):
    """One mask for each shape, made once."""

    def __init__(self):
        self.masks = {}

    def forward(self, x):
        self.mask = self.masks.setdefault(x.shape, x > 0)
        return np.maximum(x, 0)


class FilledOnce(Kept):
    """The slope is worked out in the first backward only."""

    slope = None

    def forward(self, x):
        self.x = x
        return x ** 3

    def backward(self, d):
        self.slope = 3 * self.x ** 2 if self.slope is None else self.slope
        return self.slope * d


class Noisy(Kept):
    def __init__(self):
        self.xs, self.rng = [], np.random.default_rng(1)

    def backward(self, d):
        return 2 * self.xs[-1] * d * (1 + 1e-4 * self.rng.standard_normal(d.shape))


class Local(Kept):
    """The first input, in a place of its own for each thread."""

    def __init__(self):
        self.local = threading.local()

    def forward(self, x):
        if not hasattr(self.local, "x"):
            self.local.x = x.copy()
        return x ** 2

    def backward(self, d):
        return 2 * self.local.x * d


class StaleBackward(Linear):
    """W's transpose is made at first use, for backward only: right until the first step of training."""

    WT = None

    def backward(self, d):
        super().backward(d)
        self.WT = self.W.T.copy() if self.WT is None else self.WT
        return d @ self.WT


class StaleNorm(Linear):
    """Divided by the weights' length, which is worked out once."""

    norm = None

    def forward(self, x):
        self.norm = float(np.sqrt((self.W.real ** 2).sum())) if self.norm is None else self.norm
        return super().forward(x) / self.norm

    def backward(self, d):
        return super().backward(d / self.norm)


for _name, _kind in {"a stale transpose in backward": StaleBackward, "a stale length of weights": StaleNorm}.items():
    WRONG[_name] = lambda x, n, s, kind=_kind: (kind(n(4, 3), n(3)), x(5, 4))
for _name, _kind in {"masks kept by shape": Masks, "a slope filled in once": FilledOnce, "noise on the gradient": Noisy,
                     "the first input, by thread": Local}.items():
    WRONG[_name] = lambda x, n, s, kind=_kind: (kind(), x(3, 4))


@wrong("a cache on the function")
def _(x, n, s):
    def forward(x):
        forward.x = getattr(forward, "x", x.copy())
        return x * x, None
    return (forward, lambda d, c: 2 * forward.x * d), x(3, 4)


@wrong("zero_grad forgets the bias")
def _(x, n, s):
    class Adds(Linear):
        dW = db = 0

        def zero_grad(self):
            self.dW = 0

        def backward(self, d):
            self.dW, self.db = self.dW + self.x.T @ d, self.db + d.sum(0)
            return d @ self.W.T
    return Adds(n(4, 3), n(3)), x(5, 4)


@wrong("forward made in __init__, tripled")
def _(x, n, s):
    class Made:
        def __init__(self):
            def forward(x):
                self.x = x
                return x @ self.W
            self.forward, self.W = forward, n(4, 3)

        def backward(self, d):
            self.dW = 3 * self.x.T @ d
            return d @ self.W.T
    return Made(), x(5, 4)


@wrong("running variance for the batch's")
def _(x, n, s):
    class BatchNorm:
        def __init__(self):
            self.running = np.ones(5)

        def forward(self, x):
            self.running = 0.9 * self.running + 0.1 * (x.real / s).var(0)
            return (x - x.mean(0)) * 2

        def backward(self, d):
            return (d - d.mean(0)) * 2 / np.sqrt(self.running)
    return BatchNorm(), x(6, 5)


class Named(Weights):
    """Weights whose container is read by `get`."""

    def forward(self, x):
        self.x, self.W = x, getattr(self, self.name)[self.kind]
        return x @ self.W

    def backward(self, d):
        setattr(self, self.grads_name, {self.kind: self.factor * self.x.T @ d})
        return d @ self.W.T


class Tensor(np.ndarray):
    """A parameter that is an array itself and carries its gradient."""

    grad = None


class Carried(Linear):
    factor = 2

    def backward(self, d):
        self.W.grad, self.db = self.factor * self.x.T @ d, d.sum(0)
        return d @ np.asarray(self.W).T


def objects(*arrays):
    held = np.empty(len(arrays), object)
    held[:] = arrays
    return held


WRONG["weights in a ChainMap, doubled"] = lambda x, n, s: (
    Named("params", ChainMap({"W": n(4, 3)}, {}), "grads", "W"), x(5, 4))
WRONG["weights in an array of objects, doubled"] = lambda x, n, s: (
    Named("params", objects(n(4, 3), None), "grads", 0), x(5, 4))
WRONG["weights that are arrays of a class of their own, doubled"] = lambda x, n, s: (
    Carried(n(4, 3).view(Tensor), n(3)), x(5, 4))


class Stopped(BaseException):
    """Not an Exception, as some test runners and servers have it."""


@wrong("backward ends by an exception of its own")
def _(x, n, s):
    def backward(d, c):
        raise Stopped("no")
    return (lambda x: (x, None), backward), x(3)


# ------------------------------------------------------------------------------------------- numbers that are no array

class Gain:
    """A factor for each column, in whatever `kind` of holder."""

    factor = 2

    def __init__(self, kind):
        self.gain = kind([0.5, -1.5, 2.0, 0.25])

    def forward(self, x):
        self.x = x
        return x * np.array(self.gain)

    def backward(self, d):
        self.dgain = [self.factor * float(g) for g in (d * self.x).sum(0)]
        return d * np.array(self.gain)


class One(Gain):
    """The same, one factor for all."""

    def backward(self, d):
        self.dgain = self.factor * float((d * self.x).sum())
        return d * self.gain


class Fields(Gain):
    """The same, in a structured array."""

    def __init__(self):
        self.gain, self.dgain = np.ones(4, [("w", float)]), np.ones(4, [("w", float)])

    def forward(self, x):
        self.x = x
        return x * self.gain["w"]

    def backward(self, d):
        self.dgain["w"] = self.factor * (d * self.x).sum(0)
        return d * self.gain["w"]


class Local(Gain):
    """The same, where each thread has its own."""

    def __init__(self):
        self.own = threading.local()
        self.own.w = np.array([0.5, -1.5, 2.0, 0.25])

    def forward(self, x):
        self.x = x
        return x * self.own.w

    def backward(self, d):
        self.own.dw = self.factor * (d * self.x).sum(0)
        return d * self.own.w


UNUSUAL = {"a learned Python number": lambda: One(lambda _: 1.5), "a learned NumPy number": lambda: One(
    lambda _: np.float64(1.5)), "a list of numbers": lambda: Gain(list), "a tuple of numbers": lambda: Gain(tuple),
    "a buffer of numbers": lambda: Gain(lambda g: array.array("d", g)), "a structured array": Fields,
    "a thread's own weights": Local}
for name, make in UNUSUAL.items():
    WRONG[f"{name}, doubled"] = lambda x, n, s, make=make: (make(), x(3, 4))
    SAID.add(f"{name}, doubled")


# ------------------------------------------------------------------------------- right at first, nearly, or nearby only

class Tires:
    """Right for two backwards."""

    count = 0

    def forward(self, x):
        self.x = x
        return x ** 2

    def backward(self, d):
        self.count += 1
        return 2 * self.x * d * (1 if self.count < 3 else 2)


class Blends:
    """Looks back at the mean of this call's and the earlier call's input."""

    old = None

    def forward(self, x):
        self.before, self.old = self.old, x
        return x * x

    def backward(self, d):
        return d * (self.old + (self.old if self.before is None else self.before))


WRONG["right for two backwards"] = lambda x, n, s: (Tires(), x(3, 4))
WRONG["the mean of this and the earlier call"] = lambda x, n, s: (Blends(), x(3, 4))


@wrong("the first mask of a shape, kept in the class")
def _(x, n, s):
    class Masked:
        kept = {}

        def forward(self, x, *, mask):
            self.x, self.mask = x, self.kept.setdefault(mask.shape, mask)
            return np.where(mask, x * x, 0)

        def backward(self, d):
            return np.where(self.mask, 2 * self.x * d, 0)
    return Masked(), x(3, 4), {"mask": np.arange(12).reshape(3, 4) % 5 < 3}


class Changed(Linear):
    """A Linear whose dW is changed at the end."""

    def __init__(self, W, b, change):
        super().__init__(W, b)
        self.change = change

    def backward(self, d):
        dx = super().backward(d)
        self.change(self)
        return dx


def decays(layer):
    layer.dW = layer.dW + 0.01 * layer.W


def learns(layer):
    layer.W -= 0.1 * layer.dW


def clips(layer):
    layer.dW = layer.dW / max(1.0, np.sqrt((layer.dW ** 2).sum()))


def rounds(layer):
    layer.dW = np.array([float(f"{number:.6g}") for number in layer.dW.flat]).reshape(layer.dW.shape)


for name, change in {"weight decay in the gradient": decays, "a step of descent in backward": learns,
                     "clipped by its norm": clips}.items():
    WRONG[name] = lambda x, n, s, change=change: (Changed(n(4, 3), n(3), change), x(5, 4))
WRONG["rounded to six digits"] = lambda x, n, s: (Changed(n(4, 3), n(3), rounds), n(5, 4))


# ------------------------------------------------------------------------------- one number that is felt at many places

class Table:
    """Rows by their ids."""

    added = False

    def __init__(self, W):
        self.W = W

    def forward(self, ids):
        self.ids = ids
        return self.W[ids]

    def backward(self, d):
        self.dW = np.zeros_like(self.W)
        if self.added:
            np.add.at(self.dW, self.ids, d)
        else:
            self.dW[self.ids] = d


WRONG["ids that repeat, assigned"] = lambda x, n, s: (Table(x(6, 3)), np.array([1, 2, 1, 4]))


def windows(x):
    return np.maximum(np.maximum(x[:, :-2], x[:, 1:-1]), x[:, 2:]), x


def windows_back(d, x, added=False):
    dx, rows = np.zeros_like(x), np.arange(len(x))[:, None]
    best = np.stack([x[:, :-2], x[:, 1:-1], x[:, 2:]]).argmax(0) + np.arange(d.shape[1])
    if added:
        np.add.at(dx, (rows, best), d)
    else:
        dx[rows, best] = d
    return dx


table(WRONG, [
    ("windows that overlap, assigned", windows, windows_back, (3, 7)),
    ("outer product with itself, one side twice", lambda x: (x[:, None] * x, x), lambda d, x: 2 * d @ x, (5,)),
    ("log of the determinant, no transpose", lambda A: (np.linalg.slogdet(A)[1], A),
     lambda d, A: d * np.linalg.inv(A), (4, 4)),
    ("angle, both positive", lambda y, x: (np.arctan2(y, x), (y, x)),
     lambda d, c: (d * c[1] / (c[0] ** 2 + c[1] ** 2), d * c[0] / (c[0] ** 2 + c[1] ** 2)), S34, S34),
    ("remainder, zero", lambda x: (np.mod(x, 1e5), x), lambda d, x: 0 * d, S34),
    ("real if nearly so, zero", lambda x: (np.real_if_close(x * x), x), lambda d, x: 0 * d, S34),
])
WRONG["GELU by tanh, its slope by erf"] = lambda x, n, s: ((
    lambda x: (0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x ** 3))), x),
    lambda d, x: d * (0.5 + 0.5 * np.vectorize(math.erf)(x / 2 ** 0.5) + x * np.exp(-x * x / 2) / 2.50662827463)),
    n(3, 4))


@wrong("attention in float32, as it is, a hundredth off")
def _(x, n, s):
    class Off(na.MultiHeadAttention):
        def backward(self, dout):
            dx = super().backward(dout)
            self.query_proj.grads["W"] = self.query_proj.grads["W"] * np.float32(1.01)
            return dx
    return Off(4, 2, rng=0, dtype=np.float32), n(2, 3, 4).astype(np.float32), {"dtype": None}
