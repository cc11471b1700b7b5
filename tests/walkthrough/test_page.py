"""The page: one file without a network, with the trace's numbers in it and everything foreign escaped."""
import base64
import hashlib
import io
import json
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.walkthrough.font import HAN, subset
from numpy_attention.walkthrough.page import page
from numpy_attention.words.labels import visible
from numpy_attention.words.terminal import is_han

from ..standard import EXAMPLES, draw

EVIL = ("</script><script>window.hacked=1</script>", '"><img src=x onerror=window.hacked=1>', "<!--", "a'b&amp;\u2028")


class Reader(HTMLParser):
    """Collects elements and texts, and complains about elements that are not closed in their order."""

    VOID = {"meta", "img", "input", "br"}

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.texts.append(text)


def evil_trace(title="<b>&title"):
    layer = na.MultiHeadAttention(4, 2, rng=0)
    layer.backward(layer(np.random.default_rng(0).standard_normal((4, 4)), mask=na.causal_mask(4)))
    return na.trace(layer, tokens=EVIL, title=title)


@pytest.fixture(scope="module")
def by_hand():
    return page(na.worked_example("by-hand").trace())


@pytest.fixture(scope="module")
def evil():
    return page(evil_trace())


def test_the_worked_example_is_small_and_asks_for_nothing(by_hand, evil):
    assert len(by_hand.encode()) < 300_000
    for text in (by_hand, evil):
        for tag, attributes in Reader(text).elements:
            assert tag not in ("link", "iframe", "object", "embed", "base")
            assert attributes.get("src", "data:").startswith("data:")
            assert attributes.get("href", "#").startswith("#")
        assert not re.search(r"@import|https?://", text)
        assert "default-src 'none'" in text


def test_the_numbers_are_the_traces(by_hand):
    trace = na.worked_example("by-hand").trace()
    for number, step in enumerate(trace, 1):
        section = re.search(rf'<section [^>]*id="step-{number}".*?</section>', by_hand, re.DOTALL).group()
        cells = re.findall(r'<td data-at="([\d,]+)"[^>]*>([^<]*)</td>', section)
        assert len(cells) == step.value.size
        for at, shown in cells:
            value = step.value[tuple(map(int, at.split(",")))]
            assert float(shown.replace("−", "-")) == pytest.approx(value, abs=5.1e-4), (step.name, at)
        assert step.code == "" or step.code.split(" = ")[0] in section
        assert step.note_en in section and step.note_zh in section


def test_what_comes_from_outside_is_escaped(evil):
    reader = Reader(evil)
    assert [tag for tag, _ in reader.elements].count("script") == 2
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)
    assert not any("onerror" in str(attributes.get("src")) for _, attributes in reader.elements)
    assert "<b>&title" in reader.texts
    shown = {attributes.get("title") for tag, attributes in reader.elements if tag == "bdi"} | set(reader.texts)
    assert set(EVIL[:3]) <= shown


def test_the_data_survives_tokens_that_close_scripts(evil):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', evil, re.DOTALL).group(1)
    assert "<" not in found and "\u2028" not in found
    data = json.loads(found)
    assert data["live"]["tokens"]["L"] == list(map(visible, EVIL))


def test_only_the_pages_own_script_may_run(by_hand):
    script = by_hand.rpartition("<script>")[2].partition("</script>")[0]
    allowed = re.search(r"script-src 'sha256-([^']+)'", by_hand).group(1)
    assert allowed == base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def test_hidden_cells_are_hatched_not_coloured(evil):
    own = evil[evil.index('data-of="weights"'):]
    cells = re.findall(r'<td data-at="0,(\d),(\d)"([^>]*)>([^<]*)<', own)[:16]
    for i, j, attributes, shown in cells:
        hidden = j > i
        assert ("hidden" in attributes, shown == "–", "background" in attributes) == (hidden, hidden, not hidden)


def test_too_large_says_what_it_leaves_out():
    text = page(na.worked_example("full-size").trace())
    left = sum(int(n.replace(",", "")) for n in re.findall(r"([\d,]+) of its numbers are not shown", text))
    assert f"{left:,} numbers are left out of this page" in text
    assert len(text) < 600_000
    attention = na.ScaledDotProductAttention()
    big = np.random.default_rng(0).standard_normal((8, 40, 4))
    attention.backward(attention(big, big, big))
    assert len(page(na.trace(attention))) < 600_000


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, 1e300, 1e-300])
def test_strange_numbers_are_shown(value):
    attention = na.ScaledDotProductAttention()
    attention.backward(attention([[1.0, value]], [[1.0, 1.0]], [[1.0]]))
    text = page(na.trace(attention))
    assert np.isfinite(value) or 'class="bad"' in text


@pytest.mark.parametrize("name", ["ScaledDotProductAttention, grouped", "TransformerEncoderLayer, pre-norm",
                                  "CrossEntropyLoss", "Embedding", "Softmax, mask"])
def test_any_layer_has_its_page_and_its_steps(name):
    example = EXAMPLES[name]
    layer = example.layer()
    out = layer(*example.inputs, **example.options)
    layer.backward(draw(*out.shape) if out.ndim else None)
    stepper = na.Stepper(na.trace(layer))
    Reader(page(stepper.trace))
    for number, step in enumerate(stepper.trace, 1):
        stepper.goto(number)
        assert step.name in stepper.explain() and stepper.why(*(0,) * min(step.value.ndim, 2))


def test_strange_shapes_are_shown():
    for layer, x in ((na.Linear(3, 2, rng=0), np.ones(3)), (na.Softmax(), np.ones((2, 2, 2, 1, 2))),
                     (na.Linear(3, 2, rng=0), np.ones((0, 3)))):
        layer.backward(layer(x))
        assert page(na.trace(layer))
    assert page(na.worked_example("by-hand").trace(backward=False))


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    trace = na.worked_example("by-hand").trace()
    path = trace.save_html(tmp_path / "a.html", lang="zh")
    whole = path.read_text(encoding="utf-8")
    assert whole.startswith("<!DOCTYPE html>") and 'data-lang="zh"' in whole and whole.endswith("</html>\n")
    assert trace.save_html(str(path), lang="zh").read_text(encoding="utf-8") == whole
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        trace.save_html(path)
    assert [file.name for file in tmp_path.iterdir()] == ["a.html"] and path.read_text(encoding="utf-8") == whole
    with pytest.raises(ValueError, match="lang must be"):
        trace.save_html(path, lang="de")
    with pytest.raises(FileNotFoundError):
        trace.save_html(tmp_path / "none" / "a.html")


def test_a_notebook_gets_the_page_in_a_sandboxed_frame():
    trace = evil_trace()[:6]
    for shown in (trace._repr_html_(), na.Stepper(trace)._repr_html_()):
        (_, frame), *rest = Reader(shown).elements
        assert frame["sandbox"] == "allow-scripts" and frame["srcdoc"].startswith("<!DOCTYPE html>")
        Reader(frame["srcdoc"])
        assert "script" not in [tag for tag, _ in rest] and "table" in [tag for tag, _ in rest]
    assert "Trace of" in repr(trace)


def test_the_font_draws_every_chinese_character_of_the_page(by_hand):
    ft2font = pytest.importorskip("matplotlib.ft2font")
    font = base64.b64decode(re.search(r"font/ttf;base64,([^)]+)\)", by_hand).group(1))
    have = set(ft2font.FT2Font(str(HAN)).get_charmap())
    missing = {c for c in by_hand if is_han(c) and ord(c) not in have}
    assert not missing, f"not in han.ttf (rebuild it): {''.join(sorted(missing))}"
    assert len(font) < HAN.stat().st_size / 2


def test_a_cut_font_draws_the_same_glyphs_and_no_others():
    ttLib = pytest.importorskip("fontTools.ttLib")
    cut, whole = ttLib.TTFont(io.BytesIO(subset("我爱你，AI"))), ttLib.TTFont(HAN)
    assert set(cut.getBestCmap()) == set(map(ord, "我爱你，"))
    for character in "我爱你，":
        ours, theirs = (font["glyf"][font.getBestCmap()[ord(character)]] for font in (cut, whole))
        assert ours.getCoordinates(cut["glyf"]) == theirs.getCoordinates(whole["glyf"])
    assert subset("我爱你，") == subset("，你爱我我") and len(subset("我爱")) < 3000


def test_without_fonttools_the_page_is_written_and_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fontTools.subset", None)
    trace = na.worked_example("by-hand").trace()
    with pytest.warns(UserWarning, match="pip install fonttools"):
        path = trace.save_html(tmp_path / "a.html")
    text = path.read_text(encoding="utf-8")
    assert "font/ttf;base64,)" in text and "注意力" in text


def test_each_gradient_has_a_scale_of_its_own_and_says_it(evil):
    trace = evil_trace()
    for name in ("dscores", "dQ", "dout"):
        table = re.search(rf'<caption><b[^>]*>{name}</b>.*?</table>', evil, re.DOTALL).group()
        largest = np.abs(trace[name].value).max()
        assert f'<span class="limit">±{largest:.3g}</span></caption>' in table
        everywhere = "".join(re.findall(rf'<caption><b[^>]*>{name}</b>.*?</table>', evil, re.DOTALL))
        assert re.search("background:#(543005|003c30)", everywhere), f"nothing of {name} reaches the end of its colours"
    assert "±" not in re.search(r"<caption><b[^>]*>scores</b>.*?</caption>", evil).group()


def test_q_k_and_v_have_the_colours_of_the_figures(by_hand):
    from numpy_attention.words.colours import NAMES, readable
    for name, colour in NAMES.items():
        for paper in ("#fbfaf7", "#1f2229"):
            assert f"--{name.lower()}:{readable(colour, paper)};" in by_hand
        for shown in (name, f"d{name}"):
            assert f'<b class="{name.lower()}">{shown}</b>' in by_hand
