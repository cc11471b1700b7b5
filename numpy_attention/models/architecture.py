"""What kind of model is it? The settings that decide its numbers, in one place and in our words.

Every family of models writes its config.json in its own words. What comes out of families.py is always this: which
parts there are, how wide, and how they are put together.
"""
from dataclasses import dataclass

from ..layers.variants.rotary_scaling import rotary_speeds


@dataclass(frozen=True)
class Architecture:
    """The settings of a LanguageModel.

    >>> from numpy_attention.models import Architecture
    >>> small = Architecture(family="gpt2", vocab=50, width=8, layers=2, heads=2, hidden=16, places=32)
    >>> small.kv_heads, small.d_k, small.windows
    (2, 4, (None, None))
    """

    family: str                     # whose names the arrays have: "gpt2", "bert" or "llama"
    vocab: int
    width: int                      # D
    layers: int
    heads: int                      # H
    hidden: int                     # width of the feed-forward layers
    places: int                     # the longest sequence it was made for
    kv_heads: int = None            # key/value heads, H unless given
    d_k: int = None                 # D / H unless given
    causal: bool = True
    norm_first: bool = True
    norm: str = "layer"             # "layer" or "rms"
    eps: float = 1e-5
    activation: str = "gelu_tanh"   # "gelu", "gelu_tanh", "relu" or "silu"
    gated: bool = False
    qkv_bias: bool = True
    out_bias: bool = True
    mlp_bias: bool = True
    qk_norm: bool = False           # whether each head's queries and keys are normed
    scales: tuple = None            # a factor on Q Kᵀ for each layer; 1/√d_k unless given
    windows: tuple = None           # for each layer how many keys a query sees, itself included; None for all
    rope: dict = None               # rotary positions, as rotary_speeds takes them; None for learned positions
    stretch: float = 1.0            # a factor on queries and keys that are turned (YaRN)
    slower: tuple = None            # by how much each pair of columns turns more slowly still
    interleaved: bool = False       # which columns are a pair, see Rotary
    types: int = 0                  # token types, such as first and second sentence
    padding_id: int = None          # a token whose row never learns
    head: str = "logits"            # "logits"; "masked" for a masked-word head; "none" for hidden states
    tied: bool = True               # whether the logits are read off with the embedding's own table
    ends: tuple = ()                # ids that end a text

    def __post_init__(self):
        for name, value in (("kv_heads", self.heads), ("d_k", self.width // self.heads),
                            ("windows", (None,) * self.layers), ("scales", (None,) * self.layers)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, value)

    @property
    def speeds(self):
        """How fast each pair of a head's columns turns, (d_k / 2,)."""
        return rotary_speeds(self.d_k, **self.rope) / (1.0 if self.slower is None else self.slower)
