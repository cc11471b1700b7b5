"""Numbers as they are typed behind an option: each kind says in one line what it wants.

>>> from numpy_attention.commands.options import number, whole
>>> whole(1, 8)("3"), number(0, 1)("0.5")
(3, 0.5)
>>> whole(1, 8)("-2")
Traceback (most recent call last):
argparse.ArgumentTypeError: wants a whole number from 1 to 8, not '-2'
"""
import argparse
import math
import re

MOST = 10**9


def whole(least, most=MOST):
    """A type for argparse: whole numbers from `least` to `most`."""
    def read(text):
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text.strip()) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"wants a whole number from {least:,} to {most:,}, not {text!r}")
        return int(text)
    return read


def number(least=None, most=None, *, above=None):
    """A type for argparse: finite numbers from `least` to `most`, or from just above `above`; NaN is none."""
    bounds = [f"from {least:,}"] if least is not None else [f"above {above:,}"] if above is not None else []
    wanted = " ".join(["a number", *bounds, *([f"to {most:,}"] if most is not None else [])])

    def read(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        large = (least is None or value >= least) and (above is None or value > above)
        if not (math.isfinite(value) and large and (most is None or value <= most)):
            raise argparse.ArgumentTypeError(f"wants {wanted}, not {text!r}")
        return value
    return read
