"""Positions: attention by itself does not know the order of its tokens, so their places are written into them.

The sinusoidal code is a row of clock hands: each pair of columns is the sine and cosine of the position, every pair
turning slower than the one before. Two positions that are a fixed distance apart always differ by the same rotation.
"""
import numpy as np

from ..engine.arguments import precision, size, whole


def sinusoidal_positions(L, d_model, *, offset=0, base=10000.0, dtype=np.float64):
    """The position code to be added to embeddings: sin in the even columns, cos in the odd ones.

    Column 2i holds sin(p / base^(2i/D)), column 2i+1 the cosine of the same angle. An odd D ends with a sine.

    Args:
        L: number of positions. d_model: D.
        offset: position of the first row, so that a later chunk can go on where an earlier one ended.
        base: how much slower the last pair turns than the first. dtype: of the result.

    Returns: (L, D).
    Raises: TypeError/ValueError for sizes that are not positive whole numbers, and for such an offset or base.

    >>> na.sinusoidal_positions(2, 5)[1].round(6)
    array([8.41471e-01, 5.40302e-01, 2.51160e-02, 9.99685e-01, 6.31000e-04])

    Source: Vaswani et al. 2017, section 3.5.
    """
    L, D, offset = size("L", L), size("d_model", d_model), whole("offset", offset)
    if not 0 < base < np.inf:
        raise ValueError(f"base must be a positive finite number, got {base!r}")
    position = np.arange(offset, offset + L)[:, None]           # (L, 1)
    pair = np.arange(D) // 2                                    # 0 0 1 1 2 2 ...
    angle = position / base ** (2 * pair / D)                   # (L, D)
    return np.where(np.arange(D) % 2 == 0, np.sin(angle), np.cos(angle)).astype(precision(dtype))
