"""Which font draws which character.

matplotlib's own font has no Chinese, and many machines have no Chinese font at all, so the plots bring a small one.
It is registered when the first figure is drawn and given to the single texts of that figure: the user's settings
stay as they are. Characters of other scripts are looked for in whatever fonts the machine has.
"""

import contextlib
import functools
import warnings
from pathlib import Path

import matplotlib
from matplotlib.font_manager import FontProperties, findfont, findSystemFonts, fontManager
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text

from ..words.colours import GREY
from ..words.labels import JOINERS, safe

HERE = Path(__file__).resolve().parent
HAN = "Numpy Attention Han"
BOX = "Numpy Attention Box"
INSTALLED = (
    "Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "PingFang SC", "Microsoft YaHei",
    "WenQuanYi Micro Hei", "SimHei", "Noto Sans CJK JP", "Noto Sans CJK KR", "Arial Unicode MS", "Droid Sans Fallback",
)
# Where a character of another script is looked for first.
LIKELY = ("Noto Sans", "Noto Emoji", "Symbola", "Segoe UI", "Apple", "Arial", "FreeSans", "Garuda", "Lohit")

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


@functools.cache
def _newly_installed():
    """Let matplotlib know the fonts that were installed after it made its list."""
    known = {font.fname for font in fontManager.ttflist}
    for path in sorted(set(findSystemFonts()) - known):
        with contextlib.suppress(Exception):        # whatever is wrong with a font, there are others
            fontManager.addfont(path)


@functools.cache
def _family_with(character):
    """The name of an installed font that has the character as an outline; None if there is none."""
    _newly_installed()
    fonts = sorted(fontManager.ttflist, key=lambda font: (not font.name.startswith(LIKELY), font.name, font.fname))
    for font in fonts:
        if font.style != "normal" or font.name in (HAN, BOX) or "Color" in font.name or "Last" in font.name:
            continue
        try:
            if ord(character) in _characters(font.fname):
                return font.name
        except (OSError, RuntimeError):     # a font that is broken, or gone since the list was made
            continue
    return None


def dress(artist, *, grey=None):
    """Give every text below ``artist`` (a figure or axes) fonts for all its characters, and draw it literally.

    A character that no font has is drawn as a box, and one warning names all of a figure. ``grey`` replaces the grey
    of remarks, on a dark background.
    """
    names, lost = families(), {}
    for text in artist.findobj(Text):
        text.set_parse_math(False)
        if not text.get_text().isprintable():
            text.set_text(safe(text.get_text(), keep="\n"))
        missing = uncovered(text.get_text(), names)
        extra = list(dict.fromkeys(filter(None, map(_family_with, missing)))) if missing else []
        missing = uncovered("".join(missing), extra) if extra else missing
        if joiners := [character for character in missing if character in JOINERS]:
            # What only joins its neighbours has nothing to show of its own.
            text.set_text("".join(character for character in text.get_text() if character not in joiners))
            missing = [character for character in missing if character not in joiners]
        # Our Chinese font has one weight; asking for another makes matplotlib log a complaint.
        text.set_fontweight("normal")
        # Glyphs are looked up font by font only when the family is a list.
        text.set_fontfamily([*names, *extra, BOX] if missing else [*names, *extra])
        lost.update(dict.fromkeys(missing))
        if grey is not None and text.get_color() == GREY:
            text.set_color(grey)
    _warn([character for character in lost if character not in _warned])


def _warn(characters):
    if not characters:
        return
    _warned.update(characters)
    listed = ", ".join(f"{character!r} (U+{ord(character):04X})" for character in characters[:8])
    listed += f" and {len(characters) - 8} more" if len(characters) > 8 else ""
    boxes = "it is drawn as a box" if len(characters) == 1 else "they are drawn as boxes"
    warnings.warn(
        f"no font here can draw {listed}: {boxes}. Install a font that has them, for example Noto Sans, "
        "and put its name in matplotlib.rcParams['font.family']",
        stacklevel=5,
    )
