"""Colours: the same thing has the same colour in figures, pages and notebooks, and what stands on it can be read.

Each map is a row of colours with straight lines between them, written down here, because a page needs no matplotlib.

    MAPS[WEIGHTS], MAPS[SIGNED], MAPS[GRADIENTS]
                                    the names are matplotlib's: plots take `colormaps[WEIGHTS]`, the same colours
    NAMES                           the colours of Q, K and V
    colour(value, limit)            background and ink of one cell of a page
    limit(*arrays)                  how far a scale of signed numbers reaches, in plots and pages
    ink(background)                 "#rrggbb" or three or four numbers from 0 to 1, as `to_rgba` gives them
    readable(colour, background)    the same hue, dark or light enough for a text on that background
    ACCENT, GREY, HUES              lines and remarks
"""
import numpy as np

WEIGHTS, SIGNED, GRADIENTS = "cividis", "PuOr", "BrBG"
MAPS = {
    "cividis": "00224e 00285b 002e6a 053371 1a386f 273e6e 32436d 3b496c 434e6c 4b546c 535a6d "
               "5a5f6e 61656f 686a71 6f7073 767676 7d7c78 848279 8c8878 938e78 9b9476 a39a74 "
               "aba072 b4a76f bcae6c c4b468 cdbb63 d5c25e dec958 e7d150 f0d846 f9e03a fee838",
    "PuOr": "7f3b08 b25706 e08214 fcb761 fee0b6 f7f7f7 d8daeb b1aad1 8073ac 532687 2d004b",
    "BrBG": "543005 8b500a bf812d dec17b f6e8c3 f4f5f5 c7eae5 7fccc0 35978f 01655d 003c30",
}
GREY = "#737373"
ACCENT = "#D81B60"
# The names themselves, wherever they stand: titles, formulas, code, terminal.
NAMES = {"Q": "#0072B2", "K": "#D55E00", "V": "#00795A"}
# Okabe and Ito's palette without its yellow, which is too pale for lines on white.
HUES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
HALF = 128      # shades on each side of the middle


def colour(value, limit=None, gradient=False):
    """Background and ink of a cell: of a weight from 0 to 1, or of a signed number given the `limit` of its scale.

    Values and gradients have maps of their own, so that they cannot be taken for one another.

    >>> colour(1.0), colour(0.0, limit=2.0)
    (('#fee838', 'black'), ('#f7f7f7', 'black'))
    """
    place = value if limit is None else 0.5 + 0.5 * value / (limit or 1)
    shades = _SHADES[WEIGHTS if limit is None else GRADIENTS if gradient else SIGNED]
    return shades[round(min(max(place, 0), 1) * 2 * HALF)]


def limit(*arrays):
    """The largest absolute finite number of all arrays, 1 if there is none but 0: zero then lies in the middle.

    >>> limit(np.array([-2.0, np.inf]), np.array([[1.0]])), limit(np.zeros(3))
    (2.0, 1.0)
    """
    largest = max((np.max(np.abs(a), where=np.isfinite(a), initial=0) for a in arrays), default=0)
    return float(largest) or 1.0


def ink(background):
    """Black or white, whichever can be read on a colour (WCAG relative luminance).

    Args:
        background: "#rrggbb", or red, green and blue from 0 to 1 (what follows, such as alpha, is left out).

    >>> ink("#000080"), ink((1.0, 1.0, 0.0))
    ('white', 'black')
    """
    rgb = np.array(_rgb(background)) / 255 if isinstance(background, str) else np.asarray(background)[:3]
    return "white" if _luminance(rgb) < 0.179 else "black"


def readable(colour, background, contrast=5.5):
    """The colour, mixed with black or white just so far that a text in it can be read on the background.

    >>> readable("#0072B2", "#ffffff", 4.5), readable("#0072B2", "#16181d", 4.5)
    ('#0072b2', '#2989be')
    """
    text, back = np.array(_rgb(colour)) / 255, _luminance(np.array(_rgb(background)) / 255)
    end = float(back < 0.179)                                   # towards white on dark
    for share in np.linspace(0, 1, 101):
        mixed = (text + share * (end - text)).round(4)
        dark, light = sorted((_luminance(mixed), back))
        if (light + 0.05) / (dark + 0.05) >= contrast:
            break
    return "#" + bytes((255 * mixed).round().astype(int).tolist()).hex()


def _luminance(rgb):
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722)


def _rgb(code):
    return list(bytes.fromhex(code.removeprefix("#")))


def _shades(text):
    anchors = np.array([_rgb(code) for code in text.split()])
    at, places = np.linspace(0, 1, len(anchors)), np.linspace(0, 1, 2 * HALF + 1)
    colours = np.stack([np.interp(places, at, channel) for channel in anchors.T], axis=1).round().astype(int)
    return [("#" + bytes(rgb.tolist()).hex(), ink(rgb / 255)) for rgb in colours]


_SHADES = {name: _shades(text) for name, text in MAPS.items()}
