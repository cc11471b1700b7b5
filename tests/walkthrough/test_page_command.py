"""The door to the page: it writes one file, says where, and opens it only where there is a screen."""
import numpy as np
import pytest

from numpy_attention.commands.main import main


def test_it_writes_the_worked_example(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail("opened without a screen"))
    assert main(["page"]) == 0
    assert capsys.readouterr().out == "wrote attention.html: open it in a browser; it needs no network\n"
    assert '"live":' in (tmp_path / "attention.html").read_text(encoding="utf-8")


def test_with_a_screen_it_is_opened(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("numpy_attention.commands.page.has_screen", lambda: True)
    path = tmp_path / "a b.html"
    assert main(["page", "--example", "cycle", "--out", str(path)]) == 0 and opened == [path.as_uri()]
    assert main(["page", "--out", str(path), "--no-open"]) == 0 and len(opened) == 1


def test_own_arrays(tmp_path):
    np.savez(tmp_path / "mine.npz", Q=np.eye(2), K=np.eye(2), V=np.ones((2, 3)))
    path = tmp_path / "mine.html"
    assert main(["page", "--npz", str(tmp_path / "mine.npz"), "--tokens", "ja nein", "--out", str(path)]) == 0
    assert "nein" in path.read_text(encoding="utf-8")


def test_a_puzzle_opens_with_the_page(tmp_path, monkeypatch):
    path = tmp_path / "p.html"
    assert main(["page", "--puzzle", "4", "--out", str(path)]) == 0
    assert '"puzzle":4' in path.read_text(encoding="utf-8")


def test_the_page_has_as_many_puzzles_as_the_command_knows():
    from numpy_attention.walkthrough.page import HERE, PUZZLES
    assert (HERE / "puzzles.js").read_text(encoding="utf-8").count(" done: run =>") == PUZZLES


def test_in_a_notebook_a_puzzle_is_a_frame():
    from numpy_attention import course
    shown = course.puzzle(9)
    assert repr(shown) == "python -m numpy_attention page --puzzle 9"
    assert shown._repr_html_().startswith('<iframe sandbox="allow-scripts"') and "puzzle&quot;:9" in shown._repr_html_()


@pytest.mark.parametrize(("options", "message"), [
    (["--out", "x.txt"], "--out must end in .html"), (["--npz", "none.npz"], "there is no file none.npz"),
    (["--heads", "2"], "--tokens and --heads go with --npz"),
    (["--puzzle", "11"], "puzzle must be a number from 1 to 10"), (["--puzzle", "x"], "puzzle must be a number"),
    (["--puzzle", "1", "--example", "cycle"], "--puzzle goes with the whole example by-hand"),
    (["--out", "no/such/x.html"], "No such file")])
def test_what_goes_wrong_is_one_sentence(options, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["page", *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
