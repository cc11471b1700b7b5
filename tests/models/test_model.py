"""The model as a layer: what it states is what it does, and every gradient is right, in every family."""
import json

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.models import LanguageModel, open_model, read_config

from .test_reference import FOLDER

SMALL = {"vocab_size": 7, "n_layer": 2, "num_hidden_layers": 2, "n_embd": 8, "hidden_size": 8, "n_head": 2,
         "num_attention_heads": 2, "n_inner": 5, "intermediate_size": 5, "num_key_value_heads": 1, "head_dim": 6,
         "pad_token_id": None}
KINDS = ["gpt2", "bert", "llama", "qwen2", "qwen3"]


def small(kind, **changes):
    """A tiny model of one family whose sizes all differ, with random biases and gains, too."""
    config = {**json.loads((FOLDER / kind / "config.json").read_text()), **SMALL, **changes}
    if kind == "bert":
        del config["head_dim"]
    model = LanguageModel(read_config(config), rng=0, dtype=np.float64)
    rng = np.random.default_rng(1)
    for array in model.named_params().values():
        array[...] = array * 0.5 + 0.3 * rng.standard_normal(array.shape)
    return model


IDS = np.array([[3, 1, 4, 1], [5, 2, 6, 5]])


@pytest.mark.parametrize("kind", KINDS)
def test_every_gradient_is_right(kind):
    model = small(kind)
    report = na.check_gradients(model, IDS)
    assert report.ok, str(report)


def test_every_gradient_is_right_without_ties_and_with_windows_masks_and_scales():
    windowed = small("qwen2", tie_word_embeddings=False, use_sliding_window=True, sliding_window=2,
                     layer_types=["sliding_attention", "full_attention"])
    assert na.check_gradients(windowed, IDS, mask=na.padding_mask([2, 4], 4)).ok
    scaled = small("gpt2", scale_attn_by_inverse_layer_idx=True, tie_word_embeddings=False)
    assert na.check_gradients(scaled, IDS, positions=np.array([[0, 0, 1, 2], [0, 1, 2, 3]])).ok


@pytest.mark.parametrize("kind", KINDS)
def test_the_statement_is_what_happens(kind):
    model = small(kind)
    model.backward(np.random.default_rng(2).standard_normal(model(IDS).shape))
    sizes = {"N": 2, "L": 4, "D": 8, "V": 7, "...": 8}
    for layer in (model, model.blocks[0], model.unembedding):
        symbols = {**sizes, "...": (2, 4)}
        for half, tensors in ((layer.FORWARD, layer.cache), (layer.BACKWARD, layer.grads)):
            own = [stage for stage in half if not isinstance(stage, str)]
            for stage in own:
                if (stage.name[1:] if half is layer.BACKWARD else stage.name) not in tensors:
                    assert stage.name in ("dtable", "dW", "db"), stage
                    continue
                tensor = tensors[stage.name if half is layer.FORWARD else stage.name[1:]]
                wanted = sum(((symbols[s] if s == "..." else (symbols[s],)) for s in stage.shape.split()), ())
                assert tensor.shape == wanted, stage
                assert stage.en
                assert stage.zh
    named = [model.FORWARD, model.BACKWARD]
    assert [stage.name for stage in named[0]] == [name for name in model.cache if name != "ids"]
    trace = na.trace(model)
    assert trace["logits"].value.shape == (2, 4, 7)


@pytest.mark.parametrize("kind", KINDS)
def test_all_parameters_have_gradients_and_a_tied_table_is_named_once(kind):
    model = small(kind)
    model.backward(np.ones(model(IDS).shape))
    params, grads = model.named_params(), model.named_grads()
    assert {name: array.shape for name, array in params.items()} == {name: array.shape for name, array in grads.items()}
    assert ("unembedding.W" in params) == (not model.tied)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "qwen3"])
def test_padding_on_the_left_changes_nothing(kind):
    model = small(kind)
    alone = model(IDS[:1, 1:])
    padded, real = np.array([[0, 0, 1, 4, 1]]), np.array([[False, False, True, True, True]])
    both = model(padded, mask=na.padding_mask(real, 5), positions=np.array([[0, 0, 0, 1, 2]]))
    assert np.allclose(both[:, 2:], alone, rtol=0, atol=1e-13)


def test_rotary_positions_count_by_their_distance_only():
    model = small("llama")
    assert np.allclose(model(IDS), model(IDS, positions=np.arange(4) + 9), rtol=0, atol=1e-13)
    assert not np.allclose(model(IDS), model(IDS, positions=[0, 2, 4, 6]), rtol=0, atol=1e-3)
    assert np.allclose(model(IDS), model(IDS, positions=[[0, 1, 2, 3], [5, 6, 7, 8]]), rtol=0, atol=1e-13)
    before = model(IDS)
    model(IDS, positions=[0, 2, 4, 6])
    assert (model(IDS) == before).all()


def test_a_window_hides_what_lies_before_it():
    model = small("llama")
    windowed = small("qwen2", use_sliding_window=True, sliding_window=2, layer_types=["sliding_attention"] * 2)
    windowed(IDS)
    weights = windowed.attentions()[0].weights
    assert (weights[..., 3, :2] == 0).all()
    assert (weights[..., 3, 2:] > 0).all()
    model(IDS)
    assert (model.attentions()[0].weights[..., 3, :] > 0).all()


@pytest.mark.parametrize(("arguments", "says"), [
    (([[7]],), r"ids must lie in 0\.\.6"),
    (([[0.5]],), "ids must be whole numbers"),
    (([list(range(7)) * 5],), r"the text reaches place 34: this model's table of positions has 32 rows"),
])
def test_what_cannot_be_read_is_said(arguments, says):
    with pytest.raises((ValueError, TypeError), match=says):
        small("gpt2")(*arguments)


def test_wrong_positions_are_said():
    with pytest.raises(ValueError, match=r"positions must be whole numbers of shape \(N, L\) = \(2, 4\)"):
        small("gpt2")(IDS, positions=[0, 1])


def test_a_model_without_a_head_ends_with_its_hidden_states():
    model = small("bert", architectures=["BertModel"])
    assert model(IDS).shape == (2, 4, 8)
    assert na.check_gradients(model, IDS).ok


def test_no_random_numbers_are_drawn_for_what_is_replaced(monkeypatch):
    monkeypatch.setattr(np.random, "default_rng", lambda rng=None: rng)
    model = open_model(FOLDER / "llama")
    assert model.embedding.params["W"].strides != (0, 0)
    assert all(0 not in array.strides for array in model.named_params().values())


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_from_a_folder_can_be_trained_and_its_file_stays(kind):
    path = FOLDER / kind / "model.safetensors"
    before, model, loss = path.read_bytes(), open_model(FOLDER / kind), na.CrossEntropyLoss()
    optimizer, losses = na.SGD(model, lr=0.05), []
    for _ in range(3):
        losses.append(float(loss(model(IDS), (IDS + 1) % 7)))
        model.backward(loss.backward())
        optimizer.step()
    assert losses[2] < losses[1] < losses[0]
    assert path.read_bytes() == before
