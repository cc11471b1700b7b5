"""What both collections are made of: an entry is a name and a function that makes a layer with its inputs.

    @wrong("square, three for two")
    def _(x, n, s):
        return (lambda x: (x * x, x), lambda d, x: 3 * x * d), x(3, 4)

`x(*shape)` are normal numbers of the scale s under test, `n(*shape)` normal numbers of scale 1.
"""
import numpy as np


class Draw:
    """Normal numbers, others at each call, the same ones for the same seed."""

    def __init__(self, seed, scale):
        self.rng, self.scale = np.random.default_rng(seed), scale

    def __call__(self, *shape):
        return self.scale * self.rng.standard_normal(shape)


def collector(entries):
    """A decorator that puts makers into `entries` under a name."""
    def named(name):
        def put(make):
            assert name not in entries, name
            entries[name] = make
            return make
        return put
    return named


def table(entries, rows):
    """Put whole rows (name, forward, backward, shape, ...) of pairs on inputs of the scale under test."""
    for name, forward, backward, *shapes in rows:
        assert name not in entries, name
        entries[name] = lambda x, n, s, f=forward, b=backward, shapes=shapes: ((f, b), *(x(*shape) for shape in shapes))


def made(make, seed, scale):
    """(layer, inputs, options) of one entry."""
    layer, *inputs = make(Draw([seed, 1], scale), Draw([seed, 2], 1.0), scale)
    last = inputs[-1] if inputs else None
    options = inputs.pop() if isinstance(last, dict) and last.get("options", True) is not False else {}
    return layer, inputs, options


class Linear:
    """W and dW side by side, as everybody writes it."""

    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dout):
        self.dW, self.db = self.x.T @ dout, dout.sum(axis=0)
        return dout @ self.W.T


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def softmax_back(p, d, axis=-1):
    return p * (d - (p * d).sum(axis=axis, keepdims=True))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))
