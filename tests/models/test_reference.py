"""Tiny random checkpoints, against what transformers 5.24 computed from them: everything, forward and backward."""
from pathlib import Path

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.models import arrays_of, open_model

FOLDER = Path(__file__).parents[1] / "golden" / "huggingface"
# transformers computes rotary angles, RMSNorm and these models' softmax in float32, whatever the model's precision.
TOLERANCE = {"gpt2": 1e-12, "bert": 1e-12, "gpt2-float16": 1e-12, "llama": 1e-6, "qwen2": 1e-6, "qwen3": 1e-6,
             "llama-bfloat16-sharded": 1e-6}


def opened(name, dtype=np.float64):
    """The model and what it should compute."""
    model = open_model(FOLDER / name, dtype=dtype)
    if name == "llama-bfloat16-sharded":            # there the angles themselves were rounded to bfloat16
        for block in model.blocks:
            for turn in (block.attention.attention.turn_queries, block.attention.attention.turn_keys):
                turn.speeds = np.array([1.0, 0.010009765625])
    return model, np.load(FOLDER / name / "reference.npz")


def read(model, reference):
    """The model's logits for the reference's ids."""
    ids = reference["ids"]
    mask = na.padding_mask(reference["attention_mask"] == 1, ids.shape[1]) if "attention_mask" in reference else None
    return model(ids, *([reference["token_type_ids"]] if "token_type_ids" in reference else []), mask=mask)


def off(found, expected):
    """The largest difference, as a share of the largest number."""
    assert found.shape == expected.shape
    return np.abs(found - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize("name", TOLERANCE)
def test_logits_and_the_weights_of_every_head(name):
    model, reference = opened(name)
    assert off(read(model, reference), reference["logits"]) < TOLERANCE[name]
    for layer, attention in enumerate(model.attentions()):
        assert off(attention.weights, reference[f"weights.{layer}"]) < TOLERANCE[name]


@pytest.mark.parametrize("name", ["gpt2", "bert", "llama", "qwen2", "qwen3"])
def test_the_stream_and_the_gradient_of_every_array(name):
    model, reference = opened(name)
    read(model, reference)
    stream = [model.cache["placed"], *(block.cache["out"] for block in model.blocks)]
    if model.norm is not None:
        stream[-1] = model.cache["hidden"]
    for layer, hidden in enumerate(stream):
        assert off(hidden, reference[f"hidden.{layer}"]) < TOLERANCE[name]
    model.backward(reference["dlogits"])
    grads = arrays_of(model, "grads")
    expected = {key.removeprefix("grad:"): reference[key] for key in reference.files if key.startswith("grad:")}
    assert set(grads) == set(expected)
    largest = max(np.abs(gradient).max() for gradient in expected.values())     # a key's bias has gradient 0
    for array, gradient in expected.items():
        assert np.abs(grads[array] - gradient).max() < TOLERANCE[name] * largest, array


@pytest.mark.parametrize("name", ["gpt2", "llama", "qwen3"])
def test_float32_is_nearly_the_same(name):
    model, reference = opened(name, np.float32)
    logits = read(model, reference)
    assert logits.dtype == np.float32
    assert off(logits, reference["logits"]) < 1e-5
