"""Every character is drawn, whatever fonts a machine has."""
import warnings

import matplotlib
import pytest
from matplotlib.figure import Figure

from numpy_attention import plots
from numpy_attention.commands import fonts as build_fonts
from numpy_attention.plots import fonts, tokens

DOLLARS = ["$5", "$$", "$x$y$z", "$x_$", "a_b", "\\n", "%", "#", "$\\foo$"]


def test_shipped_font_has_every_chinese_character_of_the_package():
    shipped = fonts._characters(str(fonts.HERE / "han.ttf"))
    missing = {c for c in build_fonts.characters(build_fonts.PACKAGE) if ord(c) not in shipped}
    assert not missing, f"rebuild the fonts with {build_fonts.__doc__.splitlines()[2].strip()}: {''.join(missing)}"


def test_fonts_stay_small_and_say_whose_they_are():
    assert sum(path.stat().st_size for path in fonts.HERE.glob("*.ttf")) < 300_000
    assert "SIL OPEN FONT LICENSE" in (fonts.HERE / "LICENSE-han.txt").read_text(encoding="utf-8")


def test_chinese_needs_no_warning_and_no_setting(maps, tmp_path):
    before = dict(matplotlib.rcParams)
    figure = plots.plot_heads(maps(1, 3, 3), ["我", "爱", "数学"], lang="zh")
    plots.save(figure, tmp_path / "a.png")
    assert dict(matplotlib.rcParams) == before
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["我", "爱", "数学"]
    # Not the first font of the list but the shipped one has these.
    assert fonts.uncovered("我爱数学", ["DejaVu Sans"]) == list("我爱数学")
    assert fonts.uncovered("我爱数学", ["DejaVu Sans", fonts.HAN]) == []


def test_a_character_without_glyph_is_named_once_and_drawn(maps, tmp_path):
    unknown = "\U0001f9ff"      # if the machine has a font for this one, the test proves nothing
    if not fonts.uncovered(unknown):
        pytest.skip("some installed font draws the test character")
    with pytest.warns(UserWarning, match=r"U\+1F9FF.*font.family") as caught:
        figure = plots.plot_heads(maps(2, 2), [unknown, "b"])
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plots.plot_heads(maps(2, 2), [unknown, "b"])
        for ending in ("png", "svg", "pdf"):
            figure.save(tmp_path / f"a.{ending}")
    assert figure.axes[0].get_yticklabels()[0].get_text() == unknown


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_dollars_and_underscores_are_drawn_literally(maps, tmp_path, ending):
    figure = plots.plot_heads(maps(1, 9, 9), DOLLARS)
    figure.save(tmp_path / f"a.{ending}")
    labels = figure.axes[0].get_yticklabels()
    assert [label.get_text() for label in labels] == DOLLARS
    assert not any(label.get_parse_math() for label in labels)


def test_texts_of_the_caller_stay_as_they_are(maps):
    figure = Figure()
    mine = figure.add_subplot(2, 1, 1).set_title("mine", fontfamily="serif")
    plots.plot_heads(maps(2, 2), fig=figure.add_subfigure(figure.add_gridspec(2, 1)[1]))
    assert mine.get_fontfamily() == ["serif"]


def test_one_warning_names_all_that_a_figure_lacks(maps):
    unknown = ["\U0001f9ff", "\U0001f9fe", "\U0001f9fd"]
    if any(fonts._family_with(character) for character in unknown):
        pytest.skip("some installed font draws the test characters")
    with pytest.warns(UserWarning, match="they are drawn as boxes") as caught:
        plots.plot_heads(maps(3, 3), unknown)
    assert len(caught) == 1
    assert all(f"U+{ord(character):04X}" in str(caught[0].message) for character in unknown)


def test_joined_emoji_and_blanks(maps):
    assert tokens.visible("\U0001f469\u200d\U0001f4bb") == "\U0001f469\u200d\U0001f4bb"      # not \\u200d
    assert tokens.visible("a\u200db") == "a\\u200db"
    figure = plots.plot_heads(maps(2, 2), [" the", "the"])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["␣the", "the"]
    assert "␣the looks mostly" in figure.alt_text
