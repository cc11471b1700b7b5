"""Trained models read from disk, and looking inside them.

    model = na.models.open_model("folder")              # config.json and *.safetensors, or a .gguf file
    logits = model([[15496, 11, 995]])                  # forward: every head's weights are kept
    model.backward(dlogits)                             # and backward by hand through all of it

What is here: reading files (safetensors.py, gguf.py, stored.py), their settings in our words (families.py,
architecture.py), the model (model.py, block.py, parts.py, heads.py), texts (tokens.py), writing on (sampling.py,
decoding.py, generating.py), and looking inside (one file a question).

>>> from numpy_attention.models import Architecture, LanguageModel
>>> small = Architecture(family="gpt2", vocab=50, width=8, layers=2, heads=2, hidden=16, places=32)
>>> LanguageModel(small, rng=0)([[3, 1, 4]]).shape
(1, 3, 50)
"""
from importlib import import_module

_WHERE = {
    "ablate": "ablation", "Architecture": "architecture", "arrays_of": "writing", "choose": "sampling",
    "Decoding": "decoding", "direct_logits": "attribution", "generate": "generating", "gradient_attention": "flow",
    "head_effects": "ablation", "head_scores": "scores", "LanguageModel": "model", "logit_difference": "patching",
    "logit_lens": "lens", "open_model": "opening", "patch": "patching", "read_config": "families",
    "repeated_tokens": "scores", "rollout": "flow", "saliency": "salience", "sentence_embeddings": "salience",
    "shares_of": "sampling", "StreamBlock": "block", "strongest": "scores", "to_huggingface": "writing",
    "token_losses": "salience", "Tokens": "tokens", "without_heads": "ablation",
}

__all__ = [*_WHERE]


def __getattr__(name):
    if name in _WHERE:
        return getattr(import_module(f".{_WHERE[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_WHERE})
