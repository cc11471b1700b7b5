"""What must hold for any shape, mask, precision and memory layout: drawn at random, the same draws in every run."""
import numpy as np
import pytest

hypothesis = pytest.importorskip("hypothesis", reason="hypothesis draws these examples: pip install '.[test]'")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from numpy.testing import assert_allclose, assert_array_equal  # noqa: E402

import numpy_attention as na  # noqa: E402

from ..standard import randomise  # noqa: E402

seeded = settings(max_examples=40, derandomize=True, deadline=None, database=None)

LAYOUTS = st.sampled_from([
    lambda array: array,
    np.asfortranarray,
    lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    lambda array: array[..., ::-1].copy()[..., ::-1],
    lambda array: np.moveaxis(np.moveaxis(array, 0, -1).copy(), -1, 0),
])


class Drawn:
    """A layer, its inputs in some memory layout, a mask and a bias of some rank or none, and an upstream gradient."""

    def __init__(self, draw, layer, shapes, out_shape, rank4, dtype):
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        self.layer, self.rank4, self.rng = layer, rank4, rng
        size = draw(st.sampled_from([1e-3, 1.0, 30.0]))
        self.inputs = [(size * rng.standard_normal(shape)).astype(dtype) for shape in shapes]
        self.dout = rng.standard_normal(out_shape).astype(dtype)
        self.layouts = [draw(LAYOUTS) for _ in shapes]
        self.mask, self.bias = self._pattern(draw), self._pattern(draw)
        self.full = np.ones(rank4, bool)
        for pattern in (self.mask, self.bias):
            if pattern is not None:
                self.full &= pattern[:, None] if pattern.ndim == 3 else pattern
        if self.bias is not None:       # a bias of -inf hides as surely as a mask does
            self.bias = np.where(self.bias, rng.standard_normal(self.bias.shape), -np.inf).astype(dtype)
        self.options = {"mask": self.mask, "bias": self.bias}

    def _pattern(self, draw):
        N, H, L, S = self.rank4
        shape = draw(st.sampled_from([None, (L, S), (N, L, S), (N, H, L, S), (N, 1, 1, S), (1, H, L, 1), (1, S)]))
        share = draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
        return None if shape is None else self.rng.random(shape) < share

    def run(self, inputs=None, dout=None):
        """out, weights, the gradients of the inputs, and those of the parameters."""
        out = self.layer(*(self.inputs if inputs is None else inputs), **self.options)
        grads = self.layer.backward(self.dout if dout is None else dout)
        return [out, self.weights, *grads, *self.layer.named_grads().values()]

    @property
    def weights(self):
        with np.errstate(under="ignore"):       # the blocked attention computes them now
            return self.layer.weights


DIM = st.integers(1, 4)
SIZE = st.integers(0, 4)
DTYPES = st.sampled_from([np.float64, np.float32])


def settings_of(draw):
    return {"scale": draw(st.sampled_from([None, 0.0, 0.7])), "softcap": draw(st.sampled_from([None, None, 1.5]))}


@st.composite
def attention(draw, sizes=SIZE, dtypes=DTYPES):
    (N, L, S), (H, times, d_k, d_v) = [draw(sizes) for _ in range(3)], [draw(DIM) for _ in range(4)]
    blocked = draw(st.booleans())
    layer = (na.BlockedAttention(query_block=draw(DIM), key_block=draw(DIM)) if blocked else
             na.ScaledDotProductAttention(**settings_of(draw)))
    return Drawn(draw, layer, [(N, H * times, L, d_k), (N, H, S, d_k), (N, H, S, d_v)],
                 (N, H * times, L, d_v), (N, H * times, L, S), draw(dtypes))


@st.composite
def multi_head(draw, sizes=SIZE, dtypes=DTYPES):
    (N, L, S), (H, times, d_k, d_v, D) = [draw(sizes) for _ in range(3)], [draw(DIM) for _ in range(5)]
    dtype, core = draw(dtypes), na.ScaledDotProductAttention(**settings_of(draw))
    mha = na.MultiHeadAttention(D, H * times, num_kv_heads=H, d_k=d_k, d_v=d_v, rng=0, attention=core)
    return Drawn(draw, randomise(mha, dtype=dtype), [(N, L, D), (N, S, D)], (N, L, D), (N, H * times, L, S), dtype)


def assert_close(mine, theirs):
    """Equal up to the rounding of another order of additions."""
    tolerance = 1e-4 if mine.dtype == np.float32 else 1e-11
    with np.errstate(under="ignore"):       # the comparison's own
        assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance * max(1, np.abs(theirs).max(initial=0)))


EITHER = st.one_of(attention(), multi_head())


@seeded
@given(EITHER)
def test_rows_of_weights_sum_to_one_or_to_zero(drawn):
    drawn.run()
    sums = drawn.weights.sum(axis=-1)
    assert_allclose(sums, drawn.full.any(axis=-1), rtol=1e-5 if sums.dtype == np.float32 else 1e-13)
    assert (drawn.weights >= 0).all()


@seeded
@given(EITHER)
def test_hidden_cells_are_exactly_zero_forward_and_backward(drawn):
    drawn.run()
    assert not drawn.weights[~drawn.full].any()
    if "scores" in drawn.layer.grads:       # the blocked one never has the whole table
        assert not drawn.layer.grads["scores"][~drawn.full].any()


@seeded
@given(EITHER)
def test_everything_is_finite_and_keeps_its_precision(drawn):
    found = drawn.run()
    assert all(np.isfinite(array).all() for array in found)
    assert drawn.bias is None or np.isfinite(drawn.layer.grads["bias"]).all()
    assert {array.dtype for array in (*found, *drawn.layer.cache.values(), *drawn.layer.grads.values())
            if isinstance(array, np.ndarray) and array.dtype.kind == "f"} == {drawn.dout.dtype}


@seeded
@given(EITHER, st.sampled_from([np.nan, np.inf, -np.inf, 1e30]))
def test_what_a_hidden_key_holds_changes_nothing(drawn, content):
    # Neither the answers nor one gradient, and its own is exactly 0.
    hidden = ~drawn.full.any(axis=(1, 2))       # (N, S), for every query of every head
    expected = drawn.run()
    inputs = [drawn.inputs[0]]
    for array in drawn.inputs[1:]:
        changed = array.copy()
        changed[(np.broadcast_to(hidden[:, None], array.shape[:-1]) if array.ndim == 4 else hidden)] = content
        inputs.append(changed)
    for mine, theirs in zip(drawn.run(inputs), expected, strict=True):
        assert_array_equal(mine, theirs)


@seeded
@given(EITHER)
def test_a_query_that_sees_nothing_gets_no_gradient(drawn):
    found = drawn.run()
    blind = ~drawn.full.any(axis=-1)            # (N, H, L)
    blind = blind if found[2].ndim == 4 else blind.all(axis=1)
    assert drawn.bias is None or not drawn.layer.grads["bias"][np.isneginf(drawn.bias)].any()
    assert not found[2][blind].any()


@seeded
@given(EITHER)
def test_items_of_a_batch_are_independent(drawn):
    expected = drawn.run()
    per_item = 2 + len(drawn.inputs)
    for n in range(drawn.rank4[0]):
        options = {name: array[n:n + 1] if array is not None and array.ndim > 2 and array.shape[0] > 1 else array
                   for name, array in drawn.options.items()}
        out = drawn.layer(*(array[n:n + 1] for array in drawn.inputs), **options)
        found = [out, drawn.weights, *drawn.layer.backward(drawn.dout[n:n + 1])]
        for mine, theirs in zip(found, expected[:per_item], strict=True):
            assert_close(mine[0], theirs[n])


@seeded
@given(EITHER)
def test_memory_layouts_do_not_matter_and_arrays_stay_untouched(drawn):
    expected = drawn.run()
    given_ = [change(array) for change, array in zip(drawn.layouts, drawn.inputs, strict=True)]
    others = [drawn.dout, *(array for array in drawn.options.values() if array is not None)]
    copies = [array.copy() for array in (*given_, *others)]
    for mine, theirs in zip(drawn.run(given_), expected, strict=True):
        assert_close(mine, theirs)
    for array, copy in zip((*given_, *others), copies, strict=True):
        assert_array_equal(array, copy)


@settings(seeded, max_examples=15)
@given(st.one_of(attention(sizes=st.integers(0, 3), dtypes=st.just(np.float64)),
                 multi_head(sizes=st.integers(0, 3), dtypes=st.just(np.float64))))
def test_gradients_are_right(drawn):
    na.check_gradients(drawn.layer, *drawn.inputs, **drawn.options).assert_ok()


@seeded
@given(st.integers(0, 5), st.integers(0, 5), st.integers(-6, 6), st.none() | st.integers(0, 6),
       st.none() | st.integers(0, 6))
def test_a_window_is_what_it_says(L, S, offset, left, right):
    mask = na.window_mask(L, S, left=left, right=right, offset=offset)
    expected = [[(left is None or j >= i + offset - left) and (right is None or j <= i + offset + right)
                 for j in range(S)] for i in range(L)]
    assert_array_equal(mask, np.array(expected, bool).reshape(L, S))
    assert_array_equal(na.window_mask(L, S, left=None, right=0, offset=offset), na.causal_mask(L, S, offset=offset))


@seeded
@given(st.lists(st.integers(0, 3), min_size=0, max_size=3), st.integers(1, 4), st.integers(0, 4), st.integers(0, 4))
def test_split_and_merge_are_inverse_for_any_shape(lead, H, L, d):
    x = np.random.default_rng(0).standard_normal((*lead, L, H * d))
    heads = na.SplitHeads(H)(x)
    assert heads.shape == (*lead, H, L, d)
    assert_array_equal(na.MergeHeads()(heads), x)
    for h in range(H):
        assert_array_equal(heads[..., h, :, :], x[..., h * d:(h + 1) * d])
