"""GGUF files: settings, tokenizer and arrays of a model in one file, the arrays often packed into a few bits a number.

The file begins with a list of named values (settings, and the tokenizer's tables), goes on with a list of arrays (name,
sizes, how they are packed, where they lie) and ends with their bytes. Everything is read here with bounds: no count in
the file is believed before the file has been seen to be long enough for it.
"""
import math
import struct
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .packed import KINDS, unpack

SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9
CHUNK = 1 << 16                     # numbers unpacked at a time


class Packed(NamedTuple):
    """One array in a file that nobody has read yet."""

    kind: str
    shape: tuple
    data: np.ndarray

    def read(self, dtype=np.float32):
        """The array in `dtype`: a view of the file where it is stored like that, else unpacked block by block."""
        if self.kind == "F32" and np.dtype(dtype) == np.float32 and self.data.ctypes.data % 4 == 0:
            return self.data.view("<f4").reshape(self.shape)
        per_block, size = KINDS[self.kind]
        blocks, out = self.data.reshape(-1, size), np.empty(math.prod(self.shape), dtype)
        step = max(1, CHUNK // per_block)
        for start in range(0, len(blocks), step):
            numbers = unpack(self.kind, blocks[start:start + step])
            out[start * per_block:start * per_block + numbers.size] = numbers.ravel()
        return out.reshape(self.shape)


class _Reader:
    """A file's bytes, read from front to back; whatever would lie behind the end is an error."""

    def __init__(self, path):
        self.path, self.at = path, 0
        self.bytes = memoryview(np.asarray(np.memmap(path, np.uint8, "c"))) if path.stat().st_size else memoryview(b"")

    def fail(self, what):
        raise ValueError(f"{self.path} is no GGUF file, or is damaged: {what}")

    def take(self, count):
        if count > len(self.bytes) - self.at:
            self.fail(f"at byte {self.at} it announces {count} more, and has {len(self.bytes) - self.at}")
        self.at += count
        return self.bytes[self.at - count:self.at]

    def number(self, kind):
        return struct.unpack("<" + kind, self.take(struct.calcsize("<" + kind)))[0]

    def string(self):
        return str(self.take(self.number("Q")), "utf-8", "replace")

    def value(self, kind, depth=0):
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        if kind == STRING:
            return self.string()
        if kind != ARRAY or depth > 2:
            self.fail(f"at byte {self.at} there is a value of kind {kind}")
        inner, count = self.number("I"), self.number("Q")
        if inner in SCALARS:
            dtype = np.dtype("<" + SCALARS[inner].replace("B", "u1").replace("b", "i1") if inner < 2 else
                             "?" if inner == 7 else "<" + SCALARS[inner])
            return np.frombuffer(self.take(count * dtype.itemsize), dtype).tolist()
        if count > len(self.bytes) - self.at:
            self.fail(f"at byte {self.at} it announces a list of {count}")
        return self.strings(count) if inner == STRING else [self.value(inner, depth + 1) for _ in range(count)]

    def strings(self, count):
        """The same as `string`, count times, for the tables of a tokenizer with their hundred thousand pieces."""
        length, found, at, end = struct.Struct("<Q").unpack_from, [], self.at, len(self.bytes)
        for _ in range(count):
            stop = at + 8 + length(self.bytes, at)[0] if at + 8 <= end else end + 1
            if stop > end:
                self.fail(f"at byte {at} there is a text that ends behind it")
            found.append(str(self.bytes[at + 8:stop], "utf-8", "replace"))
            at = stop
        self.at = at
        return found


def read_gguf(path):
    """(values, {name: Packed}) of a file; of the arrays nothing is read but where they lie.

    Raises: ValueError, in a sentence, for a file that is cut off, damaged, or packed in a way that is not known here.
    """
    file = _Reader(Path(path))
    if bytes(file.bytes[:4]) != b"GGUF":
        file.fail("it does not begin with the letters GGUF")
    file.at = 4
    version, count, values = file.number("I"), file.number("Q"), {}
    if version not in (2, 3):
        file.fail(f"its version is {version}; known are 2 and 3")
    for _ in range(file.number("Q")):
        name = file.string()
        if name in values:
            file.fail(f"{name} stands in it twice")
        values[name] = file.value(file.number("I"))
    places = {}
    for _ in range(count):
        name, sizes = file.string(), [file.number("Q") for _ in range(min(file.number("I"), 9))]
        if name in places or not 1 <= len(sizes) <= 4:
            file.fail(f"{name[:80]} stands in it twice" if name in places else f"{name[:80]} has {len(sizes)} axes")
        places[name] = tuple(sizes[::-1]), file.number("I"), file.number("Q")   # the fastest axis stands first there
    step = values.get("general.alignment", 32)
    if type(step) is not int or not 1 <= step <= 1 << 20:
        file.fail(f"its alignment is {step}")
    start = -(-file.at // step) * step
    return values, {name: _array(file, start, name, *place) for name, place in places.items()}


def _array(file, start, name, shape, number, offset):
    kind = NUMBERS.get(number)
    if kind is None:
        raise ValueError(f"{file.path}: {name} is packed in the way number {number}; known are "
                         f"{', '.join(f'{kind} ({number})' for number, kind in NUMBERS.items())}")
    per_block, size = KINDS[kind]
    if shape[-1] % per_block:
        file.fail(f"{name} has rows of {shape[-1]}, and {kind} packs {per_block} numbers at a time")
    file.at = start + offset
    if file.at > len(file.bytes):
        file.fail(f"{name} is said to begin at byte {file.at} of {len(file.bytes)}")
    return Packed(kind, shape, np.frombuffer(file.take(math.prod(shape) // per_block * size), np.uint8))


NUMBERS = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 8: "Q8_0", 12: "Q4_K", 14: "Q6_K", 28: "F64", 30: "BF16"}
