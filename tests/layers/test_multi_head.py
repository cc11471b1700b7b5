"""Multi-head attention: H heads are H attentions, and who is who among query, key and value."""
import copy
import gc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import numpy_attention as na

from ..standard import MASK, D, H, L, N, S, d_k, d_v, draw, kdim, randomise, run, vdim


@pytest.fixture
def mha():
    return randomise(na.MultiHeadAttention(D, H, d_k=d_k, d_v=d_v, rng=0))


@pytest.fixture
def cross():
    return randomise(na.MultiHeadAttention(D, H, d_k=d_k, d_v=d_v, kdim=kdim, vdim=vdim, rng=0))


X, MEMORY = draw(N, L, D), draw(N, S, D, seed=1)
KEY, VALUE = draw(N, S, kdim), draw(N, S, vdim)


def one_head(mha, h):
    """A MultiHeadAttention of one head, with head h's columns of the projections and rows of W_O."""
    D, kdim, vdim = (len(getattr(mha, name).params["W"]) for name in ("query_proj", "key_proj", "value_proj"))
    single = na.MultiHeadAttention(D, 1, d_k=d_k, d_v=d_v, kdim=kdim, vdim=vdim, rng=0)
    for name, width in (("query_proj", d_k), ("key_proj", d_k), ("value_proj", d_v)):
        columns = slice(h * width, (h + 1) * width)
        for key in ("W", "b"):
            getattr(single, name).params[key] = getattr(mha, name).params[key][..., columns]
    single.output_proj.params["W"] = mha.output_proj.params["W"][h * d_v:(h + 1) * d_v]
    single.output_proj.params["b"] = np.zeros(D)
    return single


# ---- heads

def test_many_heads_equal_a_loop_over_single_heads(cross):
    # One (D, H·d_k) matrix cut afterwards is the same as H matrices (D, d_k); the outputs of the heads add up.
    out, grads, params = run(cross, (X, KEY, VALUE), {"mask": MASK})
    total, total_grads = cross.output_proj.params["b"], [0, 0, 0]
    for h in range(H):
        single = one_head(cross, h)
        part, part_grads, part_params = run(single, (X, KEY, VALUE), {"mask": MASK[:, h:h + 1]})
        total = total + part
        total_grads = [sum_so_far + grad for sum_so_far, grad in zip(total_grads, part_grads, strict=True)]
        assert_allclose(single.weights[:, 0], cross.weights[:, h], rtol=1e-12)
        assert_allclose(part_params["key_proj.W"], params["key_proj.W"][:, h * d_k:(h + 1) * d_k], atol=1e-13)
    assert_allclose(out, total, rtol=1e-12)
    for grad, sum_of_parts in zip(grads, total_grads, strict=True):
        assert_allclose(grad, sum_of_parts, rtol=1e-11, atol=1e-13)


def test_the_formula_written_out(cross):
    p = cross.named_params()
    out = cross(X, KEY, VALUE)
    expected = np.zeros((N, L, D)) + p["output_proj.b"]
    for n in range(N):
        for h in range(H):
            Q = (X[n] @ p["query_proj.W"] + p["query_proj.b"])[:, h * d_k:(h + 1) * d_k]
            K = (KEY[n] @ p["key_proj.W"] + p["key_proj.b"])[:, h * d_k:(h + 1) * d_k]
            V = (VALUE[n] @ p["value_proj.W"] + p["value_proj.b"])[:, h * d_v:(h + 1) * d_v]
            shares = np.exp(Q @ K.T / np.sqrt(d_k))
            shares /= shares.sum(axis=1, keepdims=True)
            expected[n] += shares @ V @ p["output_proj.W"][h * d_v:(h + 1) * d_v]
    assert_allclose(out, expected, rtol=1e-12)


def test_every_head_has_a_map_of_its_own(mha):
    # Heads are never averaged away: one that is made uniform stays apart from one that is not.
    mha.query_proj.params["W"][:, :d_k] = 0
    mha.query_proj.params["b"][:d_k] = 0
    mha(X, MEMORY)
    assert mha.weights.shape == (N, H, L, S)
    assert_allclose(mha.weights[:, 0], 1 / S, rtol=1e-14)
    assert np.ptp(mha.weights[:, 1], axis=-1).min() > 0.01


def test_the_key_bias_changes_nothing_and_its_gradient_is_zero(mha):
    # It adds one number to a whole row of scores, and the softmax does not mind.
    out, _, grads = run(mha, (X, MEMORY), {"mask": MASK})
    assert_allclose(grads["key_proj.b"], np.zeros(H * d_k), atol=1e-14)
    assert np.abs(grads["query_proj.b"]).max() > 0.01
    mha.key_proj.params["b"] = mha.key_proj.params["b"] + draw(H * d_k)
    assert_allclose(mha(X, MEMORY, mask=MASK), out, rtol=1e-11)


# ---- tokens

def test_permuting_tokens_permutes_outputs(mha):
    # Splitting or merging by a reshape alone gives the right shapes and breaks this.
    order = [2, 0, 3, 1]
    out, (dx,), _ = run(mha, (X,), {})
    assert_allclose(mha(X[:, order]), out[:, order], rtol=1e-12, atol=1e-14)
    dout = draw(N, L, D, seed=9)[:, order]
    assert_allclose(mha.backward(dout), dx[:, order], rtol=1e-11, atol=1e-13)


def test_the_future_cannot_leak(mha):
    mask = na.causal_mask(L)
    before = mha(X, mask=mask)
    for t in range(1, L):
        changed = X.copy()
        changed[:, t] = draw(N, D, seed=t)
        after = mha(changed, mask=mask)
        assert_array_equal(after[:, :t], before[:, :t])
        assert not np.allclose(after[:, t:], before[:, t:])
    dout = np.zeros((N, L, D))
    dout[:, 1] = draw(N, D)
    mha(X, mask=mask)
    assert not mha.backward(dout)[:, 2:].any()


def test_sequences_of_a_batch_do_not_meet(mha):
    out, grads, _ = run(mha, (X, MEMORY), {"mask": MASK})
    dout = draw(N, L, D, seed=9)
    for n in range(N):
        assert_allclose(mha(X[n:n + 1], MEMORY[n:n + 1], mask=MASK[n:n + 1]), out[n:n + 1], rtol=1e-12)
        for alone, together in zip(mha.backward(dout[n:n + 1]), grads, strict=True):
            assert_allclose(alone[0], together[n], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("mask", [None, MASK[0, 0], MASK[:1, 0], MASK[:1], MASK[:1, :1]],
                         ids=["none", "(L, S)", "(1, L, S)", "(1, H, L, S)", "(1, 1, L, S)"])
def test_a_single_sequence_needs_no_batch_axis(mha, mask):
    # Rows are never taken for a batch: (L, D) in, (L, D) out, and the same numbers as a batch of one.
    out, grads, params = run(mha, (X[:1], MEMORY[:1]), {"mask": mask})
    weights = mha.weights
    single = mha(X[0], MEMORY[0], mask=mask)
    assert_allclose(single, out[0], rtol=1e-13)
    assert_allclose(mha.weights, weights[0], rtol=1e-13)
    for alone, batched in zip(mha.backward(draw(1, L, D, seed=9)[0]), grads, strict=True):
        assert_allclose(alone, batched[0], rtol=1e-12, atol=1e-14)
    for name, grad in mha.named_grads().items():
        assert_allclose(grad, params[name], rtol=1e-11, atol=1e-13)


# ---- roles

def test_one_array_in_several_roles_gets_the_sum(mha):
    dout = draw(N, L, D, seed=9)
    mha(X, X.copy(), X.copy())
    dquery, dkey, dvalue = mha.backward(dout)
    mha(X)
    assert_allclose(mha.backward(dout), dquery + dkey + dvalue, rtol=1e-12)
    assert_allclose(mha.grads["query"], dquery, rtol=1e-12)     # the parts stay visible
    mha(X, MEMORY, MEMORY.copy())
    dquery, dkey, dvalue = mha.backward(dout)
    mha(X, MEMORY)
    assert_allclose(mha.backward(dout)[1], dkey + dvalue, rtol=1e-12)


@pytest.mark.parametrize("alias", [lambda x: x, lambda x: x[:], lambda x: x.view()], ids=["same", "slice", "view"])
def test_arrays_given_one_by_one_get_one_gradient_each_even_if_they_are_the_same(mha, alias):
    # What was written decides how many gradients come back, never a comparison of memory.
    expected = run(mha, (X, X.copy(), X.copy()), {})
    found = run(mha, (X, alias(X), alias(X)), {})
    assert len(found[1]) == 3
    for mine, theirs in zip(found[1], expected[1], strict=True):
        assert_array_equal(mine, theirs)


def test_keywords_name_the_roles(cross):
    assert_array_equal(cross(value=VALUE, key=KEY, query=X), cross(X, KEY, VALUE))
    assert_array_equal(cross(X, value=VALUE, key=KEY), cross(X, KEY, VALUE))


def test_flat_names_are_references_not_copies(mha):
    run(mha, (X, MEMORY), {})
    assert mha.cache["weights"] is mha.attention.cache["weights"]
    assert mha.grads["scores"] is mha.attention.grads["scores"]
    assert list(mha.cache) == ["memory", "query", "key", "value", "Q", "K", "V", "scores", "weights", "heads",
                               "concat", "out"]


def test_dotted_names_of_parameters(mha):
    shapes = {name: array.shape for name, array in mha.named_params().items()}
    assert shapes == {"query_proj.W": (D, H * d_k), "query_proj.b": (H * d_k,), "key_proj.W": (D, H * d_k),
                      "key_proj.b": (H * d_k,), "value_proj.W": (D, H * d_v), "value_proj.b": (H * d_v,),
                      "output_proj.W": (H * d_v, D), "output_proj.b": (D,)}


# ---- what is hidden

@pytest.mark.parametrize("content", [np.nan, np.inf, 1e200])
def test_what_a_hidden_token_of_the_memory_holds_changes_nothing(mha, content):
    # Not the outputs, not one gradient, and in particular not dW_K and dW_V, which are sums over all tokens.
    mask = na.padding_mask([3, 4], S)
    expected = run(mha, (X, MEMORY), {"mask": mask})
    memory = MEMORY.copy()
    memory[0, 3:] = memory[1, 4:] = content
    found = run(mha, (X, memory), {"mask": mask})
    assert_array_equal(found[0], expected[0])
    for mine, theirs in zip(found[1], expected[1], strict=True):
        assert_array_equal(mine, theirs)
    assert not found[1][1][0, 3:].any()
    for name in expected[2]:
        assert_array_equal(found[2][name], expected[2][name], err_msg=name)


def test_a_query_that_sees_nothing_answers_with_the_output_bias(mha):
    mask = np.ones((L, S), bool)
    mask[2] = False
    out = mha(X, MEMORY, mask=mask)
    assert_array_equal(out[:, 2], np.broadcast_to(mha.output_proj.params["b"], (N, D)))
    dquery, dmemory = mha.backward(draw(N, L, D, seed=9))
    assert not dquery[:, 2].any()
    assert np.isfinite(dmemory).all()


def test_when_nobody_sees_anything(mha):
    out, grads, params = run(mha, (X, MEMORY), {"mask": np.zeros((L, S), bool)})
    assert_array_equal(out, np.broadcast_to(mha.output_proj.params["b"], out.shape))
    assert not any(grad.any() for grad in grads)
    assert not any(grad.any() for name, grad in params.items() if name != "output_proj.b")


# ---- empty

@pytest.mark.parametrize(("N", "L", "S"), [(0, 4, 5), (2, 0, 5), (2, 4, 0), (0, 0, 0)])
def test_empty_batches_and_sequences(mha, N, L, S):
    out, grads, params = run(mha, (np.zeros((N, L, D)), np.zeros((N, S, D))), {})
    assert out.shape == (N, L, D)
    assert mha.weights.shape == (N, H, L, S)
    assert [grad.shape for grad in grads] == [(N, L, D), (N, S, D)]
    assert all(np.isfinite(grad).all() for grad in params.values())
    if S == 0:
        assert_array_equal(out, np.broadcast_to(mha.output_proj.params["b"], out.shape))


# ---- refusals

@pytest.mark.parametrize(("d_model", "num_heads", "near"), [(10, 3, "2 or 5"), (8, 3, "2 or 4"), (7, 2, "1 or 7"),
                                                            (4, 7, "take 4 heads"), (1, 2, "take 1 heads")])
def test_widths_that_cannot_be_cut_into_heads(d_model, num_heads, near):
    with pytest.raises(ValueError, match="cannot be cut into") as raised:
        na.MultiHeadAttention(d_model, num_heads)
    message = str(raised.value)
    assert f"d_model = {d_model}" in message
    assert f"num_heads = {num_heads}" in message
    assert near in message
    assert "d_k and d_v" in message
    na.MultiHeadAttention(d_model, num_heads, d_k=2, d_v=3)     # as the message says


@pytest.mark.parametrize("name", ["d_model", "num_heads", "d_k", "d_v", "kdim", "vdim"])
@pytest.mark.parametrize("bad", [0, -2, True, 2.0, "2"])
def test_sizes_are_positive_whole_numbers(name, bad):
    sizes = {"d_model": 8, "num_heads": 2, "d_k": 4, "d_v": 4, "kdim": 8, "vdim": 8, name: bad}
    with pytest.raises(ValueError if type(bad) is int else TypeError, match=f"{name} must be "):
        na.MultiHeadAttention(**sizes)


@pytest.mark.parametrize(("shapes", "message"), [
    (((N, L, D), (N, S, D), (N, S - 1, D)), rf"share the source length S: .*key is \({N}, {S}, {D}\), value is"),
    (((N, L, D), (N + 1, S, D)), "share the batch size N"),
    (((N, L, D), (S, D)), "share the batch size N"),
    (((L, D), (N, S, D)), "share the batch size N"),
    (((N, L, D + 1),), rf"query must have shape \(N, L, D\), .*D = {D}; got \({N}, {L}, {D + 1}\)"),
    (((N, L, D), (N, S, D + 1)), rf"key must have shape \(N, S, kdim\).*kdim = {D}"),
    (((N, L, D), (N, S, D), (N, S, 3)), rf"value must have shape \(N, S, vdim\).*vdim = {D}"),
    (((D,),), "query must have shape"),
    (((1, N, L, D),), "query must have shape"),
    (((),), r"query must have shape .*got \(\)"),
    (((N, D, L),), "query must have shape"),
])
def test_shapes_that_do_not_fit(mha, shapes, message):
    with pytest.raises(ValueError, match=message) as raised:
        mha(*(np.zeros(shape) for shape in shapes))
    assert str(shapes[-1]) in str(raised.value)


@pytest.mark.parametrize("attention", [na.ScaledDotProductAttention, "plain", 1])
def test_an_attention_that_is_no_layer(attention):
    with pytest.raises(TypeError, match=r"attention must be a layer .*na\.ScaledDotProductAttention\(\); got "):
        na.MultiHeadAttention(D, 2, attention=attention)
    with pytest.raises(ValueError, match="give dropout to the attention that you hand in"):
        na.MultiHeadAttention(D, 2, dropout=0.1, attention=na.ScaledDotProductAttention())


@pytest.mark.parametrize("num_kv_heads", [4, 0, 5, 12, True, 2.0])
def test_groups_that_do_not_divide(num_kv_heads):
    with pytest.raises(ValueError if type(num_kv_heads) is int else TypeError, match="num_kv_heads must ") as raised:
        na.MultiHeadAttention(12, 6, num_kv_heads=num_kv_heads)
    assert str(num_kv_heads) in str(raised.value)


def test_grouped_heads_equal_heads_that_share_their_projections():
    # Query head h reads key/value head h // group; the gradients of a group add up.
    grouped = randomise(na.MultiHeadAttention(8, 4, num_kv_heads=2, d_k=3, d_v=5, rng=0))
    full = randomise(na.MultiHeadAttention(8, 4, d_k=3, d_v=5, rng=0))
    for name in ("query_proj", "output_proj"):
        getattr(full, name).params.update(getattr(grouped, name).params)
    for name, width in (("key_proj", 3), ("value_proj", 5)):
        for key, array in getattr(grouped, name).params.items():
            heads = array.reshape(*array.shape[:-1], 2, width).repeat(2, axis=-2)
            getattr(full, name).params[key] = heads.reshape(*array.shape[:-1], 4 * width)
    mine, theirs = (run(mha, (X, MEMORY), {}) for mha in (grouped, full))
    assert_allclose(mine[0], theirs[0], rtol=1e-12)
    for one, other in zip(mine[1], theirs[1], strict=True):
        assert_allclose(one, other, rtol=1e-11, atol=1e-13)
    shared = theirs[2]["key_proj.W"].reshape(8, 2, 2, 3).sum(axis=2).reshape(8, 6)
    assert_allclose(mine[2]["key_proj.W"], shared, rtol=1e-11, atol=1e-13)


def test_a_value_without_a_key(mha):
    with pytest.raises(ValueError, match="value was given without key"):
        mha(X, value=X)


def test_different_widths_cannot_play_one_role(cross):
    with pytest.raises(ValueError, match=f"kdim = {kdim}"):
        cross(X)


def test_weights_before_a_forward_pass(mha):
    with pytest.raises(RuntimeError, match="forward"):
        _ = mha.weights


class Uniform(na.Layer):
    """Attention of one's own: everybody looks at everything alike, and takes nothing but Q, K and V."""

    def forward(self, Q, K, V):
        self.weights = np.full((*Q.shape[:-1], K.shape[-2]), 1 / K.shape[-2])
        heads = self.weights @ V
        self.cache = {"Q": Q, "K": K, "V": V, "heads": heads}
        return heads

    def backward(self, dheads):
        dV = self.weights.mT @ dheads
        self.grads = {"heads": dheads, "V": dV}
        return np.zeros_like(self.cache["Q"]), np.zeros_like(self.cache["K"]), dV


def test_an_attention_of_ones_own_is_given_only_what_was_given():
    mha = na.MultiHeadAttention(D, H, d_k=d_k, d_v=d_v, rng=0, attention=Uniform())
    na.check_gradients(mha, draw(N, L, D)).assert_ok()
    mha(draw(N, L, D))
    assert mha.weights.shape == (N, H, L, L)
    with pytest.raises(TypeError, match="Uniform takes no mask: what attends is called as attention"):
        mha(draw(N, L, D), mask=na.causal_mask(L))


@pytest.mark.parametrize("wrap", [
    lambda inner: na.MultiHeadAttention(D, 2, attention=inner),
    lambda inner: na.RotaryAttention(4, attention=inner), lambda inner: na.ExtraKeyAttention(2, 4, 4, attention=inner)])
def test_one_attention_has_one_owner(wrap):
    shared = na.ScaledDotProductAttention(softcap=2.0)
    first = na.MultiHeadAttention(D, 2, attention=shared)
    with pytest.raises(ValueError, match="ScaledDotProductAttention is part of another MultiHeadAttention already"):
        wrap(shared)
    assert wrap(copy.deepcopy(shared)).attention is not first.attention
    del first
    gc.collect()
    assert wrap(shared).attention is shared             # its owner is gone


def test_a_grouped_layer_states_its_shapes_and_leaves_the_callers_attention_as_it_was():
    mine = na.ScaledDotProductAttention()
    before = mine.FORWARD, mine.BACKWARD
    mha = na.MultiHeadAttention(D, 4, num_kv_heads=2, attention=mine)
    assert before == (mine.FORWARD, mine.BACKWARD)
    shapes = {stage.name: stage.shape for half in ("FORWARD", "BACKWARD") for _, stage in mha.statement(half)}
    assert shapes["K"] == shapes["dK"] == "N H_kv S d_k"
