"""What a caller may hand in: each check returns its argument in the form the layers use, or raises an error that names
the argument, says what was expected and what came.
"""
import operator

import numpy as np


def precision(dtype):
    """`dtype` as a NumPy dtype that can hold learned numbers, or an error: in whole numbers every W would become 0."""
    dtype = np.dtype(dtype)
    if dtype.kind not in "fc":
        raise TypeError(f"dtype must be a float or complex dtype, got {dtype}")
    return dtype


def size(name, value):
    """`value` as a positive int, or an error that names it."""
    number = whole(name, value)
    if number < 1:
        raise ValueError(f"{name} must be at least 1, got {number}")
    return number


def whole(name, value):
    """`value` as an int, or an error that names it."""
    try:
        if isinstance(value, bool | np.bool_):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {value!r}") from None


def positive(name, value):
    """`value` as a float that is at least 0, or an error that names it."""
    if isinstance(value, (bool, str)) or not np.isscalar(value) or not 0 <= value < np.inf:
        raise ValueError(f"{name} must be a number that is not negative, such as 1e-5; got {value!r}")
    return float(value)


def count(name, value):
    """`value` as an int that is at least 0, or an error that names it."""
    number = whole(name, value)
    if number < 0:
        raise ValueError(f"{name} must not be negative, got {number}")
    return number


def rectangular(name, given):
    """`given` as an array, or an error that names it."""
    try:
        return np.asarray(given)
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array: {error}") from None
