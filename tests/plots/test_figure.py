"""What holds for every plot: it is a figure of its own, can be said in words, and is saved alike every time."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from numpy_attention import plots

ROOT = Path(__file__).resolve().parents[2]


def run(code, **environment):
    env = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND")}
    env |= {"PYTHONPATH": str(ROOT), **environment}
    # Matplotlib 3.8 calls the parser that it depends on by names that have become old since.
    old = [word for part in ("_fontconfig_pattern", "_mathtext")
           for word in ("-W", f"ignore::DeprecationWarning:matplotlib.{part}")]
    command = [sys.executable, "-W", "error", *old, "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_headless_and_without_pyplot(tmp_path):
    out = run(f"import sys, numpy as np, numpy_attention as na\n"
              f"na.plot_heads(np.eye(2), ['我', '爱']).save({str(tmp_path / 'a.png')!r})\n"
              f"print('matplotlib.pyplot' in sys.modules)", MPLBACKEND="TkAgg")
    assert out.split() == ["False"]
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_without_matplotlib_the_error_says_what_to_install():
    out = run("import sys; sys.modules['matplotlib'] = None\n"
              "import numpy_attention as na\n"
              "try: na.plot_heads\n"
              "except ImportError as error: print(error)")
    assert "pip install matplotlib" in out


def test_figures_leave_nothing_behind():
    import matplotlib.pyplot as plt

    for _ in range(3):
        plots.plot_heads(np.eye(2))
    assert plt.get_fignums() == []


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_saved_alike_every_time_with_its_words_inside(by_hand, tmp_path, ending):
    paths = [plots.save(plots.plot_heads(by_hand, lang="both"), tmp_path / f"{n}.{ending}") for n in "ab"]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    if ending == "svg":
        text = paths[0].read_text(encoding="utf-8")
        assert "looks mostly at AI (0.67)" in text
        assert "<text" not in text      # letters are outlines, so Chinese survives on any machine


@pytest.mark.parametrize("ending", ["svg", "pdf"])
def test_live_text_stays_text(tmp_path, ending):
    figure = plots.plot_heads(np.eye(3), ["我", "$x_$", "爱"], title="注意 attention")
    before = [text.get_path_effects() for text in figure.findobj(Text)]
    live, outlines = (figure.save(tmp_path / f"{kind}.{ending}", text=kind).read_bytes()
                      for kind in ("live", "outlines"))
    assert figure.save(tmp_path / f"again.{ending}", text="live").read_bytes() == live
    assert [text.get_path_effects() for text in figure.findobj(Text)] == before
    if ending == "svg":
        assert ">注意 attention</text>" in live.decode()
        assert ">$x_$</text>" in live.decode()
    else:       # TrueType fonts with a table from glyphs to characters: what can be searched and copied
        assert live.count(b"/ToUnicode") >= 1
        assert b"/Subtype /Type3" not in live
        assert b"/ToUnicode" not in outlines
    with pytest.raises(ValueError, match="text must be"):
        figure.save(tmp_path / "a.svg", text="words")


def test_a_pgf_is_literal_and_whole(tmp_path):
    if not shutil.which("xelatex"):
        pytest.skip("no xelatex on this machine")
    figure = plots.plot_heads(np.eye(3), ["我", "$x_$", "%"], title="Mine & yours #1 a\\b")
    before = [text.get_text() for text in figure.findobj(Text)]
    text = figure.save(tmp_path / "a.pgf").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["a.pgf"]       # no pictures that it would need beside it
    assert "\\begin{pgfpicture}" in text
    assert r"Mine \& yours \#1 a\textbackslash{}b" in text
    assert r"\$x\_\$" in text
    assert [text.get_text() for text in figure.findobj(Text)] == before
    assert figure.axes[0].images[0].get_visible()
    assert not figure.axes[0].collections or len(figure.axes[0].collections) == 2       # the white lines, nothing new


def test_a_pgf_without_latex_says_what_is_missing(tmp_path):
    out = run(f"import numpy as np\nfrom numpy_attention import plots\n"
              f"try: plots.plot_heads(np.eye(2)).save({str(tmp_path / 'b.pgf')!r})\n"
              "except RuntimeError as error: print(error)", PATH=str(tmp_path))
    assert "needs LaTeX on this machine" in out
    assert not (tmp_path / "b.pgf").exists()


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"\.png, \.svg, \.pdf or \.pgf"):
        plots.save(plots.plot_heads(np.eye(2)), tmp_path / "a.jpg")


def test_notebook_shows_one_picture_with_its_alt_text():
    data, metadata = plots.plot_heads(np.eye(2), ["我", "爱"])._repr_mimebundle_()
    assert set(data) == {"image/png", "text/plain"}
    assert "我 looks mostly at 我" in metadata["image/png"]["alt"]
    json.dumps([data, metadata])


def test_draws_into_a_given_figure_only():
    given = Figure(figsize=(6, 4))
    assert plots.plot_heads(np.eye(2), fig=given) is given
    assert given.get_size_inches().tolist() == [6, 4]
    with pytest.raises(TypeError, match="fig must be"):
        plots.plot_heads(np.eye(2), fig=given.axes[0])


def test_unknown_language_is_refused():
    with pytest.raises(ValueError, match="lang"):
        plots.plot_heads(np.eye(2), lang="fr")
