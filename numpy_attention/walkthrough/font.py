"""The Chinese glyphs that a page needs, cut out of the font that the plots bring along.

A TrueType font keeps its outlines one after the other in a table `glyf`, and in `loca` where each begins. An outline
that nobody needs may be left out: its end is then its beginning, and every other table stays as it is.
"""
import struct
from itertools import pairwise
from pathlib import Path

HAN = Path(__file__).parents[1] / "plots" / "han.ttf"


def is_han(character):
    """Whether the embedded font is asked for it: Chinese characters and the punctuation around them."""
    return "\u2e80" <= character <= "\uffef"


def subset(text, font=None):
    """A TrueType font (bytes) that draws those characters of `text` that the font has; b"" if it has none of them.

    >>> len(subset("我爱")) < len(subset("一个查询如何分配它的注意力")) < HAN.stat().st_size
    True
    >>> subset("AI")
    b''
    """
    font = HAN.read_bytes() if font is None else font
    tables = {}
    for i in range(struct.unpack_from(">H", font, 4)[0]):
        name, _, start, length = struct.unpack_from(">4sLLL", font, 12 + 16 * i)
        tables[name] = font[start:start + length]
    glyphs = _glyph_numbers(tables[b"cmap"])
    kept = {glyphs[ord(c)] for c in text if is_han(c) and ord(c) in glyphs}
    if not kept:
        return b""
    long = struct.unpack_from(">h", tables[b"head"], 50)[0]
    size = 4 if long else 2
    loca = [x * (1 if long else 2) for x in
            struct.unpack(f">{len(tables[b'loca']) // size}{'L' if long else 'H'}", tables[b"loca"])]
    outlines = [tables[b"glyf"][a:b] for a, b in pairwise(loca)]
    todo = [0, *kept]
    while todo:
        kept.add(number := todo.pop())
        todo += [part for part in _components(outlines[number]) if part not in kept]
    outlines = [outline if number in kept else b"" for number, outline in enumerate(outlines)]
    ends = [0]
    for outline in outlines:
        ends.append(ends[-1] + len(outline))
    tables[b"glyf"] = b"".join(outlines)
    tables[b"loca"] = struct.pack(f">{len(ends)}{'L' if long else 'H'}", *(e if long else e // 2 for e in ends))
    return _assemble(font[:4], tables)


def _glyph_numbers(cmap):
    """{code point: glyph number} of the table's format 4 part, which has all that lies below U+10000."""
    for i in range(struct.unpack_from(">H", cmap, 2)[0]):
        start = struct.unpack_from(">HHL", cmap, 4 + 8 * i)[2]
        if struct.unpack_from(">H", cmap, start)[0] == 4:
            break
    count = struct.unpack_from(">H", cmap, start + 6)[0] // 2
    ends, starts, deltas, offsets = (struct.unpack_from(f">{count}H", cmap, start + 14 + 2 * (k * count + (k > 0)))
                                     for k in range(4))
    glyphs = {}
    for i in range(count):
        for code in range(starts[i], min(ends[i], 0xFFFE) + 1):
            if offsets[i] == 0:
                number = code + deltas[i] & 0xFFFF
            else:
                place = start + 16 + 2 * (3 * count + i) + offsets[i] + 2 * (code - starts[i])
                number = struct.unpack_from(">H", cmap, place)[0]
                number = number and number + deltas[i] & 0xFFFF
            glyphs[code] = number
    return glyphs


def _components(outline):
    """The glyphs that a composite outline is put together from."""
    if len(outline) < 10 or struct.unpack_from(">h", outline)[0] >= 0:
        return
    at, flags = 10, 0x20
    while flags & 0x20:                                             # more components follow
        flags, number = struct.unpack_from(">HH", outline, at)
        yield number
        at += 4 + (4 if flags & 1 else 2) + (2 if flags & 8 else 4 if flags & 0x40 else 8 if flags & 0x80 else 0)


def _assemble(kind, tables):
    """A font file: the directory of tables with their checksums, then the tables."""
    power = len(tables).bit_length() - 1
    head = kind + struct.pack(">HHHH", len(tables), 16 << power, power, 16 * (len(tables) - (1 << power)))
    at, directory, body = 12 + 16 * len(tables), b"", b""
    for name, table in sorted(tables.items()):
        padded = table + bytes(-len(table) % 4)
        checksum = sum(struct.unpack(f">{len(padded) // 4}L", padded)) & 0xFFFFFFFF
        directory += struct.pack(">4sLLL", name, checksum, at + len(body), len(table))
        body += padded
    return head + directory + body
