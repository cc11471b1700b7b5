"""Rebuild the two small fonts that the plots and pages carry with them.

    python -m numpy_attention fonts SOURCE_FONT

``han.ttf`` holds every Chinese character found in the package and the notebooks, and the 700 most common ones, so that
most Chinese sentences can be drawn on a machine without any Chinese font. ``box.ttf`` holds one glyph, a box, that
stands for every character: what no font can draw is drawn as a box, and said once in a warning.

SOURCE_FONT is an openly licensed font; the shipped subset comes from Noto Sans CJK SC, face 2 of
NotoSansCJK-Regular.ttc in Debian's package fonts-noto-cjk (SIL Open Font License, see LICENSE-han.txt). Its outlines
are cubic; they are rewritten as the quadratic ones of TrueType, within half a thousandth of the type size. Needs
fonttools, which matplotlib brings along.
"""

import sys
from pathlib import Path

from ..plots.fonts import BOX, HAN, HERE
from ..words.terminal import is_han

PACKAGE = Path(__file__).resolve().parents[1]
FACE = "Noto Sans CJK SC"

SOURCES = (".py", ".ipynb", ".js", ".html")
COMMON = (
    "一是人了不在有大中国和为这上他个地年来我会以到时要出的生学说道民家子也成行下们于后就发自之对得主长可"
    "过天作分方用多你着部能市等业全里工公经本都而高政法面门动日进区事代那去心小同北定开产前其军还然起种所"
    "如现理机体表力好外与文当两实重新三么只山水关明从化平建又制南内西没此将员名手最东头者月间无安看见各城"
    "十相但已些正口通想度加第她合院物性战由位常点海意场武使次二向治因立数样身情入原问把路被并利石老教万知"
    "级量任江及应省资委务元美特期世湖回系比气汉总展电科金先声提品设或义王社很统处四首共马形己儿司太目基领"
    "队直计别女权话少流命至报米给打变果书清活几州华解议更称程今决张导术府才保交放管结师便走达族反再题色五"
    "京河接条规式县白它改风光运信受什组听布百济党指论强做取技黄神选记斯真却职号界件花类何眼兵传带空干农边"
    "据集联古广完质阳难增历史专官每住商即步认车台林必死游举线言皇土团收考求德叫近备研争非具李众连调感转笑"
    "革该持始英克士尔让拉思根格造较际亲单朝红型价校约器字段周亚深候则功属积快图火千准究往极育装许参半令吃"
    "观鱼精办像帝八复影告远群包整构料随划算象容示投势热值夫网望源息语股铁断派速怎需片爱律纪支早况病境证编"
    "越局推满且列觉服双未居除乐企引标确织初青志率项飞球节察龙响药站施均消客失轻存低甚般击曾防请离落显罗营"
    "足素视护副食创余照兴占巴虽洲村费易试星木黑左宝置跟央识维采六底宫房音环案批切斗富乡另倒若按查故突责严"
    "桥模仅胜杀围席态破承招杨负层须父供续状域似依银范修找九致密终血旅钱赛独细效玉冲获习医演毛尽脸弹楼艺航"
    "陆右协七攻镇检写苏宗章注阿抗弟坐验封紧劳户优财养适陈喜卫排射哥油刻留急降念云微伤例景拿绝阶座刘刚害印"
)


def characters(*folders):
    """Every Chinese character in the sources below the folders, as a set; the common ones are here."""
    sources = [path for folder in folders for path in Path(folder).rglob("*") if path.suffix in SOURCES]
    return {character for path in sources for character in path.read_text(encoding="utf-8") if is_han(character)}


def build_han(source, target=HERE / "han.ttf"):
    """Write the part of the font ``source`` that package and notebooks need to ``target``; returns what it lacks."""
    from fontTools import subset

    options = subset.Options(hinting=False, layout_features=[], recalc_timestamp=False, name_IDs=[],
                             desubroutinize=True, font_number=_face(source))
    options.drop_tables += ["vhea", "vmtx", "VORG", "BASE", "GSUB", "GPOS", "GDEF"]
    font = subset.load_font(str(source), options)
    wanted = characters(PACKAGE, PACKAGE.parent / "notebooks")
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=map(ord, wanted))
    subsetter.subset(font)
    if "glyf" not in font:
        _to_truetype(font)
    _name(font, HAN)
    subset.save_font(font, str(target), options)
    return sorted(wanted - set(map(chr, font.getBestCmap())))


def _face(source):
    """The number of the mainland Chinese face in a collection of fonts; 0 for a single font."""
    from fontTools.ttLib import TTCollection
    if Path(source).suffix != ".ttc":
        return 0
    names = [font["name"].getDebugName(4) for font in TTCollection(str(source), lazy=True).fonts]
    return names.index(FACE)


def _to_truetype(font):
    """Replace cubic outlines by quadratic ones, which every reader of fonts knows."""
    from fontTools.pens.cu2quPen import Cu2QuPen
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from fontTools.ttLib import newTable

    order, glyphs = font.getGlyphOrder(), font.getGlyphSet()
    font["glyf"], font["loca"] = newTable("glyf"), newTable("loca")
    font["glyf"].glyphOrder, font["glyf"].glyphs = order, {}
    for name in order:
        pen = TTGlyphPen(None)
        glyphs[name].draw(Cu2QuPen(pen, max_err=0.5, reverse_direction=True))
        font["glyf"].glyphs[name] = glyph = pen.glyph()
        glyph.recalcBounds(font["glyf"])
        font["hmtx"].metrics[name] = font["hmtx"].metrics[name][0], getattr(glyph, "xMin", 0)
    del font["CFF "]
    font["maxp"].tableVersion, font.sfntVersion = 0x00010000, "\x00\x01\x00\x00"
    # maxp counts what the outlines need; saving fills in the counts of points and contours.
    for field in ("maxPoints", "maxContours", "maxCompositePoints", "maxCompositeContours", "maxTwilightPoints",
                  "maxStorage", "maxFunctionDefs", "maxInstructionDefs", "maxStackElements", "maxSizeOfInstructions",
                  "maxComponentElements", "maxComponentDepth"):
        setattr(font["maxp"], field, 0)
    font["maxp"].maxZones = 1
    font["maxp"].recalc(font)
    font["post"].formatType = 3.0


def build_box(target=HERE / "box.ttf"):
    """Write a font whose only glyph, an empty box, stands for every character there is."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from fontTools.ttLib.tables._c_m_a_p import CmapSubtable

    pen = TTGlyphPen(None)
    for left, bottom, right, top in ((70, 0, 530, 720), (130, 60, 470, 660)):
        # The inner contour runs the other way round, which makes it a hole.
        corners = [(left, bottom), (left, top), (right, top), (right, bottom)][:: 1 if left == 70 else -1]
        pen.moveTo(corners[0])
        for corner in corners[1:]:
            pen.lineTo(corner)
        pen.closePath()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "box"])
    builder.setupCharacterMap({})
    # Format 13 is the only table in which one entry covers all of Unicode.
    table = CmapSubtable.newSubtable(13)
    table.platformID, table.platEncID, table.language, table.format = 3, 10, 0, 13
    table.cmap = dict.fromkeys(range(0x20, 0x110000), "box")
    builder.font["cmap"].tables = [table]
    glyph = pen.glyph()
    builder.setupGlyf({".notdef": glyph, "box": glyph})
    builder.setupHorizontalMetrics({".notdef": (600, 70), "box": (600, 70)})
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupOS2(sTypoAscender=800, sTypoDescender=-200)
    builder.setupPost()
    builder.setupNameTable({})
    builder.font["head"].created = builder.font["head"].modified = 0
    builder.font.recalcTimestamp = False
    _name(builder.font, BOX)
    builder.save(str(target))


def _name(font, family):
    """A name of its own keeps the subset apart from a complete font of the same origin that may be installed."""
    from fontTools.ttLib import newTable

    font["name"] = newTable("name")
    font["name"].names = []
    for number, text in ((1, family), (2, "Regular"), (4, family), (6, family.replace(" ", ""))):
        font["name"].setName(text, number, 3, 1, 0x409)


def configure(parser):
    """Give ``parser`` the options of the command."""
    parser.add_argument("source", type=Path, metavar="SOURCE_FONT", help=f"a .ttc, .otf or .ttf that holds {FACE}")
    parser.set_defaults(run=run, parser=parser)


def run(arguments):
    """Rebuild both fonts; says how large they are, and which characters the source lacks."""
    if not arguments.source.is_file():
        arguments.parser.error(f"there is no file {arguments.source}")
    from fontTools.ttLib import TTLibError
    try:
        missing = build_han(arguments.source)
    except (TTLibError, ValueError, AssertionError) as error:
        arguments.parser.error(f"{arguments.source} is no font that holds {FACE}: {error}")
    build_box()
    for path in (HERE / "han.ttf", HERE / "box.ttf"):
        print(f"{path.name}: {path.stat().st_size} bytes")
    if missing:
        print("not in the source font: " + "".join(missing), file=sys.stderr)
    return int(bool(missing))
