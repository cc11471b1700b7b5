"""The models: every gradient measured, every stated step there, nothing looks ahead, kinds of positions."""
import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.training import Block, LookupModel, TiedAttention, ToyModel, task
from numpy_attention.training.positions import POSITIONS
from numpy_attention.training.run import model_for

SIZES = {"d_model": 6, "heads": 2, "d_k": 4, "dtype": np.float64}       # N, H, L, D, d_k, d_v: 2, 2, 5, 6, 4, 3
IDS = np.array([[0, 3, 1, 3, 2], [4, 4, 0, 1, 3]])


def test_every_number_of_the_plain_model():
    na.check_gradients(ToyModel(5, 9, rng=0, **SIZES), IDS).assert_ok()


@pytest.mark.parametrize("options", [
    {"layers": 2, "causal": True}, {"d_hidden": 7, "norm": True}, {"norm": True}, {"tied": True}, {"scale": 1.0},
    {"kv_heads": 1}, {"questions": 3, "classes": 4}, *({"positions": kind} for kind in POSITIONS),
], ids=str)
def test_every_gradient_of_the_toy_model(options):
    model = ToyModel(5, 9, rng=0, **SIZES, **options)
    na.check_gradients(model, IDS, method="directional", rules=False).assert_ok()


@pytest.mark.parametrize("options", [{}, {"tied": True}, {"kv_heads": 1}], ids=str)
def test_every_gradient_of_the_lookup_model(options):
    model = LookupModel(5, rng=0, **SIZES, **options)
    memory = np.random.default_rng(0).integers(5, size=(2, 4, 2))
    na.check_gradients(model, IDS, memory, method="directional", rules=False).assert_ok()


def test_every_gradient_of_a_block():
    block = Block(na.MultiHeadAttention(8, 2, rng=0), 8, d_hidden=7, norm=True, rng=1)
    na.check_gradients(block, np.random.default_rng(0).standard_normal((2, 5, 8)), rules=False).assert_ok()


@pytest.mark.parametrize("options", [{"layers": 2}, {"d_hidden": 7, "norm": True}], ids=str)
def test_the_trace_tells_the_whole_story(options):
    model = ToyModel(5, 9, rng=0, **SIZES, **options)
    model.backward(np.ones_like(model(IDS)))
    trace = na.trace(model)
    names = [step.name for step in trace]
    sizes = {"N": 2, "L": 5, "S": 5, "D": 6, "C": 5, "H": 2, "d_k": 4, "d_v": 3}
    wanted = ["embedded", "placed", "blocks.0.attention.weights", "blocks.0.heard", "logits", "dstream",
              "blocks.0.attention.dweights", "dplaced"]
    places = [names.index(name) for name in wanted]
    assert places == sorted(places)
    for step in map(trace.__getitem__, places):
        assert step.shape == tuple(sizes[symbol] for symbol in step.symbols.split())
    if "layers" in options:
        assert names.index("blocks.1.attention.dweights") < names.index("blocks.0.attention.dweights")


def test_the_numbers_of_parameters_that_the_course_quotes():
    for name, count in (("reverse", 1472), ("induction", 9856)):
        model = model_for(task(name), **task(name).model, rng=0)
        assert sum(p.size for p in model.named_params().values()) == count


@pytest.mark.parametrize("kind", POSITIONS)
def test_a_causal_model_does_not_look_ahead(kind):
    model = ToyModel(5, 9, layers=2, causal=True, positions=kind, rng=0, **SIZES)
    changed = IDS.copy()
    changed[:, 3] = 2
    before, after = model(IDS), model(changed)
    np.testing.assert_array_equal(before[:, :3], after[:, :3])
    assert (before[:, 3:] != after[:, 3:]).any()


def test_another_mask_may_be_handed_in():
    model = ToyModel(5, 9, causal=lambda L: na.window_mask(L, left=1, right=0), rng=0, **SIZES)
    model(IDS)
    assert (model.attentions()[0].weights[:, :, ~na.window_mask(5, left=1, right=0)] == 0).all()


@pytest.mark.parametrize("kind", POSITIONS)
def test_only_a_learned_table_ends(kind):
    model, longer = ToyModel(5, 4, positions=kind, rng=0, **SIZES), IDS
    if kind == "learned":
        with pytest.raises(ValueError, match="max_length = 4"):
            model(longer)
    else:
        assert model(longer).shape == (2, 5, 5)


def test_without_positions_order_does_not_matter():
    model = ToyModel(5, 9, positions="none", rng=0, **SIZES)
    order = [4, 2, 0, 1, 3]
    np.testing.assert_allclose(model(IDS)[:, order], model(IDS[:, order]))


def test_float32_stays_float32_from_end_to_end():
    model = ToyModel(5, 9, layers=2, positions="alibi", d_hidden=7, norm=True, rng=0)
    model.backward(np.ones_like(model(IDS)))
    layers = [model, *model.blocks, *model.attentions()]
    arrays = [a for layer in layers for held in (layer.cache, layer.grads) for a in held.values()
              if isinstance(a, np.ndarray) and a.dtype.kind == "f"]
    assert {a.dtype for a in (*arrays, *model.named_grads().values())} == {np.dtype(np.float32)}


def test_tied_attention_learns_one_matrix_and_keeps_it_tied():
    tied = TiedAttention(6, 2, rng=0)
    x = np.random.default_rng(0).standard_normal((2, 5, 6))
    na.check_gradients(tied, x, rules=False).assert_ok()
    optimizer = na.Adam(tied, lr=0.1)
    tied.backward(np.cos(tied(x)))
    optimizer.step()
    tied(x)
    np.testing.assert_allclose(tied.cache["scores"], tied.cache["scores"].mT)
    np.testing.assert_array_equal(tied.cache["Q"], tied.cache["K"])


@pytest.mark.parametrize(("options", "says"), [
    ({"positions": "absolute"}, "positions must be one of learned, sinusoidal, rotary, alibi, none; got 'absolute'"),
    ({"layers": 0}, "layers must be at least 1"), ({"heads": 3}, "cannot be cut into num_heads = 3"),
    ({"heads": 4, "kv_heads": 3}, "num_kv_heads must divide num_heads = 4"),
])
def test_impossible_sizes(options, says):
    with pytest.raises(ValueError, match=says):
        ToyModel(5, 9, d_model=8, **options)


def test_a_lookup_has_one_layer_and_pairs_in_its_memory():
    with pytest.raises(ValueError, match="LookupModel has no size layers; it has: heads"):
        model_for(task("recall"), layers=2)
    with pytest.raises(ValueError, match=r"memory must have shape \(N, S, 2\)"):
        LookupModel(5)(IDS, IDS)
