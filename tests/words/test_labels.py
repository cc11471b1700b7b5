"""Labels and titles of any content: what cannot be seen is shown, nothing acts, and a long one takes no longer."""
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.walkthrough.page import page
from numpy_attention.walkthrough.stepper import Stepper
from numpy_attention.words.labels import safe, visible
from numpy_attention.words.terminal import shorten, width, wrap

HOSTILE = {"escape code": "a\x1b[31mb", "bell": "\x07", "NUL": "\0", "tab": "a\tb", "return": "a\rb", "C1": "\x9b31m",
           "lone surrogate": "half \ud83d", "no character": "\uffff", "right to left": "\u202eabc",
           "zero width": "\u200b",
           "two lines": "a\nb", "line separator": "a\u2028b", "blanks": "  ", "byte order mark": "\ufeff"}
hostile = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
MANY = 200_000      # in quadratic time, minutes


def layer():
    mha = na.MultiHeadAttention(4, 2, rng=0)
    mha(np.random.default_rng(0).standard_normal((1, 2, 4)))
    return mha


@hostile
def test_made_visible_once_and_for_all(text):
    for make in (safe, visible):
        shown = make(text)
        assert shown.isprintable() and make(shown) == shown and shown.encode()
    assert visible(text).strip()


def test_different_tokens_look_different():
    tokens = ["the", " the", "the ", " the ", "", " ", "\n", "\t", "\u200b", "\ud83d", "\ud83e", "·", "a\nb", "a·b"]
    assert len({visible(token).strip() for token in tokens}) == len(tokens)
    assert visible("नमस्ते") == "नमस्ते" and visible("👩\u200d💻") == "👩\u200d💻"


@hostile
def test_a_trace_shows_it_everywhere(text):
    trace = na.trace(layer(), tokens=[text, "b"], title=text)
    shown = [repr(trace), str(trace), trace.title, Stepper(trace).where(), Stepper(trace).explain(), trace.to_latex(),
             trace.to_typst()]
    for found in shown:
        assert found.replace("\n", "").isprintable(), found
    for found in (page(trace), trace._repr_html_()):
        assert found.encode("utf-8")
        assert not any(c in found for c in "\x1b\x07\0\x9b\ud83d\uffff\u202e\u200b\u2028")
        assert visible(text) in found or visible(text).replace("\\", "\\\\") in found
    stepper = Stepper(trace)
    stepper.goto("weights")
    assert stepper.why(text, "b") == stepper.why(0, 1)


def test_a_blank_is_seen_in_terminal_page_and_picture():
    trace = na.trace(layer(), tokens=[" the", "the"])
    text, html = Stepper(trace.forward[-3:]).explain(), page(trace)
    assert trace.query_tokens == ("␣the", "the") and ">␣the<" in html and ">the<" in html and "␣the" in text
    figure = na.plot_heads(np.full((1, 2, 2), .5), [" the", "the"])
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["␣the", "the"]


@pytest.mark.filterwarnings("ignore:no font here can draw")
def test_a_picture_of_it_is_well_formed(tmp_path):
    tokens, title = list(HOSTILE.values()), "".join(HOSTILE.values())
    weights = np.full((len(tokens), len(tokens)), 1 / len(tokens))
    for name, figure in {
        "heads": na.plot_heads(weights, tokens, title=title),
        "film": na.plot_film([weights[:1, :2] * 7] * 2, [0, 1], [1, 0], curve_label=title, name=title,
                             query_tokens=["q"], key_tokens=tokens[:2]),
    }.items():
        for kind in ("outlines", "live"):
            ET.parse(figure.save(tmp_path / f"{name}.svg", text=kind))
        assert figure.alt_text.replace("\n", "").isprintable() and figure.plain_text.encode()


def test_a_long_text_is_cut_in_one_go():
    for text in ("x" * MANY, "我" * MANY, "x " * (MANY // 2), " " * MANY, "\n" * MANY, "e\u0301" * (MANY // 2),
                 "\x1b" * MANY, "（" * MANY, "“" * MANY):
        assert width(shorten(text, 12)) <= 12
        wrap(text, 40)
        visible(text)


def test_a_long_token_takes_no_longer_than_many_short_ones():
    long = "x" * MANY
    na.plot_heads(np.full((2, 2), .5), [long, "y"], title=long)
    trace = na.trace(layer(), tokens=[long, "y"])
    assert len(page(trace)) < 400 * MANY
    Stepper(trace).explain()
