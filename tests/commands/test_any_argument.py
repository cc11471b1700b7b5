"""The command line answers anything that may be typed with its result or with one line that says what is wrong."""
import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.commands.main import COMMANDS, main
from numpy_attention.words.terminal import width

NUMBERS = ["0", "-1", "nan", "inf", "-inf", "1e999", "1.5", "", " ", "x", "--5", "9" * 5000, "1000000000", "²", "٣",
           "0x10", "1_000", "\ud800"]
OPTIONS = {                     # command: (what else it needs, its options that take a number)
    "": ([], ["--precision"]),
    "step": (["--plain"], ["--precision", "--heads"]),
    "train": (["reverse", "--steps", "0", "--quiet"], [
        "--steps", "--layers", "--heads", "--d-model", "--kv-heads", "--d-k", "--d-hidden", "--seed", "--scale", "--lr",
        "--stop-at"]),
    "look": (["nothing", "text"], ["--top", "--generate", "--temperature", "--seed", "--ids"]),
    "generate": (["no-such-file"], ["-n", "--temperature", "--top-k", "--samples", "--seed"]),
    "page": (["--out", "page.html", "--no-open", "--npz", "no-such-file"], ["--heads"]),
    "claims": (["--list"], ["--seeds", "--workers"]),
    "gradcheck": (["no_such_file.py:factory"], ["--seconds"]),
    "course grade": (["no-such-folder"], ["--seconds"]),
    "course sheet": (["--student", "x"], ["--seed", "--level"]),
    "bench": (["--json", "no-such-folder/x.json"], ["--seconds", "--sizes"]),
}
OTHERS = [
    "--example nothing", "nothing", "--precision", "train", "train nothing", "train shift --set L=--5",
    "train shift --set =", "train shift --set L=99999999999", "train shift --set V=1000000000",
    "train shift --set L=-1", "train shift --set L=", "train shift --set L=1e3", "train shift --set V=0",
    "train reverse --d-model 100000 --layers 1000", "train shift --heads 0", "train shift --save / --quiet",
    "train shift --save /dev/null --quiet", "train shift --resume /dev/zero --quiet",
    "train shift --resume / --quiet", "train shift --figure /", "train shift --positions nothing",
    "train shift --save no-such-folder/run.npz --quiet", "train shift --lr nan", "train shift --lr -1",
    "train shift --seed -1", "train offsets --set offsets=1,,2", "train offsets --set offsets=-5,99",
    "train recall --set slots=0", "step --npz /", "step --npz /dev/null", "step --npz no-such-file.npz",
    "step --heads 0", "step --tokens x", "step --lang x", "museum nothing", "museum ''", "figures nothing",
    "figures --formats gif", "figures --formats ''", "figures --folder /dev/null",
    "figures heads --folder /proc/nothing", "gradcheck nothing", "gradcheck /:f", "gradcheck :", "gradcheck x.py:",
    "claims nothing", "claims --attack --keep no-such-folder", "course nothing", "course start /dev/null",
    "course grade /dev/null", "course sheet",
    "course sheet --students /dev/null", "course sheet --students /", "course sheet --student x --pdf x.png",
    "course sheet --student x --check /dev/null", "course start /tmp 99", "look", "look /dev/null text",
    "look / text", "look nothing",
    "look nothing --ids 1,,x", "bench --sizes 1,2,3", "bench --sizes 1,2,3,2", "bench --figure no-such-folder/x.svg",
    "fonts", "fonts /dev/null", "fonts no-such-file", f"fonts {__file__}",
]


def said(arguments, capsys):
    """The exit status, and what went to the two streams."""
    try:
        status = main(arguments)
    except SystemExit as end:
        status = end.code
    return status, *capsys.readouterr()


@pytest.fixture(autouse=True)
def nothing_to_be_typed(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())


def one_line(err):
    return err.count("\n") == 1 and "Traceback" not in err and len(err) < 7000


@pytest.mark.parametrize(("command", "option"), [(c, o) for c, (_, options) in OPTIONS.items() for o in options])
def test_numbers(command, option, capsys):
    for number in NUMBERS:
        typed = f"{option}={number}" if option.startswith("--") else option + number
        status, _, err = said([*command.split(), *OPTIONS[command][0], typed], capsys)
        assert status in (0, 1, 2), number
        assert status != 2 or one_line(err), (number, err)
        if number in ("nan", "x", "", "--5", "1e999"):
            assert status == 2, number


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")     # fontTools leaves a file that is no font open
@pytest.mark.parametrize("line", OTHERS)
def test_whatever_else(line, capsys):
    status, _, err = said([word.strip("'") for word in line.split()], capsys)
    assert status == 2 and one_line(err), err


@pytest.mark.parametrize(("line", "missing"), [
    ("course start", "DIR"), ("course site", "DIR"), ("course export", "DIR, --to"), ("look", "MODEL"),
    ("train", "TASK"), ("generate", "FILE")])
def test_what_is_missing_is_only_what_must_be_given(line, missing, capsys):
    assert f"the following arguments are required: {missing};" in said(line.split(), capsys)[2]


def test_every_command_is_tried():
    assert {line.split()[0] for line in [*OTHERS, *filter(None, OPTIONS)]} >= set(COMMANDS)


def test_too_large_for_the_memory_is_a_sentence(capsys, monkeypatch):
    def too_large(*_, **__):
        np.empty(10**15)

    monkeypatch.setattr(na.training.loop, "set_up", too_large)
    status, _, err = said(["train", "reverse", "--quiet"], capsys)
    assert status == 2 and "not enough memory" in err and one_line(err)


def test_version(capsys):
    assert said(["--version"], capsys) == (0, f"numpy_attention {na.__version__}\n", "")


@pytest.mark.parametrize(("coding", "expected"), [
    ("ascii", "ascii"), ("cp1252", "cp1252"), ("cp936", "cp936"), ("utf-8", "utf-8"), ("", "utf-8"),
    (":replace", "utf-8"), ("latin-1:backslashreplace", "latin-1"), ("ascii:strict", "ascii")])
def test_an_encoding_that_was_asked_for(coding, expected):
    done = subprocess.run([sys.executable, "-m", "numpy_attention", "--lang", "both", "--forward-only"],
                          env={**os.environ, "PYTHONIOENCODING": coding, "PYTHONUTF8": "0",
                               "PYTHONPATH": str(Path(na.__file__).parents[1])}, capture_output=True)
    text = done.stdout.decode(expected)
    assert done.returncode == 0 and done.stderr == b"" and "0.0900" in text
    assert ("注意" in text or "查询" in text) == (expected in ("cp936", "utf-8"))


@pytest.mark.parametrize("line", [
    "", "--lang en", "step --plain", "museum scale-missing", "claims --list", "course list", "gradcheck layer.py:make",
    "train reverse --steps 8 --layers 2 --quiet"])
def test_as_wide_as_the_screen(line, capsys, monkeypatch, tmp_path):
    (tmp_path / "layer.py").write_text("import numpy as np, numpy_attention as na\n"
                                       "def make(): return na.MultiHeadAttention(4, 2, rng=0), np.ones((2, 3, 4))\n")

    def lines(columns):
        monkeypatch.setenv("COLUMNS", columns)
        return said(line.split(), capsys)[1].splitlines()

    narrow = lines("40")
    assert max(map(width, narrow)) <= 40
    if line in ("step --plain", "claims --list"):               # the others tell how long something took
        assert lines("1") == narrow != lines("500") == lines("80") == lines("")


@pytest.mark.skipif(os.name != "posix", reason="a shell that closes streams")
@pytest.mark.parametrize("closed", [">&-", "<&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("line", ["--forward-only", "step", "course list"])
def test_a_stream_that_is_closed(line, closed):
    done = subprocess.run(f'"{sys.executable}" -m numpy_attention {line} {closed}', shell=True, capture_output=True,
                          env={**os.environ, "PYTHONPATH": str(Path(na.__file__).parents[1])}, stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and done.stderr == b""
