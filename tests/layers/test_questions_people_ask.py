"""Numbers about which people ask in public, each with the value that is right and why."""
import math

import numpy as np
import pytest

import numpy_attention as na


def draw(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def in_steps(mha, x, ends=(1, 2, 3, 4, 5)):
    cache, starts = na.KVCache(mha, x.shape[1], batch=len(x)), (0, *ends[:-1])
    return np.concatenate([cache.step(x[:, a:b]) for a, b in zip(starts, ends, strict=True)], axis=1)


def test_the_softcap_comes_before_the_mask():
    Q, K, V = np.array([[1.]]), np.array([[1.], [2.], [3.]]), np.eye(3)
    shares = np.exp(np.tanh([1, 2]))
    right = [[*(shares / shares.sum()), 0]]
    attention = na.ScaledDotProductAttention(scale=1.0, softcap=1.0)
    np.testing.assert_allclose(attention(Q, K, V, mask=np.array([[True, True, False]])), right, atol=1e-15)
    np.testing.assert_allclose(attention(Q, K, V, bias=np.array([[0., 0., -np.inf]])), right, atol=1e-15)


def test_alibi_in_steps():
    H, L = 6, 7
    mha, x = na.MultiHeadAttention(12, H, rng=0), draw(1, L, 12)
    whole = mha(x, mask=na.causal_mask(L), bias=na.alibi_bias(H, L))
    cache = na.KVCache(mha, L, batch=1)
    parts = [cache.step(x[:, :4], bias=na.alibi_bias(H, 4))]
    parts += [cache.step(x[:, t:t + 1], bias=na.alibi_bias(H, 1, t + 1, offset=t)) for t in range(4, L)]
    assert np.abs(np.concatenate(parts, axis=1) - whole).max() < 1e-14


def test_alibi_slopes_of_a_number_of_heads_that_is_no_power_of_two():
    np.testing.assert_allclose(na.alibi_slopes(12), [*(2.0 ** -i for i in range(1, 9)),
                                                     2 ** -.5, 2 ** -1.5, 2 ** -2.5, 2 ** -3.5])


def test_a_window_counts_its_own_place():
    assert na.window_mask(8, left=2, right=0).sum(axis=1).tolist() == [1, 2, 3, 3, 3, 3, 3, 3]


def test_a_class_that_cannot_be():
    loss = na.CrossEntropyLoss()
    assert loss([[-np.inf, 0., 0.]], [1]) == pytest.approx(math.log(2), abs=1e-15)
    np.testing.assert_allclose(loss.backward(), [[0, -.5, .5]])


@pytest.mark.parametrize(("weights", "right"), [([.1, .9], 1.38857), ([.01, .99], 2.79825)])
def test_class_weights_with_smoothing_as_in_pytorch(weights, right):
    loss = na.CrossEntropyLoss(class_weights=weights, label_smoothing=.1)
    assert loss([[0., 1.]], [0]) == pytest.approx(right, abs=1e-5)


def test_smoothing_is_content_with_its_own_shares():
    loss = na.CrossEntropyLoss(label_smoothing=.1)
    loss([[math.log(.95), math.log(.05)]], [0])
    assert np.abs(loss.backward()).max() < 1e-15


def test_an_upstream_of_ones_says_nothing_of_a_softmax():
    softmax, x = na.Softmax(), np.array([[1., 2.], [3., 4.]])
    softmax(x)
    assert np.abs(softmax.backward(np.ones((2, 2)))).max() < 1e-15


def test_the_two_gelus_differ_by_this_much():
    x = np.linspace(-6, 6, 200_001)
    apart = np.abs(na.GELU()(x) - na.GELU(approximate="tanh")(x))
    assert 4.7e-4 < apart.max() < 4.75e-4 and abs(x[apart.argmax()]) == pytest.approx(2.699, abs=0.01)


def test_a_norm_in_half_precision_is_computed_in_single():
    x = np.random.default_rng(0).uniform(-1000, 1000, (2, 64)).astype(np.float16)
    y, exact = na.RMSNorm(64)(x), x.astype(float)
    exact /= np.sqrt((exact**2).mean(axis=-1, keepdims=True))
    assert y.dtype == np.float16 and np.abs(y - exact).max() < 1e-3


def test_rms_norm_and_rotation_commute():
    x, norm, rotary = draw(2, 5, 8), na.RMSNorm(8, eps=0.0), na.Rotary(8)
    assert np.abs(rotary(norm(x)) - norm(rotary(x))).max() < 1e-14


def test_the_gradient_of_a_relative_table_is_a_sum_over_its_places():
    torch = pytest.importorskip("torch")
    table, places = draw(11, seed=3), np.arange(5)[:, None] - np.arange(5) + 5
    Q, K, V, upstream = (draw(2, 3, 5, 4, seed=seed) for seed in (4, 5, 6, 7))
    attention, ours = na.ScaledDotProductAttention(), np.zeros(11)
    attention(Q, K, V, bias=table[places])
    attention.backward(upstream)
    np.add.at(ours, places, attention.grads["bias"])
    theirs = torch.tensor(table, requires_grad=True)
    out = torch.nn.functional.scaled_dot_product_attention(*map(torch.tensor, (Q, K, V)),
                                                           attn_mask=theirs[torch.tensor(places)])
    (out * torch.tensor(upstream)).sum().backward()
    assert np.abs(ours - theirs.grad.numpy()).max() < 1e-13


def test_the_bias_of_the_values_may_be_folded_into_the_last_one():
    mha, x = na.MultiHeadAttention(8, 2, rng=0), draw(1, 4, 8)
    mha.value_proj.params["b"] = b = draw(8, seed=9)
    before, last = mha(x), mha.output_proj.params
    last["b"] = last["b"] + b @ last["W"]                       # each row of weights sums to 1
    mha.value_proj.params["b"] = np.zeros(8)
    assert np.abs(mha(x) - before).max() < 1e-14


class Wrapped(na.Layer):
    """Somebody's own layer around a rotary attention, which takes the place of its queries."""

    def __init__(self):
        super().__init__()
        self.inner = na.RotaryAttention(4)

    weights = property(lambda self: self.inner.weights)

    def forward(self, Q, K, V, *, mask=None, bias=None, query_offset=0):
        out = self.inner(Q, K, V, mask=mask, bias=bias, query_offset=query_offset)
        self.cache = dict(self.inner.cache)
        return out

    def backward(self, dout):
        return self.inner.backward(dout)


@pytest.mark.parametrize("make", [lambda: na.RotaryAttention(4), Wrapped])
@pytest.mark.parametrize("ends", [(1, 2, 3, 4, 5), (3, 4, 5)])
def test_rotary_in_steps(make, ends):
    mha, x = na.MultiHeadAttention(8, 2, rng=0, attention=make()), draw(1, 5, 8)
    assert np.abs(in_steps(mha, x, ends) - mha(x, mask=na.causal_mask(5))).max() < 1e-14


def test_positions_of_each_sequence():
    x, places = draw(2, 3, 4, 6), np.array([[0, 1, 2, 3], [5, 6, 7, 8]])
    for sequence, own in enumerate(places):
        np.testing.assert_array_equal(na.Rotary(6)(x, positions=places)[sequence],
                                      na.Rotary(6)(x[sequence], positions=own))


def test_padding_does_not_shorten_the_answer():
    keep = np.zeros((5, 6), bool)
    keep[:, 0] = True
    out = na.TransformerEncoder(3, 8, 4, 16, rng=0)(draw(5, 6, 8), mask=na.padding_mask(keep, 6))
    assert out.shape == (5, 6, 8) and np.isfinite(out).all()


def test_only_the_norm_first_stack_ends_with_a_norm():
    assert na.TransformerEncoder(1, 8, 2, rng=0).norm is None
    assert na.TransformerEncoder(1, 8, 2, norm_first=True, rng=0).norm is not None


def test_dropout_is_for_training_only():
    mha, x = na.MultiHeadAttention(8, 2, dropout=.5, rng=0), draw(1, 4, 8)
    assert not np.array_equal(mha(x), mha(x))
    mha.eval()
    calm = mha(x)
    assert np.array_equal(calm, mha(x))
    mha.train()
    assert not np.array_equal(calm, mha(x))
