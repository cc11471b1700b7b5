"""Messages between the examiner and the desk: frames on a pair of pipes.

What comes from the desk was made by a student's code, so it is read as numbers and texts and nothing else: a header in
JSON, behind it the bytes of the arrays. Nothing that arrives can be executed. In the other direction the examiner
pickles, since the desk may believe it.

>>> unpacked(packed({"out": np.arange(3.0), "n": (1, None, 2j)}))
{'out': array([0., 1., 2.]), 'n': (1, None, 2j)}
>>> type(unpacked(packed(open))).__name__        # of anything else only the name of its type arrives
'builtin_function_or_method'
"""
import json
import math
import os
import queue
import select
import struct
import threading
import time

import numpy as np

LARGEST, LARGEST_ARRAY = 64 * 2**20, 8 * 2**20          # bytes, of a frame and of an array in it
DEEPEST, LONGEST = 16, 100_000
HEAD = struct.Struct("<16sI")   # a frame: the token of this desk, the length, the content


class Broken(Exception):
    """The other side is gone, or what it says is no frame."""


class TooLate(Exception):
    """Nothing came in time."""


class Channel:
    """Frames on two file descriptors; each begins with a token that both sides know.

    by_thread: whether a thread waits for what arrives, as on Windows, where one cannot wait for a pipe a while only.
    """

    def __init__(self, read, write, token, by_thread=os.name == "nt"):
        self.read, self.write, self.token = read, write, token
        self.held = bytearray()         # what has arrived and was not asked for yet
        self.arrived = queue.SimpleQueue() if by_thread else None
        if by_thread:
            threading.Thread(target=self._listen, daemon=True).start()

    def send(self, content):
        """Write one frame. Raises Broken if nobody reads any more, or it is too large."""
        if len(content) > LARGEST:
            raise Broken(f"a message of {len(content):,} bytes")
        left = memoryview(HEAD.pack(self.token, len(content)) + content)
        try:
            while left:
                left = left[os.write(self.write, left):]
        except OSError as error:
            raise Broken("the other side is gone") from error

    def receive(self, until=math.inf):
        """The next frame. Raises TooLate when time.monotonic() is `until`, Broken if none can come any more."""
        token, length = HEAD.unpack(self._bytes(HEAD.size, until))
        if token != self.token or length > LARGEST:
            raise Broken("something else wrote into the channel of the answers")
        return self._bytes(length, until)

    def _bytes(self, count, until):
        while len(self.held) < count:
            part = self._part(until)
            if not part:
                raise Broken("the process has ended")
            self.held += part
        found, self.held = bytes(self.held[:count]), self.held[count:]
        return found

    def _part(self, until):
        """What arrives next, b"" at the end; waits in short steps, so that a thread which waits here can be stopped."""
        while time.monotonic() < until:         # also where something arrives all the time
            wait = None if until == math.inf else min(0.05, max(0, until - time.monotonic()))
            if self.arrived is not None:
                try:
                    return self.arrived.get(timeout=wait)
                except queue.Empty:
                    pass
            elif select.select([self.read], [], [], wait)[0]:
                return os.read(self.read, 2**20)
        raise TooLate

    def _listen(self):
        part = b"at first"
        while part:
            try:
                part = os.read(self.read, 2**16)
            except OSError:
                part = b""
            self.arrived.put(part)


def packed(value):
    """A value as bytes: numbers, texts, arrays, and tuples, lists and dicts of them."""
    blobs = []
    header = json.dumps(_described(value, blobs, 0)).encode()
    return struct.pack("<I", len(header)) + header + b"".join(blobs)


def _described(value, blobs, depth):
    kind = type(value)
    if depth > DEEPEST:
        return {"thing": "something nested too deeply"}
    if value is None or kind in (bool, float) or (kind is int and value.bit_length() < 4000):
        return value
    if kind is str:
        return {"text": value[:LONGEST].encode("utf-8", "replace").decode()}
    if kind is complex:
        return {"complex": [value.real, value.imag]}
    if value is Ellipsis:
        return {"blank": 1}
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biufc":
        if value.nbytes > LARGEST_ARRAY:
            return {"thing": f"far too large array, {value.shape}"}
        array = np.ascontiguousarray(np.asarray(value), value.dtype.newbyteorder("="))
        blobs.append(array.tobytes())
        return {"array": array.dtype.str, "shape": np.shape(value), "single": not isinstance(value, np.ndarray)}
    if kind in (tuple, list) and len(value) <= LONGEST:
        return {kind.__name__: [_described(each, blobs, depth + 1) for each in value]}
    if kind is dict and len(value) <= LONGEST:
        return {"dict": [[_described(each, blobs, depth + 1) for each in pair] for pair in value.items()]}
    return {"thing": kind.__name__}


def unpacked(content):
    """What `packed` made bytes of. Raises Broken for anything else."""
    try:
        length, = struct.unpack_from("<I", content)
        header = json.loads(content[4:4 + length])
        value, end = _value(header, content, 4 + length, 0)
    except Broken:
        raise
    except Exception as error:
        raise Broken(f"an answer that cannot be read: {type(error).__name__}") from error
    if end != len(content):
        raise Broken("an answer with something behind it")
    return value


def _value(header, content, at, depth):
    if depth > DEEPEST + 1:
        raise Broken("an answer nested too deeply")
    if not isinstance(header, dict):
        return header, at
    kind, body = next(iter(header.items()))
    if kind == "array":
        dtype = np.dtype(body)
        if dtype.kind not in "biufc":
            raise Broken("an array of something else than numbers")
        count = math.prod(header["shape"])
        array = np.frombuffer(content, dtype, count, at).reshape(header["shape"]).copy()
        return (array[()] if header["single"] else array), at + count * dtype.itemsize
    if kind in ("tuple", "list", "dict"):
        found = []
        for each in body:
            value, at = _value(each if kind != "dict" else {"tuple": each}, content, at, depth + (kind != "dict"))
            found.append(value)
        return {"tuple": tuple, "list": list, "dict": dict}[kind](found), at
    simple = {"text": str, "complex": lambda pair: complex(*pair), "blank": lambda _: Ellipsis, "thing": thing}
    return simple[kind](body), at


def thing(name):
    """A stand-in for what cannot be sent: an object of a type of that name."""
    return type(str(name)[:60], (), {})()
