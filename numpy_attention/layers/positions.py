"""Positions: attention by itself does not know the order of its tokens, so their places are written into them.

The sinusoidal code is a row of clock hands: each pair of columns is the sine and cosine of the position, every pair
turning slower than the one before. Two positions that are a fixed distance apart always differ by the same rotation.
"""
import numpy as np

from ..engine.arguments import precision, size, whole
from ..engine.layer import Layer
from ..engine.shapes import check_table


class SinusoidalPositions(Layer):
    """x + sinusoidal_positions(L, D), with nothing to learn and no longest sequence.

    positions(x, *, offset=0) -> out

    offset is the position of the first token, so that a later chunk can go on where an earlier one ended.
    Shapes: x and out (..., L, D).
    Raises: ValueError for a single row or number, TypeError for an offset that is not a whole number.

    >>> na.SinusoidalPositions()(np.zeros((1, 2, 4))).round(2)
    array([[[0.  , 1.  , 0.  , 1.  ],
            [0.84, 0.54, 0.01, 1.  ]]])

    Source: Vaswani et al. 2017, section 3.5.
    """

    def forward(self, x, *, offset=0):
        check_table("x", x)
        # 1. A code for each place.
        positions = sinusoidal_positions(*x.shape[-2:], offset=offset, dtype=x.real.dtype)      # (L, D)
        # 2. Added to the token that stands there.
        out = x + positions                                                                     # (..., L, D)
        self.cache = {"x": x, "positions": positions, "out": out}
        return out

    def backward(self, dout):
        # 2. In the forward pass this was out = x + positions, so x gets dout as it is; the code learns nothing.
        dx = dout                                                                               # (..., L, D)
        self.grads = {"out": dout, "x": dx}
        return dx

    FORWARD = (
        ("positions", "sin and cos of place / 10000^(2i/D)", "L D",
         "A code for each place.", "每个位置一组正弦和余弦。"),
        ("out", "x + positions", "... L D",
         "Write each token's place into its row.", "把位置写进每个词元的那一行。"),
    )
    BACKWARD = (
        ("dx", "dout", "... L D",
         "A sum hands its gradient on unchanged.", "加法把梯度原样传回去。"),
    )


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
