"""Which font draws which character.

matplotlib's own font has no Chinese, and many machines have no Chinese font at all, so the plots bring a small one.
It is registered when the first figure is drawn and given to the single texts of that figure: the user's settings
stay as they are.
"""

import functools
import warnings
from pathlib import Path

import matplotlib
from matplotlib.font_manager import FontProperties, findfont, fontManager
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text

HERE = Path(__file__).resolve().parent
HAN = "Numpy Attention Han"
BOX = "Numpy Attention Box"
INSTALLED = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "PingFang SC", "Microsoft YaHei",
    "WenQuanYi Micro Hei", "SimHei", "Noto Sans CJK JP", "Noto Sans CJK KR", "Arial Unicode MS", "Droid Sans Fallback",
)

_warned = set()


@functools.cache
def _register():
    for name in ("han.ttf", "box.ttf"):
        fontManager.addfont(HERE / name)


def families():
    """Names of the fonts to try for each character, in order: the user's, matplotlib's, ours, then installed ones.

    >>> families()[-1] == HAN or families()[-1] in INSTALLED
    True
    """
    _register()
    known = set(fontManager.get_font_names())
    user = matplotlib.rcParams["font.family"]
    return [*user, "DejaVu Sans", HAN, *(name for name in INSTALLED if name in known)]


@functools.cache
def _characters(path):
    return frozenset(FT2Font(path).get_charmap())


def uncovered(text, names=None):
    """Characters of ``text`` that none of the fonts can draw, in order of appearance.

    >>> uncovered("我 loves $ −1")
    []
    """
    text = [character for character in dict.fromkeys(text) if not character.isascii()]
    for name in (names or families()) if text else []:
        # A generic name such as "sans-serif" is resolved here just as matplotlib will resolve it.
        covered = _characters(findfont(FontProperties(family=[name])))
        text = [character for character in text if ord(character) not in covered]
        if not text:
            break
    return text


def dress(artist):
    """Give every text below ``artist`` (a figure or axes) fonts for all its characters, and draw ``$`` literally.

    A character that no font has is drawn as a box, and a warning names it once.
    """
    names = families()
    for text in artist.findobj(Text):
        text.set_parse_math(False)
        missing = uncovered(text.get_text(), names)
        # Our Chinese font has one weight; asking for another makes matplotlib log a complaint.
        text.set_fontweight("normal")
        # Glyphs are looked up font by font only when the family is a list.
        text.set_fontfamily([*names, BOX] if missing else names)
        for character in missing:
            _warn(character)


def _warn(character):
    if character in _warned:
        return
    _warned.add(character)
    warnings.warn(
        f"no font here can draw {character!r} (U+{ord(character):04X}): it is drawn as a box. "
        "Install a font that has it, for example Noto Sans CJK, and put its name in matplotlib.rcParams['font.family']",
        stacklevel=4,
    )
