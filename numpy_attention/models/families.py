"""Families of models: the config.json of each, in our words.

GPT-2 norms first and adds learned positions; BERT norms last, sees both ways and has token types; Llama and its kin
norm by the root mean square, turn queries and keys by their places and gate their feed-forward layers. Within a kin
the differences are small: Qwen2 adds biases to Q, K and V, Qwen3 norms each head's queries and keys, Mistral looks
back through a window.
"""
from ..layers.variants.rotary_scaling import ScaledRotary, rotary_speeds, yarn_attention_factor
from .architecture import Architecture
from .config_reader import ConfigReader

ACTIVATIONS = {"gelu": "gelu", "gelu_python": "gelu", "gelu_new": "gelu_tanh", "gelu_fast": "gelu_tanh",
               "gelu_pytorch_tanh": "gelu_tanh", "gelu_python_tanh": "gelu_tanh", "relu": "relu", "silu": "silu",
               "swish": "silu"}
LAYERS, WIDEST = 10_000, 1 << 16       # more than any model has: a config is not believed until its arrays are seen


def read_config(config, names=()):
    """The Architecture that a config describes.

    Args:
        config: the dict of a config.json. names: those of the arrays, which tell whether there is a head.
    Raises: ValueError that names the field, for a family that is not known or a setting that is not.

    >>> from numpy_attention.models import read_config
    >>> gpt2 = read_config({"model_type": "gpt2", "vocab_size": 50, "n_embd": 8, "n_layer": 2, "n_head": 2})
    >>> gpt2.hidden, gpt2.activation, gpt2.tied
    (32, 'gelu_tanh', True)
    """
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise ValueError(f"config.json: model_type is {str(kind)[:100]!r}; known are {', '.join(FAMILIES)}")
    read = ConfigReader(config, kind)
    found = FAMILIES[kind](read, tuple(names))
    read.finish()
    if found.heads % found.kv_heads:
        read.refuse("num_key_value_heads", f"it must divide the number of heads, {found.heads}")
    if found.d_k * found.heads != found.width and not config.get("head_dim"):
        read.refuse("n_head" if kind == "gpt2" else "num_attention_heads", f"it must divide the width, {found.width}")
    return found


def gpt2(read, names):
    """Radford et al. 2019."""
    width, heads = read.size("n_embd", 768), read.size("n_head", 12)
    layers = read.size("n_layer", 12, most=LAYERS)
    scaled, by_layer = read.flag("scale_attn_weights", True), read.flag("scale_attn_by_inverse_layer_idx")
    usual = max(width // heads, 1) ** -0.5 if scaled else 1.0
    scales = tuple(usual / (layer + 1) if by_layer else usual for layer in range(layers))
    return Architecture(
        family="gpt2", vocab=read.size("vocab_size", 50257), width=width, layers=layers, heads=heads,
        hidden=read.size("n_inner", 4 * width), places=read.size("n_positions", 1024),
        activation=read.choice("activation_function", ACTIVATIONS, "gelu_new"),
        eps=read.number("layer_norm_epsilon", 1e-5), scales=scales if by_layer or not scaled else None,
        head=_head(read, names, "lm_head.", "logits"), tied=read.flag("tie_word_embeddings", True), ends=_ends(read))


def bert(read, names):
    """Devlin et al. 2018."""
    if read.get("position_embedding_type", "absolute") != "absolute":
        read.refuse("position_embedding_type", "only absolute positions are known here")
    return Architecture(
        family="bert", vocab=read.size("vocab_size", 30522), width=read.size("hidden_size", 768),
        layers=read.size("num_hidden_layers", 12, most=LAYERS), heads=read.size("num_attention_heads", 12),
        hidden=read.size("intermediate_size", 3072), places=read.size("max_position_embeddings", 512),
        causal=read.flag("is_decoder"), norm_first=False, activation=read.choice("hidden_act", ACTIVATIONS, "gelu"),
        eps=read.number("layer_norm_eps", 1e-12), types=read.size("type_vocab_size", 2),
        padding_id=_padding(read, 0), head=_head(read, names, "cls.predictions.", "masked"),
        tied=read.flag("tie_word_embeddings", True), ends=_ends(read))


def llama(read, names, *, qkv_bias=None, qk_norm=False, kv_heads=None, d_k=None, biased_mlp=True, windows=None):
    """Touvron et al. 2023; the options are where its kin differ."""
    width, heads = read.size("hidden_size", 4096), read.size("num_attention_heads", 32)
    layers = read.size("num_hidden_layers", 32, most=LAYERS)
    d_k = read.size("head_dim", d_k or min(max(width // heads, 1), WIDEST), most=WIDEST)
    if d_k % 2:
        read.refuse("head_dim", f"a head's columns are turned in pairs, so their number, {d_k}, must be even")
    biased = read.flag("attention_bias") if qkv_bias is None else qkv_bias
    places = read.size("max_position_embeddings", 2048)
    return Architecture(
        family="llama", vocab=read.size("vocab_size", 32000), width=width, layers=layers, heads=heads,
        kv_heads=heads if "num_key_value_heads" in read.config and read.config["num_key_value_heads"] is None
        else read.size("num_key_value_heads", kv_heads or heads), d_k=d_k, hidden=read.size("intermediate_size", 11008),
        places=places, activation=read.choice("hidden_act", ACTIVATIONS, "silu"), gated=True,
        norm="rms", eps=read.number("rms_norm_eps", 1e-6), qkv_bias=biased, out_bias=biased and qkv_bias is None,
        mlp_bias=biased_mlp and read.flag("mlp_bias"), qk_norm=qk_norm, windows=windows and windows(read, layers),
        **_rope(read, d_k, places), interleaved=read.flag("rope_interleaved"), padding_id=_padding(read, None),
        head=_head(read, names, "lm_head.", "logits"), tied=read.flag("tie_word_embeddings", False), ends=_ends(read))


def mistral(read, names):
    """Jiang et al. 2023: every layer looks back through a window."""
    def windows(read, layers):
        window = read.config.get("sliding_window", 4096)                # null is no window, left out is the usual one
        return None if window is None else (read.size("sliding_window", 4096),) * layers

    return llama(read, names, qkv_bias=False, kv_heads=8, biased_mlp=False, windows=windows)


def qwen2(read, names):
    """Yang et al. 2024: biases on Q, K and V."""
    return llama(read, names, qkv_bias=True, kv_heads=32, biased_mlp=False, windows=_windows)


def qwen3(read, names):
    """Yang et al. 2025: each head's queries and keys are normed."""
    return llama(read, names, qk_norm=True, kv_heads=32, d_k=128, biased_mlp=False, windows=_windows)


FAMILIES = {"gpt2": gpt2, "bert": bert, "llama": llama, "mistral": mistral, "qwen2": qwen2, "qwen3": qwen3}


def _windows(read, layers):
    """For each layer the window, or None; the fields say it in two ways."""
    window = read.get("sliding_window") if read.flag("use_sliding_window") else None
    first, kinds = read.get("max_window_layers", 28), read.get("layer_types")
    if kinds is None:
        kinds = ["sliding_attention" if window and layer >= first else "full_attention" for layer in range(layers)]
    if not isinstance(kinds, list) or len(kinds) != layers or not {*kinds} <= {"full_attention", "sliding_attention"}:
        read.refuse("layer_types", f"it must name full_attention or sliding_attention for each of {layers} layers")
    if "sliding_attention" in kinds and window is None:
        read.refuse("layer_types", "sliding_attention needs use_sliding_window and a sliding_window")
    return tuple(read.size("sliding_window") if kind == "sliding_attention" else None for kind in kinds)


def _rope(read, d_k, places):
    """How fast the columns turn; said in rope_parameters, or before that in rope_theta and rope_scaling."""
    name = "rope_parameters" if read.get("rope_parameters") else "rope_scaling"
    found = read.get(name, {})
    read.get("rope_scaling")
    if not isinstance(found, dict) or any(isinstance(value, dict) for value in found.values()):
        read.refuse(name, "one object for all layers belongs there")
    kind = found.get("rope_type") or found.get("type") or "default"
    if not isinstance(kind, str) or kind not in ROPE_FIELDS:
        read.refuse(name, f"rope_type {str(kind)[:30]!r} is not known here; known are {', '.join(ROPE_FIELDS)}")
    if found.get("partial_rotary_factor", 1.0) != 1.0:
        read.refuse(name, "partial_rotary_factor: in this family all columns of a head are turned")
    given = {"original_max_position_embeddings": places, "beta_fast": 32, "beta_slow": 1}
    given |= {field: value for field, value in found.items() if value is not None}
    rope, stretch = {"kind": kind, "base": found.get("rope_theta") or read.get("rope_theta", 10000.0)}, 1.0
    for theirs, ours in ROPE_FIELDS[kind].items():
        if type(given.get(theirs)) not in (int, float):
            read.refuse(name, f"{kind} scaling needs a number as {theirs}")
        rope[ours] = given[theirs]
    for field, usual in (("mscale", None), ("mscale_all_dim", None), ("truncate", True)):
        if kind == "yarn" and found.get(field, usual) != usual:
            read.refuse(name, f"yarn scaling with {field} is not known here")
    try:
        rotary_speeds(d_k, **rope)
        if kind == "yarn":
            stretch = given.get("attention_factor", yarn_attention_factor(rope["factor"]))
            ScaledRotary([1.0], attention_factor=stretch)
    except (ValueError, TypeError, ZeroDivisionError) as error:
        read.refuse(name, str(error))
    return {"rope": rope, "stretch": stretch}


ROPE_FIELDS = {
    "default": {}, "linear": {"factor": "factor"},
    "llama3": {"factor": "factor", "low_freq_factor": "low", "high_freq_factor": "high",
               "original_max_position_embeddings": "original"},
    "yarn": {"factor": "factor", "beta_slow": "low", "beta_fast": "high",
             "original_max_position_embeddings": "original"},
}


def _head(read, names, prefix, kind):
    """`kind`, or "none" for a model that ends with its hidden states: its name says so, or the arrays do."""
    made = read.get("architectures") or []
    known = (*HEADED, *HEADLESS)
    other = [name for name in made if not str(name).endswith(known)] if isinstance(made, list) else [made]
    if other:
        read.refuse("architectures", "it ends with a head that is not known here; known are models for the next or the "
                                     "masked word, and those without a head")
    if any(name.startswith(prefix) for name in names):
        return kind
    return "none" if any(name.endswith(HEADLESS) for name in made) or (kind == "masked" and not made) else kind


HEADED = ("LMHeadModel", "ForCausalLM", "ForMaskedLM", "ForPreTraining")
HEADLESS = ("GPT2Model", "BertModel", "LlamaModel", "MistralModel", "Qwen2Model", "Qwen3Model")


def _ends(read):
    """The ids that end a text: one, several or none."""
    ends = read.get("eos_token_id", [])
    ends = ends if isinstance(ends, list) else [ends]
    if not all(type(end) is int for end in ends):
        read.refuse("eos_token_id", "a whole number or several belong there")
    return tuple(ends)


def _padding(read, default):
    """The id of the padding token, whose row never learns."""
    vocab, value = read.get("vocab_size", 1 << 40), read.get("pad_token_id", default)
    if "pad_token_id" in read.config and read.config["pad_token_id"] is None:
        return None
    if value is None or (type(value) is int and -vocab <= value < vocab):
        return value % vocab if isinstance(value, int) and value < 0 else value
    read.refuse("pad_token_id", "an id of the vocabulary belongs there")
