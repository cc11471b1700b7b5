"""Each task: its answers lie where its gold attention says, its seeds decide, and its sizes are checked."""
import importlib
import pkgutil

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.training import TASKS, Task, task, tasks

COPIED = ["reverse", "shift", "offsets", "induction", "facts", "sorting"]


@pytest.mark.parametrize("name", COPIED)
def test_a_head_that_looks_where_gold_says_finds_the_answer(name):
    made = task(name)
    batch = made.batch(50, rng=0)
    (tokens,) = batch.inputs
    read = batch.gold @ np.eye(made.vocab)[tokens][:, None]             # (N,K,L,S) (N,1,S,V) -> (N,K,L,V)
    targets, counts = (a.reshape(*a.shape[:2], -1).transpose(0, 2, 1) for a in (batch.targets, batch.counts))
    assert (read.argmax(axis=-1) == targets)[counts].all()
    np.testing.assert_allclose(read.max(axis=-1)[counts], 1)            # nothing but the answer


def test_recall_finds_the_value_in_the_gold_slot():
    batch = task("recall").batch(50, rng=0)
    asked, memory = batch.inputs
    for part, wanted in ((0, asked), (1, batch.targets)):
        np.testing.assert_array_equal(batch.gold[:, 0] @ memory[:, :, part, None], wanted[..., None])


def test_counting_gives_the_first_token_the_share_that_tells_the_count():
    batch = task("counting").batch(50, rng=0)
    share = batch.gold[:, 0, :, 0]
    np.testing.assert_allclose(1 / share[batch.counts] - 1, batch.targets[batch.counts])
    (tokens,) = batch.inputs
    assert batch.targets[0, 3] == (tokens[0] == tokens[0, 3]).sum()


@pytest.mark.parametrize("name", TASKS)
def test_shapes_and_rows_of_every_task(name):
    made = task(name)
    batch = made.batch(7, rng=0)
    N, L = batch.inputs[0].shape
    S = made.slots or L
    assert N == 7
    assert made.length == L
    assert batch.targets.shape == batch.counts.shape == ((N, L) if made.questions == 1 else (N, L, made.questions))
    assert batch.counts.any(axis=1).all()
    assert batch.inputs[0].max() < made.vocab
    assert batch.targets[batch.counts].max() < made.classes
    assert (batch.labels[~batch.counts] == -1).all()
    assert made.words(batch.inputs[0][0])
    if batch.gold is not None:
        assert batch.gold.shape == (N, made.questions, L, S)
        asked = batch.counts.reshape(N, L, -1).transpose(0, 2, 1)
        np.testing.assert_allclose(batch.gold.sum(axis=-1)[asked], 1)
        if made.causal:
            assert not np.triu(batch.gold, k=1).any()


@pytest.mark.parametrize("name", TASKS)
def test_a_seed_decides_and_a_generator_moves_on(name):
    made, rng = task(name), np.random.default_rng(3)
    first, again, later = made.batch(5, rng=3), made.batch(5, rng=rng), made.batch(5, rng=rng)
    np.testing.assert_array_equal(first.inputs[0], again.inputs[0])
    assert (again.inputs[0] != later.inputs[0]).any()


def test_blocks_have_no_letter_twice_and_vary_in_period():
    batch = task("induction").batch(200, rng=0)
    (tokens,) = batch.inputs
    assert all(len(set(row[:4])) == 4 for row in tokens)
    periods = set((~batch.counts).sum(axis=1))
    assert periods == set(range(4, 11))
    assert (tokens[batch.counts.sum(axis=1) == 16][:, 4:] == tokens[batch.counts.sum(axis=1) == 16][:, :-4]).all()


def test_text_is_what_python_brings_along():
    zen = task("text")
    assert "Explicit is better than implicit." in "".join(zen.words(zen.ids))
    assert len(task("text", text="handbook").ids) > 100_000
    own = task("text", text="abcabcabc", L=3)
    batch = own.batch(4, rng=0)
    np.testing.assert_array_equal(batch.inputs[0][:, 1:], batch.targets[:, :-1])
    assert own.vocab == 3


@pytest.mark.parametrize(("name", "settings", "says"), [
    ("revers", {}, "there is no task 'revers'; there are: reverse, shift, offsets, induction"),
    (None, {}, "there is no task None"),
    ("reverse", {"length": 3}, "reverse has no setting length; it has: V, L"),
    ("reverse", {"L": 0}, "L must be at least 1"),
    ("shift", {"L": 5, "by": 5}, r"by must lie in 0..4 \(L = 5\); got 5"),
    ("offsets", {"offsets": (1, 1)}, "all different"),
    ("induction", {"V": 5}, r"1 <= shortest <= longest <= 5: a block has no letter twice \(V = 5\)"),
    ("induction", {"L": 8}, r"longest <= 7: .* its repeat must be read \(L = 8\)"),
    ("induction", {"periods": (6, 4)}, "shortest <= longest"),
    ("induction", {"periods": (4, 5, 6)}, "shortest <= longest"),
    ("recall", {"slots": 20}, "V must be at least 20, a different key for each of 20 slots; got 16"),
    ("facts", {"facts": 9}, "V must be at least 9"),
    ("text", {"text": "short"}, "text must be one of zen, handbook, or a text of more than L = 32 characters"),
])
def test_errors_name_what_is_allowed(name, settings, says):
    with pytest.raises(ValueError, match=says):
        task(name, **settings)


def test_a_single_period_or_offset_needs_no_brackets():
    assert task("induction", periods=9) == task("induction", periods=(9, 9))
    assert task("offsets", offsets=3) == task("offsets", offsets=(3,))


def test_sizes_that_are_no_whole_numbers_are_refused():
    with pytest.raises(TypeError, match="by must be a whole number, got 1.5"):
        task("shift", by=1.5)
    with pytest.raises(TypeError, match="L must be a whole number"):
        task("reverse", L=2.5)
    with pytest.raises(ValueError, match="N must be at least 1"):
        task("reverse").batch(0)
    with pytest.raises(ValueError, match="has its settings already"):
        task(task("reverse"), L=3)


def test_tasks_with_the_same_settings_are_equal():
    assert task("shift", by=2) == task("shift", by=2) != task("shift")
    assert len({task("shift"), task("shift"), task("reverse")}) == 2
    assert "training" in dir(na) or na.training


def test_every_task_of_a_file_can_be_asked_for_by_name():
    kinds = {}
    for module in pkgutil.iter_modules(tasks.__path__, f"{tasks.__name__}."):
        found = vars(importlib.import_module(module.name)).values()
        kinds |= {kind: module.name for kind in found if isinstance(kind, type) and issubclass(kind, Task)}
    missing = {f"{where}.{kind.__name__}" for kind, where in kinds.items()
               if "name" in vars(kind) and kind is not Task and TASKS.get(kind.name) is not kind}
    assert not missing, f"training/tasks/__init__.py: TASKS lacks {missing}"
    hidden = {kind.__name__ for kind in TASKS.values()} - set(tasks.__all__)
    assert not hidden, f"training/tasks/__init__.py, __all__: add {sorted(hidden)}"
