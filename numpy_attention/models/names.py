"""Where each array of a checkpoint lives: their names and layouts on one side, our layers and parameters on the other.

A Linear's weight is stored (out, in) where our W is (in, out), so ours is their transpose; GPT-2 keeps (in, out), as we
do, but lays W_Q, W_K and W_V side by side in one array. The one table here serves all ways: loading, writing a
checkpoint, and giving gradients under the names that other libraries use.
"""
from typing import NamedTuple

import numpy as np


class Home(NamedTuple):
    """Where one of their arrays lives: pieces of ours, as (layer, parameter), side by side along `axis`."""

    pieces: tuple
    transposed: bool = False
    axis: int = 0

    def shape(self):
        """The shape that their array must have."""
        shapes = [layer.params[name].shape[::-1 if self.transposed else 1] for layer, name in self.pieces]
        whole = list(shapes[0])
        whole[self.axis] = sum(shape[self.axis] for shape in shapes)
        return tuple(whole)

    def put(self, array):
        """Make their array, or its pieces, our parameters: views, nothing is copied."""
        sizes = [layer.params[name].shape[self.axis] for layer, name in self.pieces]
        parts = np.split(array, np.cumsum(sizes)[:-1], self.axis) if len(sizes) > 1 else [array]
        for (layer, name), part in zip(self.pieces, parts, strict=True):
            layer.params[name] = part.T if self.transposed else part

    def take(self, which="params"):
        """Their array, from our parameters or from their gradients ("grads")."""
        parts = [getattr(layer, which)[name] for layer, name in self.pieces]
        parts = [part.T if self.transposed else part for part in parts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts, self.axis)


def homes(model):
    """{their name: Home} for all parameters of a LanguageModel."""
    found = _TABLES[model.architecture.family](model)
    if model.unembedding is not None and not model.tied and model.architecture.family != "bert":
        found |= _linear("lm_head", model.unembedding)
    return found


def _linear(name, layer, transposed=True):
    found = {f"{name}.weight": Home(((layer, "W"),), transposed)}
    return found | ({f"{name}.bias": Home(((layer, "b"),))} if "b" in layer.params else {})


def _norm(name, layer):
    found = {f"{name}.weight": Home(((layer, "gamma"),))}
    return found | ({f"{name}.bias": Home(((layer, "beta"),))} if "beta" in layer.params else {})


def _table(name, layer):
    return {f"{name}.weight": Home(((layer, "W"),))}


def _gpt2(model):
    found = _table("transformer.wte", model.embedding) | _table("transformer.wpe", model.positions)
    for i, block in enumerate(model.blocks):
        name, mha = f"transformer.h.{i}", block.attention
        three = mha.query_proj, mha.key_proj, mha.value_proj
        found |= _norm(f"{name}.ln_1", block.norm)
        found |= {f"{name}.attn.c_attn.weight": Home(tuple((layer, "W") for layer in three), axis=1),
                  f"{name}.attn.c_attn.bias": Home(tuple((layer, "b") for layer in three))}
        found |= _linear(f"{name}.attn.c_proj", mha.output_proj, transposed=False) | _norm(f"{name}.ln_2",
                                                                                           block.second_norm)
        found |= _linear(f"{name}.mlp.c_fc", block.feed_forward.up_proj, transposed=False)
        found |= _linear(f"{name}.mlp.c_proj", block.feed_forward.down_proj, transposed=False)
    return found | _norm("transformer.ln_f", model.norm)


def _bert(model):
    found = {}
    for name, table in (("word", model.embedding), ("position", model.positions), ("token_type", model.types)):
        found |= _table(f"bert.embeddings.{name}_embeddings", table)
    found |= _norm("bert.embeddings.LayerNorm", model.embedding_norm)
    for i, block in enumerate(model.blocks):
        name, mha = f"bert.encoder.layer.{i}", block.attention
        for role, layer in zip(("query", "key", "value"), (mha.query_proj, mha.key_proj, mha.value_proj), strict=True):
            found |= _linear(f"{name}.attention.self.{role}", layer)
        found |= _linear(f"{name}.attention.output.dense", mha.output_proj)
        found |= _norm(f"{name}.attention.output.LayerNorm", block.norm)
        found |= _linear(f"{name}.intermediate.dense", block.feed_forward.up_proj)
        found |= _linear(f"{name}.output.dense", block.feed_forward.down_proj)
        found |= _norm(f"{name}.output.LayerNorm", block.second_norm)
    head = model.unembedding
    if head is not None:
        found |= _linear("cls.predictions.transform.dense", head.dense)
        found |= _norm("cls.predictions.transform.LayerNorm", head.norm)
        found |= ({"cls.predictions.bias": Home(((head, "b"),))} if model.tied
                  else _linear("cls.predictions.decoder", head))
    return found


def _llama(model):
    found = _table("model.embed_tokens", model.embedding)
    for i, block in enumerate(model.blocks):
        name, mha = f"model.layers.{i}", block.attention
        found |= _norm(f"{name}.input_layernorm", block.norm)
        for role in ("query", "key", "value", "output"):
            found |= _linear(f"{name}.self_attn.{role[0]}_proj", getattr(mha, f"{role}_proj"))
        if model.architecture.qk_norm:
            found |= _norm(f"{name}.self_attn.q_norm", mha.attention.q_norm)
            found |= _norm(f"{name}.self_attn.k_norm", mha.attention.k_norm)
        found |= _norm(f"{name}.post_attention_layernorm", block.second_norm)
        for role in ("gate", "up", "down"):
            found |= _linear(f"{name}.mlp.{role}_proj", getattr(block.feed_forward, f"{role}_proj"))
    return found | _norm("model.norm", model.norm)


_TABLES = {"gpt2": _gpt2, "bert": _bert, "llama": _llama}
