# ruff: noqa: E501  (tables of cases)
"""GGUF files: every way of packing against the letter of its layout, number by number; hostile files end in a sentence."""
import re
import struct

import numpy as np
import pytest

from numpy_attention.models import LanguageModel, arrays_of, generate, open_model, read_config, to_huggingface
from numpy_attention.models.gguf import read_gguf
from numpy_attention.models.packed import KINDS, unpack

from .test_opening import GPT2, LLAMA, QWEN2, QWEN3

RNG = np.random.default_rng(0)


def half(block, at):
    return float(np.frombuffer(bytes(block[at:at + 2]), "<f2")[0])


def one_by_one(kind, block):
    """The numbers of one block by plain loops, as the layouts are written down."""
    block = [int(byte) for byte in block]
    if kind == "Q8_0":
        return [half(block, 0) * (byte - 256 if byte > 127 else byte) for byte in block[2:]]
    if kind == "Q4_0":
        return [half(block, 0) * (((block[2 + i % 16] >> (4 * (i // 16))) & 15) - 8) for i in range(32)]
    if kind == "Q4_1":
        return [half(block, 0) * ((block[4 + i % 16] >> (4 * (i // 16))) & 15) + half(block, 2) for i in range(32)]
    if kind == "Q4_K":
        found = []
        for i in range(256):
            j, packed = i // 32, block[4:16]
            if j < 4:
                scale, least = packed[j] & 63, packed[j + 4] & 63
            else:
                scale = (packed[j + 4] & 15) | ((packed[j - 4] >> 6) << 4)
                least = (packed[j + 4] >> 4) | ((packed[j] >> 6) << 4)
            whole = (block[16 + 32 * (i // 64) + i % 32] >> (4 * (i // 32 % 2))) & 15
            found.append(half(block, 0) * scale * whole - half(block, 2) * least)
        return found
    found = []
    for i in range(256):
        part, row, column = i // 128, i // 32 % 4, i % 32
        lower = block[64 * part + 32 * (row % 2) + column] >> (4 * (row // 2)) & 15
        upper = block[128 + 32 * part + column] >> (2 * row) & 3
        scale = block[192 + 8 * part + 2 * row + column // 16]
        found.append(half(block, 208) * (scale - 256 if scale > 127 else scale) * ((lower | upper << 4) - 32))
    return found


def random_blocks(kind, count):
    """Random bytes in which the scales are sensible numbers."""
    blocks = RNG.integers(0, 256, (count, KINDS[kind][1])).astype(np.uint8)
    for at in {"Q4_1": (0, 2), "Q4_K": (0, 2), "Q6_K": (208,)}.get(kind, (0,)):
        blocks[:, at:at + 2] = RNG.standard_normal(count).astype("<f2").view(np.uint8).reshape(count, 2)
    return blocks


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K"])
def test_packed_numbers_one_by_one(kind):
    blocks = random_blocks(kind, 5)
    assert np.allclose(unpack(kind, blocks), [one_by_one(kind, block) for block in blocks], rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K"])
def test_packed_numbers_as_the_gguf_package_has_them(kind):
    gguf = pytest.importorskip("gguf")
    blocks = random_blocks(kind, 64)
    expected = gguf.quants.dequantize(blocks, gguf.GGMLQuantizationType[kind])
    assert np.array_equal(unpack(kind, blocks), expected)


def string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def value(content):
    if isinstance(content, bool):
        return struct.pack("<I?", 7, content)
    if isinstance(content, int):
        return struct.pack("<II", 4, content)
    if isinstance(content, float):
        return struct.pack("<If", 6, content)
    if isinstance(content, str):
        return struct.pack("<I", 8) + string(content)
    inner = [value(each) for each in content]
    return struct.pack("<I", 9) + inner[0][:4] + struct.pack("<Q", len(inner)) + b"".join(i[4:] for i in inner)


def write_gguf(path, values, arrays):
    """{name: (kind's number, shape, bytes)} as a GGUF file."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(arrays), len(values))
    head += b"".join(string(name) + value(content) for name, content in values.items())
    data = b""
    for name, (number, shape, content) in arrays.items():
        head += string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape[::-1], number, len(data))
        data += content + b"\0" * (-len(content) % 32)
    path.write_bytes(head + b"\0" * (-len(head) % 32) + data)
    return path


NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm",
         "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
         "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "ln_1": "attn_norm", "ln_2": "ffn_norm",
         "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
         "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
         "transformer.wte": "token_embd", "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm"}


def neighbours(W, heads):
    """The rows of a W_Q or W_K in the order in which the Llama make of GGUF files keeps them."""
    out, *rest = W.shape
    return W.reshape(heads, 2, out // heads // 2, *rest).swapaxes(1, 2).reshape(W.shape)


def as_gguf(path, model, kind, **changes):
    """A model as a GGUF file of float32."""
    a = model.architecture
    arrays = {}
    for name, array in arrays_of(model).items():
        stem, _, end = name.rpartition(".")
        block = re.match(r"(?:model\.layers|transformer\.h)\.(\d+)\.(.*)", stem)
        theirs = f"blk.{block[1]}.{NAMES[block[2]]}" if block else NAMES[stem]
        if kind == "llama" and theirs.endswith(("attn_q", "attn_k")):
            array = neighbours(array, a.heads if theirs.endswith("q") else a.kv_heads)
        if ".c_" in stem and end == "weight":
            array = array.T
        arrays[f"{theirs}.{end}"] = 0, array.shape, np.ascontiguousarray(array, "<f4").tobytes()
    sizes = {"embedding_length": a.width, "block_count": a.layers, "context_length": a.places,
             "feed_forward_length": a.hidden, "attention.head_count": a.heads, "attention.head_count_kv": a.kv_heads,
             "attention.key_length": a.d_k, "attention.value_length": a.d_k,
             "attention.layer_norm_rms_epsilon": a.eps, "attention.layer_norm_epsilon": a.eps}
    values = {"general.architecture": kind, **{f"{kind}.{name}": size for name, size in sizes.items()}, **changes}
    return write_gguf(path, values, arrays)


@pytest.mark.parametrize(("kind", "config"), [("llama", LLAMA), ("qwen2", QWEN2), ("qwen3", QWEN3), ("gpt2", GPT2)])
def test_a_model_reads_the_same_from_a_folder_and_from_a_gguf_file(kind, config, tmp_path):
    model = LanguageModel(read_config(config), rng=0, dtype=np.float32)
    again = open_model(as_gguf(tmp_path / "model.gguf", model, kind))
    ids = np.array([[3, 1, 4, 1, 5, 9, 2, 6]])
    assert again.tokens is None
    assert np.allclose(again(ids), model(ids), rtol=0, atol=2e-6)
    assert (generate(again, [3, 1, 4], 5) == generate(model, [3, 1, 4], 5)).all()
    to_huggingface(again, tmp_path / "folder")                  # and from there to a folder
    assert np.allclose(open_model(tmp_path / "folder")(ids), model(ids), rtol=0, atol=2e-6)
    assert all((arrays_of(again)[name] == array).all() for name, array in arrays_of(model).items())


@pytest.mark.parametrize(("changes", "says"), [
    ({"general.architecture": "mamba"}, "general.architecture is 'mamba'; known are llama"),
    ({"llama.expert_count": 8}, "llama.expert_count is 8"),
    ({"llama.rope.scaling.type": "yarn", "llama.rope.scaling.factor": 4.0}, "llama.rope.scaling.type is yarn"),
    ({"llama.rope.dimension_count": 2}, "llama.rope.dimension_count is 2"),
    ({"llama.attn_logit_softcapping": 50.0}, "llama.attn_logit_softcapping is 50.0"),
    ({"llama.attention.head_count_kv": [2, 1]}, "llama.attention.head_count_kv differs from layer to layer"),
    ({"llama.block_count": 3}, "missing model.layers.2."),
])
def test_a_setting_that_is_not_known_is_refused(changes, says, tmp_path):
    model = LanguageModel(read_config(LLAMA), rng=0)
    path = as_gguf(tmp_path / "model.gguf", model, "llama", **changes)
    with pytest.raises(ValueError, match=re.escape(says)):
        open_model(path)


def test_slower_pairs_of_columns_are_honoured(tmp_path):
    model = LanguageModel(read_config({**LLAMA, "rope_parameters": {
        "rope_type": "llama3", "rope_theta": 100.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 64}}), rng=0)
    plain = LanguageModel(read_config({**LLAMA, "rope_parameters": {"rope_theta": 100.0}}))
    factors = plain.architecture.speeds / model.architecture.speeds
    assert factors.max() > 1.5
    path = as_gguf(tmp_path / "model.gguf", model, "llama", **{"llama.rope.freq_base": 100.0})
    values, arrays = read_gguf(path)
    numbers = {name: (0, array.shape, bytes(array.data)) for name, array in arrays.items()}
    write_gguf(path, values, {**numbers, "rope_freqs.weight": (0, (2,), factors.astype("<f4").tobytes())})
    ids = np.array([[3, 1, 4, 1, 5, 9, 2, 6]])
    assert np.allclose(open_model(path)(ids), model(ids), rtol=0, atol=2e-6)


def header(version=3, tensors=0, values=0):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, values)


ARRAY = string("a") + struct.pack("<IQIQ", 1, 32, 0, 0)
HOSTILE = {
    "empty": (b"", "does not begin with the letters GGUF"),
    "another file": (b"GGML" + b"\0" * 40, "does not begin with the letters GGUF"),
    "cut off": (b"GGUF\3\0", "at byte 4 it announces 4 more, and has 2"),
    "version 1": (header(1), "its version is 1"),
    "a name without end": (header(values=1) + struct.pack("<Q", 2 ** 63), "announces 9223372036854775808 more"),
    "values without end": (header(values=2 ** 62), "announces 8 more, and has 0"),
    "a list without end": (header(values=1) + string("a") + struct.pack("<IIQ", 9, 8, 2 ** 60), "a list of 115292150460"),
    "numbers without end": (header(values=1) + string("a") + struct.pack("<IIQ", 9, 4, 2 ** 60), "more, and has 0"),
    "lists in lists": (header(values=1) + string("a") + struct.pack("<I", 9) + struct.pack("<IQ", 9, 1) * 9, "of kind 9"),
    "an unknown kind": (header(values=1) + string("a") + struct.pack("<I", 77), "a value of kind 77"),
    "a name twice": (header(values=2) + (string("a") + struct.pack("<IB", 0, 1)) * 2, "a stands in it twice"),
    "an array twice": (header(tensors=2) + ARRAY * 2 + b"\0" * 500, "a stands in it twice"),
    "arrays without end": (header(tensors=2 ** 60), "announces 8 more, and has 0"),
    "too many axes": (header(tensors=1) + string("a") + struct.pack("<I", 2 ** 31) + b"\0" * 200, "a has 9 axes"),
    "no bytes behind": (header(tensors=1) + ARRAY + b"\0" * 40, "announces 128 more"),
    "an array far away": (header(tensors=1) + string("a") + struct.pack("<IQIQ", 1, 32, 0, 2 ** 62) + b"\0" * 200, "begin at byte"),
    "an enormous array": (header(tensors=1) + string("a") + struct.pack("<IQQIQ", 2, 2 ** 62, 2 ** 62, 0, 0) + b"\0" * 200,
                          "announces 85070591730234615865843651857942052864 more"),
    "an unknown packing": (header(tensors=1) + string("a") + struct.pack("<IQIQ", 1, 32, 9, 0) + b"\0" * 200, "the way number 9"),
    "rows that do not fit": (header(tensors=1) + string("a") + struct.pack("<IQIQ", 1, 33, 8, 0) + b"\0" * 200, "rows of 33"),
    "a strange alignment": (header(values=1) + string("general.alignment") + struct.pack("<II", 4, 0), "alignment is 0"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_ends_in_a_sentence(name, tmp_path):
    content, says = HOSTILE[name]
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(says)):
        read_gguf(path)


def test_every_cut_of_a_file_is_noticed(tmp_path):
    model = LanguageModel(read_config({**LLAMA, "vocab_size": 3, "num_hidden_layers": 1}), rng=0)
    whole = as_gguf(tmp_path / "whole.gguf", model, "llama").read_bytes()
    cut = tmp_path / "cut.gguf"
    for length in range(0, len(whole) - 32, 37):
        cut.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="is no GGUF file, or is damaged"):
            read_gguf(cut)
