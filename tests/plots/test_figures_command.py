"""The command that draws every kind of picture; that each of them can be drawn is tested where the plots are."""
from pathlib import Path

import pytest

from numpy_attention.commands import figures
from numpy_attention.commands.main import main


def test_draws_what_was_asked_for_and_says_what_is_seen(tmp_path, capsys):
    options = ["--folder", str(tmp_path), "--formats", "svg"]
    assert main(["--lang", "en", "figures", *options, "symmetry", "query_key"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["query_key.svg", "symmetry.svg"]
    assert "Why 我 scores 2 on AI" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [["nobody"], ["--formats", "jpg"]])
def test_wrong_use_is_one_line_and_status_2(wrong, capsys):
    with pytest.raises(SystemExit) as exit:
        main(["figures", *wrong])
    assert exit.value.code == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("name", figures.PICTURES)
def test_every_picture_lies_in_figures(name):
    folder = Path(__file__).resolve().parents[2] / "figures"
    lacking = [f"figures/{name}.{ending}" for ending in ("png", "svg") if not (folder / f"{name}.{ending}").exists()]
    assert not lacking, f"no {' and no '.join(lacking)}: python -m numpy_attention figures {name}, look, commit both"


def test_trained_heads_find_what_they_look_for():
    assert "4 of 4 queries look most at the framed key" in figures.PICTURES["cross_attention"]("en").alt_text
    assert "f looks mostly at d" in figures.PICTURES["film"]("en").alt_text
