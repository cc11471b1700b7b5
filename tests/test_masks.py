"""Masks: True = may attend, one vocabulary, and answers instead of guesses where two readings are common."""
import numpy as np
import pytest
from numpy.testing import assert_array_equal

import numpy_attention as na


def rows(mask):
    """A mask as lines of 0 and 1."""
    return "/".join("".join(str(int(cell)) for cell in row) for row in mask)


@pytest.mark.parametrize(("mask", "picture"), [
    (na.causal_mask(3), "100/110/111"),
    (na.causal_mask(2, 5, offset=0), "10000/11000"),
    (na.causal_mask(2, 5, offset=3), "11110/11111"),
    (na.causal_mask(4, 2, offset=-2), "00/00/10/11"),
    (na.causal_mask(4, 2, offset=0), "10/11/11/11"),
    (na.causal_mask(1, 3, offset=2), "111"),
    (na.causal_mask(3, 3, offset=-1), "000/100/110"),
    (na.window_mask(4, left=1, right=0), "1000/1100/0110/0011"),
    (na.window_mask(4, left=0, right=0), "1000/0100/0010/0001"),
    (na.window_mask(4, left=None, right=1), "1100/1110/1111/1111"),
    (na.window_mask(4, left=1, right=None), "1111/1111/0111/0011"),
    (na.window_mask(4, left=None, right=None), "1111/1111/1111/1111"),
    (na.window_mask(2, 5, left=1, right=1, offset=2), "01110/00111"),
    (na.window_mask(3, left=99, right=99), "111/111/111"),
])
def test_pictures(mask, picture):
    assert rows(mask) == picture
    assert mask.dtype == bool


def test_padding_hides_keys_never_queries():
    # Hiding the padding's queries too would leave rows that see nothing: 00000 instead of 11100.
    mask = na.causal_mask(5) & na.padding_mask([3], 5)
    assert rows(mask[0, 0]) == "10000/11000/11100/11100/11100"


@pytest.mark.parametrize("lengths", [[2, 0, 3], np.array([2, 0, 3]), np.uint8([2, 0, 3]),
                                     np.array([[1, 1, 0], [0, 0, 0], [1, 1, 1]], bool)])
def test_padding_from_lengths_or_from_what_is_real(lengths):
    mask = na.padding_mask(lengths, 3)
    assert mask.shape == (3, 1, 1, 3)
    assert rows(mask[:, 0, 0]) == "110/000/111"


def test_padding_does_not_share_memory_with_its_source():
    real = np.ones((2, 3), bool)
    mask = na.padding_mask(real, 3)
    real[:] = False
    assert mask.all()


@pytest.mark.parametrize("sizes", [(0, None), (0, 3), (3, 0)])
def test_nothing_to_attend(sizes):
    mask = na.causal_mask(*sizes, offset=0)
    assert mask.shape == (sizes[0], sizes[0] if sizes[1] is None else sizes[1])
    assert na.padding_mask([], 4).shape == (0, 1, 1, 4)
    assert na.padding_mask([0, 0], 0).shape == (2, 1, 1, 0)


# ---- refusals

@pytest.mark.parametrize(("L", "S"), [(2, 5), (4, 2), (1, 2)])
def test_two_readings_ask_for_an_offset(L, S):
    with pytest.raises(ValueError, match="offset must be given when S differs from L") as raised:
        na.causal_mask(L, S)
    message = str(raised.value)
    for part in (f"L = {L}, S = {S}", "offset=0", "top left", f"offset={S - L}", "S - L", "bottom right"):
        assert part in message


@pytest.mark.parametrize("bad", [2.0, "3", True, None, [3], np.float64(2)])
def test_sizes_are_whole_numbers(bad):
    for name, call in {"L": lambda: na.causal_mask(bad), "S": lambda: na.padding_mask([1], bad)}.items():
        with pytest.raises(TypeError, match=f"{name} must be a whole number, got ") as raised:
            call()
        assert repr(bad) in str(raised.value)
    if bad is not None:
        for name in ("left", "right", "offset"):
            with pytest.raises(TypeError, match=f"{name} must be a whole number, got "):
                na.window_mask(3, **{"left": 1, "right": 1, name: bad})


def test_sizes_are_not_negative():
    with pytest.raises(ValueError, match="L must not be negative, got -1"):
        na.causal_mask(-1)
    with pytest.raises(ValueError, match="left must not be negative, got -2"):
        na.window_mask(3, left=-2, right=0)


@pytest.mark.parametrize(("lengths", "error", "message"), [
    ([6], ValueError, r"lengths must lie in 0\.\.S = 0\.\.5; got 6\.\.6"),
    ([-1, 2], ValueError, r"got -1\.\.2"),
    ([1.0], TypeError, "lengths must be whole numbers, one for each sequence; got dtype float64"),
    (["a"], TypeError, "lengths must be whole numbers"),
    (None, TypeError, "lengths must be whole numbers"),
    (3, ValueError, r"lengths must have shape \(N,\)"),
    ([[1, 2]], ValueError, r"lengths must have shape \(N,\).*got \(1, 2\)"),
    ([[1], [1, 2]], ValueError, "lengths must be a rectangular array"),
    (np.ones((2, 4), bool), ValueError, r"\(N, S\) with S = 5; got \(2, 4\)"),
    ([True, False], ValueError, r"\(N, S\) with S = 5; got \(2,\)"),
])
def test_lengths_that_make_no_sense(lengths, error, message):
    with pytest.raises(error, match=message):
        na.padding_mask(lengths, 5)


NOT_BOOLEAN = {
    "0/1 floats": (np.tril(np.ones((3, 3))), "float64"),
    "0/1 integers": (np.tril(np.ones((3, 3), int)), "int64"),
    "additive floats": (np.where(np.tril(np.ones((3, 3), bool)), 0, -np.inf), "float64"),
    "float32": (np.ones((3, 3), np.float32), "float32"),
    "uint8": (np.ones((3, 3), np.uint8), "uint8"),
    "complex": (np.ones((3, 3), complex), "complex128"),
    "a list of 0 and 1": ([[1, 0, 0], [1, 1, 0], [1, 1, 1]], "int64"),
    "objects": (np.full((3, 3), None), "object"),
    "text": ("causal", "<U6"),
    "a number": (1, "int64"),
}


@pytest.mark.parametrize("what", NOT_BOOLEAN)
@pytest.mark.parametrize("call", [lambda mask: na.Softmax()(np.zeros((3, 3)), mask=mask),
                                  lambda mask: na.ScaledDotProductAttention()(*[np.zeros((3, 2))] * 3, mask=mask),
                                  lambda mask: na.MultiHeadAttention(4, 2)(np.zeros((3, 4)), mask=mask)])
def test_only_booleans_are_masks(call, what):
    # A 0/1 float that is added attends everywhere, slightly tilted, and nobody notices.
    mask, dtype = NOT_BOOLEAN[what]
    with pytest.raises(TypeError, match=r"mask must be boolean \(True = may attend\)") as raised:
        call(mask)
    message = str(raised.value)
    assert f"got {dtype}" in message
    assert "mask.astype(bool)" in message
    assert "bias=" in message


def test_a_list_of_booleans_will_do():
    listed = na.Softmax()(np.zeros((2, 2)), mask=[[True, False], [True, True]])
    assert_array_equal(listed, [[1, 0], [0.5, 0.5]])


N, H, L, S = 2, 3, 4, 5
QKV = [np.random.default_rng(1).standard_normal(shape) for shape in [(N, H, L, 6), (N, H, S, 6), (N, H, S, 7)]]


@pytest.mark.parametrize("shape", [(L, S), (1, S), (L, 1), (1, 1), (N, L, S), (1, L, S), (N, 1, S), (N, L, 1),
                                   (N, H, L, S), (1, H, L, S), (N, 1, L, S), (N, H, 1, S), (N, 1, 1, S), (1, 1, 1, 1)])
def test_the_rank_says_which_axes_a_mask_has(shape):
    mask = np.random.default_rng(0).random(shape) < 0.5
    mask = np.ones(shape, bool) if mask.size == 1 else mask
    full = {2: lambda: mask[None, None], 3: lambda: mask[:, None], 4: lambda: mask}[mask.ndim]()
    full = np.broadcast_to(full, (N, H, L, S))
    rng = np.random.default_rng(1)
    Q, K, V = (rng.standard_normal(size) for size in [(N, H, L, 6), (N, H, S, 6), (N, H, S, 7)])
    attention = na.ScaledDotProductAttention()
    assert_array_equal(attention(Q, K, V, mask=mask), attention(Q, K, V, mask=full))
    assert not attention.weights[~full].any()


@pytest.mark.parametrize("shape", [(S,), (), (N, S), (H, L, S), (L, N, S), (S, L), (N, L, S, 1), (H, N, L, S),
                                   (L, S + 1), (N, L, L), (1, N, H, L, S), (N, H, L, 0)])
def test_a_mask_that_does_not_fit(shape):
    # (H, L, S) must not slip through as (N, L, S) when N happens to be 3, so here N = 2.
    with pytest.raises(ValueError, match="mask must have shape") as raised:
        na.ScaledDotProductAttention()(np.zeros((N, H, L, 6)), np.zeros((N, H, S, 6)), np.zeros((N, H, S, 7)),
                                       mask=np.ones(shape, bool))
    assert f"got {shape}" in str(raised.value)
    assert str(L) in str(raised.value) or "(L, S)" in str(raised.value)


def test_a_padding_shaped_like_n_s_is_told_what_to_do():
    x = np.zeros((3, 16, 8))
    mha = na.MultiHeadAttention(8, 4)
    with pytest.raises(ValueError, match=r"padding_mask\(\.\.\., S=16\)"):
        mha(x, mask=np.ones((3, 16), bool))
    with pytest.raises(ValueError, match=r"16.*got \(3, 15\)"):
        mha(x, mask=np.ones((3, 15), bool))


# ---- bias: what is added

@pytest.mark.parametrize("bias", [np.ones((L, S), int), np.ones((L, S), bool), "alibi", [[1] * S] * L])
def test_a_bias_is_made_of_floats(bias):
    with pytest.raises(TypeError, match="bias is added to the scores and must be floats, got ") as raised:
        na.ScaledDotProductAttention()(*QKV, bias=bias)
    assert "mask=" in str(raised.value)


@pytest.mark.parametrize("shape", [(S,), (), (N, S), (H, L, S), (L, S + 1), (1, N, H, L, S)])
def test_a_bias_that_does_not_fit(shape):
    with pytest.raises(ValueError, match="bias must have shape") as raised:
        na.ScaledDotProductAttention()(*QKV, bias=np.zeros(shape))
    assert f"got {shape}" in str(raised.value)


@pytest.mark.parametrize("shape", [(L, S), (1, S), (L, 1), (N, L, S), (N, 1, 1), (N, H, L, S), (1, H, 1, 1)])
def test_the_gradient_of_a_bias_has_its_shape_and_sums_over_what_it_stood_for(shape):
    bias, attention = np.random.default_rng(2).standard_normal(shape), na.ScaledDotProductAttention()
    full = np.broadcast_to(bias[:, None] if bias.ndim == 3 else bias, (N, H, L, S))
    one, other = attention(*QKV, bias=bias), na.ScaledDotProductAttention()
    assert_array_equal(one, other(*QKV, bias=full.copy()))
    dheads = np.random.default_rng(3).standard_normal(one.shape)
    attention.backward(dheads)
    other.backward(dheads)
    expected = other.grads["bias"]
    if len(shape) == 3:
        expected = expected.sum(axis=1)
    expected = expected.sum(axis=tuple(range(expected.ndim - len(shape))))
    for axis, size in enumerate(shape):
        if size == 1:
            expected = expected.sum(axis=axis, keepdims=True)
    np.testing.assert_allclose(attention.grads["bias"], expected, rtol=1e-10, atol=1e-15)


def test_minus_infinity_hides_and_a_large_number_does_not():
    # A finite number, however large, leaves a row that is hidden altogether with shares; selection does not.
    hidden = na.causal_mask(L, S, offset=-1)
    by_mask, by_bias = na.ScaledDotProductAttention(), na.ScaledDotProductAttention()
    assert_array_equal(by_bias(*QKV, bias=np.where(hidden, 0, -np.inf)), by_mask(*QKV, mask=hidden))
    by_bias(*QKV, bias=np.where(hidden, 0, -1e9))
    assert by_bias.weights[:, :, 0].sum() > 0


def test_ragged_masks():
    with pytest.raises(ValueError, match="mask must be a rectangular array"):
        na.Softmax()(np.zeros((2, 2)), mask=[[True], [True, False]])


@pytest.mark.parametrize("far", [2**63, 2**63 - 1, -2**63, 10**30, -10**30, 2**62 + 1])
def test_a_place_beyond_all_tables_is_refused_by_name(far):
    for call in (lambda: na.causal_mask(2, offset=far), lambda: na.window_mask(2, left=1, right=0, offset=far)):
        with pytest.raises(ValueError, match="offset must lie between"):
            call()
    for name in ("left", "right"):
        with pytest.raises(ValueError, match=f"{name} must (lie between|not be negative)"):
            na.window_mask(2, **{"left": 1, "right": 1, name: far})
    assert na.causal_mask(2, offset=2**62).all() and not na.causal_mask(2, offset=-2**62).any()
