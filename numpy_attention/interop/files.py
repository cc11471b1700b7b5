"""Parameters in files, as .npz (nothing but NumPy needed) or .safetensors (what other libraries exchange).

A file holds one array for each of the layer's named parameters, bit for bit. Nothing is pickled, so that opening
somebody else's file runs none of their code.
"""
import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np

from ..engine.layer import known_layer
from ..words.files import path_of, write_whole
from ..words.npz import Npz, read_ordinary

LONGEST_TABLE = 100_000_000         # bytes that a .safetensors file may need besides its numbers


def save(layer, path):
    """Write all parameters of a layer to `path`, which ends in .npz or .safetensors.

    Raises: ValueError for another ending, ImportError if the safetensors package is missing, OSError if the disk is
        full or the folder does not exist. A file that was there before is then still there, whole.

    >>> import tempfile, os
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "mha.npz")
    >>> mha = na.MultiHeadAttention(8, 2, rng=0)
    >>> na.interop.save(mha, path)
    >>> other = na.interop.load(na.MultiHeadAttention(8, 2), path)
    >>> all((other.named_params()[name] == array).all() for name, array in mha.named_params().items())
    True
    >>> folder.cleanup()
    """
    pack, _ = _format(path)
    params = known_layer(layer).named_params()
    write_whole(path, pack({name: np.array(array, order="C") for name, array in params.items()}))


def load(layer, path):
    """Read parameters that `save` has written back into a layer of the same make. Returns the layer.

    Raises: ValueError if the file is damaged, holds something else, or belongs to another layer: names, shapes and
        dtypes must be the layer's own. OSError if it cannot be read. Everything is checked first: after an error the
        layer is as it was.
    """
    _, unpack = _format(path)
    params = known_layer(layer).named_params()
    try:
        most = LONGEST_TABLE + 2 * sum(array.nbytes for array in params.values())
        arrays = unpack(read_ordinary(path, most))
    except ValueError as error:
        raise ValueError(f"{path} is damaged, or no {Path(path).suffix} file of parameters: {error}") from None
    if set(arrays) != set(params):
        raise ValueError(f"{path} does not fit {type(layer).__name__}: missing {sorted(set(params) - set(arrays))}, "
                         f"not known to this layer {sorted(set(arrays) - set(params))}")
    for name, param in params.items():
        if arrays[name].shape != param.shape or arrays[name].dtype != param.dtype:
            raise ValueError(f"{path} does not fit: {name} must have shape {param.shape} and dtype {param.dtype}; "
                             f"it has {arrays[name].shape} and {arrays[name].dtype}")
        if not param.flags.writeable:
            raise ValueError(f"{name} cannot be loaded: the layer's parameter is read-only; give it a copy of its own")
    for name, param in params.items():
        param[...] = arrays[name]
    return layer


def _format(path):
    """(pack, unpack) for the ending of `path`."""
    suffix = path_of("path", path).suffix
    if suffix not in FORMATS:
        raise ValueError(f"path must end in {' or '.join(FORMATS)}; got {path}")
    return FORMATS[suffix]


def pack_npz(arrays):
    """A dict of arrays as the bytes of an .npz file, the same bytes for the same arrays."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:       # not np.savez: it has names of its own, such as "file"
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    return buffer.getvalue()


def unpack_npz(data):
    """The bytes of an .npz file as a dict of arrays; ValueError if they are damaged."""
    return Npz(data).read()


def _pack_safetensors(arrays):
    for name, array in arrays.items():
        if array.dtype not in (np.float16, np.float32, np.float64):
            raise ValueError(f"{name} is {array.dtype}, which a .safetensors file cannot hold: give a path that ends "
                             "in .npz")
    save_bytes = _safetensors().save
    return save_bytes(arrays, metadata={"sha256": _digest(arrays)})     # one key: several come out in any order


def _unpack_safetensors(data):
    load_bytes = _safetensors().load
    try:
        arrays = load_bytes(data)
        header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
        about = header.get("__metadata__") or {}
    except Exception:               # readers of damaged files raise nearly anything
        raise ValueError("its table of contents cannot be read, or does not fit the bytes behind it") from None
    # The format has no checksum of its own. Other libraries write none, and say no more than which of them wrote.
    if about.keys() <= {"format"}:
        return arrays
    if about.get("sha256") != _digest(arrays):
        raise ValueError("the numbers are not those that were written, or their checksum is damaged")
    return arrays


def _digest(arrays):
    whole = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        whole.update(f"{name} {array.shape} {array.dtype.str}\n".encode())
        whole.update(array.tobytes())
    return whole.hexdigest()


def _safetensors():
    try:
        import safetensors.numpy
    except ImportError:
        raise ImportError("for .safetensors files: pip install 'numpy_attention[safetensors]'; "
                          ".npz files need nothing") from None
    return safetensors.numpy


FORMATS = {".npz": (pack_npz, unpack_npz), ".safetensors": (_pack_safetensors, _unpack_safetensors)}
