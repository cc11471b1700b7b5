"""Models set by hand do what is claimed of them, on exercises that nobody chose; a wrong number in them is noticed."""
import numpy as np
import pytest

from numpy_attention.training import accuracy, by_hand, task

MADE = {"induction": (by_hand.induction_by_hand, task("induction")), "facts": (by_hand.facts_by_hand, task("facts")),
        "recall": (by_hand.rows_of_four_by_hand, task("recall", slots=12, V=32))}


@pytest.mark.parametrize("name", MADE)
@pytest.mark.parametrize("seed", range(3))
def test_every_answer_is_right(name, seed):
    make, exercises = MADE[name]
    assert accuracy(make(), exercises.batch(2000, rng=[seed, 77])) == 1


def test_a_pair_of_heads_for_each_place_looks_up_in_any_sequence():
    model = by_hand.look_up_by_hand()
    for name in ("jumps", "induction"):
        assert accuracy(model, task(name).batch(100, rng=[1, 77])) == 1


@pytest.mark.parametrize("name", MADE)
def test_every_matrix_is_needed(name):
    make, exercises = MADE[name]
    batch = exercises.batch(300, rng=5)
    for proj in ("query_proj", "key_proj", "value_proj", "output_proj"):
        model = make()
        getattr(model.attentions()[0], proj).params["W"][:] = 0
        assert accuracy(model, batch) < 0.9, proj


def test_weights_by_distance_keep_every_inequality():
    for i in range(4, 20):
        back = by_hand.least_recent(i, 4, 10)
        for p in range(4, min(10, i) + 1):
            sums = [back[d::p].sum() for d in range(p)]
            assert np.argmax(sums) == p - 1
            assert sums[-1] > max(0, *sums[:-1]) + 0.5
