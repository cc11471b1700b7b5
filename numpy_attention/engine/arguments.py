"""What a caller may hand in: each check returns its argument in the form the layers use, or raises an error that names
the argument, says what was expected and what came.
"""
import numbers
import operator

import numpy as np

FARTHEST = 2**62        # the places of a table lie far below it, so a sum of two stays within int64


def precision(dtype):
    """`dtype` as a NumPy dtype that can hold learned numbers, or an error: in whole numbers every W would become 0."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found is None or found.kind not in "fc":
        raise TypeError(f"dtype must be a float or complex dtype, such as np.float32; got {dtype!r}")
    return found


def generator(rng, name="rng"):
    """`rng` as a np.random.Generator: a seed makes a new one, None one that nobody can repeat; or an error."""
    if isinstance(rng, bool | np.bool_):
        raise TypeError(f"{name} must be a seed or a np.random.Generator, got {rng!r}")
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        kind = ValueError if isinstance(rng, numbers.Integral) else TypeError
        raise kind(f"{name} must be a seed (a whole number that is not negative) or a np.random.Generator; "
                   f"got {rng!r}") from None


def switch(name, value):
    """`value` as True or False, or an error that names it: every text would count as True, "no" included."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


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


def is_whole(value):
    """Is it a whole number? True and False are none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def is_number(value):
    """Is it one finite real number? True and False are none, an array of one number is none."""
    try:
        return (isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
                and bool(np.isfinite(float(value))))
    except OverflowError:                       # an int beyond the largest float
        return False


def finite(name, value, *, above=None):
    """`value` as a finite float, above a limit where there is one, or an error that names it."""
    if not is_number(value) or (above is not None and not value > above):
        wanted = "a finite number" if above is None else "a positive finite number" if above == 0 else \
            f"a finite number above {above}"
        raise ValueError(f"{name} must be {wanted}, got {value!r}")
    return float(value)


def scale_factor(scale):
    """A factor on Q Kᵀ as it is, None for 1/√d_k, or an error."""
    if scale is not None and not is_number(scale):
        raise ValueError(f"scale must be a finite number, or None for 1/√d_k; got {scale!r}")
    return scale


def positive(name, value):
    """`value` as a float that is at least 0, or an error that names it."""
    if not is_number(value) or value < 0:
        raise ValueError(f"{name} must be a number that is not negative, such as 1e-5; got {value!r}")
    return float(value)


def count(name, value):
    """`value` as an int that is at least 0, or an error that names it."""
    number = whole(name, value)
    if number < 0:
        raise ValueError(f"{name} must not be negative, got {number}")
    return number


def place(name, value):
    """`value` as an int that can be added to a place without leaving the int64 numbers, or an error that names it."""
    number = whole(name, value)
    if not -FARTHEST <= number <= FARTHEST:
        raise ValueError(f"{name} must lie between -2**62 and 2**62, got {number}")
    return number


def rectangular(name, given):
    """`given` as an array, or an error that names it; of a masked array the mask would be lost."""
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, and its mask would be lost: give {name}.filled(0), say")
    try:
        array = np.asarray(given)
        return array if array.size or isinstance(given, np.ndarray) else array.astype(np.intp)   # [] fits any dtype
    except ValueError as error:
        raise ValueError(f"{name} must be a rectangular array: {error}") from None


def one_of(name, value, allowed):
    """`value`, if it is one of those allowed, or an error that lists them."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}; got {value!r}")
    return value


def a_text(name, value):
    """`value`, if it is a text, or an error that names it."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a text, got {value!r}")
    return value


def fraction(name, value):
    """`value` as a float between 0 and 1, or an error that names it."""
    if not is_number(value) or not 0 <= value <= 1:
        raise ValueError(f"{name} must lie in 0..1; got {value!r}")
    return float(value)


def not_negative(name, values):
    """`values` as a row of floats, one for each class, none of them negative; or an error."""
    values = np.array(rectangular(name, values))
    if values.ndim != 1 or values.dtype.kind not in "fiu" or not ((values >= 0) & (values < np.inf)).all():
        raise ValueError(f"{name} must have shape (C,) and hold numbers that are not negative; got {values}")
    return values.astype(np.float64)


def listed(name, value, what):
    """`value`, a list, tuple, set, range or array of them, as a list; or an error that names it."""
    if isinstance(value, str | bytes | dict) or not hasattr(value, "__iter__") or (
            isinstance(value, np.ndarray) and not value.ndim):
        raise TypeError(f"{name} must be a list of {what}; got {value!r}")
    return list(value)


def axes_sizes(name, value):
    """`value`, a size or several, as a tuple of positive ints."""
    value = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    if not value:
        raise ValueError(f"{name} must name at least one axis, got {value}")
    return tuple(size(name, each) for each in value)
