"""Rotary positions: both pairings, each with its own numbers, and products that know the distance only."""
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

from ..standard import L, N, draw, randomise


@pytest.mark.parametrize(("interleaved", "row"), [(True, [-1.14264, 1.922076, 2.959851, 4.0298]),
                                                  (False, [-1.984111, 1.959901, 2.462378, 4.0198])])
def test_known_rows(interleaved, row):
    assert_allclose(na.Rotary(4, interleaved=interleaved)([[1, 2, 3, 4]], offset=1), [row], atol=1e-6)


@pytest.mark.parametrize("interleaved", [True, False])
def test_products_depend_on_the_distance_alone_and_lengths_stay(interleaved):
    # Frequencies of one pairing with columns of the other give three different values and other lengths.
    rotary, q, k = na.Rotary(6, interleaved=interleaved), draw(1, 6), draw(1, 6, seed=1)
    products = [(rotary(q, offset=m) @ rotary(k, offset=n).T).item() for m, n in [(3, 1), (7, 5), (12, 10), (500, 498)]]
    assert_allclose(products, products[0], rtol=1e-11)
    assert abs((rotary(q, offset=3) @ rotary(k, offset=2).T).item() - products[0]) > 1e-3
    assert_allclose(np.linalg.norm(rotary(q, offset=12)), np.linalg.norm(q), rtol=1e-14)


def test_position_zero_changes_nothing_and_backward_turns_back():
    rotary, x = na.Rotary(6), draw(N, L, 6)
    assert_array_equal(rotary(x)[:, 0], x[:, 0])
    assert_allclose(rotary.backward(rotary(x)), x, rtol=1e-14)


def test_an_offset_is_a_list_of_positions():
    rotary, x = na.Rotary(6), draw(N, L, 6)
    assert_array_equal(rotary(x, offset=5), rotary(x, positions=[5, 6, 7, 8]))
    each = rotary(x, positions=[[0, 1, 2, 3], [5, 6, 7, 8]])
    assert_array_equal(each[0], rotary(x[0]))
    assert_array_equal(each[1], rotary(x[1], offset=5))


def test_only_the_first_columns_are_turned():
    x = draw(N, L, 6)
    out = na.Rotary(4)(x, offset=1)
    assert_array_equal(out[..., 4:], x[..., 4:])
    assert_array_equal(out[..., :4], na.Rotary(4)(x[..., :4], offset=1))


def test_attention_with_rotary_positions_knows_distances_only():
    attention = na.RotaryAttention(6)
    Q, K, V = draw(L, 6), draw(9, 6, seed=1), draw(9, 5)
    attention(Q, K, V, query_offset=5)
    late = attention.weights
    padded = np.concatenate([draw(3, 6, seed=2), K]), np.concatenate([draw(3, 5), V])
    attention(Q, *padded, query_offset=8, mask=np.broadcast_to(np.arange(12) >= 3, (L, 12)))
    assert_allclose(attention.weights[:, 3:], late, rtol=1e-11)
    assert not np.allclose(na.ScaledDotProductAttention()(Q, K, V), attention.cache["heads"])


def test_order_matters_now():
    mha = randomise(na.MultiHeadAttention(8, 2, attention=na.RotaryAttention(4), rng=0))
    x, order = draw(N, L, 8), [1, 0, 2, 3]
    assert not np.allclose(mha(x[:, order]), mha(x)[:, order])


@pytest.mark.parametrize("d", [3, 1])
def test_an_odd_width_has_no_pairs(d):
    with pytest.raises(ValueError, match=f"d must be even.*got {d}"):
        na.Rotary(d)


@pytest.mark.parametrize("shape", [(L, 3), (4,), ()])
def test_too_narrow(shape):
    with pytest.raises(ValueError, match=r"x must have shape \(\.\.\., L, width\) with width >= d = 4") as raised:
        na.Rotary(4)(np.zeros(shape))
    assert str(shape) in str(raised.value)


def test_positions_that_do_not_fit():
    with pytest.raises(ValueError, match=rf"positions must have shape .* L = {L}; got \(3,\)"):
        na.Rotary(4)(np.zeros((L, 4)), positions=[0, 1, 2])
    with pytest.raises(ValueError, match="rotary_dim must not exceed d_k: rotary_dim is 6, d_k is 4"):
        na.RotaryAttention(4, rotary_dim=6)


def test_scaled_speeds_are_other_positions():
    x, speeds = draw(N, L, 6), np.array([1.0, 0.5, 0.25])
    scaled = na.ScaledRotary(speeds)
    turned = scaled(x, offset=3)
    for pair, speed in enumerate(speeds):
        a, b, angle = x[..., pair], x[..., pair + 3], speed * np.arange(3, 3 + L)
        assert_allclose(turned[..., pair], a * np.cos(angle) - b * np.sin(angle), rtol=1e-12, atol=1e-14)
        assert_allclose(turned[..., pair + 3], a * np.sin(angle) + b * np.cos(angle), rtol=1e-12, atol=1e-14)
    assert_allclose(scaled.backward(turned), x, rtol=1e-13)


@pytest.mark.parametrize(("arguments", "options", "says"), [
    ((3,), {}, "d must be even"), ((4,), {"kind": "yarn", "base": 1}, "base must be a finite number above 1"),
    ((4,), {"kind": None}, "kind must be one of"), ((4,), {"kind": ["ntk"]}, "kind must be one of"),
])
def test_speeds_that_do_not_exist(arguments, options, says):
    with pytest.raises(ValueError, match=says):
        na.rotary_speeds(*arguments, **options)


def test_a_single_pair_turns_at_speed_1_however_long_the_text():
    assert na.rotary_speeds(2, kind="ntk", factor=2, length=100_000).tolist() == [1]


@pytest.mark.parametrize("offset", [2**63, -2**63, 10**30])
def test_no_place_is_that_far(offset):
    for call in (lambda: na.Rotary(4)(np.ones((2, 4)), offset=offset), lambda: na.relative_places(2, offset=offset)):
        with pytest.raises(ValueError, match="offset must lie between"):
            call()
