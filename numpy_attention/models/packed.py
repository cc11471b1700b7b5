"""Packed numbers: a block of small whole numbers that share a scale.

Weights lie close together, so a block of 32 of them is written as 32 whole numbers of 4 or 8 bits and one scale (and
perhaps one smallest value): number = scale · whole + smallest. Two of 4 bits share a byte: the first half of the block
lies in the low halves of the bytes, the second half in the high ones. The K kinds pack 256 numbers, in which the
scales of the sub-blocks are packed as well.

All functions take blocks as rows of bytes, (blocks, size), and return (blocks, numbers in a block).
"""
import numpy as np

KINDS = {   # numbers in a block, bytes of a block
    "F32": (1, 4), "F16": (1, 2), "BF16": (1, 2), "F64": (1, 8),
    "Q4_0": (32, 18), "Q4_1": (32, 20), "Q8_0": (32, 34), "Q4_K": (256, 144), "Q6_K": (256, 210),
}


def unpack(kind, blocks):
    """The numbers of (blocks, size) bytes.

    >>> from numpy_attention.models.packed import unpack
    >>> scale = np.frombuffer(np.float16(0.5).tobytes(), np.uint8)
    >>> block = np.concatenate([scale, np.full(16, 0x9F, np.uint8)])[None]      # low halves 15, high halves 9
    >>> unpack("Q4_0", block)[0, [0, 15, 16, 31]]                               # each less 8, times a half
    array([3.5, 3.5, 0.5, 0.5], dtype=float32)
    """
    return _UNPACK[kind](blocks)


def _view(blocks, first, last, dtype):
    """The bytes from `first` to `last` of every block as numbers of that dtype."""
    return np.ascontiguousarray(blocks[:, first:last]).view(dtype)


def _scale(blocks, at):
    return _view(blocks, at, at + 2, "<f2").astype(np.float32)              # (blocks, 1)


def _halves(data):
    """The two halves of every byte: first all low ones, then all high ones."""
    return np.concatenate([data & 15, data >> 4], axis=1)


def _bf16(blocks):
    return (_view(blocks, 0, 2, "<u2").astype(np.uint32) << 16).view(np.float32)


def _q4_0(blocks):
    """scale, 16 bytes of halves: scale · (half − 8)."""
    return (_halves(blocks[:, 2:]).astype(np.float32) - 8) * _scale(blocks, 0)


def _q4_1(blocks):
    """scale, smallest, 16 bytes of halves: scale · half + smallest."""
    return _halves(blocks[:, 4:]) * _scale(blocks, 0) + _scale(blocks, 2)


def _q8_0(blocks):
    """scale, 32 signed bytes."""
    return _view(blocks, 2, 34, np.int8) * _scale(blocks, 0)


def _q4_k(blocks):
    """Two scales, 12 bytes with 8 scales and 8 smallest values of 6 bits each, 128 bytes of halves.

    The halves come in four groups of 32 bytes; a group's low halves are one sub-block, its high halves the next.
    """
    packed = blocks[:, 4:16]
    low, high = packed[:, :8] & 63, packed[:, 8:]                           # (blocks, 8), (blocks, 4)
    top = packed[:, :8] >> 6 << 4                                           # the upper two bits of the later ones
    scales = np.concatenate([low[:, :4], (high & 15) | top[:, :4]], axis=1) * _scale(blocks, 0)
    smallest = np.concatenate([low[:, 4:], (high >> 4) | top[:, 4:]], axis=1) * _scale(blocks, 2)
    groups = blocks[:, 16:].reshape(-1, 4, 1, 32)
    wholes = np.concatenate([groups & 15, groups >> 4], axis=2).reshape(-1, 8, 32)
    return (wholes * scales[:, :, None] - smallest[:, :, None]).reshape(-1, 256)


def _q6_k(blocks):
    """128 bytes with the lower four bits, 64 with the upper two, 16 scales, one scale of the scales.

    In each half of the block, 64 bytes of lower and 32 of upper bits make four rows of 32 numbers.
    """
    lower, upper = blocks[:, :128].reshape(-1, 2, 64), blocks[:, 128:192].reshape(-1, 2, 32)
    four = np.stack([lower[..., :32] & 15, lower[..., 32:] & 15, lower[..., :32] >> 4, lower[..., 32:] >> 4], axis=2)
    two = np.stack([upper & 3, upper >> 2 & 3, upper >> 4 & 3, upper >> 6], axis=2)
    wholes = (four | two << 4).astype(np.float32) - 32                      # (blocks, 2, 4, 32)
    scales = _view(blocks, 192, 208, np.int8) * _scale(blocks, 208)         # (blocks, 16), one for 16 numbers
    return (wholes.reshape(-1, 16, 16) * scales[:, :, None]).reshape(-1, 256)


_UNPACK = {
    "F32": lambda blocks: _view(blocks, 0, 4, "<f4"), "F16": lambda blocks: _view(blocks, 0, 2, "<f2"),
    "F64": lambda blocks: _view(blocks, 0, 8, "<f8"), "BF16": _bf16,
    "Q4_0": _q4_0, "Q4_1": _q4_1, "Q8_0": _q8_0, "Q4_K": _q4_k, "Q6_K": _q6_k,
}
