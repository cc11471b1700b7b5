"""Colours: one scale per role, readable numbers on every cell, hues that colour-blind readers can tell apart."""

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Normalize, to_rgba

GREY = "0.45"
ACCENT = "#D81B60"
# Okabe and Ito's palette without its yellow, which is too pale for lines on white.
HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")


def weight_scale():
    """Colour map and norm of attention weights: the same 0 to 1 everywhere, so that panels can be compared."""
    return colormaps["cividis"], Normalize(0, 1)


def signed_scale(*arrays):
    """Colour map and norm of signed numbers: symmetric about zero, which is white; one for all arrays of a role.

    >>> signed_scale(np.array([-2.0, 1.0]))[1].vmin
    -2.0
    """
    largest = max((np.max(np.abs(a), where=np.isfinite(a), initial=0) for a in arrays), default=0)
    limit = float(largest) or 1.0
    return colormaps["PuOr"], Normalize(-limit, limit)


def ink(background):
    """Black or white, whichever can be read on ``background`` (WCAG relative luminance).

    >>> ink("navy"), ink("yellow")
    ('white', 'black')
    """
    rgb = np.array(to_rgba(background)[:3])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return "white" if linear @ (0.2126, 0.7152, 0.0722) < 0.179 else "black"
