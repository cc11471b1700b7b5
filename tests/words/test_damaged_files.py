"""Damaged files: whatever was done to them, the documented error answers in a sentence of ours, and nothing changes.

One seed breaks the same files in the same ways for all three readers of .npz: parameters, checkpoints, arrays to step
through.
"""
import io
import os
import re
import struct
import zipfile

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.training import CheckpointError, task, train
from numpy_attention.training.checkpoint import load_checkpoint, save_checkpoint
from numpy_attention.walkthrough.own_arrays import read as read_arrays
from numpy_attention.words.npz import Npz

TIMES = 150
UNSAFE = re.compile("unsafe|allow_pickle|trust", re.IGNORECASE)


def sentence(text, path):
    """Is it one of ours: one line that names the file and gives no advice to load it unsafely?"""
    return path.name in text and "\n" not in text and not UNSAFE.search(text)


def broken(content, rng):
    """The bytes of a file after an accident of some kind."""
    data = bytearray(content)
    kind = rng.integers(7)
    place = int(rng.integers(len(data)))
    if kind == 0:
        data[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:                             # several bytes anywhere
        for i in rng.integers(len(data), size=6):
            data[i] = int(rng.integers(256))
    elif kind == 2:
        del data[place:]
    elif kind == 3:                             # bytes lost or come in between
        data[place:place + int(rng.integers(9))] = rng.bytes(int(rng.integers(9)))
    elif kind == 4:                             # in the table of the archive: kind of packing, flags, sizes, versions
        heads = [m.start() for m in re.finditer(rb"PK\x01\x02|PK\x03\x04|PK\x05\x06", bytes(data))] or [0]
        at = int(rng.choice(heads)) + int(rng.integers(4, 46))
        if at < len(data):
            data[at] = int(rng.integers(256))
    elif kind == 5:                             # in the header of an array
        heads = [m.start() for m in re.finditer(rb"NUMPY", bytes(data))] or [0]
        at = min(int(rng.choice(heads)) + int(rng.integers(5, 90)), len(data) - 1)
        data[at] = int(rng.choice(list(b"0123456789(),'[]{}xfiOUVL-")))
    else:
        data[place:place] = data[:int(rng.integers(len(data)))]
    return bytes(data)


def test_parameters(tmp_path):
    rng, path = np.random.default_rng(1), tmp_path / "layer.npz"
    right = {name: array.copy() for name, array in na.Linear(3, 2, rng=1).named_params().items()}
    na.interop.save(na.Linear(3, 2, rng=1), path)
    whole, said = path.read_bytes(), []
    for _ in range(TIMES):
        path.write_bytes(broken(whole, rng))
        layer = na.Linear(3, 2, rng=2)
        before = {name: array.copy() for name, array in layer.named_params().items()}
        try:
            na.interop.load(layer, path)
        except ValueError as error:
            said.append(str(error))
            expected = before
        else:
            expected = right
        assert all(np.array_equal(array, expected[name]) for name, array in layer.named_params().items())
    assert len(said) > TIMES / 2 and all(sentence(text, path) for text in said)


def test_checkpoints(tmp_path):
    rng, path, made = np.random.default_rng(2), tmp_path / "run.npz", task("reverse", V=2, L=2)
    save_checkpoint(path, train(made, steps=1, d_model=2, measure_every=1, progress=False))
    whole, said = path.read_bytes(), []
    fresh = train(made, steps=0, d_model=2, progress=False)
    before = [p.tobytes() for p in fresh.model.named_params().values()]
    for _ in range(TIMES):
        path.write_bytes(broken(whole, rng))
        try:
            load_checkpoint(path, fresh)
        except CheckpointError as error:
            said.append(str(error))
            assert [p.tobytes() for p in fresh.model.named_params().values()] == before and fresh.step == 0
        else:
            assert fresh.step == 1
            fresh = train(made, steps=0, d_model=2, progress=False)
    assert len(said) > TIMES / 2 and all(sentence(text, path) for text in said)


def test_arrays_to_step_through(tmp_path):
    rng, path, held = np.random.default_rng(3), tmp_path / "mine.npz", io.BytesIO()
    arrays = {"Q": np.arange(12.).reshape(4, 3), "K": np.ones((5, 3)), "V": np.eye(5), "tokens": np.array(["a", "我"])}
    np.savez_compressed(held, **arrays)
    said = []
    for _ in range(2 * TIMES):
        path.write_bytes(broken(held.getvalue(), rng))
        try:
            found = read_arrays(path)
        except (ValueError, OSError) as error:
            said.append(str(error))
        else:                                   # what was hit is a date, a name or a part that is not there any more
            assert all(array.tobytes() in {a.tobytes() for a in arrays.values()} for array in found.values())
    assert len(said) > TIMES and all(sentence(text, path) for text in said)


def npz(name="W.npy", content=b"", **entry):
    """An archive with one entry; `entry` are fields of its ZipInfo."""
    held, info = io.BytesIO(), zipfile.ZipInfo(name)
    for field, value in entry.items():
        setattr(info, field, value)
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr(info, content)
    return held.getvalue()


def npy(shape, descr="'<f8'", numbers=b""):
    head = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    head += b" " * (-len(head) - 11 % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + numbers


def whole():
    held = io.BytesIO()
    np.savez(held, W=np.eye(2))
    return held.getvalue()


def with_byte(content, signature, offset, value):
    data = bytearray(content)
    for found in re.finditer(re.escape(signature), content):
        data[found.start() + offset] = value
    return bytes(data)


@pytest.mark.parametrize(("content", "says"), {
    "nothing": (b"", "not an .npz file"),
    "text": (b"no arrays", "not an .npz file"),
    "one array": (npy((0,)), "single array without a name"),
    "10**12 numbers": (npz(content=npy((10**12,))), "are not that many"),
    "numbers below 0": (npz(content=npy((-2, -2), numbers=bytes(32))), "are not that many"),
    "10**30 of nothing": (npz(content=npy((10**12,), "'<U0'")), "dtype <U0"),
    "numbers too many": (npz(content=npy((1,), numbers=bytes(16))), "are not that many"),
    "objects": (npz(content=npy((1,), "'|O'", bytes(8))), "Python objects are not read"),
    "records": (npz(content=npy((1,), "[('a', '<f8')]", bytes(8))), "only numbers, booleans and text"),
    "dates": (npz(content=npy((1,), "'<M8[s]'", bytes(8))), "only numbers, booleans and text"),
    "code for a header": (npz(content=npy("__import__('os').getcwd()")), "does not begin as an array does"),
    "no header": (npz(content=b"hello"), "does not begin as an array does"),
    "another name": (npz("W.txt", npy((0,))), "is not one array"),
    "encrypted": (with_byte(with_byte(whole(), b"PK\x01\x02", 8, 1), b"PK\x03\x04", 6, 1), "encrypted"),
    "unknown packing": (with_byte(with_byte(whole(), b"PK\x01\x02", 10, 99), b"PK\x03\x04", 8, 99), "number 99"),
    "bzip2": (npz(content=npy((0,)), compress_type=zipfile.ZIP_BZIP2), "does not use"),
    "from the future": (with_byte(with_byte(whole(), b"PK\x01\x02", 6, 250), b"PK\x03\x04", 4, 250), "not an .npz"),
    "a bomb": (npz(content=npy((10**7,), numbers=bytes(8 * 10**7)), compress_type=zipfile.ZIP_DEFLATED), "unpack to"),
}.values())
def test_what_is_made_on_purpose(content, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        Npz(content).read()


def test_what_is_right_is_read():
    held, given = io.BytesIO(), {"Q": np.asfortranarray(np.arange(6.).reshape(2, 3)), "n": np.array(3),
                                 "a b/我": [True],
                                 "none": np.zeros((0, 10**9)), "words": np.array(["我", ""]), "file": np.ones(2) * 1j}
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in given.items():
            with archive.open(f"{name}.npy", "w") as entry:
                np.lib.format.write_array(entry, np.asanyarray(array))
    found = Npz(held.getvalue()).read()
    assert list(found) == list(given)
    for name, array in given.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].flags.writeable


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names on this system")
def test_what_is_no_ordinary_file_is_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe.npz"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero"):
        with pytest.raises(OSError, match="ordinary file"):
            read_arrays(path)
        with pytest.raises(CheckpointError, match="ordinary file"):
            train("reverse", resume=path, progress=False)
    with pytest.raises(OSError, match="ordinary file"):
        na.interop.load(na.Linear(1, 1), pipe)


def test_a_damaged_checksum_is_a_damage(tmp_path):
    pytest.importorskip("safetensors")
    path, layer = tmp_path / "layer.safetensors", na.Linear(3, 2, rng=1)
    na.interop.save(layer, path)
    content = path.read_bytes()
    for key in (b"sha257", b"tha256", b"sha25\x7f"):
        data = bytearray(content.replace(b"sha256", key))
        data[-3] ^= 8
        path.write_bytes(data)
        with pytest.raises(ValueError, match="damaged"):
            na.interop.load(na.Linear(3, 2), path)
