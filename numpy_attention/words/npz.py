"""Reading .npz files that anybody may have made, by accident or on purpose.

An .npz file is a zip archive with one array in each entry, and every entry begins with a header: the array's dtype and
shape. So before a single number is unpacked, everything can be asked: how large it says it is, how it is packed, what
kind of numbers it holds. Only what passes is read, and the archive's checksums tell whether it is what was written.
Python objects are never read: to read them is to run what their author wrote.
"""
import errno
import io
import math
import os
import stat
import warnings
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

KINDS = {"b": "booleans", "i": "whole numbers", "u": "whole numbers", "f": "floats", "c": "complex numbers",
         "U": "text", "S": "bytes"}
ROOM, RATIO = 1 << 26, 20       # an archive may always unpack to 64 MiB, and else to 20 times its own size
ENCRYPTED, PATCHED = 0x01, 0x20


class Header(NamedTuple):
    """What an entry says of its array before it is read."""

    dtype: np.dtype
    shape: tuple
    fortran: bool
    start: int


def read_ordinary(path, most=None):
    """The bytes of an ordinary file; OSError for a folder, a device or a pipe, ValueError beyond `most` bytes.

    >>> from numpy_attention.words.npz import read_ordinary
    >>> read_ordinary("/")
    Traceback (most recent call last):
    IsADirectoryError: [Errno 21] Is a directory: '/'
    """
    path = Path(path)
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        folder = stat.S_ISDIR(found.st_mode)
        raise (IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path)) if folder else OSError(
            errno.EINVAL, "it is a device, a pipe or a socket, not an ordinary file", os.fspath(path)))
    if most is not None and found.st_size > most:
        raise ValueError(f"it has {found.st_size:,} bytes, and at most {most:,} can belong there")
    return path.read_bytes()


class Npz:
    """The content of an .npz file. `headers` tells what is in it; `npz[name]` reads one array, `read()` all of them.

    Args: content: the bytes of the file.
    Raises: ValueError, in a sentence that says what is wrong, for anything that is no whole archive of plain arrays
        of a sensible size.

    >>> from numpy_attention.words.npz import Npz
    >>> file = io.BytesIO()
    >>> np.savez(file, Q=np.eye(2))
    >>> npz = Npz(file.getvalue())
    >>> npz.headers["Q"].shape, npz["Q"].tolist()
    ((2, 2), [[1.0, 0.0], [0.0, 1.0]])
    """

    def __init__(self, content):
        content = bytes(content)
        if content.startswith(b"\x93NUMPY"):
            raise ValueError("it holds a single array without a name: write several with np.savez(path, Q=Q, K=K, V=V)")
        try:
            self.archive = zipfile.ZipFile(io.BytesIO(content))
            entries = self.archive.infolist()
        except Exception:               # readers of damaged files raise nearly anything
            raise ValueError("it is not an .npz file, or is cut off: write it with np.savez") from None
        size = sum(entry.file_size for entry in entries)
        if size > max(ROOM, RATIO * len(content)):
            raise ValueError(f"it would unpack to {size:,} bytes out of {len(content):,}, which no arrays of numbers "
                             "do; if they are yours, write them with np.savez, which does not compress")
        self.entries, self.headers = {}, {}
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            if name in self.entries or name == entry.filename:
                raise ValueError(f"{entry.filename!r} is not one array: each stands once, under a name that ends in "
                                 ".npy")
            self.entries[name] = entry
            self.headers[name] = self._header(name, entry)

    def __getitem__(self, name):
        header, content = self.headers[name], self._content(name)
        array = np.frombuffer(content, header.dtype, offset=header.start)
        return array.reshape(header.shape, order="F" if header.fortran else "C").copy(order="K")

    def read(self):
        """All arrays by name, in the order of the file."""
        return {name: self[name] for name in self.headers}

    def _content(self, name):
        """The unpacked bytes of an entry, compared with their checksum."""
        try:
            return self.archive.read(self.entries[name])
        except MemoryError:
            raise ValueError(f"{name} has {self.entries[name].file_size:,} bytes, more than there is memory") from None
        except Exception:
            raise ValueError(f"{name} is damaged: its bytes are not those that were written") from None

    def _header(self, name, entry):
        """What the entry says of its array, checked against its size."""
        if entry.flag_bits & (ENCRYPTED | PATCHED):
            raise ValueError(f"{name} is encrypted or patched, or the file is damaged: write it with np.savez")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{name} is packed in a way that np.savez does not use (number {entry.compress_type})")
        try:
            with self.archive.open(entry) as file, warnings.catch_warnings():
                warnings.simplefilter("error")
                read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
                shape, fortran, dtype = read[np.lib.format.read_magic(file)](file)
                start = file.tell()
        except Exception:
            raise ValueError(f"{name} does not begin as an array does: the file is damaged, or was not written with "
                             "np.savez") from None
        if dtype.hasobject:
            raise ValueError(f"{name} is no plain array (Python objects are not read, because they could run code): "
                             "convert it to an array of numbers")
        if dtype.kind not in KINDS or dtype.subdtype is not None or not dtype.itemsize:
            raise ValueError(f"{name} has dtype {dtype}: only numbers, booleans and text are read")
        if start + math.prod(shape) * dtype.itemsize != entry.file_size or min(shape, default=0) < 0:
            raise ValueError(f"{name} says that it has shape {shape} and dtype {dtype}, but its "
                             f"{entry.file_size - start} bytes are not that many: the file is damaged")
        return Header(dtype, shape, fortran, start)
