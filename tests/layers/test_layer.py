"""The house rules, held against every layer: precisions, memory, errors, copies."""
import copy
import pickle
import threading

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

from ..standard import EXAMPLES, FLOATS, OPEN, as_tuple, draw, run

ALL = EXAMPLES
ANY_SHAPE = {"ReLU", "SiLU", "GELU", "Dropout", "SoftCap"}      # each number on its own
ANY_WIDTH = ANY_SHAPE | {"CrossEntropyLoss", "LogSoftmax", "MergeHeads", "RepeatHeads", "Rotary", "ScaledRotary",
                         "SinkSoftmax", "SinusoidalPositions", "Softmax", "SplitHeads"}


def kind_of(name):
    """The class in an example's name."""
    return name.split(",")[0]


def skip_if_open(what, name):
    if (what, name) in OPEN:
        pytest.skip(OPEN[what, name])


def parts_of(layer):
    """The layer and every layer inside it."""
    return [layer, *(part for inner in layer.sublayers().values() for part in parts_of(inner))]


def arrays_of(layer):
    """Every array of the last pass, with a name that says where it lies."""
    found = {}
    for part in parts_of(layer):
        found.update({f"cache {key}": a for key, a in part.cache.items() if isinstance(a, np.ndarray)})
        found.update({f"grads {key}": a for key, a in part.grads.items()})
    return {key: array for key, array in found.items() if array.dtype.kind in "fc"}


def assert_same_pass(first, second, **tolerance):
    """Two results of `run` are equal, bit for bit unless a tolerance is given."""
    check = assert_allclose if tolerance else assert_array_equal
    check(first[0], second[0], **tolerance)
    for one, other in zip(first[1], second[1], strict=True):
        if one is not None or other is not None:
            check(one, other, **tolerance)
    assert first[2].keys() == second[2].keys()
    for key in first[2]:
        check(first[2][key], second[2][key], err_msg=key, **tolerance)


# ---- gradients

class SameDraws:
    """Stands in for a generator and always draws the same, so that measuring a slope measures one function."""

    def random(self, shape):
        return np.random.default_rng(5).random(shape)


def with_same_draws(layer):
    for part in parts_of(layer):
        if hasattr(part, "rng"):
            part.rng = SameDraws()
    return layer


@pytest.mark.parametrize("name", [name for name in ALL if not name.startswith(("Transformer", "Blocked"))])
def test_gradients_are_right_element_by_element(name):
    skip_if_open("gradients", name)
    example = EXAMPLES[name]
    na.check_gradients(with_same_draws(example.layer()), *example.inputs, **example.options).assert_ok()


@pytest.mark.parametrize("name", ALL)
def test_gradients_are_right_in_a_random_direction(name):
    # All inputs and parameters move at once by a tiny imaginary step: one forward measures what the sum of all
    # gradients predicts. Independent of the package's own check, and cheap enough for whole stacks.
    example, step = EXAMPLES[name], 1e-30
    layer = with_same_draws(example.layer())
    out, grads, param_grads = run(layer, example.inputs, example.options)
    dout = draw(*out.shape, seed=9)
    predicted, moved = 0, []
    given = iter(grads)
    for array in example.inputs:
        if array.dtype.kind == "f":
            direction = draw(*array.shape, seed=21)
            predicted += (next(given) * direction).sum()
            array = array + 1j * step * direction
        moved.append(array)
    for part in parts_of(layer):
        for key, array in part.params.items():
            direction = draw(*array.shape, seed=22)
            predicted += (part.grads[key] * direction).sum()
            part.params[key] = array + 1j * step * direction
    measured = (layer(*moved, **example.options) * dout).sum().imag / step
    assert sum(grad.size for grad in param_grads.values()) == sum(a.size for a in layer.named_params().values())
    assert_allclose(predicted, measured, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ALL)
def test_gradients_are_replaced_never_added_up(name):
    example = EXAMPLES[name]
    layer = example.layer()
    first = run(layer, example.inputs, example.options)
    dout = draw(*first[0].shape, seed=9)
    again = as_tuple(layer.backward(dout))
    assert_same_pass(first, (first[0], again, layer.named_grads()))


@pytest.mark.parametrize("name", FLOATS)
def test_there_is_one_gradient_for_each_array_given(name):
    example = EXAMPLES[name]
    _, grads, _ = run(example.layer(), example.inputs, example.options)
    assert [grad.shape for grad in grads] == [array.shape for array in example.inputs if array.dtype.kind == "f"]


# ---- precisions

@pytest.mark.parametrize("params", [np.float32, np.float64])
@pytest.mark.parametrize("name", FLOATS)
def test_float32_stays_float32(name, params):
    # An array divided by np.sqrt(n) would be promoted; the caller's precision decides, not the parameters'.
    example = EXAMPLES[name]
    layer, inputs = example.layer(dtype=params), example.cast(np.float32)
    out, grads, _ = run(layer, inputs, example.options)
    found = {"out": out, **arrays_of(layer), **{f"returned {i}": grad for i, grad in enumerate(grads)}}
    assert {key: array.dtype.name for key, array in found.items()} == dict.fromkeys(found, "float32")
    assert_allclose(out, example.layer()(*example.inputs, **example.options), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", FLOATS)
def test_float16_is_computed_in_float32(name):
    example = EXAMPLES[name]
    layer, inputs = example.layer(), example.cast(np.float16)
    out, grads, _ = run(layer, inputs, example.options)
    assert {array.dtype for array in (out, *grads)} == {np.dtype(np.float16)}
    assert {array.dtype for array in arrays_of(layer).values()} == {np.dtype(np.float32)}
    assert_allclose(out, example.layer()(*example.inputs, **example.options), rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.longdouble])
@pytest.mark.parametrize("name", FLOATS)
def test_wider_numbers_keep_their_precision_and_agree(name, dtype):
    # Complex numbers carry the complex-step check; with an imaginary part of 0 they must give the real answer.
    example = EXAMPLES[name]
    layer, inputs = example.layer(), example.cast(dtype)
    out, grads, _ = run(layer, inputs, example.options)
    assert {array.dtype for array in (out, *grads)} == {np.dtype(dtype)}
    # What does not depend on the inputs, such as a learned table, may stay real in the same precision.
    assert {array.dtype for array in arrays_of(layer).values()} <= {np.dtype(dtype), out.real.dtype}
    expected = run(example.layer(), example.inputs, example.options)
    tolerance = 1e-4 if dtype == np.complex64 else 1e-11
    assert_allclose(out, expected[0], rtol=tolerance, atol=tolerance)
    for mine, theirs in zip(grads, expected[1], strict=True):
        assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, bool, "list"])
@pytest.mark.parametrize("name", FLOATS)
def test_whole_numbers_count_as_float64(name, kind):
    # Computing in the integers' own precision would cut every weight to 0 or overflow.
    example = EXAMPLES[name]
    step = bool if kind is bool else int
    expected = run(example.layer(), example.cast(lambda array: np.abs(array * 2).astype(step).astype(float)),
                   example.options)
    given = example.cast(lambda array: np.abs(array * 2).astype(step if kind == "list" else kind))
    found = run(example.layer(), [array.tolist() if kind == "list" else array for array in given], example.options)
    assert found[0].dtype == np.float64
    assert_same_pass(found, expected)


# ---- memory

LAYOUTS = {
    "read-only": lambda array: _read_only(array.copy()),
    "Fortran order": np.asfortranarray,
    "every other element": lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    "reversed": lambda array: array[..., ::-1].copy()[..., ::-1],
    "swapped axes": lambda array: array.swapaxes(0, -1).copy().swapaxes(0, -1),
    "byte order": lambda array: array.astype(array.dtype.newbyteorder(">")),
    "view of a bigger one": lambda array: np.concatenate([array, array])[:len(array)],
}


def _read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ALL)
def test_the_memory_layout_does_not_matter(name, layout):
    example = EXAMPLES[name]
    change = LAYOUTS[layout]
    options = {key: change(value) if isinstance(value, np.ndarray) else value for key, value in example.options.items()}
    found = run(example.layer(), [change(array) for array in example.inputs], options)
    # Another layout may add in another order, so equal up to rounding.
    assert_same_pass(found, run(example.layer(), example.inputs, example.options), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ALL)
def test_the_callers_arrays_stay_as_they_are(name):
    example = EXAMPLES[name]
    given = copy.deepcopy((example.inputs, example.options))
    layer = example.layer()
    before = {key: array.copy() for key, array in layer.named_params().items()}
    out = layer(*given[0], **given[1])
    dout = draw(*out.shape)
    layer.backward(dout)
    assert_array_equal(dout, draw(*out.shape))
    for mine, original in zip(given[0], example.inputs, strict=True):
        assert_array_equal(mine, original)
        assert mine.flags.writeable
    for key, value in example.options.items():
        assert_array_equal(given[1][key], value)
    for key, array in layer.named_params().items():
        assert_array_equal(array, before[key])


@pytest.mark.parametrize("name", ALL)
def test_changing_an_array_after_forward_does_not_change_backward(name):
    example = EXAMPLES[name]
    inputs, options = copy.deepcopy((example.inputs, example.options))
    layer = example.layer()
    out = layer(*inputs, **options)
    for array in [*inputs, *(value for value in options.values() if isinstance(value, np.ndarray))]:
        array[...] = 0
    found = out, as_tuple(layer.backward(draw(*out.shape, seed=9))), layer.named_grads()
    assert_same_pass(found, run(example.layer(), example.inputs, example.options))


@pytest.mark.parametrize("name", ALL)
def test_a_view_that_shares_memory_with_a_writable_array_is_copied_too(name):
    # A read-only view is no promise: its owner can still write.
    example = EXAMPLES[name]
    owners = copy.deepcopy(example.inputs)
    views = [owner.view() for owner in owners]
    for view in views:
        view.flags.writeable = False
    layer = example.layer()
    out = layer(*views, **example.options)
    for owner in owners:
        owner[...] = 0
    found = out, as_tuple(layer.backward(draw(*out.shape, seed=9))), layer.named_grads()
    assert_same_pass(found, run(example.layer(), example.inputs, example.options))


@pytest.mark.parametrize("name", ALL)
def test_the_cache_is_read_only(name):
    example = EXAMPLES[name]
    layer = example.layer()
    layer(*example.inputs, **example.options)
    for part in parts_of(layer):
        for key, array in part.cache.items():
            if isinstance(array, np.ndarray) and array.size:
                with pytest.raises(ValueError, match="read-only"):
                    array[...] = 0
                assert not array.flags.writeable, key


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))],
                         ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("name", ALL)
def test_a_copy_is_a_layer_of_its_own(name, copied):
    example = EXAMPLES[name]
    layer = example.layer()
    out = layer(*example.inputs, **example.options)
    twin = copied(layer)
    assert all(not array.flags.writeable for array in twin.cache.values() if isinstance(array, np.ndarray))
    dout = draw(*out.shape, seed=9)
    found = out, as_tuple(twin.backward(dout)), twin.named_grads()
    assert_same_pass(found, (out, as_tuple(layer.backward(dout)), layer.named_grads()))
    for key, array in twin.named_params().items():
        assert not np.shares_memory(array, layer.named_params()[key])


def test_threads_may_use_different_layers():
    # The house rules know which layer is running; that must not cross threads.
    names = list(ALL) * 4
    expected = {name: run(EXAMPLES[name].layer(), EXAMPLES[name].inputs, EXAMPLES[name].options) for name in ALL}
    found, start = {}, threading.Barrier(4)

    def work(mine):
        start.wait()
        for i in mine:
            example = EXAMPLES[names[i]]
            found[i] = run(example.layer(), example.inputs, example.options)

    threads = [threading.Thread(target=work, args=(range(first, len(names), 4),)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == len(names)
    for i, name in enumerate(names):
        assert_same_pass(found[i], expected[name])


# ---- errors

@pytest.mark.parametrize("name", ALL)
def test_backward_wants_a_forward_first(name):
    layer = EXAMPLES[name].layer()
    with pytest.raises(RuntimeError, match=rf"{type(layer).__name__}\.backward needs a forward pass first"):
        layer.backward(np.ones(3))


BAD_UPSTREAM = {
    "one row less": (lambda out: np.ones((out.shape[0] - 1, *out.shape[1:])), ValueError),
    "no batch axis": (lambda out: np.ones(out.shape[1:]), ValueError),
    "an axis too many": (lambda out: np.ones((1, *out.shape)), ValueError),
    "a number": (lambda out: 1.0, ValueError),
    "None": (lambda out: None, TypeError),
    "text": (lambda out: "ones", TypeError),
    "ragged": (lambda out: [[1.0], [1.0, 2.0]], ValueError),
    "objects": (lambda out: np.full(out.shape, None), TypeError),
}


@pytest.mark.parametrize("what", BAD_UPSTREAM)
@pytest.mark.parametrize("name", ALL)
def test_an_upstream_gradient_of_the_wrong_kind(name, what):
    example, (make, error) = EXAMPLES[name], BAD_UPSTREAM[what]
    layer = example.layer()
    out, _, _ = run(layer, example.inputs, example.options)
    grads = dict(layer.grads)
    last = list(layer.cache)[-1]
    if not out.shape and what not in ("an axis too many", "text", "ragged"):
        return      # a loss takes a number, and nothing at all for 1
    with pytest.raises(error, match=rf"\bd{last}\b") as raised:
        layer.backward(make(out))
    if what.startswith(("one", "no", "an")):
        assert str(out.shape) in str(raised.value)
        assert str(make(out).shape) in str(raised.value)
    assert all(layer.grads[key] is grad for key, grad in grads.items())


BAD_INPUTS = {
    "None": (None, TypeError),
    "text": ("words", TypeError),
    "ragged": ([[1.0], [1.0, 2.0]], ValueError),
    "objects": (np.array([[object()] * 2] * 2), TypeError),
    "dates": (np.zeros((2, 3, 8), "M8[s]"), TypeError),
    "a dictionary": ({"x": 1}, TypeError),
    "a number": (1.0, (TypeError, ValueError)),
    "too wide": (np.zeros((2, 4, 1001)), (TypeError, ValueError)),
}


@pytest.mark.parametrize(("name", "what"), [
    (name, what) for name in ALL for what in BAD_INPUTS
    if not (what == "a number" and kind_of(name) in ANY_SHAPE | {"Embedding"})
    and not (what == "too wide" and kind_of(name) in ANY_WIDTH)])
def test_an_input_that_is_no_array_of_numbers(name, what):
    skip_if_open("bad input", name)
    example, (bad, error) = EXAMPLES[name], BAD_INPUTS[what]
    for place in range(len(example.inputs)):
        if bad is None and place and kind_of(name) in ("MultiHeadAttention", "Residual"):
            continue        # key and value, or the memory, may be left out
        inputs = [*example.inputs]
        inputs[place] = bad
        told = None if example.inputs[place].dtype.kind == "i" else " must "
        with pytest.raises(error, match=told) as raised:
            example.layer()(*inputs, **example.options)
        if what == "too wide" and raised.type is ValueError:
            assert "1001" in str(raised.value)


def assert_unchanged(layer, before):
    for part, (cache, cached, grads, graded) in zip(parts_of(layer), before, strict=True):
        assert part.cache is cache
        assert part.grads is grads
        assert all(part.cache[key] is array for key, array in cached.items())
        assert all(part.grads[key] is array for key, array in graded.items())


@pytest.mark.parametrize("name", ALL)
def test_an_error_leaves_everything_as_it_was(name):
    example = EXAMPLES[name]
    layer = example.layer()
    expected = run(layer, example.inputs, example.options)
    before = [(part.cache, dict(part.cache), part.grads, dict(part.grads)) for part in parts_of(layer)]
    for bad in ("words", [[1], [2, 3]]):
        with pytest.raises((TypeError, ValueError)):
            layer(*example.inputs[:-1], bad, **example.options)
    with pytest.raises(TypeError):
        layer(*example.inputs, no_such_option=1, **example.options)
    if "mask" in example.options:
        with pytest.raises(ValueError, match="mask"):
            layer(*example.inputs, mask=np.ones((77, 78), bool))
    # The hardest moment for a composite is when some of its layers have run already.
    for part in (part for part in parts_of(layer)[1:] if part.cache):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(part, "forward", lambda *inputs, **options: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                layer(*example.inputs, **example.options)
    assert_unchanged(layer, before)
    again = as_tuple(layer.backward(draw(*expected[0].shape, seed=9)))
    assert_same_pass(expected, (expected[0], again, layer.named_grads()))


def test_too_many_arrays():
    with pytest.raises(TypeError, match="takes query, key, value; got 4 arrays"):
        na.MultiHeadAttention(8, 2)(*[np.zeros((3, 8))] * 4)


@pytest.mark.parametrize("value", [0, -1, 2.0, "2", None, True, np.bool_(True), [2]])
@pytest.mark.parametrize(("name", "make"), {
    "in_features": lambda n: na.Linear(n, 2), "out_features": lambda n: na.Linear(2, n),
    "num_heads": na.SplitHeads, "num_embeddings": lambda n: na.Embedding(n, 2),
    "d_model": lambda n: na.Embedding(2, n), "L": lambda n: na.sinusoidal_positions(n, 2),
}.items())
def test_sizes_are_positive_whole_numbers(name, make, value):
    error = ValueError if type(value) is int else TypeError
    wanted = "at least 1" if error is ValueError else "a whole number"
    with pytest.raises(error, match=f"{name} must be {wanted}, got ") as raised:
        make(value)
    assert repr(value) in str(raised.value)


def test_numpy_integers_are_sizes():
    assert na.Linear(np.int64(3), np.uint8(2)).params["W"].shape == (3, 2)


@pytest.mark.parametrize("make", [lambda dtype: na.Linear(2, 2, dtype=dtype),
                                  lambda dtype: na.MultiHeadAttention(4, 2, dtype=dtype),
                                  lambda dtype: na.Embedding(2, 2, dtype=dtype),
                                  lambda dtype: na.sinusoidal_positions(2, 2, dtype=dtype)])
def test_whole_number_precisions_are_refused(make):
    # astype(int) would silently make every weight 0.
    for dtype in (int, bool, "i4", object):
        with pytest.raises(TypeError, match="dtype must be a float or complex dtype"):
            make(dtype)


class Twice(na.Layer):
    """x W W with one Linear that runs twice: its cache holds the second run only."""

    def __init__(self):
        super().__init__()
        self.linear = na.Linear(3, 3, rng=0)

    def forward(self, x):
        out = self.linear(self.linear(x))
        self.cache = {"x": x, "out": out}
        return out

    def backward(self, dout):
        return self.linear.backward(self.linear.backward(dout))


class TwiceWithCare(Twice):
    """The same, but each run's cache is put back before backward goes through it."""

    def forward(self, x):
        inner = self.linear(x)
        self.runs = [self.linear.cache]
        out = self.linear(inner)
        self.runs.append(self.linear.cache)
        self.cache = {"x": x, "out": out}
        return out

    def backward(self, dout):
        dW = 0
        for cache in reversed(self.runs):
            self.linear.cache = cache
            dout = self.linear.backward(dout)
            dW = dW + self.linear.grads["W"]
        self.linear.grads["W"] = dW
        return dout


def test_a_part_that_runs_twice_in_one_forward_is_named():
    layer = Twice()
    assert layer(np.ones((2, 3))).shape == (2, 3)
    with pytest.raises(RuntimeError, match=r"Twice\.linear ran more than once in this forward"):
        layer.backward(np.ones((2, 3)))
    careful, x = TwiceWithCare(), draw(4, 3)
    W = careful.linear.params["W"]
    careful(x)
    assert_allclose(careful.backward(np.ones((4, 3))), np.ones((4, 3)) @ W.T @ W.T, rtol=1e-14)


def test_a_part_that_ran_again_elsewhere_is_named():
    mha = na.MultiHeadAttention(8, 2, rng=0)
    x = draw(2, 4, 8)
    mha(x)
    mha.key_proj(x)
    with pytest.raises(RuntimeError, match=r"MultiHeadAttention\.key_proj has run again since this forward"):
        mha.backward(x)
    mha(x)
    assert mha.backward(x).shape == x.shape


def test_a_forward_may_call_the_forward_it_inherits():
    class Doubled(na.Linear):
        def forward(self, x):
            return super().forward(2 * x)

        def backward(self, dout):
            return 2 * super().backward(dout)
    na.check_gradients(Doubled(3, 2, rng=0), draw(4, 3)).assert_ok()
