"""The colours of a cell, the same as in the figures: cividis from 0 to 1 for weights, PuOr about 0 for signed numbers.

Each map is a row of colours with straight lines between them. The plots have theirs from matplotlib; a page needs no
matplotlib, so the two it uses are written down here.
"""
import numpy as np

MAPS = {
    "cividis": "00224e 00285b 002e6a 053371 1a386f 273e6e 32436d 3b496c 434e6c 4b546c 535a6d "
               "5a5f6e 61656f 686a71 6f7073 767676 7d7c78 848279 8c8878 938e78 9b9476 a39a74 "
               "aba072 b4a76f bcae6c c4b468 cdbb63 d5c25e dec958 e7d150 f0d846 f9e03a fee838",
    "PuOr": "7f3b08 b25706 e08214 fcb761 fee0b6 f7f7f7 d8daeb b1aad1 8073ac 532687 2d004b",
}


def colour(value, limit=None):
    """Background and ink of a cell: of a weight from 0 to 1, or of a signed number given the `limit` of its scale.

    >>> colour(1.0), colour(0.0, limit=2.0)
    (('#fee838', 'black'), ('#f7f7f7', 'black'))
    """
    place = value if limit is None else 0.5 + 0.5 * value / (limit or 1)
    return _SHADES["cividis" if limit is None else "PuOr"][round(min(max(place, 0), 1) * 2 * HALF)]


def ink(rgb):
    """Black or white, whichever can be read on the colour (WCAG relative luminance)."""
    part = np.asarray(rgb) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    return "white" if linear @ (0.2126, 0.7152, 0.0722) < 0.179 else "black"


def _shades(text):
    anchors = np.array([[int(code[i:i + 2], 16) for i in (0, 2, 4)] for code in text.split()])
    at, places = np.linspace(0, 1, len(anchors)), np.linspace(0, 1, 2 * HALF + 1)
    colours = np.stack([np.interp(places, at, channel) for channel in anchors.T], axis=1).round().astype(int)
    return [("#" + bytes(rgb.tolist()).hex(), ink(rgb)) for rgb in colours]


HALF = 128      # shades on each side of the middle
_SHADES = {name: _shades(text) for name, text in MAPS.items()}
