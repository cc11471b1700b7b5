"""Scales and their bars: which colour a number gets, and where the colour is explained.

One map for each role: weights in cividis from 0 to 1, values in PuOr and gradients in BrBG, both about a white 0. A
scale is a pair (colour map, norm).
"""

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LogNorm, Normalize
from matplotlib.ticker import NullLocator

from ..engine.arguments import finite
from ..words.colours import GRADIENTS, GREY, SIGNED, WEIGHTS, limit
from ..words.languages import say
from .matrix import number
from .page import EM

REACH = 16      # times more, or fewer, than a head without preference


def weight_scale(cmap=None, *, vmax=None, norm=None):
    """The scale of attention weights: 0 to 1 everywhere, so that panels can be compared, unless asked otherwise."""
    if norm is not None and vmax is not None:
        raise TypeError("give vmax or norm, not both")
    if vmax is not None:
        vmax = finite("vmax", vmax, above=0)
    if norm is not None and not isinstance(norm, Normalize):
        raise TypeError(f"norm must be a matplotlib Normalize, not {type(norm).__name__}")
    return _map(WEIGHTS if cmap is None else cmap), norm or Normalize(0, vmax or 1)


def uniform_scale(cmap=None):
    """The scale on which soft heads show: weight × visible keys, logarithmic; white is what no preference gives."""
    return _map(SIGNED if cmap is None else cmap), LogNorm(1 / REACH, REACH, clip=True)


def signed_scale(*arrays, gradients=False):
    """The scale of signed numbers: symmetric about zero, which is white; one for all arrays that are given.

    >>> signed_scale(np.array([-2.0, 1.0]))[1].vmin
    -2.0
    """
    far = limit(*(np.asarray(array) for array in arrays))
    return colormaps[GRADIENTS if gradients else SIGNED], Normalize(-far, far)


def is_signed(scale):
    """Whether a scale goes to both sides of a white 0."""
    return isinstance(scale[1].vmin, float) and scale[1].vmin < 0


def _map(cmap):
    if isinstance(cmap, Colormap):
        return cmap
    if not isinstance(cmap, str) or cmap not in colormaps:
        raise ValueError(f"cmap must be a matplotlib colour map or its name, not {cmap!r}")
    return colormaps[cmap]


def reach(scale):
    """How far a signed scale goes, as written beside a name: "±2"."""
    return f"±{scale[1].vmax:.2g}"


def weight_bar(page, left, top, tall, scale, S, lang, *, wide=0.14, uniform=False):
    """The bar of attention weights; a mark says 1/S, what each key gets from a query without preference."""
    axes = page.axes(left, top, wide, tall)
    bar = page.figure.colorbar(ScalarMappable(scale[1], scale[0]), cax=axes)
    size = page.points(8)
    if uniform:
        powers = [1 / 16, 1 / 4, 1, 4, 16]
        bar.set_ticks(powers, labels=["1/16", "1/4", say(lang, "平均", "uniform"), "4 ×", "16 ×"])
        label = say(lang, "权重 × 可见的键数", "weight × visible keys")
    else:
        high = scale[1].vmax
        ticks = [high * part for part in ((0, 0.25, 0.5, 0.75, 1) if tall * page.scale > 0.9 else (0, 1))]
        if isinstance(scale[1], Normalize) and type(scale[1]) is Normalize:
            bar.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks])
        label = say(lang, "注意力权重", "attention weight")
        if S > 1 and high > 1 / S and size:
            axes.plot([0, 1], [1 / S, 1 / S], color="white", linewidth=1)
            axes.text(-0.25, 1 / S, f"1/{S} ▸", ha="right", va="center", fontsize=page.points(7) or 1e-3, color=GREY,
                      visible=bool(page.points(7)))
    axes.yaxis.set_minor_locator(NullLocator())
    if size and len(label) * size * 0.008 < tall * page.scale:
        bar.set_label(label, fontsize=size)
    bar.ax.tick_params(labelsize=size or 1, length=2, labelright=bool(size))
    bar.outline.set(color=GREY, linewidth=0.6)
    axes.set_label("bar")
    return bar


def small_bar(page, left, top, wide, scale, label, *, high=0.11, own=False):
    """A small horizontal bar: where a scale begins and ends, and where zero is; ``own``: each matrix has its own."""
    axes = page.axes(left, top, wide, high)
    bar = page.figure.colorbar(ScalarMappable(scale[1], scale[0]), cax=axes, orientation="horizontal")
    low, far = scale[1].vmin, scale[1].vmax
    ticks = [low, far] if low >= 0 else [low, 0, far]
    words = [f"{tick:.3g}".replace("-", "−") for tick in ticks]
    size, words = page.points(8), ["−", "0", "+"] if own else words
    room = wide * page.scale * 72 / (EM * max(size, 1)) + 4
    if sum(map(len, words)) + 2 > room:               # no room for the middle, or for none
        ticks, words = ([low, far], [words[0], words[-1]]) if len(words[0] + words[-1]) + 2 <= room else ([], [])
    bar.set_ticks(ticks, labels=words)
    bar.ax.minorticks_off()
    bar.ax.tick_params(labelsize=size or 1, length=2 if size else 0, labelbottom=bool(size))
    if size:
        bar.ax.set_title(label, fontsize=size, pad=3)
    bar.outline.set(color=GREY, linewidth=0.6)
    axes.set_label("bar")
    return bar


def in_words(value):
    """A number in a sentence.

    >>> in_words(-0.25)
    '−0.25'
    """
    return number(value)
