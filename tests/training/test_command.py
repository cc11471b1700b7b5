"""The train command and the film: what is printed, what is written, and how mistakes are told."""
import argparse

import numpy as np
import pytest

from numpy_attention.commands import train as command
from numpy_attention.training import task, train, training_film


def run(line):
    parser = argparse.ArgumentParser(prog="train")
    command.configure(parser)
    arguments = parser.parse_args([*line.split(), "--quiet"])
    return arguments.run(arguments)


def test_what_is_printed(capsys):
    assert run("reverse --steps 16 --layers 2 --heads 2 --d-model 8 --seed 3") == 0
    said = capsys.readouterr()
    assert said.err == ""
    lines = said.out.splitlines()
    assert lines[0].startswith("Reverse(V=10, L=8), 736 parameters: accuracy 0.")
    assert lines[0].endswith("(done)")
    assert [line.split()[0] for line in lines[2:11]] == [str(step) for step in range(0, 17, 2)]
    assert lines[11].split()[0] == "layer.head"
    assert [line.split()[0] for line in lines[12:]] == ["0.0", "0.1", "1.0", "1.1"]


def test_sizes_of_the_task_and_of_the_model(capsys):
    assert run("offsets --set offsets=1,5 --set L=7 --steps 1 --heads 2 --kv-heads 1 --positions rotary --norm") == 0
    assert "Offsets(V=8, L=7, offsets=(1, 5))" in capsys.readouterr().out
    assert run("text --set text=zen --set L=8 --steps 1 --tied --scale 1 --d-k 4 --d-hidden 8") == 0


def test_save_resume_and_film(tmp_path, capsys):
    path, film = tmp_path / "run.npz", tmp_path / "film.svg"
    assert run(f"shift --steps 10 --save {path}") == 0
    assert run(f"shift --steps 20 --resume {path} --figure {film}") == 0
    assert "after 20 steps" in capsys.readouterr().out
    assert film.read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(("line", "says"), [
    ("nothing", "there is no task 'nothing'; there are: reverse, shift"),
    ("shift --set by", "--set wants NAME=VALUE, such as L=12; got 'by'"),
    ("shift --set L=long", "L must be a whole number, got 'long'"),
    ("shift --set size=3", "shift has no setting size; it has: V, L, by"),
    ("shift --heads 5", "cannot be cut into num_heads = 5"),
    ("shift --steps 1 --resume nothing.npz", "there is no checkpoint nothing.npz"),
    ("shift --figure film.txt",
     "--figure wants a .html, .gif, .svg, .png or .pdf file in a folder that exists; got film.txt"),
    ("shift --figure nowhere/film.svg", "in a folder that exists"),
])
def test_mistakes_are_one_line_and_status_2(line, says, capsys):
    assert run(line) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert says in said.err
    assert said.err.count("\n") == 1


def test_a_run_that_breaks_is_status_1(capsys):
    assert run("shift --steps 20 --lr 1e40") == 1
    assert "step 2: the loss is nan; it began at the parameter" in capsys.readouterr().err


def test_the_film_shows_the_head_that_learned():
    made = train("shift", steps=50, heads=2, snapshots=(0, 25, 50), progress=False)
    best = int(made.history["gold mass"][-1][0].argmax())
    figure = training_film(made)
    assert figure.alt_text == training_film(made, (0, best)).alt_text
    assert "steps 0–50" in figure.alt_text
    words = [text.get_text() for text in figure.texts]
    assert any(f"ayer 0, head {best}" in text for text in words)        # the title says which head
    assert "accuracy ↑" in words
    assert training_film(made, (0, 1 - best), curve="loss", lang="zh").alt_text


def test_the_film_of_a_memory_names_its_slots():
    made = train("recall", steps=2, snapshots=(0, 2), progress=False)
    memory = made.exercise.inputs[1]
    names = [label.get_text() for axes in training_film(made).axes for label in axes.get_xticklabels()]
    key, value = memory[0, 0]
    assert f"{made.task.word(key)}→{made.task.word(value)}" in names


def test_a_film_needs_snapshots():
    made = train("shift", steps=1, progress=False)
    with pytest.raises(ValueError, match="there are no snapshots of head None; there are of none: train with"):
        training_film(made)
    made = train(task("shift"), steps=1, snapshots=[0, 1], watch=[(0, 0)], progress=False)
    with pytest.raises(ValueError, match=r"no snapshots of head \(0, 1\); there are of \[\(0, 0\)\]"):
        training_film(made, (0, 1))
    with pytest.raises(ValueError, match="curve must be accuracy or loss; got 'speed'"):
        training_film(made, curve="speed")
    assert np.shape(made.snapshots[1][0, 0]) == (10, 10)
