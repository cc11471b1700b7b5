"""PyTorch's masks: which polarity, which shape, what becomes a mask and what a bias."""
import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.engine.mask_and_bias import fit_mask

from ..golden.golden import cases
from ..standard import H, L, N, S, draw

to_hides, to_shows = na.interop.mask_to_torch_true_hides, na.interop.mask_to_torch_true_shows
from_hides, from_shows = na.interop.masks_from_torch_true_hides, na.interop.masks_from_torch_true_shows


def bools(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).random(shape) < 0.5


def seen(mask):
    """A mask as the scores feel it."""
    return np.broadcast_to(fit_mask(mask, (N, H, L, S)), (N, H, L, S))


def test_the_two_polarities_are_opposites():
    mask = bools(L, S)
    np.testing.assert_array_equal(from_shows(mask)["mask"], mask)
    np.testing.assert_array_equal(from_hides(mask)["mask"], ~mask)


@pytest.mark.parametrize("shape", [(L, S), (1, S), (N, L, S), (N, 1, S), (N, H, L, S), (1, H, 1, S), (N, 1, 1, S)])
def test_there_and_back(shape):
    mask = bools(*shape)
    hidden = to_hides(mask, (N, H, L, S))
    assert hidden.shape in ((L, S), (N * H, L, S))
    np.testing.assert_array_equal(seen(from_hides(hidden, num_heads=H)["mask"]), seen(mask))
    np.testing.assert_array_equal(seen(from_shows(to_shows(mask, (N, H, L, S)))["mask"]), seen(mask))


def test_heads_of_an_attn_mask_are_fastest():
    hidden = np.zeros((N * H, L, S), bool)
    hidden[1 * H + 2] = True            # sequence 1, head 2
    mask = from_hides(hidden, num_heads=H)["mask"]
    assert not mask[1, 2].any()
    assert mask.sum() == (N * H - 1) * L * S


def test_both_masks_hide():
    attn, padding = bools(L, S), bools(N, S)
    mask = seen(from_hides(attn, padding)["mask"])
    np.testing.assert_array_equal(mask, np.broadcast_to(~(attn[None, None] | padding[:, None, None]), mask.shape))


def test_a_single_sequence():
    attn, padding = bools(H, L, S), bools(S)
    mask = from_hides(attn, padding, num_heads=H)["mask"]
    np.testing.assert_array_equal(mask, (~(attn | padding))[None])
    np.testing.assert_array_equal(from_hides(key_padding_mask=padding)["mask"], ~padding[None])
    mha = na.MultiHeadAttention(6, H, rng=0)
    mha(draw(L, 6), draw(S, 6), mask=mask)
    assert (mha.weights[attn | padding] == 0).all()


def test_float_masks_become_a_bias_and_what_they_hide_a_mask():
    given = draw(L, S)
    given[1, 2] = -np.inf
    found = from_hides(given)
    np.testing.assert_array_equal(found["mask"], given != -np.inf)
    np.testing.assert_array_equal(found["bias"], np.where(found["mask"], given, 0))
    only_hides = from_hides(np.where(bools(L, S), 0.0, -np.inf))
    assert only_hides["bias"] is None
    only_adds = from_shows(draw(L, S))
    assert only_adds["mask"] is None
    zeros = from_shows(np.zeros((L, S)))        # a bias that has just begun to be learned is one, too
    assert zeros["mask"] is None
    assert zeros["bias"] is not None


def test_a_boolean_and_a_float_mask_together():
    attn, padding = bools(L, S), draw(N, S)
    found = from_hides(attn, padding)
    np.testing.assert_array_equal(found["mask"], ~attn)
    assert found["bias"].shape == (N, 1, 1, S)
    assert from_hides(padding[:1].repeat(L, axis=0), padding)["bias"].shape == (N, 1, L, S)


def test_pytorch_lines_axes_up_from_the_right():
    mask = bools(H, L, S)
    assert from_shows(mask)["mask"].shape == (1, H, L, S)
    assert from_shows(mask, rank=3)["mask"].shape == (H, L, S)
    assert from_shows(bools(S))["mask"].shape == (1, S)
    assert from_shows(bools(L, S))["mask"].shape == (L, S)
    with pytest.raises(ValueError, match="rank = 3"):
        from_shows(bools(N, H, L, S), rank=3)


def test_nothing_stays_nothing():
    assert from_hides() == from_shows(None) == {"mask": None, "bias": None}
    assert to_hides(None, (N, H, L, S)) is None
    assert to_shows(None, (N, H, L, S)) is None


@pytest.mark.parametrize("convert", [from_hides, from_shows, lambda m: from_hides(key_padding_mask=m)])
def test_the_callers_masks_are_left_alone(convert):
    for given in (bools(N, S), draw(N, S)):
        before = given.copy()
        given.flags.writeable = False
        for part in convert(given).values():
            assert part is None or not np.shares_memory(part, given)
        np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize(("use", "error", "message"), [
    (lambda: from_hides(np.ones((L, S), int)), TypeError, r"attn_mask must be boolean.*astype\(bool\)"),
    (lambda: from_hides(key_padding_mask=np.ones((N, S), np.uint8)), TypeError, "key_padding_mask must be boolean"),
    (lambda: from_shows(np.ones((L, S), int)), TypeError, "attn_mask must be boolean"),
    (lambda: from_shows(np.full((L, S), np.nan)), ValueError, "NaN"),
    (lambda: from_hides(np.full((L, S), np.inf)), ValueError, r"\+inf"),
    (lambda: from_hides(bools(N, H, L, S)), ValueError, r"\(L, S\) or \(N·H, L, S\)"),
    (lambda: from_hides(bools(N * H, L, S)), ValueError, "num_heads"),
    (lambda: from_hides(bools(N * H, L, S), num_heads=4), ValueError, "divisor of 6"),
    (lambda: from_hides(bools(N * H, L, S), num_heads=0), ValueError, "num_heads"),
    (lambda: from_hides(key_padding_mask=bools(N, 1, S)), ValueError, r"\(N, S\)"),
    (lambda: to_hides(bools(L, S), (N, H, L, S + 1)), ValueError, r"mask must have shape"),
])
def test_other_masks_are_refused(use, error, message):
    with pytest.raises(error, match=message):
        use()


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases("torch", "SDPA")
                                  if "attn_mask" in case.inputs and not case.attrs["is_causal"]
                                  and "grad_attn_mask" not in case.outputs])
def test_sdpa_masks_mean_what_they_mean_there(case):
    given = case.inputs
    attention = na.ScaledDotProductAttention(scale=case.attrs["scale"])
    out = attention(given["query"], given["key"], given["value"],
                    **from_shows(given["attn_mask"], rank=given["query"].ndim))
    assert case.mismatches({"out": out, "attn": attention.weights}) == []


@pytest.mark.parametrize(("call", "says"), [
    (lambda: na.interop.masks_from_torch_true_hides(np.ones((4, 3, 3), bool), num_heads="2"), "num_heads must be"),
    (lambda: na.interop.masks_from_torch_true_hides(np.ones((4, 3, 3), bool), num_heads=0), "num_heads must be"),
    (lambda: na.interop.mask_to_torch_true_hides(na.causal_mask(3), (2, 3, 3)), r"shape must be .* \(N, H, L, S\)"),
])
def test_sizes_that_do_not_fit(call, says):
    with pytest.raises((TypeError, ValueError), match=says):
        call()
