"""Files that are cut off, damaged or made to do harm end in a sentence, and nothing of them is believed."""
import json
import re

import numpy as np
import pytest

from numpy_attention.models.safetensors import read_safetensors, write_safetensors


def write(path, table, data=b"", length=None):
    text = table if isinstance(table, bytes) else json.dumps(table).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + data)
    return path


def entry(dtype="F32", shape=(2,), start=0, stop=8):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, stop]}


HOSTILE = {
    "empty": (b"", b"", 0, "no safetensors file|cannot be read"),
    "a table longer than the file": (b"{}", b"", 2 ** 63, "announce a table of 9223372036854775808"),
    "no JSON": (b"{'a': 1}", b"", None, "its table cannot be read"),
    "JSON without end": (b"[" * 100_000, b"", None, "its table cannot be read"),
    "bytes that are no text": (b"\xff\xfe", b"", None, "its table cannot be read"),
    "a list": (b"[1]", b"", None, "must be an object of names, got a list"),
    "a name twice": (b'{"a": 1, "a": 2}', b"", None, "a name stands in it twice"),
    "outside of the file": ({"a": entry(start=0, stop=8)}, b"\0" * 4, None, "a of shape (2,) and dtype F32 needs 8"),
    "too few bytes": ({"a": entry(shape=(3,))}, b"\0" * 8, None, "needs 12 bytes; it is said to lie at 0 to 8"),
    "an enormous shape": ({"a": entry(shape=(2 ** 62, 2 ** 62))}, b"\0" * 8, None,
                          "needs 85070591730234615865843651857942052864 bytes"),
    "a negative size": ({"a": entry(shape=(-2,))}, b"\0" * 8, None, "all whole and not negative"),
    "half a number": ({"a": entry(shape=(2.0,))}, b"\0" * 8, None, "all whole and not negative"),
    "truth for a number": ({"a": entry(shape=(True, 2))}, b"\0" * 8, None, "all whole and not negative"),
    "no offsets": ({"a": {"dtype": "F32", "shape": [2]}}, b"\0" * 8, None, "needs a dtype, a shape"),
    "an entry that is none": ({"a": 7}, b"\0" * 8, None, "needs a dtype, a shape"),
    "an unknown dtype": ({"a": entry(dtype="F8_E4M3")}, b"\0" * 8, None, "has dtype F8_E4M3; known are F64"),
    "a dtype that is none": ({"a": entry(dtype=["F32"])}, b"\0" * 8, None, "has dtype ['F32']"),
    "on top of each other": ({"a": entry(), "b": entry(start=4, stop=12)}, b"\0" * 12, None, "b begins at byte 4"),
    "a hole": ({"a": entry(), "b": entry(start=12, stop=20)}, b"\0" * 20, None, "b begins at byte 12"),
    "something behind": ({"a": entry()}, b"\0" * 9, None, "have 8 bytes, and 9 follow"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_ends_in_a_sentence(name, tmp_path):
    table, data, length, says = HOSTILE[name]
    path = write(tmp_path / "model.safetensors", table, data, length)
    with pytest.raises(ValueError, match=says if "|" in says else re.escape(says)):
        read_safetensors(path)


def test_every_cut_of_a_file_is_noticed(tmp_path):
    path = tmp_path / "whole.safetensors"
    write_safetensors(path, {"a": np.arange(6.0).reshape(2, 3), "b": np.ones(2, np.float16)})
    whole = path.read_bytes()
    cut = tmp_path / "cut.safetensors"
    for length in range(len(whole)):
        cut.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="cut"):
            read_safetensors(cut)


def test_what_is_written_is_read(tmp_path):
    arrays = {"a": np.random.default_rng(0).standard_normal((3, 4)), "b": np.ones((2, 0), np.float32),
              "c": np.array(2.5, np.float16)}
    write_safetensors(tmp_path / "a.safetensors", arrays)
    for name, stored in read_safetensors(tmp_path / "a.safetensors").items():
        assert stored.shape == arrays[name].shape
        assert (stored.read(arrays[name].dtype) == arrays[name]).all()


def test_an_array_in_the_wanted_dtype_is_a_view_that_never_reaches_the_file(tmp_path):
    write_safetensors(tmp_path / "a.safetensors", {"a": np.ones((4, 4), np.float32)})
    stored = read_safetensors(tmp_path / "a.safetensors")["a"]
    view = stored.read(np.float32)
    assert np.shares_memory(view, stored.data)
    view[:] = 7
    assert (read_safetensors(tmp_path / "a.safetensors")["a"].read(np.float32) == 1).all()


def test_bfloat16_becomes_what_torch_makes_of_it(tmp_path):
    torch = pytest.importorskip("torch")
    bits = np.arange(1 << 16, dtype=np.uint16)
    path = write(tmp_path / "a.safetensors", {"a": entry("BF16", (1 << 16,), 0, 1 << 17)}, bits.tobytes())
    expected = torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16).float().numpy()
    assert np.array_equal(read_safetensors(path)["a"].read(), expected, equal_nan=True)
