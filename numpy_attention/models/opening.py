"""Opening a model: settings and arrays from disk into a LanguageModel, checked before a single number is read."""
import math

import numpy as np

from .families import read_config
from .finding import find_model
from .hollow import Hollow
from .model import LanguageModel
from .names import homes
from .stored import read_folder

# Arrays that say nothing: constants that older versions kept, and heads for other jobs than reading and writing words.
SAY_NOTHING = (".attn.bias", ".attn.masked_bias", "rotary_emb.inv_freq", "embeddings.position_ids", "pooler.dense.",
               "cls.seq_relationship.")
HEADS = ("lm_head.", "cls.", "score.", "classifier.", "qa_outputs.")
TOPS = {"gpt2": "transformer.", "bert": "bert.", "llama": "model."}


def open_model(folder, *, dtype=None):
    """A trained model from a folder with config.json and *.safetensors, or from a .gguf file, as a LanguageModel.

    Args:
        folder: of GPT-2, BERT, Llama, Mistral, Qwen2, Qwen3 and models of the same make; or a .gguf file; or the name
            of an installed package that holds one of these.
        dtype: of the parameters and so of everything computed; float64 if they are stored so, else float32.

    Returns: the model, with .tokens for texts where a tokenizer came with it (see tokens.py), in eval mode.
    Raises: FileNotFoundError, or ValueError in a sentence that names the file and the field or array: settings that are
        not known, arrays that are missing, left over or of another shape, files that are damaged. Nothing that a file
        holds is ever run, and sizes are checked before anything is read.

    Arrays that are stored in `dtype` are not copied: they stay in the file until they are used. Others, float16,
    bfloat16 and packed ones, are widened once, when the model is opened, and take 4 bytes a number from then on.

    >>> import tempfile
    >>> from numpy_attention.models import Architecture, LanguageModel, open_model, to_huggingface
    >>> small = Architecture(family="gpt2", vocab=50, width=8, layers=2, heads=2, hidden=16, places=32)
    >>> model = LanguageModel(small, rng=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_huggingface(model, folder)
    ...     same = open_model(folder)
    >>> bool((same([[3, 1, 4]]) == model([[3, 1, 4]])).all())
    True
    """
    path = find_model(folder)
    if path.suffix == ".gguf":
        from .gguf_model import read_gguf_model
        found, arrays, tokens = read_gguf_model(path)
    else:
        config, arrays = read_folder(path)
        arrays = _renamed(arrays, config)
        found, tokens = read_config(config, arrays), None
    model = build(found, arrays, dtype, path)
    if tokens is None and (path / "tokenizer.json").is_file():
        from .tokens import Tokens
        tokens = Tokens.from_file(path / "tokenizer.json")
    model.tokens = tokens
    return model


def build(found, arrays, dtype=None, path="the checkpoint"):
    """A LanguageModel of an Architecture, with {name: Stored} as its parameters."""
    if not arrays:
        raise ValueError(f"{path} holds no arrays")
    if dtype is None:
        dtype = np.float64 if any(stored.kind == "F64" for stored in arrays.values()) else np.float32
    stored, needed = sum(math.prod(array.shape) for array in arrays.values()), least_numbers(found)
    if 4 * stored < needed:                 # before anything of that size is made
        raise ValueError(f"{path} holds {stored:,} numbers, and the model of its config has at least {needed:,}")
    model = LanguageModel(found, rng=Hollow(), dtype=dtype)
    places = homes(model)
    doubled = {"lm_head.weight", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    if not model.tied and "cls.predictions.decoder.bias" in arrays:
        doubled.add("cls.predictions.bias")
    missing = [name for name in places if name not in arrays]
    unknown = [name for name in arrays if name not in places and name not in doubled]
    if missing or unknown:
        raise ValueError(f"{path} does not fit the {found.family} model of its config: missing {_some(missing)}; "
                         f"not known to it {_some(unknown)}")
    for name, home in places.items():
        if arrays[name].shape != home.shape():
            raise ValueError(f"{path}: {name} must have shape {home.shape()}, as its config says; "
                             f"it has {arrays[name].shape}")
        if arrays[name].kind in ("I64", "I32", "I16", "I8", "U8", "BOOL"):
            raise ValueError(f"{path}: {name} must hold floats; it holds {arrays[name].kind}, and whole numbers mean "
                             "what only the program that packed them knows")
    for name, home in places.items():
        home.put(arrays[name].read(np.dtype(dtype)))
    return model.eval()


def least_numbers(a):
    """How many numbers the large arrays of an architecture have, without building it."""
    attention = 2 * (a.heads + a.kv_heads) * a.d_k * a.width
    block = attention + (3 if a.gated else 2) * a.hidden * a.width
    return a.layers * block + (a.vocab + a.types + (a.places if a.rope is None else 0)) * a.width


def _renamed(arrays, config):
    """The arrays under their full names, without those that say nothing."""
    kind = config.get("model_type")
    top = TOPS.get(kind if isinstance(kind, str) else None, "model.")
    found = {}
    for name, array in arrays.items():
        full = name if name.startswith((top, *HEADS)) else top + name
        full = full.replace(".LayerNorm.gamma", ".LayerNorm.weight").replace(".LayerNorm.beta", ".LayerNorm.bias")
        if not any(part in full for part in SAY_NOTHING):
            found[full] = array
    return found


def _some(names):
    return (", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")) or "nothing"
