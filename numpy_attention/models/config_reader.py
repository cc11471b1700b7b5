"""A config.json, read so that nothing that changes the numbers is passed over.

Every field is taken from the config through one of these methods, which check it. A field that is not asked for is
either harmless, or it changes the numbers of *some* model: such a field is refused by name unless it is switched off.
"""
import math

# These change the numbers of some model; the families ask for those that they honour.
MEANINGFUL = (
    "add_cross_attention", "alibi", "attention_bias", "attention_chunk_size", "attention_multiplier", "attn_bias",
    "attn_logit_softcapping", "clip_qkv", "embedding_multiplier", "embedding_size", "final_logit_softcapping",
    "is_decoder", "is_encoder_decoder", "layer_types", "logit_scale", "logits_scaling", "mlp_bias", "moe_layers",
    "mup_enabled", "n_routed_experts", "no_rope_layers", "num_experts", "num_local_experts", "parallel_attn",
    "partial_rotary_factor", "position_embedding_type", "qk_layernorm", "quantization_config",
    "query_pre_attn_scalar", "relative_attention", "residual_multiplier", "rope_ratio", "rope_scaling", "rotary_dim",
    "rotary_pct", "sliding_window", "sliding_window_pattern", "use_qk_norm", "use_qkv_bias", "use_sliding_window",
)


class ConfigReader:
    """The fields of one config, by name; `refuse` raises an error that names the field."""

    def __init__(self, config, kind):
        self.config, self.kind, self.asked = config, kind, set()

    def get(self, name, default=None):
        """The field, or the default where it is missing or null."""
        self.asked.add(name)
        value = self.config.get(name)
        return default if value is None else value

    def refuse(self, name, why):
        """Raise an error that names the field and what it holds."""
        raise ValueError(f"config.json: {name} is {str(self.config.get(name))[:100]}: {why}")

    def size(self, name, default=None, *, most=1 << 32):
        """The field as a whole number of at least 1."""
        value = self.get(name, default)
        if type(value) is not int or not 1 <= value <= most:
            self.refuse(name, f"a {self.kind} model needs a whole number of at least 1 there, and at most {most:,}")
        return value

    def number(self, name, default=None):
        """The field as a positive finite number."""
        value = self.get(name, default)
        if type(value) not in (int, float) or not 0 < value < math.inf:
            self.refuse(name, "a positive number belongs there")
        return float(value)

    def flag(self, name, default=False):
        """The field as true or false."""
        value = self.get(name, default)
        if type(value) is not bool:
            self.refuse(name, "true or false belongs there")
        return value

    def choice(self, name, known, default=None):
        """The field's value in the dict `known`."""
        value = self.get(name, default)
        if not isinstance(value, str) or value not in known:
            self.refuse(name, f"known are {', '.join(known)}")
        return known[value]

    def finish(self):
        """Refuse what changes the numbers, is switched on, and was not asked for."""
        for name in MEANINGFUL:
            if name not in self.asked and self.config.get(name) not in (None, False, [], {}, "absolute"):
                self.refuse(name, f"this package's {self.kind} model has nothing like it, so its numbers would be "
                                  "wrong")
