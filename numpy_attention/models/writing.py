"""And back: a LanguageModel as a folder that other libraries read."""
import json
from pathlib import Path

import numpy as np

from ..words.files import write_whole
from .architecture import Architecture
from .families import ROPE_FIELDS, read_config
from .names import homes
from .safetensors import write_safetensors

CLASSES = {"gpt2": ("GPT2LMHeadModel", "GPT2Model"), "bert": ("BertForMaskedLM", "BertModel"),
           "llama": ("LlamaForCausalLM", "LlamaModel"), "qwen2": ("Qwen2ForCausalLM", "Qwen2Model"),
           "qwen3": ("Qwen3ForCausalLM", "Qwen3Model"), "mistral": ("MistralForCausalLM", "MistralModel")}
ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu": "relu", "silu": "silu"}


def arrays_of(model, which="params"):
    """{name: array} of all parameters under the names and in the layout of Hugging Face; "grads" for their gradients.

    Raises: RuntimeError for gradients before a backward.

    >>> from numpy_attention.models import Architecture, LanguageModel, arrays_of
    >>> small = Architecture(family="llama", vocab=50, width=8, layers=1, heads=2, hidden=16, places=32)
    >>> small = Architecture(**{**vars(small), "norm": "rms", "gated": True, "rope": {}, "qkv_bias": False,
    ...                         "out_bias": False, "mlp_bias": False, "activation": "silu"})
    >>> arrays_of(LanguageModel(small, rng=0))["model.layers.0.mlp.up_proj.weight"].shape
    (16, 8)
    """
    _check_model(model)
    try:
        found = {name: home.take(which) for name, home in homes(model).items()}
    except KeyError as missing:
        raise RuntimeError(f"{missing.args[0]} has no gradient yet: run forward and backward first") from None
    if model.architecture.interleaved:
        found = {name: _halves(array, model.architecture) if name.endswith(TURNED) else array
                 for name, array in found.items()}
    return found


TURNED = (".q_proj.weight", ".k_proj.weight", ".q_proj.bias", ".k_proj.bias", ".q_norm.weight", ".k_norm.weight")


def _halves(array, a):
    """The rows of a W_Q or W_K, from neighbours as pairs to halves as pairs: (0, 1, 2, 3) to (0, 2, 1, 3)."""
    return array.reshape(-1, a.d_k // 2, 2, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)


def to_huggingface(model, folder):
    """Write config.json and model.safetensors into `folder`, which is made if it does not exist.

    Raises: ValueError for a model that no class of the transformers library computes.
    """
    _check_model(model)
    config = config_of(model.architecture)
    _check_nothing_is_lost(model.architecture, config)
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = arrays_of(model)
    config["dtype"] = str(np.result_type(*arrays.values()))
    write_safetensors(folder / "model.safetensors", arrays)
    write_whole(folder / "config.json", json.dumps(config, indent=2) + "\n")


def _check_model(model):
    """TypeError unless the model is one whose arrays have names elsewhere."""
    if not isinstance(getattr(model, "architecture", None), Architecture):
        raise TypeError(f"model must be a LanguageModel, which has an architecture; got {type(model).__name__}")


def _check_nothing_is_lost(a, config):
    """ValueError unless whoever reads the config gets this very architecture."""
    try:
        read = _decisive(read_config(config))
        lost = [name for name, value in _decisive(a).items() if value != read[name]]
    except ValueError as error:
        lost = [str(error)]
    if lost:
        raise ValueError("the transformers library has no class that computes this model; what it cannot say: "
                         + ", ".join(lost))


def _decisive(a):
    """All that decides the numbers. Which columns are a pair is not said but done, when the columns are written."""
    return {**vars(a), "interleaved": None, "padding_id": None, "rope": None if a.rope is None else a.speeds.tolist()}


def config_of(a):
    """The config.json of an architecture, as a dict."""
    activation = ACTIVATIONS[a.activation]
    common = {"vocab_size": a.vocab, "tie_word_embeddings": a.tied, "pad_token_id": a.padding_id,
              "eos_token_id": list(a.ends) if len(a.ends) > 1 else a.ends[0] if a.ends else None}
    kind = _kind(a)
    common |= {"model_type": kind, "architectures": [CLASSES[kind][a.head == "none"]]}
    if kind == "gpt2":
        usual = {None: (True, False), a.d_k ** -0.5: (True, True), 1.0: (False, len(set(a.scales)) > 1)}
        if a.scales[0] not in usual:
            raise ValueError(f"GPT-2 has no way to say that Q Kᵀ is scaled by {a.scales[0]}")
        scaled, by_layer = usual[a.scales[0]]
        return common | {"n_embd": a.width, "n_head": a.heads, "n_layer": a.layers, "n_inner": a.hidden,
                         "n_positions": a.places, "activation_function": activation, "layer_norm_epsilon": a.eps,
                         "scale_attn_weights": scaled, "scale_attn_by_inverse_layer_idx": by_layer}
    common |= {"hidden_size": a.width, "num_attention_heads": a.heads, "num_hidden_layers": a.layers,
               "intermediate_size": a.hidden, "max_position_embeddings": a.places, "hidden_act": activation}
    if kind == "bert":
        return common | {"layer_norm_eps": a.eps, "type_vocab_size": a.types, "is_decoder": a.causal}
    common |= {"num_key_value_heads": a.kv_heads, "head_dim": a.d_k, "rms_norm_eps": a.eps} | _rope(a)
    if kind == "mistral":
        return common | {"sliding_window": a.windows[0]}
    if kind in ("qwen2", "qwen3"):
        common |= {"use_sliding_window": any(a.windows), "sliding_window": next(filter(None, a.windows), None),
                   "layer_types": ["sliding_attention" if window else "full_attention" for window in a.windows]}
    if kind != "qwen2":
        common |= {"attention_bias": a.qkv_bias}
    return common | ({"mlp_bias": a.mlp_bias} if kind == "llama" else {})


def _kind(a):
    """The family whose class computes exactly this."""
    if a.family != "llama":
        return a.family
    if a.qk_norm:
        return "qwen3"
    if a.qkv_bias and not a.out_bias:
        return "qwen2"
    return "mistral" if a.windows[0] else "llama"


def _rope(a):
    """What says how fast the columns turn."""
    if a.slower is not None:
        raise ValueError("the transformers library has no way to say how much more slowly each pair of columns turns "
                         "here")
    rope = {"kind": "default", "base": 10000.0} | (a.rope or {})
    fields = {theirs: rope.get(ours) for theirs, ours in ROPE_FIELDS.get(rope["kind"], {}).items()}
    return {"rope_parameters": {"rope_type": rope["kind"], "rope_theta": rope["base"], **fields,
                                **({"attention_factor": a.stretch} if rope["kind"] == "yarn" else {})}}
