"""python -m numpy_attention, as a person or a pipe meets it."""
import os
import subprocess
import sys

import pytest

from numpy_attention.commands.main import main
from numpy_attention.words.terminal import width

RIGHT = ["0.0900  0.2447  0.6652  1.0000", "0.1065  0.1065  0.7870  1.0000", "0.0420  0.1142  0.8438  1.0000"]


def run(*arguments, **environment):
    return subprocess.run([sys.executable, "-m", "numpy_attention", *arguments], capture_output=True, check=False,
                          env={**os.environ, **environment})


def test_the_main_job_where_the_locale_is_c():
    done = run(LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="")
    text = done.stdout.decode("utf-8")
    assert done.returncode == 0
    assert done.stderr == b""
    assert all(row in text for row in RIGHT)
    assert "numbers agree" in text
    assert "0.1800  0.2400  0.5800" in text         # what the source has instead
    assert "\x1b" not in text                       # no colour codes
    assert max(map(width, text.split("\n"))) <= 80


@pytest.mark.parametrize(("lang", "there", "not_there"), [("zh", "分数", "How well"), ("en", "How well", "分数"),
                                                          ("both", "How well", "nothing")])
def test_languages(capsys, lang, there, not_there):
    assert main(["--lang", lang, "--forward-only"]) == 0
    text = capsys.readouterr().out
    assert there in text
    assert not_there not in text
    assert "dscores" not in text


def test_precision_and_the_other_examples(capsys):
    main(["--precision", "6", "--forward-only"])
    assert "0.090031  0.244728  0.665241  1.000000" in capsys.readouterr().out
    main(["--example", "cycle", "--forward-only"])
    assert "0.7054  0.2595  0.0351" in capsys.readouterr().out
    assert main(["--example", "full-size", "--forward-only"]) == 0
    text = capsys.readouterr().out
    assert "1 × 8 × 3 × 64" in text
    assert len(text) < 10_000


@pytest.mark.parametrize("arguments", [["--precision", "x"], ["--precision", "-1"], ["--lang", "fr"], ["nope"],
                                       ["--example", "by hand"], ["--fast"], ["step", "--nope"]])
def test_wrong_usage_is_one_clear_line_and_status_2(capsys, arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    text = capsys.readouterr()
    assert stop.value.code == 2
    assert text.out == ""
    assert text.err.count("\n") == 1
    assert arguments[-1] in text.err


def test_a_reader_who_leaves_early_is_no_error():
    command = f"'{sys.executable}' -m numpy_attention --example full-size | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
    assert done.stderr == b""
    assert done.stdout.count(b"\n") == 1


def test_every_command_says_what_it_does(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "step" in capsys.readouterr().out
