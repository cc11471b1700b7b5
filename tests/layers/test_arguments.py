"""Numbers that are none: each is refused where it is given, by name."""
import numpy as np
import pytest

import numpy_attention as na

NO_NUMBERS = [np.nan, np.inf, True, np.bool_(True), "2", b"2", 1j, np.ones(2), np.array(1.0), [1.0], {}]
PLACES = {
    "scale": lambda value: na.ScaledDotProductAttention(scale=value),
    "softcap": lambda value: na.ScaledDotProductAttention(softcap=value),
    "p": lambda value: na.ScaledDotProductAttention(dropout=value),
    "eps": lambda value: na.LayerNorm(3, eps=value),
    "eps ": lambda value: na.RMSNorm(3, eps=value),
    "base": lambda value: na.Rotary(4, base=value),
    "label_smoothing": lambda value: na.CrossEntropyLoss(label_smoothing=value),
    "factor": lambda value: na.rotary_speeds(4, kind="linear", factor=value),
    "attention_factor": lambda value: na.ScaledRotary([1.0], attention_factor=value),
    "eps  ": lambda value: na.Adam(na.Linear(2, 2), eps=value),
    "betas": lambda value: na.Adam(na.Linear(2, 2), betas=(0.9, value)),
}


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("name", PLACES)
def test_no_number(name, value):
    with pytest.raises((TypeError, ValueError), match=name.strip()) as raised:
        PLACES[name](value)
    assert "must" in str(raised.value)


SWITCHES = {
    "bias": [lambda value: na.Linear(2, 3, bias=value), lambda value: na.LayerNorm(3, bias=value),
             lambda value: na.MultiHeadAttention(4, 2, bias=value)],
    "affine": [lambda value: na.LayerNorm(3, affine=value), lambda value: na.RMSNorm(3, affine=value)],
    "norm_first": [lambda value: na.Residual(na.Linear(2, 2), na.LayerNorm(2), norm_first=value),
                   lambda value: na.TransformerEncoderLayer(4, 2, norm_first=value)],
    "bias_first": [lambda value: na.ScaledDotProductAttention(softcap=2, bias_first=value)],
    "interleaved": [lambda value: na.Rotary(4, interleaved=value),
                    lambda value: na.RotaryAttention(4, interleaved=value)],
    "causal": [lambda value: na.BlockedAttention(causal=value), lambda value: na.training.ToyModel(3, 4, causal=value)],
    "learned": [lambda value: na.ExtraKeyAttention(2, 3, 3, learned=value)],
    "zero": [lambda value: na.ExtraKeyAttention(2, 3, 3, zero=value)],
    "bidirectional": [lambda value: na.RelativePositionBias(2, bidirectional=value)],
    "nesterov": [lambda value: na.SGD(na.Linear(2, 2), lr=0.1, momentum=0.5, nesterov=value)],
    "amsgrad": [lambda value: na.Adam(na.Linear(2, 2), amsgrad=value)],
    "norm": [lambda value: na.training.ToyModel(3, 4, norm=value)],
    "tied": [lambda value: na.training.ToyModel(3, 4, tied=value)],
    "ring": [lambda value: na.training.task("shift", ring=value)],
    "bos": [lambda value: na.training.task("induction", bos=value)],
}


@pytest.mark.parametrize("value", ["no", "", 0, 1, 0.5, None, [], np.ones(2, bool)], ids=repr)
@pytest.mark.parametrize("name", SWITCHES)
def test_a_switch_is_true_or_false(name, value):
    for make in SWITCHES[name]:
        with pytest.raises(TypeError, match=f"^{name} must be True or False, got"):
            make(value)
        make(np.bool_(True))


@pytest.mark.parametrize("make", [
    lambda rng: na.Linear(2, 3, rng=rng), lambda rng: na.Embedding(2, 3, rng=rng), lambda rng: na.Dropout(0.5, rng=rng),
    lambda rng: na.MultiHeadAttention(4, 2, rng=rng), lambda rng: na.training.task("reverse").batch(2, rng=rng),
], ids=["Linear", "Embedding", "Dropout", "MultiHeadAttention", "batch"])
def test_a_seed_that_is_none(make):
    for rng, error in ((True, TypeError), ("0", TypeError), (0.5, TypeError), (-1, ValueError), (1j, TypeError)):
        with pytest.raises(error, match="^rng must be a seed"):
            make(rng)
    make(np.random.default_rng(0)), make(None), make(np.int64(3))


@pytest.mark.parametrize("dtype", [int, bool, "float33", 3, "i4", object])
def test_a_dtype_that_learns_nothing(dtype):
    with pytest.raises(TypeError, match="^dtype must be a float or complex dtype"):
        na.Linear(2, 3, dtype=dtype)


@pytest.mark.parametrize("value", [2, 0.5, np.float32(0.5), np.int8(1), np.float64(0.5)], ids=repr)
def test_a_number(value):
    assert na.ScaledDotProductAttention(scale=value, softcap=value).scale == value


POSITIONS = {
    "strings": (np.array(["a", "b", "c"]), TypeError), "NaN": ([0, np.nan, 1], ValueError),
    "too many": ([0, 1, 2, 3], ValueError), "of another batch": (np.zeros((3, 3)), ValueError),
    "complex": ([0j, 1, 2], TypeError), "ragged": ([[0], [1, 2]], ValueError), "a number": (1, ValueError),
}


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_that_do_not_fit(name):
    positions, error = POSITIONS[name]
    with pytest.raises(error, match="positions must"):
        na.Rotary(4)(np.ones((2, 3, 4)), positions=positions)


def test_positions_of_each_sequence():
    rng = np.random.default_rng(0)
    x, positions = rng.standard_normal((2, 3, 4, 6)), np.array([[0, 1, 2, 3], [5, 6, 7, 8]])
    rotary = na.Rotary(6)
    for n in range(2):
        np.testing.assert_array_equal(rotary(x, positions=positions)[n], rotary(x[n], positions=positions[n]))
    na.check_gradients(rotary, x, positions=positions).assert_ok()


MASKED, RAGGED = np.ma.masked_array([[1, 0]], mask=[[True, False]]), [[0], [0, 1]]
ARRAYS = {      # argument: (where it is given, what else does not fit)
    "x": lambda value: na.Linear(2, 2)(value),
    "ids": lambda value: na.Embedding(3, 2)(value),
    "target": lambda value: na.CrossEntropyLoss()(np.zeros((1, 2, 3)), value),
    "relative": lambda value: na.RelativePositionBias(2)(value),
    "relative ": lambda value: na.t5_buckets(value),
    "positions": lambda value: na.Rotary(2)(np.ones((1, 2, 2)), positions=value),
    "places": lambda value: na.LearnedPositions(3, 2)(np.ones((1, 2, 2)), places=value),
    "mask": lambda value: na.Softmax()(np.ones((1, 2)), mask=value),
    "lengths": lambda value: na.padding_mask(value, 2),
    "class_weights": lambda value: na.CrossEntropyLoss(class_weights=value),
    "ids ": lambda value: na.training.ToyModel(3, 4)(value),
    "memory": lambda value: na.training.LookupModel(3)([[0]], value),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_masked_or_ragged_array_is_refused(name):
    with pytest.raises(TypeError, match=f"^{name.strip()} is a masked array, and its mask would be lost"):
        ARRAYS[name](MASKED)
    with pytest.raises(ValueError, match=f"^{name.strip()} must be a rectangular array"):
        ARRAYS[name](RAGGED)


@pytest.mark.parametrize("wrong", ["abc", [1j], [None], [[1.0]], 2.0, [-1.0], [np.nan], [True], (i for i in [1])])
def test_class_weights(wrong):
    with pytest.raises((TypeError, ValueError), match="^class_weights must"):
        na.CrossEntropyLoss(class_weights=wrong)


@pytest.mark.parametrize(("layer", "inputs"), [
    (na.Embedding(3, 2), [np.array([[0, 1]])]), (na.RelativePositionBias(2), [np.array([[0, 1]])]),
    (na.CrossEntropyLoss(), [np.ones((2, 3)), np.array([0, 1])]), (na.training.ToyModel(3, 4), [np.array([[0, 1]])]),
    (na.training.LookupModel(3), [np.array([[0]]), np.array([[[0, 1]]])]),
], ids=lambda value: type(value).__name__)
def test_the_callers_whole_numbers_stay_the_callers(layer, inputs):
    copies = [array.copy() for array in inputs]
    out = layer(*inputs)
    layer.backward(np.ones_like(out))
    before = layer.named_grads()
    for array, copy in zip(inputs, copies, strict=True):
        np.testing.assert_array_equal(array, copy)
        array[...] = 0                                      # it was not made read-only, and nobody looks at it again
    layer.backward(np.ones_like(out))
    for name, gradient in layer.named_grads().items():
        np.testing.assert_array_equal(gradient, before[name])


@pytest.mark.parametrize("layer", [
    na.Linear(4, 2, rng=0), na.Softmax(), na.LayerNorm(4), na.MultiHeadAttention(4, 2, rng=0)], ids=type)
def test_a_complex_gradient_of_half_precision_stays_complex(layer):
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float16)
    dout = np.random.default_rng(1).standard_normal(layer(x).shape)
    real, both = layer.backward(dout), layer.backward(dout * (1 + 2j))
    assert (real.dtype, both.dtype.kind) == (np.float16, "c")
    assert np.abs(both.imag - 2 * both.real).max() < 1e-5
    assert np.abs(both.real - real).max() < 1e-2


def test_a_view_made_before_an_array_was_closed_changes_nothing():
    x = np.random.default_rng(0).standard_normal((2, 4))
    view = x[:]
    x.setflags(write=False)
    layer = na.Linear(4, 2, rng=0)
    layer.backward(layer(x))
    before = layer.grads["W"].copy()
    dout = layer.cache["out"].copy()
    view[...] = 0
    layer.backward(dout)
    np.testing.assert_array_equal(layer.grads["W"], before)


@pytest.mark.parametrize("wrong", [None, "softmax", na.Linear, na.Linear(4, 4).forward, 1], ids=repr)
def test_only_layers_are_parts(wrong):
    with pytest.raises(TypeError, match="^layer must be a layer"):
        na.Residual(wrong)
    if wrong is not None:
        with pytest.raises(TypeError, match="^norm must be a layer"):
            na.Residual(na.Linear(4, 4), wrong)


@pytest.mark.parametrize("wrong", ["flash", na.RotaryAttention, na.Softmax(), na.Linear(4, 4)], ids=repr)
def test_an_attention_takes_three_arrays(wrong):
    with pytest.raises(TypeError, match="attention must be a layer that is called with Q, K, V"):
        na.MultiHeadAttention(4, 2, attention=wrong)
