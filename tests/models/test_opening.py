"""Every setting that changes the numbers is honoured or refused in a sentence that names it; arrays are checked."""
import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.models import LanguageModel, arrays_of, open_model, read_config, to_huggingface
from numpy_attention.models.safetensors import read_safetensors, write_safetensors

from .test_reference import FOLDER

GPT2, BERT, LLAMA, QWEN2, QWEN3 = (json.loads((FOLDER / name / "config.json").read_text())
                                   for name in ("gpt2", "bert", "llama", "qwen2", "qwen3"))
MISTRAL = {**LLAMA, "model_type": "mistral", "architectures": ["MistralForCausalLM"]}
del MISTRAL["attention_bias"], MISTRAL["mlp_bias"]

REFUSED = [
    (GPT2, {"model_type": "mamba"}, "model_type is 'mamba'; known are gpt2, bert"),
    (GPT2, {"model_type": ["gpt2"]}, "model_type is"),
    (GPT2, {"activation_function": "quick_gelu"}, "activation_function is quick_gelu: known are gelu"),
    (GPT2, {"activation_function": None, "n_head": 5}, "n_head is 5: it must divide the width, 24"),
    (GPT2, {"n_layer": 0}, "n_layer is 0: a gpt2 model needs a whole number of at least 1"),
    (GPT2, {"n_embd": 2}, "n_head is 3: it must divide the width, 2"),
    (GPT2, {"n_embd": 24.0}, "n_embd is 24.0"),
    (GPT2, {"n_layer": 10 ** 12}, "n_layer is 1000000000000"),
    (LLAMA, {"head_dim": 1 << 40}, "head_dim is 1099511627776"),
    (GPT2, {"layer_norm_epsilon": -1}, "layer_norm_epsilon is -1: a positive number"),
    (GPT2, {"layer_norm_epsilon": float("nan")}, "layer_norm_epsilon is nan"),
    (GPT2, {"scale_attn_weights": 1}, "scale_attn_weights is 1: true or false"),
    (GPT2, {"add_cross_attention": True}, "add_cross_attention is True: this package's gpt2 model has nothing like it"),
    (GPT2, {"architectures": ["GPT2ForSequenceClassification"]}, "architectures is"),
    (GPT2, {"quantization_config": {"bits": 4}}, "quantization_config is"),
    (BERT, {"position_embedding_type": "relative_key"}, "position_embedding_type is relative_key"),
    (BERT, {"is_encoder_decoder": True}, "is_encoder_decoder is True"),
    (BERT, {"hidden_act": "mish"}, "hidden_act is mish"),
    (LLAMA, {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 2.0, "mscale": 1.0}}, "mscale"),
    (LLAMA, {"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "truncate": False}}, "truncate"),
    (LLAMA, {"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "attention_factor": 0}}, "attention_factor"),
    (LLAMA, {"rope_parameters": {"rope_type": "proportional", "factor": 2.0}}, "rope_type 'proportional'"),
    (LLAMA, {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}}, "rope_type 'dynamic'"),
    (LLAMA, {"rope_parameters": None, "rope_scaling": {"type": "longrope"}}, "rope_scaling is {'type': 'longrope'}"),
    (LLAMA, {"rope_parameters": {"rope_type": "linear"}}, "linear scaling needs a number as factor"),
    (LLAMA, {"rope_parameters": {"rope_type": "linear", "factor": -2}}, "must be a positive finite number"),
    (LLAMA, {"rope_parameters": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0,
                                 "high_freq_factor": 4.0}}, "low must be below high"),
    (LLAMA, {"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}, "one object for all layers"),
    (LLAMA, {"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}}, "partial_rotary_factor"),
    (LLAMA, {"partial_rotary_factor": 0.5}, "partial_rotary_factor is 0.5"),
    (LLAMA, {"sliding_window": 8}, "sliding_window is 8: this package's llama model has nothing like it"),
    (LLAMA, {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping is 50.0"),
    (LLAMA, {"final_logit_softcapping": 30.0}, "final_logit_softcapping is 30.0"),
    (LLAMA, {"num_key_value_heads": 4}, "num_key_value_heads is 4: it must divide the number of heads, 6"),
    (LLAMA, {"head_dim": 5}, "head_dim is 5"),
    (LLAMA, {"num_local_experts": 8}, "num_local_experts is 8"),
    (LLAMA, {"pad_token_id": 61}, "pad_token_id is 61"),
    (MISTRAL, {"attention_bias": True}, "attention_bias is True"),
    (QWEN2, {"layer_types": ["full_attention", "linear_attention"]}, "layer_types is"),
    (QWEN2, {"layer_types": ["sliding_attention", "full_attention"]}, "needs use_sliding_window"),
    (QWEN3, {"mlp_bias": True}, "mlp_bias is True"),
]


@pytest.mark.parametrize(("config", "change", "says"), REFUSED, ids=[says for _, _, says in REFUSED])
def test_a_setting_that_is_not_known_is_refused_by_name(config, change, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        read_config({**config, **change})


def test_settings_are_read_as_their_families_mean_them():
    assert read_config({**GPT2, "n_inner": 40, "scale_attn_by_inverse_layer_idx": True}).scales == (8 ** -0.5,
                                                                                                 8 ** -0.5 / 2)
    assert read_config({**GPT2, "scale_attn_weights": False}).scales == (1.0, 1.0)
    assert read_config({**MISTRAL, "sliding_window": 3}).windows == (3, 3)
    assert read_config({**MISTRAL, "sliding_window": None}).windows == (None, None)
    assert read_config(MISTRAL).windows == (4096, 4096)
    sliding = {**QWEN2, "use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1}
    assert read_config({**sliding, "layer_types": None}).windows == (None, 3)
    assert read_config({**sliding, "layer_types": ["sliding_attention", "full_attention"]}).windows == (3, None)
    assert read_config({**BERT, "architectures": ["BertModel"]}).head == "none"
    assert read_config({**LLAMA, "rope_parameters": None, "rope_theta": 5e5}).rope["base"] == 5e5
    assert read_config({**LLAMA, "attention_bias": True}).out_bias
    assert not read_config(QWEN2).out_bias


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(FOLDER / "gpt2", tmp_path / "gpt2")
    return tmp_path / "gpt2"


def rewrite(folder, change):
    """Change the arrays of a folder."""
    path = folder / "model.safetensors"
    arrays = {name: np.array(stored.read(np.float64)) for name, stored in read_safetensors(path).items()}
    change(arrays)
    write_safetensors(path, arrays)


@pytest.mark.parametrize(("change", "says"), [
    (lambda arrays: arrays.pop("transformer.h.1.ln_1.bias"), "missing transformer.h.1.ln_1.bias"),
    (lambda arrays: arrays.update({"transformer.h.0.extra.weight": np.ones(2)}),
     "not known to it transformer.h.0.extra"),
    (lambda arrays: arrays.update({"score.weight": np.ones(2)}), "not known to it score.weight"),
    (lambda arrays: arrays.update({"transformer.wpe.weight": np.ones((31, 24))}),
     "transformer.wpe.weight must have shape (32, 24), as its config says; it has (31, 24)"),
    (lambda arrays: arrays.update({"transformer.h.0.attn.c_attn.weight": np.ones((24, 71))}),
     "must have shape (24, 72)"),
])
def test_arrays_that_do_not_fit_are_named(folder, change, says):
    rewrite(folder, change)
    with pytest.raises(ValueError, match=re.escape(says)):
        open_model(folder)


def test_names_without_the_models_own_prefix_are_the_same(folder):
    expected = open_model(folder)([[1, 2, 3]])

    def shorten(arrays):
        for name in list(arrays):
            arrays[name.removeprefix("transformer.")] = arrays.pop(name)
        arrays["h.0.attn.bias"] = np.ones((1, 1, 32, 32))

    rewrite(folder, shorten)
    assert (open_model(folder)([[1, 2, 3]]) == expected).all()


def test_a_pickle_is_refused_with_the_reason(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match="to read one is to run what its author wrote"):
        open_model(folder)


@pytest.mark.parametrize(("index", "says"), [
    ({"weight_map": {"a": "../elsewhere.safetensors"}}, "must be a .safetensors file of the same folder"),
    ({"weight_map": {"a": "b.safetensors"}}, "has no b.safetensors"),
    ({"weight_map": {"a": 7}}, "must hold a weight_map"),
    ({}, "must hold a weight_map"),
    ([], "must hold an object"),
])
def test_an_index_leads_nowhere_else(folder, index, says):
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(says)):
        open_model(folder)


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"has no config\.json"):
        open_model(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be read as JSON"):
        open_model(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(FileNotFoundError, match=r"has no model\.safetensors"):
        open_model(tmp_path)


@pytest.mark.parametrize("change", [{"n_embd": 3 << 20}, {"n_layer": 9_000}, {"n_inner": 1 << 32},
                                    {"vocab_size": 1 << 32}, {"n_positions": 1 << 32}])
def test_a_config_larger_than_its_arrays_is_not_believed(folder, change):
    (folder / "config.json").write_text(json.dumps({**GPT2, **change}))
    with pytest.raises(ValueError, match=r"numbers, and the model of its config has at least"):
        open_model(folder)


@pytest.mark.parametrize("name", ["gpt2", "bert", "llama", "qwen2", "qwen3"])
def test_there_and_back_gives_the_same_bits(name, tmp_path):
    model = open_model(FOLDER / name)
    to_huggingface(model, tmp_path / "copy")
    again = open_model(tmp_path / "copy")
    assert again.architecture == model.architecture
    for array, mine in arrays_of(model).items():
        assert (arrays_of(again)[array] == mine).all(), array


@pytest.mark.parametrize("change", [
    {**GPT2, "tie_word_embeddings": False, "n_inner": 20}, {**BERT, "tie_word_embeddings": False},
    {**LLAMA, "tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True},
    {**LLAMA, "rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0,
                                  "high_freq_factor": 4.0, "original_max_position_embeddings": 64}},
    {**LLAMA, "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0,
                                  "original_max_position_embeddings": 16}},
    {**MISTRAL, "sliding_window": 3}, {**GPT2, "architectures": ["GPT2Model"]},
])
def test_other_settings_there_and_back(change, tmp_path):
    model = LanguageModel(read_config(change), rng=0, dtype=np.float64)
    to_huggingface(model, tmp_path)
    again = open_model(tmp_path)
    ids = np.arange(10)[None] % 7
    assert (again(ids) == model(ids)).all()


@pytest.mark.parametrize(("base", "changes", "lost"), [
    (GPT2, {"windows": (3, 3)}, "windows"), (GPT2, {"qk_norm": True}, "qk_norm"), (GPT2, {"causal": False}, "causal"),
    (GPT2, {"kv_heads": 1}, "kv_heads"), (GPT2, {"norm": "rms"}, "norm"), (GPT2, {"types": 2}, "types"),
    (LLAMA, {"windows": (3, None)}, "windows"), (LLAMA, {"windows": (None, 3)}, "windows"),
    (LLAMA, {"windows": (3, 4)}, "windows"), (LLAMA, {"qk_norm": True, "windows": (3, 4)}, "windows"),
    (LLAMA, {"stretch": 1.5}, "stretch"), (LLAMA, {"scales": (0.5, 0.25)}, "scales"),
    (LLAMA, {"gated": False}, "gated"),
    (LLAMA, {"qk_norm": True, "mlp_bias": True}, "mlp_bias"), (LLAMA, {"norm_first": False}, "norm_first"),
    (LLAMA, {"rope": None}, "rope"), (LLAMA, {"rope": {"kind": "yarn", "factor": 2}}, "rope"),
    (LLAMA, {"rope": {"kind": "ntk", "factor": 2}}, "rope_type 'ntk' is not known"),
    (BERT, {"gated": True}, "gated"), (BERT, {"types": 0}, "type_vocab_size"), (BERT, {"head": "logits"}, "head"),
])
def test_a_model_that_no_config_describes_is_not_written(base, changes, lost, tmp_path):
    model = LanguageModel(replace(read_config(base), **changes), rng=0)
    with pytest.raises(ValueError, match=f"no class that computes this model; what it cannot say: .*{lost}"):
        to_huggingface(model, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_usual_speeds_need_not_be_said(tmp_path):
    model = LanguageModel(replace(read_config(LLAMA), rope={}, interleaved=True), rng=0, dtype=np.float64)
    to_huggingface(model, tmp_path)
    ids = np.arange(10)[None] % 7
    np.testing.assert_allclose(open_model(tmp_path)(ids), model(ids), rtol=0, atol=1e-12)


def test_a_door_in_interop():
    assert na.interop.open_model is open_model
