"""Parameters in files: bit for bit, whole or not at all, and nobody else's file by mistake."""
import io
import os
import pickle
import re
import sys
import warnings
import zipfile

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.interop.files import pack_npz, unpack_npz

from ..standard import randomise

SUFFIXES = [".npz", ".safetensors"]


@pytest.fixture(params=SUFFIXES)
def path(request, tmp_path):
    if request.param == ".safetensors":
        pytest.importorskip("safetensors")
    return tmp_path / f"layer{request.param}"


def layer(seed=1, dtype=np.float64):
    return randomise(na.TransformerEncoderLayer(8, 2, 9), seed=seed, dtype=dtype)


def snapshot(layer):
    return {name: array.copy() for name, array in layer.named_params().items()}


def assert_same(layer, before):
    assert layer.named_params().keys() == before.keys()
    for name, array in layer.named_params().items():
        assert array.tobytes() == before[name].tobytes(), name


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_round_trip_is_the_same_to_the_last_bit(path, dtype):
    written, read = layer(1, dtype), layer(2, dtype)
    special = written.norm1.params["beta"]
    special[:5] = [np.nan, -0.0, np.inf, -np.inf, np.finfo(dtype).smallest_subnormal]
    held = read.named_params()
    na.interop.save(written, path)
    assert na.interop.load(read, path) is read
    assert_same(read, snapshot(written))
    assert all(array is held[name] for name, array in read.named_params().items())


def test_layouts_do_not_matter(path):
    written = layer()
    written.feed_forward.up_proj.params["W"] = np.asfortranarray(written.feed_forward.up_proj.params["W"])
    written.self_attn.query_proj.params["W"] = np.repeat(written.self_attn.query_proj.params["W"], 2, axis=1)[:, ::2]
    na.interop.save(written, path)
    read = na.interop.load(layer(2), path)
    for name, array in written.named_params().items():
        np.testing.assert_array_equal(read.named_params()[name], array)


def test_a_packed_array_is_read_again():
    assert unpack_npz(pack_npz({"a": np.arange(3)}))["a"].tolist() == [0, 1, 2]


def test_names_may_be_anything(path):
    class Odd(na.Layer):
        def __init__(self, value):
            super().__init__()
            self.params = {"file": np.full(2, value), "allow_pickle": np.full((), value), "中": np.full((0, 3), value)}

    na.interop.save(Odd(1.5), path)
    assert_same(na.interop.load(Odd(0.0), path), Odd(1.5).params)


def test_the_same_parameters_give_the_same_file(path):
    na.interop.save(layer(), path)
    first = path.read_bytes()
    na.interop.save(layer(), path)
    assert path.read_bytes() == first


def test_numpy_and_safetensors_read_the_files(path):
    na.interop.save(layer(), path)
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as archive:
            found = {name: archive[name] for name in archive.files}
    else:
        from safetensors.numpy import load_file
        found = load_file(path)
    assert_same(layer(), found)


def test_numpys_own_files_are_read(tmp_path):
    for write in (np.savez, np.savez_compressed):
        write(tmp_path / "theirs.npz", **layer(1).named_params())
        assert_same(na.interop.load(layer(2), tmp_path / "theirs.npz"), snapshot(layer(1)))


def test_any_truncation_is_refused(path):
    na.interop.save(layer(1), path)
    whole, target = path.read_bytes(), layer(2)
    before = snapshot(target)
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=re.escape(str(path))):
            na.interop.load(target, path)
    assert_same(target, before)


def test_any_flipped_bit_is_refused_or_harmless(path):
    na.interop.save(layer(1), path)
    whole, target = path.read_bytes(), layer(2)
    before, right = snapshot(target), snapshot(layer(1))
    refused = 0
    for place in range(0, len(whole), 41):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x10]) + whole[place + 1:])
        try:
            na.interop.load(target, path)
        except ValueError:
            refused += 1
            assert_same(target, before)
        else:
            assert_same(target, right)          # a date or a flag in the container: the numbers are all there
            na.interop.from_torch(target, na.interop.to_torch(layer(2)))
    assert refused > len(whole) / 41 * 0.8


def rewritten(path, change):
    """The file with other arrays in it."""
    params = dict(layer(1).named_params())
    change(params)
    if path.suffix == ".npz":
        path.write_bytes(pack_npz(params))
    else:
        from safetensors.numpy import save_file
        save_file({name: np.ascontiguousarray(array) for name, array in params.items()}, path)


FOREIGN = {
    "a name missing": (lambda p: p.pop("norm2.beta"), "norm2.beta"),
    "a name too many": (lambda p: p.update(more=np.ones(1)), "more"),
    "another shape": (lambda p: p.update({"norm2.beta": np.ones(9)}), r"\(8,\).*\(9,\)"),
    "transposed": (lambda p: p.update({"feed_forward.up_proj.W": np.ones((9, 8))}), r"\(8, 9\).*\(9, 8\)"),
    "another precision": (lambda p: p.update({"norm2.beta": np.ones(8, np.float32)}), "float64.*float32"),
    "whole numbers": (lambda p: p.update({"norm2.beta": np.ones(8, np.int64)}), "float64.*int64"),
    "nothing": (lambda p: p.clear(), "missing"),
}


@pytest.mark.parametrize(("change", "message"), FOREIGN.values(), ids=FOREIGN)
def test_another_layers_file_is_refused(path, change, message):
    rewritten(path, change)
    target = layer(2)
    before = snapshot(target)
    with pytest.raises(ValueError, match=message):
        na.interop.load(target, path)
    assert_same(target, before)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", b"\x93NUMPY", b"\xff" * 200, pickle.dumps({"W": 1})],
                         ids=["empty", "text", "zip head", "npy head", "ones", "pickle"])
def test_what_is_no_parameter_file_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged, or no"):
        na.interop.load(layer(), path)


def test_pickles_inside_are_never_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "sprung"),))

    path = tmp_path / "trap.npz"
    np.savez(path, W=np.array([Trap()], dtype=object))
    with pytest.raises(ValueError, match="damaged, or no"):
        na.interop.load(na.Linear(1, 1, bias=False), path)
    assert not (tmp_path / "sprung").exists()


def test_an_array_that_claims_to_be_huge_is_refused(tmp_path):
    path = tmp_path / "bomb.npz"
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000, 1000), }"
    head += b" " * (-len(head) - 11 % 64) + b"\n"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("W.npy", b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head)
    with pytest.raises(ValueError, match="damaged, or no"):
        na.interop.load(na.Linear(1, 1, bias=False), path)


def test_two_arrays_of_one_name_are_refused(tmp_path):
    path = tmp_path / "twice.npz"
    one = zipfile.ZipFile(io.BytesIO(pack_npz({"W": np.ones((1, 1))}))).read("W.npy")
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore")             # zipfile's own, about the second name
        for _ in range(2):
            archive.writestr("W.npy", one)
    with pytest.raises(ValueError, match=r"W\.npy"):
        na.interop.load(na.Linear(1, 1, bias=False), path)


@pytest.mark.parametrize("name", ["layer", "layer.npy", "layer.pt", "layer.NPZ", "npz"])
def test_other_endings_are_refused(tmp_path, name):
    for use in (na.interop.save, na.interop.load):
        with pytest.raises(ValueError, match=r"must end in \.npz or \.safetensors"):
            use(layer(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_missing_file_is_called_missing(path):
    with pytest.raises(FileNotFoundError):
        na.interop.load(layer(), path)


def test_a_read_only_parameter_is_found_before_anything_is_written(path):
    na.interop.save(layer(1), path)
    target = layer(2)
    target.norm2.params["beta"].flags.writeable = False
    before = snapshot(target)
    with pytest.raises(ValueError, match=r"norm2\.beta.*read-only"):
        na.interop.load(target, path)
    assert_same(target, before)


@pytest.mark.parametrize("broken", ["write", "fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file(path, monkeypatch, broken):
    na.interop.save(layer(1), path)
    old = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        if broken == "write":
            patched.setattr("builtins.open", lambda *a, **k: full())
        else:
            patched.setattr(os, broken, full)
        with pytest.raises(OSError, match="No space"):
            na.interop.save(layer(2), path)
    assert path.read_bytes() == old
    assert list(path.parent.iterdir()) == [path]


def test_without_the_safetensors_package_the_error_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ImportError, match=r"pip install.*\.npz files need nothing"):
        na.interop.save(layer(), tmp_path / "layer.safetensors")
    (tmp_path / "layer.safetensors").write_bytes(b"anything")
    with pytest.raises(ImportError, match="pip install"):
        na.interop.load(layer(), tmp_path / "layer.safetensors")


def test_complex_parameters_go_into_npz_only(tmp_path):
    written = na.Linear(3, 2, rng=0, dtype=np.complex128)
    na.interop.save(written, tmp_path / "x.npz")
    assert_same(na.interop.load(na.Linear(3, 2, dtype=np.complex128), tmp_path / "x.npz"), snapshot(written))
    with pytest.raises(ValueError, match="W is complex128, which a .safetensors file cannot hold"):
        na.interop.save(written, tmp_path / "x.safetensors")


@pytest.mark.parametrize("wrong", [None, 3, "", b"x.npz", io.BytesIO(), "a\0.npz", "a\ud800.npz"])
def test_what_is_no_path(wrong):
    for call in (lambda: na.interop.save(na.Linear(2, 2), wrong), lambda: na.interop.load(na.Linear(2, 2), wrong)):
        with pytest.raises((TypeError, ValueError), match="^path must be the path of a file"):
            call()
