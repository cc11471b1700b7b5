"""Safetensors files: a table of contents, then nothing but numbers.

The first eight bytes say how long the table is. The table (JSON) says for each array its dtype, its shape and where its
bytes lie. So a reader needs no library, runs nothing of what the file holds, and can check every size before it reads a
single number. The numbers are not copied: an array is a view of the file, and the system fetches a page of it when it
is first used. (The view is private: what is written to it never reaches the file.)
"""
import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..words.files import write_whole

LONGEST_TABLE = 100_000_000         # bytes; the limit of the format
DTYPES = {"F64": np.dtype("<f8"), "F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2"),
          "I64": np.dtype("<i8"), "I32": np.dtype("<i4"), "I16": np.dtype("<i2"), "I8": np.dtype("i1"),
          "U8": np.dtype("u1"), "BOOL": np.dtype("?")}
BLOCK = 1 << 20                     # numbers widened at a time


class Stored(NamedTuple):
    """One array in a file that nobody has read yet: its kind of numbers, its shape, its bytes."""

    kind: str
    shape: tuple
    data: np.ndarray

    def read(self, dtype=np.float32):
        """The array in `dtype`: a view of the file where it is stored like that, else widened block by block."""
        numbers = self.data.view(DTYPES[self.kind])
        if self.kind != "BF16" and numbers.dtype == dtype and numbers.flags.aligned:
            return numbers.reshape(self.shape)
        out = np.empty(len(numbers), dtype)
        for start in range(0, len(numbers), BLOCK):
            block = numbers[start:start + BLOCK]
            out[start:start + BLOCK] = widen_bfloat16(block) if self.kind == "BF16" else block
        return out.reshape(self.shape)


def widen_bfloat16(halves):
    """bfloat16 is the upper half of a float32: put 16 zero bits behind it.

    >>> from numpy_attention.models.safetensors import widen_bfloat16
    >>> widen_bfloat16(np.array([0x3F80, 0xC049], np.uint16))
    array([ 1.      , -3.140625], dtype=float32)
    """
    return (halves.astype(np.uint32) << 16).view(np.float32)


def read_safetensors(path):
    """{name: Stored} of a file; nothing of it is read but its table.

    Raises: ValueError, in a sentence, for a file that is cut off, damaged or made to do harm: a table longer than the
        file, arrays outside of it or on top of each other, shapes that do not fit their bytes, names that stand twice.
    """
    path = Path(path)
    whole = path.stat().st_size
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if whole < 8 or length > min(whole - 8, LONGEST_TABLE):
            raise ValueError(f"{path} is no safetensors file, or is cut off: it has {whole} bytes, and its first eight "
                             f"announce a table of {length}")
        text = file.read(length)
    room = whole - 8 - length
    table = _table(path, text)
    table.pop("__metadata__", None)
    places = {name: _place(path, name, entry, room) for name, entry in table.items()}
    end = 0
    for name, (_, _, start, stop) in sorted(places.items(), key=lambda item: item[1][2:]):
        if start != end:
            raise ValueError(f"{path}: {name} begins at byte {start}, but what lies before it ends at {end}")
        end = stop
    if end != room:
        raise ValueError(f"{path}: its arrays have {end} bytes, and {room} follow the table; is the file cut off?")
    data = np.asarray(np.memmap(path, np.uint8, "c", 8 + length)) if room else np.empty(0, np.uint8)
    return {name: Stored(kind, shape, data[start:stop]) for name, (kind, shape, start, stop) in places.items()}


def _table(path, text):
    try:
        table = json.loads(text.decode("utf-8"), object_pairs_hook=_once_each)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: its table cannot be read: {error}") from None
    if not isinstance(table, dict):
        raise ValueError(f"{path}: its table must be an object of names, got a {type(table).__name__}")
    return table


def _once_each(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands in it twice")
    return found


def _place(path, name, entry, room):
    """(kind, shape, start, stop) of one entry, checked."""
    try:
        kind, shape, (start, stop) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
        whole = all(type(number) is int and number >= 0 for number in (*shape, start, stop))
    except (TypeError, KeyError, ValueError):
        whole = False
    if not whole:
        raise ValueError(f"{path}: {name} needs a dtype, a shape and two data_offsets, all whole and not negative; "
                         f"got {str(entry)[:100]}")
    if not isinstance(kind, str) or kind not in DTYPES:
        raise ValueError(f"{path}: {name} has dtype {str(kind)[:20]}; known are {', '.join(DTYPES)}")
    size = math.prod(shape[:8]) * DTYPES[kind].itemsize
    if len(shape) > 8 or not start <= stop <= room or stop - start != size:
        raise ValueError(f"{path}: {name} of shape {shape} and dtype {kind} needs {size} bytes; it is said to lie at "
                         f"{start} to {stop} of {room}")
    return kind, shape, start, stop


def write_safetensors(path, arrays):
    """Write {name: array} of floats as a safetensors file."""
    names = {np.dtype("<f8"): "F64", np.dtype("<f4"): "F32", np.dtype("<f2"): "F16"}
    table, end = {"__metadata__": {"format": "pt"}}, 0
    for name, array in arrays.items():
        table[name] = {"dtype": names[array.dtype], "shape": list(array.shape),
                       "data_offsets": [end, end := end + array.nbytes]}
    text = json.dumps(table).encode()
    text += b" " * (-len(text) % 8)                 # so that the numbers begin at a multiple of eight bytes
    numbers = [np.ascontiguousarray(array).data for array in arrays.values()]
    write_whole(path, [len(text).to_bytes(8, "little") + text, *numbers])
