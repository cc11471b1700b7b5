"""Looking inside: each number against plain loops or an identity that must hold, on trained kinds and on toy models."""
import numpy as np
import pytest

import numpy_attention as na
from numpy_attention import models
from numpy_attention.models.apart import apart
from numpy_attention.models.edits import Edited

from .test_model import small

KINDS = ["gpt2", "llama", "qwen3"]
TEXT, OTHER = np.array([3, 1, 4, 1, 5]), np.array([3, 1, 2, 1, 5])


def toy(**options):
    return na.training.ToyModel(7, 12, layers=2, heads=2, d_model=8, causal=True, rng=0, dtype=np.float64,
                                **{"d_hidden": 5, "norm": True, **options})


def every(name):
    return toy() if name == "toy" else small(name)


@pytest.mark.parametrize("name", [*KINDS, "toy"])
def test_head_scores_by_plain_loops(name):
    model, ids = every(name), np.array([[3, 1, 4, 3, 1, 4]])
    scores = models.head_scores(model, ids)
    model(ids)
    for layer, attention in enumerate(model.attentions()):
        for head, w in enumerate(attention.weights[0]):
            found = {"previous": np.mean([w[i, i - 1] for i in range(1, 6)]),
                     "induction": np.mean([w[i, i - 2] for i in range(3, 6)]),
                     "duplicate": np.mean([w[i, i - 3] for i in range(3, 6)]),
                     "first token": np.mean([w[i, 0] for i in range(1, 6)]),
                     "sink": max(np.mean([w[i, j] for i in range(j + 1, 6)]) for j in range(3))}
            for habit, expected in found.items():
                assert np.isclose(scores[habit][layer, head], expected, rtol=0, atol=1e-12), habit


@pytest.mark.parametrize("name", [*KINDS, "toy"])
def test_the_lens_ends_with_the_answer(name):
    model = every(name)
    lens = models.logit_lens(model, [TEXT])
    assert lens.shape == (3, 1, 7)
    assert np.allclose(lens[-1], model([TEXT])[:, -1], rtol=0, atol=1e-12)
    assert not np.allclose(lens[0], lens[-1])


@pytest.mark.parametrize("word", [4, (4, 2)])
@pytest.mark.parametrize("model", [*(small(kind) for kind in KINDS), small("gpt2", tie_word_embeddings=False)],
                         ids=[*KINDS, "untied"])
def test_a_logit_is_the_sum_of_its_parts(model, word):
    parts = models.direct_logits(model, TEXT, word, place=-2)
    logits = model([TEXT])[0, -2]
    assert np.isclose(parts["logit"], logits[4] if word == 4 else logits[4] - logits[2], rtol=0, atol=1e-12)
    total = sum(np.sum(value) for name, value in parts.items() if name != "logit")
    assert np.isclose(total, parts["logit"], rtol=0, atol=1e-10)
    assert np.abs(parts["heads"]).min() > 1e-6


@pytest.mark.parametrize("name", [*KINDS, "toy"])
def test_patching_rows_one_by_one(name):
    model, measure = every(name), models.logit_difference(4, 2)
    moved = models.patch(model, TEXT, OTHER, measure)
    best, worst = measure(model([TEXT]))[0], measure(model([OTHER]))[0]
    model([TEXT])
    kept = [block.cache["out"].copy() for block in model.blocks]
    for layer in range(2):
        for place in range(5):
            twin = apart(model)
            block = twin.blocks[layer]

            def put_in(out, layer=layer, place=place):
                out[0, place] = kept[layer][0, place]
                return out

            twin.blocks[layer] = Edited(block, after=put_in)
            expected = (measure(twin([OTHER]))[0] - worst) / (best - worst)
            assert np.isclose(moved[layer, place], expected, rtol=0, atol=1e-9)
    assert np.allclose(moved[:, :2], 0, atol=1e-9)          # before the word that differs nothing differs
    assert np.isclose(moved[-1, -1], 1)                     # behind the last block only the last row is read
    assert np.allclose(moved[-1, :-1], 0, atol=1e-9)


@pytest.mark.parametrize("name", [*KINDS, "toy"])
def test_patching_heads_and_layers(name):
    model, measure = every(name), models.logit_difference(4, 2)
    heads = models.patch(model, TEXT, OTHER, measure, what="heads")
    layers = models.patch(model, TEXT, OTHER, measure, what="layers")
    assert heads.shape == layers.shape == (2, 2)
    assert np.isfinite(heads).all()
    assert np.isfinite(layers).all()
    one_head = small("gpt2", n_head=1)                      # one head is all of its layer's attention
    assert np.allclose(models.patch(one_head, TEXT, OTHER, measure, what="heads")[:, 0],
                       models.patch(one_head, TEXT, OTHER, measure, what="layers")[:, 0], rtol=0, atol=1e-9)


def test_switching_heads_off_is_what_zeroed_rows_of_the_mixing_matrix_do():
    model = small("llama")
    whole, without, others = models.ablate(model, [TEXT], [(1, 0)], lambda logits: logits[0, -1, 4], controls=3)
    with na.training.head_off(model, 1, 0):
        expected = model([TEXT])[0, -1, 4]
    assert np.isclose(without, expected, rtol=0, atol=1e-12)
    assert np.isclose(whole, model([TEXT])[0, -1, 4], rtol=0, atol=1e-12)
    assert len(others) == 3
    effects = models.head_effects(model, TEXT, lambda logits: logits[:, -1, 4])
    assert np.isclose(effects[1, 0], whole - without, rtol=0, atol=1e-12)
    with na.training.head_off(model, 1, 1):
        assert np.isclose(others[0], model([TEXT])[0, -1, 4], rtol=0, atol=1e-12)      # the only other one


def test_rollout_by_plain_products():
    model = small("gpt2")
    flow = models.rollout(model, [TEXT])
    model([TEXT])
    expected = np.eye(5)
    for attention in model.attentions():
        expected = (0.5 * attention.weights[0].mean(axis=0) + 0.5 * np.eye(5)) @ expected
    assert np.allclose(flow[0], expected, rtol=0, atol=1e-12)
    assert np.allclose(flow.sum(axis=-1), 1)


@pytest.mark.parametrize("name", [*KINDS, "toy"])
def test_gradients_of_one_logit(name):
    model = every(name)
    shown = models.saliency(model, [TEXT], word=4)
    found = models.gradient_attention(model, [TEXT], word=4)
    logits = model([TEXT])
    upstream = np.zeros(logits.shape)
    upstream[0, -1, 4] = 1
    model.backward(upstream)
    assert np.allclose(shown, (model.cache["embedded"] * model.grads["embedded"]).sum(axis=-1), rtol=0, atol=1e-12)
    for layer, attention in enumerate(model.attentions()):
        expected = np.maximum(attention.weights * attention.grads["weights"], 0).mean(axis=1)
        assert np.allclose(found[layer], expected, rtol=0, atol=1e-12)
    pair = models.saliency(model, [TEXT], word=(4, 2))
    assert np.allclose(pair, shown - models.saliency(model, [TEXT], word=2), rtol=0, atol=1e-12)


def test_losses_are_those_of_the_loss_layer():
    model = small("llama")
    expected = na.CrossEntropyLoss(reduction="none")(model([TEXT])[:, :-1], TEXT[None, 1:])
    assert np.allclose(models.token_losses(model, [TEXT]), expected, rtol=0, atol=1e-12)


def test_a_sentence_is_the_mean_of_its_rows():
    model = small("bert", architectures=["BertModel"])
    rows = models.sentence_embeddings(model, [[3, 1, 4], [5]], normalise=False)
    assert np.allclose(rows[0], model([[3, 1, 4]])[0].mean(axis=0), rtol=0, atol=1e-12)
    assert np.allclose(rows[1], model([[5]])[0, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("look", [
    lambda model: models.head_scores(model, [TEXT]), lambda model: models.logit_lens(model, [TEXT]),
    lambda model: models.direct_logits(model, TEXT, 4), lambda model: models.rollout(model, [TEXT]),
    lambda model: models.patch(model, TEXT, OTHER, models.logit_difference(4, 2)),
    lambda model: models.saliency(model, [TEXT], 4), lambda model: models.token_losses(model, [TEXT]),
    lambda model: models.head_effects(model, TEXT, lambda logits: logits[:, -1, 4]),
])
def test_looking_leaves_no_trace(look):
    model = small("llama")
    logits = model([OTHER])
    model.backward(np.ones(logits.shape))
    cache, grads, before = model.cache, model.grads, model.named_grads()
    look(model)
    assert model.cache is cache
    assert model.grads is grads
    assert all(before[name] is grad for name, grad in model.named_grads().items())


@pytest.mark.parametrize(("look", "says"), [
    (lambda model: models.patch(model, TEXT, OTHER[:-1], models.logit_difference(4, 2)), "must have the same length"),
    (lambda model: models.patch(model, TEXT, TEXT, models.logit_difference(4, 2)), "does not tell them apart"),
    (lambda model: models.patch(model, TEXT, OTHER, models.logit_difference(4, 2), what="x"), "what must be one of"),
    (lambda model: models.patch(model, [TEXT, TEXT], OTHER, None), "clean must be one text"),
    (lambda model: models.without_heads(model, [(0, 2)]), r"heads must name heads .* got \(0, 2\)"),
    (lambda model: models.ablate(model, [TEXT], [(0, 0), (0, 1)], None), "layer 0 has 0 other heads; 2 are needed"),
    (lambda model: models.head_scores(model, []), "with at least one token"),
    (lambda _: models.direct_logits(small("bert"), TEXT, 4), "norms behind its sums"),
    (lambda _: models.logit_lens(small("bert", architectures=["BertModel"]), [TEXT]), "has no head to read words off"),
    (lambda model: models.sentence_embeddings(model, [[]]), "none that is empty"),
])
def test_what_cannot_be_looked_at_is_said(look, says):
    with pytest.raises(ValueError, match=says):
        look(small("gpt2"))
