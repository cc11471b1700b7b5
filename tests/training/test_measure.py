"""Head measurements on weights whose answers are known, and on heads that are switched off."""
import math

import numpy as np
import pytest

from numpy_attention.training import (
    ToyModel,
    accuracy,
    entropy,
    gold_mass,
    head_costs,
    head_off,
    head_scores,
    prefix_match_score,
    previous_token_score,
    task,
)

N, H, L = 2, 3, 5


def test_previous_token_score():
    rng = np.random.default_rng(0)
    weights = rng.random((N, H, L, L))
    by_hand = [np.mean([weights[n, h, i, i - 1] for n in range(N) for i in range(1, L)]) for h in range(H)]
    np.testing.assert_allclose(previous_token_score(weights), by_hand)


def test_prefix_match_score_counts_every_earlier_place_of_the_same_token():
    tokens = np.array([[1, 2, 1, 1, 3], [0, 1, 2, 3, 4]])
    weights = np.random.default_rng(0).random((N, H, L, L))
    # Place 2 holds 1 again, and 2 followed the first 1. Place 3: what followed places 0 and 2. The second row is new.
    by_hand = (weights[0, :, 2, 1] + weights[0, :, 3, 1] + weights[0, :, 3, 3]) / 2
    np.testing.assert_allclose(prefix_match_score(weights, tokens), by_hand)
    assert np.isnan(prefix_match_score(weights, np.arange(10).reshape(2, 5))).all()


def test_a_perfect_induction_head_has_score_one():
    batch = task("induction").batch(20, rng=0)
    np.testing.assert_allclose(prefix_match_score(batch.gold, batch.inputs[0]), 1)


def test_gold_mass_is_one_for_gold_itself_and_asks_each_question_apart():
    batch = task("offsets").batch(3, rng=0)
    np.testing.assert_allclose(gold_mass(batch.gold, batch.gold), np.eye(4), atol=1e-12)
    nothing = np.zeros((3, 1, 12, 12))
    assert np.isnan(gold_mass(batch.gold, nothing)).all()


def test_entropy_of_known_rows():
    rows = np.array([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4])
    np.testing.assert_allclose(entropy(rows[None, None]), (0 + math.log(2) + math.log(4)) / 3)
    np.testing.assert_allclose(entropy(np.stack([rows[:1], rows[2:]])[None]), [0, math.log(4)])


def test_a_head_that_is_off_adds_nothing_and_comes_back():
    model = ToyModel(5, 6, layers=2, heads=2, d_model=8, rng=0, dtype=np.float64)
    ids = np.array([[0, 1, 2, 3]])
    before = model(ids)
    attention = model.attentions()[1]
    with head_off(model, 1, 0):
        model(ids)
        alone = attention.cache["concat"][..., 4:] @ attention.output_proj.params["W"][4:]
        np.testing.assert_allclose(attention.cache["out"], alone)
    np.testing.assert_array_equal(model(ids), before)
    with pytest.raises(ZeroDivisionError), head_off(model, 0, 0):
        raise ZeroDivisionError
    np.testing.assert_array_equal(model(ids), before)


def test_costs_are_accuracies_lost():
    model, batch = ToyModel(10, 8, layers=2, heads=2, rng=0), task("reverse").batch(30, rng=0)
    costs = head_costs(model, batch)
    whole = accuracy(model, batch)
    with head_off(model, 1, 1):
        assert costs[1, 1] == whole - accuracy(model, batch)
    assert costs.shape == (2, 2)


@pytest.mark.parametrize(("layer", "head"), [(2, 0), (0, 3), (-1, 0)])
def test_a_head_that_is_not_there(layer, head):
    model = ToyModel(10, 8, layers=2, heads=2, rng=0)
    with pytest.raises(ValueError, match=rf"from \(0, 0\) to \(1, 1\); got \({layer}, {head}\)"):
        head_off(model, layer, head).__enter__()


@pytest.mark.parametrize(("name", "scores"), [
    ("shift", ["entropy", "gold mass", "previous token", "prefix match"]), ("recall", ["entropy", "gold mass"]),
    ("text", ["entropy", "previous token", "prefix match"]),
])
def test_each_task_gets_the_scores_that_make_sense_for_it(name, scores):
    from numpy_attention.training.run import model_for
    made = task(name)
    found = head_scores(model_for(made, **{**made.model, "heads": 2}, rng=0), made.batch(5, rng=0))
    assert list(found) == scores
    assert all(values.shape[1] == 2 and np.isfinite(values).all() for values in found.values())
