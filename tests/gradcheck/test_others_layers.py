"""Layers as other people write them: pairs of functions, attributes, lists, losses, composites."""
import numpy as np
import pytest

import numpy_attention as na


def normal(*shape, seed=1):
    return np.random.default_rng([seed, *shape]).standard_normal(shape)


def text(report):
    """The report in one line, however it was wrapped."""
    return " ".join(str(report).split())


def affine_forward(x, w, b):
    return x.reshape(len(x), -1) @ w + b, (x, w, b)


def affine_backward(dout, cache):
    x, w, _ = cache
    return (dout @ w.T).reshape(x.shape), x.reshape(len(x), -1).T @ dout, dout.sum(axis=0)


class Attributes:
    """W and dW side by side."""

    def __init__(self):
        self.W, self.b, self.dW, self.db = normal(4, 3), normal(3), None, None

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dout):
        self.dW, self.db = self.x.T @ dout, dout.sum(axis=0)
        return dout @ self.W.T


class Lists:
    """params and grads as lists, gradients written into the arrays that are there."""

    def __init__(self):
        self.params, self.grads = [normal(4, 3), normal(3)], [np.zeros((4, 3)), np.zeros(3)]

    def forward(self, x):
        W, b = self.params
        self.x = x
        return x @ W + b

    def backward(self, dout):
        self.grads[0][...], self.grads[1][...] = self.x.T @ dout, dout.sum(axis=0)
        return dout @ self.params[0].T


class Dictionaries:
    """params and grads as dictionaries, and a second name for one of the arrays."""

    def __init__(self):
        self.params, self.grads = {"W": normal(4, 3)}, {}
        self.alias = self.params["W"]

    def forward(self, x):
        self.x = x
        return x @ self.alias

    def backward(self, dout):
        self.grads["W"] = self.x.T @ dout
        return {"dx": dout @ self.alias.T}


class Odd:
    """Names that nobody could guess."""

    def __init__(self):
        self.table, self.slope = normal(4, 3), None

    def forward(self, x):
        self.x = x
        return x @ self.table

    def backward(self, dout):
        self.slope = self.x.T @ dout
        return dout @ self.table.T


class Nested:
    """Dictionaries in dictionaries."""

    def __init__(self):
        self.params, self.grads = {"first": {"W": normal(4, 3)}}, {"first": {}}

    def forward(self, x):
        self.x = x
        return x @ self.params["first"]["W"]

    def backward(self, dout):
        self.grads["first"]["W"] = self.x.T @ dout
        return dout @ self.params["first"]["W"].T


class Boxed:
    """Value and gradient in an object of their own."""

    class Box:
        def __init__(self, value):
            self.value, self.grad = value, np.zeros_like(value)

    def __init__(self):
        self.W = self.Box(normal(4, 3))

    def forward(self, x):
        self.x = x
        return x @ self.W.value

    def backward(self, dout):
        self.W.grad = self.x.T @ dout
        return dout @ self.W.value.T


class Slots:
    """No __dict__, one buffer for every output, gradients as plain lists."""

    __slots__ = ("buffer", "dscale", "scale", "x")

    def __init__(self):
        self.scale, self.dscale, self.buffer = np.array([2.0]), None, np.zeros(4)

    def forward(self, x):
        self.x = x
        if np.iscomplexobj(x):
            raise TypeError("real numbers only")
        np.multiply(x, self.scale, out=self.buffer)
        return self.buffer

    def backward(self, dout):
        self.dscale = np.array([self.x @ dout])
        return [float(number) for number in dout * self.scale]


class Net:
    def __init__(self):
        self.blocks = [Attributes(), Lists()]
        self.blocks[1].params[0] = normal(3, 3)
        self.blocks[1].grads[0] = np.zeros((3, 3))

    def forward(self, x):
        for block in self.blocks:
            x = block.forward(x)
        return x, "weights"

    def backward(self, dout):
        for block in reversed(self.blocks):
            dout = block.backward(dout)
        return dout


class Loss:
    def forward(self, x, labels):
        self.p = np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)
        self.labels = labels
        return -np.log(self.p[np.arange(len(x)), labels]).mean()

    def backward(self):
        dx = self.p.copy()
        dx[np.arange(len(dx)), self.labels] -= 1
        return dx / len(dx)


@pytest.mark.parametrize(("layer", "inputs", "names"), [
    ((affine_forward, affine_backward), (normal(2, 3, 4), normal(12, 5), normal(5)), ["x", "w", "b"]),
    (Attributes(), (normal(2, 4),), ["x", "W", "b"]),
    (Lists(), (normal(2, 4),), ["x", "params.0", "params.1"]),
    (Dictionaries(), (normal(2, 4),), ["x", "W"]),
    (Nested(), (normal(2, 4),), ["x", "first.W"]),
    (Boxed(), (normal(2, 4),), ["x", "W"]),
    (Slots(), (normal(4),), ["x", "scale"]),
    (Net(), (normal(2, 4),), ["x", "blocks.0.W", "blocks.0.b", "blocks.1.params.0", "blocks.1.params.1"]),
    (Loss(), (normal(3, 4), np.array([1, 0, 3])), ["x"]),
])
def test_all_numbers_of_foreign_layers_are_found_and_agree(layer, inputs, names):
    report = na.check_gradients(layer, *inputs)
    report.assert_ok()
    assert [row.name for row in report.rows] == names


def test_names_given_by_the_caller():
    report = na.check_gradients(Odd(), normal(2, 4), params={"table": "slope"})
    report.assert_ok()
    assert [row.name for row in report.rows] == ["x", "table"]
    with pytest.raises(ValueError, match="params names 'tabel'"):
        na.check_gradients(Odd(), normal(2, 4), params={"tabel": "slope"})


def test_an_array_without_a_gradient_is_mentioned():
    report = na.check_gradients(Odd(), normal(2, 4))
    assert report.unchecked == ["table"]
    assert "not checked: table" in report.headline()
    assert "the output depends on table as well" in text(report)


@pytest.mark.parametrize(("wrong", "words"), [
    (lambda d, c: affine_backward(d, c)[:2], "returned 2 gradients, but forward took 3 inputs (x, w, b)"),
    (lambda d, c: (), "returned no gradients, but forward took 3"),
    (lambda d, c: 1 / 0, "ZeroDivisionError"),
])
def test_a_backward_that_cannot_be_read_is_a_failure_with_a_sentence(wrong, words):
    report = na.check_gradients((affine_forward, wrong), normal(2, 3, 4), normal(12, 5), normal(5))
    assert not report.ok
    assert words in report.problem
    assert words in text(report)
    with pytest.raises(AssertionError, match="Gradient check of affine_forward"):
        report.assert_ok()


def test_a_forward_that_raises_half_way_is_a_failure_with_a_sentence():
    report = na.check_gradients(na.Linear(4, 3), normal(2, 5))
    assert not report.ok
    assert "Linear.forward raised ValueError: x must have shape" in report.problem


@pytest.mark.parametrize(("thing", "words"), [
    (object(), "object is no layer: it has no forward"), (na.Linear, "Linear is a class"),
    (len, "a function alone has no backward"), ((len,), "a pair of functions"), ("W", "str is no layer"),
    (type("Half", (), {"forward": lambda self, x: x})(), "Half has no backward"),
])
def test_what_is_no_layer_is_refused_with_what_is_missing(thing, words):
    with pytest.raises(TypeError, match=words):
        na.check_gradients(thing, normal(2, 3))


def test_integer_and_empty_inputs():
    na.check_gradients(na.Linear(4, 3, rng=0), np.arange(8).reshape(2, 4)).assert_ok()
    report = na.check_gradients(na.Linear(4, 3, rng=0), np.zeros((0, 4)))
    assert report.ok
    assert "x is empty, shape (0, 4)" in str(report)
    assert "no numbers to compare" in na.check_gradients(na.Softmax(), np.zeros((0, 4))).headline()


def test_wrong_options_are_refused():
    with pytest.raises(ValueError, match="method must be one of"):
        na.check_gradients(na.Softmax(), normal(2, 3), method="magic")
    with pytest.raises(ValueError, match="shape of the output"):
        na.check_gradients(na.Softmax(), normal(2, 3), upstream=np.ones(3))
    with pytest.raises(ValueError, match="complex step cannot be used"):
        na.check_gradients((lambda x: (np.abs(x), x), lambda d, x: d * np.sign(x)), normal(3), method="complex")
    with pytest.raises(ValueError, match="an input is complex"):
        na.check_gradients(na.Softmax(), normal(3) + 1j)
    with pytest.raises(ValueError, match="float64 or float32, not in float16"):
        na.check_gradients(na.Softmax(), normal(3).astype(np.float16), dtype=None)
    with pytest.raises(ValueError, match="atol must be a number, at least 0"):
        na.check_gradients(na.Softmax(), normal(3), atol=-1)
    with pytest.raises(TypeError, match="params must name arrays"):
        na.check_gradients(na.Softmax(), normal(3), params=3)


@pytest.mark.parametrize("backward", [
    lambda d, c: "gradient", lambda d, c: [[1.0, 2.0], [3.0]], lambda d, c: None, lambda d, c: np.array([None, "a", 1]),
    lambda d, c: d[0], lambda d, c: {"y": d}, lambda d, c: (d, d), lambda d, c: d.astype(complex) * 1j,
])
def test_whatever_backward_returns_there_is_no_traceback(backward):
    report = na.check_gradients((lambda x: (2 * x, x), backward), normal(3))
    assert not report.ok
    assert str(report)
    assert report.to_dict()["ok"] is False


@pytest.mark.parametrize("given", ["abc", None, object(), [[1.0, 2.0], [3.0]], np.array([1, "a"], object), {}])
def test_whatever_is_given_there_is_no_traceback(given):
    report = na.check_gradients(na.Softmax(), given)
    assert not report.ok
    assert "Softmax.forward raised" in report.problem
