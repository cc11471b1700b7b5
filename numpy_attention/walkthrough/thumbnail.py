"""The small pictures of the overview: a matrix as a PNG, written by hand, because a page needs no image library.

A PNG is a signature and some chunks: the header, the rows (each behind a byte 0, compressed), the end.
"""
import base64
import struct
import zlib

import numpy as np

from ..words.colours import colour


def thumbnail(value, limit, gradient=False, most=16):
    """The first matrix of a step as an <img>, one pixel for a cell; the colours are those of its scale.

    >>> thumbnail(np.eye(2), 1.0)[:52]
    '<img alt="" width="30" height="30" src="data:image/p'
    """
    if not value.size:
        return ""
    whole = value.reshape((1,) * (2 - value.ndim) + value.shape)
    matrix = whole[(0,) * (whole.ndim - 2)][:most, :most].astype(float)
    rows = b""
    for row in matrix:
        colours = [colour(x, limit, gradient)[0] if np.isfinite(x) else "#808080" for x in row]
        rows += b"\0" + b"".join(bytes.fromhex(c[1:]) for c in colours)
    height, width = matrix.shape

    def chunk(kind, data):
        return struct.pack(">L", len(data)) + kind + data + struct.pack(">L", zlib.crc32(kind + data))
    png = (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">LLBBBBB", width, height, 8, 2, 0, 0, 0))
           + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))
    return (f'<img alt="" width="{15 * width}" height="{15 * height}" '
            f'src="data:image/png;base64,{base64.b64encode(png).decode()}">')
