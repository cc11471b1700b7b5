"""The Chinese glyphs that a page needs, cut out of the font that the plots bring along.

A page carries its own glyphs, so that it shows Chinese on a machine without a Chinese font. Cutting is done by
fontTools, which matplotlib brings; without it the page is written all the same, and the reader's fonts draw it.
"""
import io
import warnings
from pathlib import Path

from ..words.terminal import is_han

HAN = Path(__file__).parents[1] / "plots" / "han.ttf"


def subset(text):
    """A TrueType font (bytes) that draws those characters of `text` that our font has; b"" if it has none of them.

    The same characters give the same bytes. Without fontTools: b"", and a warning that says what to install.

    >>> len(subset("我爱")) < len(subset("一个查询如何分配它的注意力")) < HAN.stat().st_size
    True
    >>> subset("AI")
    b''
    """
    asked = {ord(character) for character in text if is_han(character)}
    if not asked:
        return b""
    try:
        from fontTools.subset import Options, Subsetter
        from fontTools.ttLib import TTFont
    except ImportError:
        warnings.warn("the page has no Chinese glyphs of its own, because fontTools is missing: pip install fonttools; "
                      "until then it shows Chinese where the reader's system has a font for it", stacklevel=3)
        return b""
    font = TTFont(HAN, recalcTimestamp=False)
    if not asked & set(font.getBestCmap()):
        return b""
    cutter = Subsetter(Options(hinting=False, layout_features=[], name_IDs=[], notdef_outline=True))
    cutter.populate(unicodes=asked)
    cutter.subset(font)
    cut = io.BytesIO()
    font.save(cut)
    return cut.getvalue()
