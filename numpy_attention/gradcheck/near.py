"""Equal but for rounding, measured against the largest number there is. NaN is near NaN and makes no noise."""
import numpy as np


def largest(*arrays):
    """The largest magnitude among the finite numbers, 0 if there are none."""
    return max((float(np.abs(a).max(initial=0, where=np.isfinite(a))) for a in arrays), default=0.0)


def near(a, b, share):
    """Do a and b, of one shape, differ by no more than this share of the largest number in b?"""
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=share * largest(b), equal_nan=True))
