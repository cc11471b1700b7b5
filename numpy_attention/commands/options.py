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


def number(least=-MOST, most=MOST, *, above=None):
    """A type for argparse: numbers from `least` to `most`, or from just above `above`; NaN is none."""
    def read(text):
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not ((value >= least if above is None else value > above) and value <= most):
            start = f"from {least:,}" if above is None else f"above {above:,}"
            raise argparse.ArgumentTypeError(f"wants a number {start}, at most {most:,}, not {text!r}")
        return value
    return read
