"""Rotary positions: turn every query and key by an angle that grows with its place.

The numbers of a row are taken in pairs, each pair a point in a plane, and the point is turned by position × speed;
the first pair turns fastest. Turning both by their own place leaves their dot product dependent on the distance alone:
q_m · k_n is the same for (3, 1), (7, 5) and (12, 10). A rotation is undone by turning back, and that is its backward.
"""
import numpy as np

from ...engine.arguments import finite, place, rectangular, size, switch
from ...engine.layer import Layer, parts
from .around_attention import AroundAttention


class Rotary(Layer):
    """x with each pair of columns turned by position / base^(2i/d).

    Args:
        d: how many of the first columns are turned, even; the rest of a wider x is left alone.
        base: how much slower the last pair turns than the first.
        interleaved: pairs are columns (2i, 2i+1) if True, (i, i + d/2) if False. The two are not interchangeable:
            weights trained with one need their columns reordered for the other.

    rotary(x, *, offset=0, positions=None) -> out
        offset: position of the first row. positions: (L,), (N, L) or (N, H, L) numbers instead of offset + 0, 1, ...;
            they need not be whole.

    Shapes: x and out (..., L, width) with width >= d.
    Raises: ValueError for an odd d, an x narrower than d, or positions that do not fit x; TypeError for positions that
        are no numbers.

    >>> na.Rotary(4)([[1., 2., 3., 4.]], offset=1).round(4)
    array([[-1.9841,  1.9599,  2.4624,  4.0198]])
    >>> na.Rotary(4, interleaved=True)([[1., 2., 3., 4.]], offset=1).round(4)
    array([[-1.1426,  1.9221,  2.9599,  4.0298]])

    Source: Su et al. 2021 (RoFormer), equation (34).
    """

    def __init__(self, d, *, base=10000.0, interleaved=False):
        super().__init__()
        self.d, self.base = size("d", d), finite("base", base, above=0)
        self.interleaved = switch("interleaved", interleaved)
        if self.d % 2:
            raise ValueError(f"d must be even, since columns are turned in pairs; got {d}")
        self.speeds = self.base ** (-np.arange(0, self.d, 2) / self.d)       # (d/2,)
        self.stretch = 1.0

    def forward(self, x, *, offset=0, positions=None):
        if x.ndim < 2 or x.shape[-1] < self.d:
            raise ValueError(f"x must have shape (..., L, width) with width >= d = {self.d}; got {x.shape}")
        angle = places(x, offset, positions)[..., None] * self.speeds        # (..., L, d/2)
        cos, sin = ((self.stretch * part).astype(x.real.dtype) for part in (np.cos(angle), np.sin(angle)))
        out = turn(x, cos, sin, self.interleaved)
        self.cache = {"x": x, "cos": cos, "sin": sin, "out": out}
        return out

    def backward(self, dout):
        dx = turn(dout, self.cache["cos"], -self.cache["sin"], self.interleaved)
        self.grads = {"out": dout, "x": dx}
        return dx

    FORWARD = (
        ("out", "each pair of x turned by position / base^(2i/d)", "... L d",
         "Turn each row by an angle that tells its place.", "按所在位置把每一行旋转一个角度。"),
    )
    BACKWARD = (
        ("dx", "each pair of dout turned back", "... L d",
         "Turn the gradient back by the same angle.", "把梯度按同样的角度转回去。"),
    )


def places(x, offset, positions):
    """The places of x's rows, such that they broadcast to (..., L): (N, L) gets an axis for the heads."""
    if positions is None:
        return place("offset", offset) + np.arange(x.shape[-2])
    positions = rectangular("positions", positions)
    if positions.dtype.kind not in "iuf":
        raise TypeError(f"positions must be numbers, got dtype {positions.dtype}")
    rows = x.shape[:-1]
    if positions.ndim == 2 and len(rows) == 3:
        positions = positions[:, None]
    fits = 1 <= positions.ndim <= len(rows) and positions.shape[-1] == rows[-1] and all(
        have in (1, want) for have, want in zip(positions.shape[::-1], rows[::-1], strict=False))
    if not fits:
        raise ValueError(f"positions must have shape (L,), (N, L) or (N, H, L) for x of shape {x.shape}, with L = "
                         f"{rows[-1]}; got {positions.shape}")
    if not np.isfinite(positions).all():
        raise ValueError("positions must be finite numbers; got NaN or infinity")
    return positions


def turn(x, cos, sin, interleaved=False):
    """Turn the pairs of x's first columns: (a, b) -> (a cos − b sin, a sin + b cos). cos and sin are (..., L, d/2)."""
    half = cos.shape[-1]
    first, second = (np.s_[..., 0:2 * half:2], np.s_[..., 1:2 * half:2]) if interleaved else \
                    (np.s_[..., :half], np.s_[..., half:2 * half])
    out = x.copy()
    out[first] = x[first] * cos - x[second] * sin
    out[second] = x[first] * sin + x[second] * cos
    return out


class RotaryAttention(AroundAttention):
    """Attention whose queries and keys are turned by their places first.

    Args:
        d_k: width of one head's query and key. rotary_dim: how many of its columns are turned, all unless given.
        base, interleaved: as for Rotary.
        attention: what happens then; plain scaled dot-product attention unless given.

    attention(Q, K, V, *, mask=None, bias=None, query_offset=0, query_positions=None, key_positions=None)
        query_offset: the place of the first query, while the first key stands at 0 (a KV cache holds keys from the
            beginning). query_positions, key_positions: all places instead, (L,) or (N, L), and (S,) or (N, S).

    >>> attention = na.RotaryAttention(4)
    >>> mha = na.MultiHeadAttention(8, 2, attention=attention, rng=0)
    >>> mha(np.ones((1, 3, 8))).shape
    (1, 3, 8)

    Source: Su et al. 2021 (RoFormer), equation (16).
    """

    asks_places = True

    def __init__(self, d_k, *, rotary_dim=None, base=10000.0, interleaved=False, attention=None):
        super().__init__()
        d = d_k if rotary_dim is None else rotary_dim
        if size("d_k", d_k) < size("rotary_dim", d):
            raise ValueError(f"rotary_dim must not exceed d_k: rotary_dim is {d}, d_k is {d_k}")
        self.turn_queries = Rotary(d, base=base, interleaved=interleaved)
        self.turn_keys = Rotary(d, base=base, interleaved=interleaved)
        self.attention = self.inner(attention)
        if any(isinstance(part, RotaryAttention) for part in parts(self.attention)):
            raise ValueError("queries and keys would be turned twice: hand in an attention without a RotaryAttention")

    def forward(self, Q, K, V, *, mask=None, bias=None, query_offset=0, query_positions=None, key_positions=None):
        Q_turned = self.turn_queries(Q, offset=query_offset, positions=query_positions)
        K_turned = self.turn_keys(K, positions=key_positions)
        heads = self.attend(Q_turned, K_turned, V, mask=mask, bias=bias, query_offset=query_offset,
                            query_positions=query_positions, key_positions=key_positions)
        self.keep_around(Q=Q, K=K, V=V, Q_turned=Q_turned, K_turned=K_turned)
        return heads

    def backward(self, dheads):
        dQ_turned, dK_turned, dV = self.attention.backward(dheads)
        dQ, dK = self.turn_queries.backward(dQ_turned), self.turn_keys.backward(dK_turned)
        self.grads_around(Q_turned=dQ_turned, K_turned=dK_turned, Q=dQ, K=dK)
        return dQ, dK, dV

    FORWARD = (
        ("Q_turned", "turn_queries(Q)", "N H L d_k",
         "Each query is turned by where it stands.", "每个查询按自己的位置旋转。"),
        ("K_turned", "turn_keys(K)", "N H S d_k",
         "Each key as well, so that only their distance matters.", "键也一样，于是只有相对距离起作用。"),
        "attention",
    )
    BACKWARD = (
        "attention",
        ("dQ", "turn_queries.backward(dQ_turned)", "N H L d_k", "Turn the gradients back.", "把梯度转回去。"),
        ("dK", "turn_keys.backward(dK_turned)", "N H S d_k", "Turn the gradients back.", "把梯度转回去。"),
    )
