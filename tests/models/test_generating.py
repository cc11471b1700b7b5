"""Writing on: greedy as transformers does it, the same with and without a cache, alone and padded; draws as stated."""
import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.models import Decoding, choose, generate, open_model

from .test_model import IDS, small
from .test_reference import FOLDER


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen2", "qwen3"])
def test_greedy_writes_what_transformers_writes(name):
    model, reference = open_model(FOLDER / name), np.load(FOLDER / name / "reference.npz")
    greedy = reference["greedy"][0].tolist()
    assert greedy[:4] == reference["ids"][0, :4].tolist()
    assert generate(model, greedy[:4], 8, stop=()).tolist() == greedy


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen3"])
def test_token_by_token_gives_the_logits_of_one_run(name):
    model, ids = open_model(FOLDER / name), np.arange(10)[None] % 7
    whole = model(ids)
    decoding = Decoding(model, 10)
    steps = [decoding.step(ids[:, i:i + 1]) for i in range(10)]
    assert len(decoding) == 10
    assert np.allclose(np.concatenate(steps, axis=1), whole, rtol=0, atol=1e-13)


def test_with_a_window_the_cache_forgets_as_the_mask_does():
    model = small("qwen2", use_sliding_window=True, sliding_window=2, layer_types=["sliding_attention"] * 2)
    whole = model(IDS)
    decoding = Decoding(model, 10, batch=2)
    steps = [decoding.step(IDS[:, start:stop]) for start, stop in ((0, 3), (3, 4))]
    assert np.allclose(np.concatenate(steps, axis=1), whole, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "qwen3"])
def test_several_prompts_of_several_lengths_are_written_on_as_each_alone(kind):
    model, prompts = small(kind), [[3, 1, 4, 1, 5], [2, 6], [5]]
    together = generate(model, prompts, 6, stop=())
    for prompt, found in zip(prompts, together, strict=True):
        assert found.tolist() == generate(model, prompt, 6, stop=()).tolist()


def test_generating_leaves_the_models_own_caches_alone():
    model = small("llama")
    logits = model(IDS)
    model.backward(np.ones(logits.shape))
    before = model.named_grads()
    generate(model, [1, 2], 4)
    model.backward(np.ones(logits.shape))
    assert all((before[name] == grad).all() for name, grad in model.named_grads().items())


def test_it_stops_and_tells_each_token_as_it_comes():
    model, seen = small("gpt2"), []
    whole = generate(model, [1, 2], 8, stop=(), each=seen.append)
    assert [int(ids[0]) for ids in seen] == whole[2:].tolist()
    third = int(whole[4])
    stopped = generate(model, [1, 2], 8, stop=third)
    assert stopped.tolist() == whole[:2 + whole[2:].tolist().index(third) + 1].tolist()


def test_draws_follow_the_shares_and_their_seed():
    model = small("gpt2")
    drawn = [generate(model, [1, 2], 8, temperature=1.5, seed=seed, stop=()).tolist() for seed in (0, 0, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert len({tuple(d) for d in drawn}) > 1
    logits = np.log([[0.5, 0.25, 0.15, 0.1]]).repeat(20_000, axis=0)

    def counts(**settings):
        return np.bincount(choose(logits, temperature=1.0, rng=0, **settings), minlength=4) / 20_000

    assert np.allclose(counts(), [0.5, 0.25, 0.15, 0.1], atol=0.02)
    assert np.allclose(counts(top_k=2), [2 / 3, 1 / 3, 0, 0], atol=0.02)
    assert np.allclose(counts(top_p=0.76), [0.5 / 0.9, 0.25 / 0.9, 0.15 / 0.9, 0], atol=0.02)
    assert np.allclose(counts(top_p=0.75), [2 / 3, 1 / 3, 0, 0], atol=0.02)
    assert counts(top_p=1e-9)[0] == 1
    half = np.bincount(choose(logits, temperature=0.5, rng=0), minlength=4) / 20_000
    assert np.allclose(half, np.square([0.5, 0.25, 0.15, 0.1]) / 0.345, atol=0.02)


def test_the_toy_models_of_the_lessons_write_on_too():
    toy = na.training.ToyModel(10, 12, causal=True, layers=2, rng=0)
    whole = generate(toy, [1, 2, 3], 4)
    ids = [1, 2, 3]
    for _ in range(4):
        ids.append(int(toy([ids])[0, -1].argmax()))
    assert whole.tolist() == ids


@pytest.mark.parametrize(("arguments", "says"), [
    (([], 3), "the prompt is empty"), (([[1], []], 3), "the prompt is empty"), (("hello", 3), "without a tokenizer"),
    (([1] * 30, 4), "30 tokens and 4 more do not fit"), (([1], 0), "n must be at least 1"),
    (([99], 1), "ids must lie in"),
])
def test_what_cannot_be_written_is_said(arguments, says):
    with pytest.raises((ValueError, TypeError), match=says):
        generate(small("gpt2"), *arguments)


@pytest.mark.parametrize(("settings", "says"), [
    ({"temperature": -1}, "temperature must be"), ({"temperature": 1, "top_p": 0}, "top_p must lie in"),
    ({"temperature": 1, "top_k": 0}, "top_k must be at least 1"), ({"stop": "x"}, "needs a tokenizer"),
])
def test_settings_out_of_range_are_said(settings, says):
    with pytest.raises(ValueError, match=says):
        generate(small("gpt2"), [1], 2, **settings)


def test_a_model_that_sees_both_ways_does_not_write():
    with pytest.raises(ValueError, match="sees both ways"):
        generate(small("bert"), [1], 2)


def test_positions_are_not_dropped_in_silence():
    with pytest.raises(ValueError, match="only distances matter"):
        Decoding(small("llama"), 8).step([[1, 2]], positions=[0, 2])
    with pytest.raises(ValueError, match="only distances matter"):
        Decoding(small("qwen3"), 8).step([[1, 2]], positions=[0, 2])
    learned = small("gpt2")
    steps = Decoding(learned, 8).step([[1, 2]], positions=[0, 2])
    assert np.allclose(steps, learned([[1, 2]], positions=[0, 2]), rtol=0, atol=1e-13)


def test_a_text_longer_than_its_capacity_is_said():
    decoding = Decoding(small("llama"), 3)
    decoding.step([[1, 2]])
    with pytest.raises(ValueError, match="the cache is full"):
        decoding.step([[1, 2]])
