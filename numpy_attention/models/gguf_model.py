"""A GGUF file's settings and names, in the words that the rest of this room knows.

The settings become a config as a folder would have it, so that one reader judges both; the arrays get the names of such
a folder. Files of the Llama make hold the columns of Q and K in another order, in which neighbours are a pair.
"""
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .families import read_config
from .gguf import Packed, read_gguf

BLOCKS = {
    "llama": {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
              "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
              "attn_k_norm": "self_attn.k_norm", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
              "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"},
    "gpt2": {"attn_norm": "ln_1", "attn_qkv": "attn.c_attn", "attn_output": "attn.c_proj", "ffn_norm": "ln_2",
             "ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"},
}
OUTSIDE = {
    "llama": {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"},
    "gpt2": {"token_embd": "transformer.wte", "position_embd": "transformer.wpe", "output_norm": "transformer.ln_f",
             "output": "lm_head"},
}
# Settings that would change the numbers, with what they may say.
MUST_BE = {"expert_count": (0,), "attention.causal": (True,), "use_parallel_residual": (False,),
           "attn_logit_softcapping": (), "final_logit_softcapping": (), "logit_scale": (), "residual_scale": (),
           "embedding_scale": (), "attention.scale": (), "attention.clamp_kqv": (), "attention.max_alibi_bias": (),
           "attention.sliding_window_pattern": ()}


def read_gguf_model(path):
    """(Architecture, arrays, Tokens or None) of a .gguf file.

    Raises: ValueError that names the setting or array that is not known.
    """
    values, packed = read_gguf(path)
    kind = values.get("general.architecture")
    if kind not in ("llama", "qwen2", "qwen3", "gpt2"):
        raise ValueError(f"{path}: general.architecture is {str(kind)[:40]!r}; known are llama, qwen2, qwen3, gpt2")
    family = "gpt2" if kind == "gpt2" else "llama"
    arrays = {_renamed(name, family): array for name, array in packed.items() if name != "rope_freqs.weight"}
    if family == "gpt2":
        arrays = {name: _Turned(array) if ".c_" in name and name.endswith("weight") else array
                  for name, array in arrays.items()}
    found = read_config(_config(path, kind, values, packed, arrays), arrays)
    if "rope_freqs.weight" in packed:
        slower = packed["rope_freqs.weight"].read(np.float64)
        if slower.shape != (found.d_k // 2,) or not (slower > 0).all():
            raise ValueError(f"{path}: rope_freqs.weight must hold {found.d_k // 2} positive numbers")
        found = replace(found, slower=tuple(slower.tolist()))
    from .tokens import Tokens
    return found, arrays, Tokens.from_gguf(values)


class _Turned(NamedTuple):
    """An array that is stored (out, in) where this family's folders have (in, out)."""

    array: Packed

    kind = property(lambda self: self.array.kind)
    shape = property(lambda self: self.array.shape[::-1])

    def read(self, dtype):
        """The array, turned: a view."""
        return self.array.read(dtype).T


def _renamed(name, family):
    """Their name in the words of a folder; one that is not known stays as it is, and is refused later by name."""
    stem, _, end = name.rpartition(".")
    block, _, part = stem.partition(".")[2].partition(".")
    if stem.startswith("blk.") and part in BLOCKS[family]:
        return f"{'transformer.h' if family == 'gpt2' else 'model.layers'}.{block}.{BLOCKS[family][part]}.{end}"
    return f"{OUTSIDE[family][stem]}.{end}" if stem in OUTSIDE[family] else name


def _config(path, kind, values, packed, arrays):
    """The settings as a folder's config.json would say them."""
    def get(name, default=None):
        value = values.get(f"{kind}.{name}", default)
        if isinstance(value, list):             # one for each layer
            if not value or any(each != value[0] for each in value):
                raise ValueError(f"{path}: {kind}.{name} differs from layer to layer; that is not known here")
            return value[0]
        return value

    for name, allowed in MUST_BE.items():
        if get(name) is not None and get(name) not in allowed:
            raise ValueError(f"{path}: {kind}.{name} is {get(name)}: this package's {kind} model has nothing like it")
    embedding = packed.get("token_embd.weight")
    vocab = embedding.shape[0] if embedding is not None else get("vocab_size")
    ends = values.get("tokenizer.ggml.eos_token_id")
    common = {"model_type": kind, "vocab_size": vocab, "tie_word_embeddings": "lm_head.weight" not in arrays,
              "eos_token_id": ends}
    if kind == "gpt2":
        return common | {"n_embd": get("embedding_length"), "n_head": get("attention.head_count"),
                         "n_layer": get("block_count"), "n_positions": get("context_length"),
                         "n_inner": get("feed_forward_length"),
                         "layer_norm_epsilon": get("attention.layer_norm_epsilon")}
    heads, width = get("attention.head_count"), get("embedding_length")
    whole = type(heads) is int and type(width) is int and heads > 0
    d_k = get("attention.key_length") or (width // heads if whole else None)
    for name in ("attention.key_length", "attention.value_length", "rope.dimension_count"):
        if get(name, d_k) != d_k:
            raise ValueError(f"{path}: {kind}.{name} is {get(name)}; here a head's query, key, value and the part "
                             f"of it that is turned are all of one width, {d_k}")
    scaling = get("rope.scaling.type", "none")
    if scaling not in ("none", "", "linear"):
        raise ValueError(f"{path}: {kind}.rope.scaling.type is {scaling}; in these files only linear is known here")
    rope = None if scaling in ("none", "") else {"type": scaling, "factor": get("rope.scaling.factor")}
    window = get("attention.sliding_window")
    biased = any(name.endswith("self_attn.q_proj.bias") for name in arrays)
    common |= {"hidden_size": width, "num_attention_heads": heads, "num_key_value_heads": get("attention.head_count_kv",
               heads), "num_hidden_layers": get("block_count"), "intermediate_size": get("feed_forward_length"),
               "head_dim": d_k, "max_position_embeddings": get("context_length"), "hidden_act": "silu",
               "rms_norm_eps": get("attention.layer_norm_rms_epsilon"), "rope_theta": get("rope.freq_base", 10000.0),
               "rope_scaling": rope, "rope_interleaved": kind == "llama"}
    if kind == "llama":
        return common | ({"model_type": "mistral", "sliding_window": window} if window else {"attention_bias": biased})
    return common | ({"use_sliding_window": True, "sliding_window": window, "max_window_layers": 0} if window else {})
