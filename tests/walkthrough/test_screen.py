"""The stepper on a whole terminal: as wide as it is, coloured only where it can, one key an action."""
import os
import re
import select
import subprocess
import sys

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.walkthrough.screen import Screen, can_paint, depth, paint, read_key, seen


def by_hand(lang="both"):
    return na.Stepper(na.worked_example("by-hand").trace(), lang=lang)


def bare(lines):
    return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(lines))


@pytest.mark.parametrize("columns", [40, 60, 79, 120])
@pytest.mark.parametrize("bits", [0, 8, 24])
def test_no_line_is_wider_than_the_terminal(columns, bits):
    layer = na.MultiHeadAttention(6, 2, rng=0)
    layer.backward(layer(np.eye(3, 6)[None], mask=np.tri(3, dtype=bool)) * 0 + 1)
    for stepper in (by_hand(), na.Stepper(na.trace(layer))):
        for number in range(1, len(stepper.trace) + 1):
            stepper.goto(number)
            cell = (0,) * stepper.step.value.ndim
            lines = paint(stepper, cell, columns=columns, bits=bits)
            assert max(map(seen, lines)) <= columns, stepper.step.name
            assert ("\x1b" in "".join(lines)) == (bits > 0)


def test_operands_stand_left_of_the_result_and_what_is_lit_is_marked():
    stepper = by_hand("en")
    stepper.goto("product")
    text = bare(paint(stepper, (1, 0), columns=100, bits=0))
    assert re.search(r"爱 +\[0\]\[2\]\[0\]\[2\] +\[0\] 1  2 +爱 +\[4\] 4  8", text)
    assert text.index("Q 3 × 4") > text.index("Kᵀ 4 × 3") and "product[爱, 我] = 0·0 + 2·1 + 0·0 + 2·1 = 4" in text
    assert "product = Q @ K.mT" in text
    stepper.goto("dQ")
    assert re.search(r"@.*/ +√d_k +=", bare(paint(stepper, (0, 2), columns=140, bits=0)))


@pytest.mark.parametrize(("environment", "tty", "bits"), [
    ({"TERM": "xterm-256color"}, True, 8), ({"TERM": "xterm", "COLORTERM": "truecolor"}, True, 24),
    ({"TERM": "dumb", "COLORTERM": "truecolor"}, True, 0), ({"TERM": "xterm-256color", "NO_COLOR": "1"}, True, 0),
    ({"TERM": "xterm-256color"}, False, 0), ({"WT_SESSION": "x"}, True, 24)])
def test_colours_where_the_terminal_can(environment, tty, bits):
    class Stream:
        def isatty(self):
            return tty
    assert depth(Stream(), environment) == bits


def test_one_key_an_action(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    keys, shown = iter(["n", "right", "right", "\t", "down", "b", "c", "l", "f", "p", "x", "g", "left", "q"]), []
    stepper = by_hand("en")
    assert Screen(stepper, read=lambda: next(keys), write=shown.append, bits=24).loop() == 0
    pictures = [bare([text]) for text in shown if text.startswith("\x1b[H")]
    assert "4/14 product" in pictures[3] and "product[我, 爱]" in pictures[4] and "product[爱, 爱]" in pictures[5]
    assert "11/14" in pictures[6] or "dproduct" in pictures[6]
    assert any("wrote" in picture for picture in pictures) and (tmp_path / "attention.html").exists()
    assert "Q is the first step" in pictures[-1] and shown[0].startswith("\x1b[?1049h") and "1049l" in shown[-1]


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal is asked for")
def test_in_a_real_terminal():
    import pty
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "60"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen([sys.executable, "-m", "numpy_attention", "step", "--lang", "en"], stdin=slave, stdout=slave,
                          stderr=slave, env=environment) as running:
        os.close(slave)
        os.write(master, b"n\x1b[Cq")               # typed ahead, faster than any picture
        text = b""
        while select.select([master], [], [], 60)[0]:
            try:
                piece = os.read(master, 4096)
            except OSError:                         # the other end is closed
                break
            text += piece
        else:
            running.kill()
    os.close(master)
    assert running.returncode == 0 and b"48;5;" in text and b"Traceback" not in text


@pytest.mark.parametrize("rows", [10, 16, 24, 50])
def test_what_does_not_fit_goes_and_the_sum_stays(rows):
    stepper = by_hand()
    stepper.goto("dQ")
    lines = paint(stepper, (1, 2), columns=40, rows=rows, bits=0)
    assert len(lines) <= rows and "dQ" in lines[0]
    text = "\n".join(lines)
    assert "dQ[爱, 2] = " in text or rows == 10
    assert ("dscores" in text.split("dQ[爱, 2]")[0].partition("\n")[2]) == (rows >= 24)     # operands need room
    assert ("q quit" in text) == (rows >= 24)


def test_without_colours_the_picture_stays_and_what_is_lit_stands_in_brackets():
    class Terminal:
        def isatty(self):
            return True
    plain = {"NO_COLOR": "1", "TERM": "xterm"}
    assert depth(Terminal(), plain) == 0 and can_paint(Terminal(), plain)
    assert not can_paint(Terminal(), {"TERM": "dumb"})
    keys, shown = iter(["n", "n", "n", "q"]), []
    Screen(by_hand("en"), read=lambda: next(keys), write=shown.append, bits=0).loop()
    assert "[1]" in shown[-2] and not re.search(r"\x1b\[[\d;]*m", "".join(shown))


@pytest.mark.parametrize(("typed", "key"), [("n", "n"), ("\xe0K", "left"), ("\x00M", "right"), ("\xe0H", "up"),
                                            ("\x00P", "down"), ("\xe0S", "?"), ("\x03", "\x03")])
def test_keys_on_windows(typed, key, monkeypatch):
    console = iter(typed)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", type("msvcrt", (), {"getwch": staticmethod(lambda: next(console))}))
    assert read_key() == key and not list(console)


def test_ctrl_c_leaves_the_terminal_as_it_was():
    def interrupted():
        raise KeyboardInterrupt
    shown = []
    assert Screen(by_hand(), read=interrupted, write=shown.append, bits=0).loop() == 130
    assert shown[-1].endswith("\x1b[?25h\x1b[?1049l")


def test_gradients_have_the_gradients_colours_and_say_their_scale():
    stepper = by_hand("en")
    stepper.goto("dV")
    lines = paint(stepper, (0, 0), columns=100, bits=24)
    assert f"±{stepper.step.value.max():.3g}" in bare(lines) and "48;2;0;60;48;" in "".join(lines)  # BrBG ends in green
    assert "1;38;2;0;121;90mdV" in "".join(lines)      # the figures' colour of V
    assert "1;38;5;" in "".join(paint(stepper, (0, 0), columns=100, bits=8))
