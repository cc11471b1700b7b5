"""The normal distribution: φ(x), the bell curve, and Φ(x), the share of it that lies below x.

NumPy has no Φ. Its tail is the bell divided by roughly |x|: what is left after both are taken out changes little from 0
to infinity, so that one short polynomial does for all x, and whole arrays are computed at once, without a question to
each number. With Φ(−x) known, Φ(x) is 1 − Φ(−x). Rounding x² would cost digits far out, where φ is tiny; so x² is
taken apart, into a part that is exact and a small rest.
"""
import functools
import math

import numpy as np

END = 39                # beyond, φ is 0 in float64
MIDDLE = 5              # about half of the polynomial's range is spent on x below this
PIECE = 1 << 14         # numbers at a time: few enough for the processor's cache

# (1 + x) Φ(−x) exp(x²/2) as a Chebyshev series in u, which goes from −1 to 1 while x goes from 0 to END. Computed with
# 60 digits from the values at 60 Chebyshev points. The method is Shepherd and Laframboise's (1981, Mathematics of
# Computation 36, 249-253), who use it for (1 + 2x) exp(x²) erfc(x) from 0 to infinity; range and scale are our own.
SERIES = (
    0.4687668339362451, -0.05907913798796985, -0.008575474336962947, 0.011857925915723056, -0.005387321084925663,
    0.0016224267451386708, -0.0003491768716666526, 5.070326573115023e-05, -3.429383135787178e-06,
    -3.720777996712263e-07, 1.115544583318391e-07, -4.256512398821942e-09, -2.0135294192494346e-09,
    2.3716859673157747e-10, 3.4584207029576435e-11, -7.281095770660208e-12, -6.860504687874298e-13,
    2.056769672462599e-13, 1.801367895558323e-14, -5.779124991105539e-15, -6.226481023899045e-16,
    1.5969148135375263e-16)


def bell(x):
    """φ(x) = exp(−x²/2) / √(2π), each number right to about 1e-15 of itself; complex x too.

    >>> float(bell(np.array(-30.)))
    1.4736461348785476e-196
    """
    if x.dtype.kind == "c":
        return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return _in_pieces(lambda piece: _half_square_exp(np.minimum(np.abs(piece), END)) / math.sqrt(2 * math.pi), x)


def normal_share(x):
    """Φ(x), each number right to about 1e-15 of itself (float32: 4e-7) until Φ is too small for its dtype.

    A complex x is one with a tiny imaginary part, by which a complex-step check asks for the slope; for it
    Φ(x + ih) = Φ(x) + ih φ(x), which leaves out terms of the size h² and no others.

    >>> normal_share(np.array([-30., 0., 1.])).tolist()
    [4.906713927148187e-198, 0.5, 0.8413447460685429]
    """
    if x.dtype.kind == "c":
        return normal_share(x.real) + 1j * x.imag * bell(x.real)
    return _in_pieces(_share_of_piece, x)


def _in_pieces(function, x):
    """function of each number, for a processor's cache full of them at a time."""
    numbers = x.ravel()
    found = np.empty(numbers.shape, x.dtype)
    for start in range(0, len(numbers), PIECE):
        found[start:start + PIECE] = function(numbers[start:start + PIECE])
    return found.reshape(x.shape)


def _share_of_piece(x):
    tail = _tail(np.minimum(np.abs(x), END))
    return np.where(x > 0, 1 - tail, tail)


def _tail(far):
    """Φ(−far), for far from 0 to END."""
    u = far / (far + MIDDLE)
    u *= 2 * (1 + MIDDLE / END)
    u -= 1
    first, *others = _polynomial(far.dtype)
    value = np.full_like(u, first)
    for coefficient in others:                      # Horner's scheme, in place
        value *= u
        value += coefficient
    return value / (1 + far) * _half_square_exp(far)


@functools.cache
def _polynomial(dtype):
    """The series in powers of u, the highest first; single precision needs half of it."""
    terms = 12 if np.finfo(dtype).eps > 1e-10 else len(SERIES)
    return [float(c) for c in np.polynomial.chebyshev.cheb2poly(SERIES[:terms])[::-1]]


def _half_square_exp(far):
    """exp(−far²/2): far² = near² − (near − far) (near + far), and near has so few digits that its square is exact."""
    near = np.rint(far * 64) / 64
    return np.exp(near * near / -2) * np.exp((near - far) * (near + far) / 2)
