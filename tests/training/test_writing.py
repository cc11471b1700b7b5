"""A text model goes on with a text; the cache changes nothing; the commands train and write from a file."""
import numpy as np
import pytest

from numpy_attention.__main__ import main
from numpy_attention.training import ToyModel, task, train
from numpy_attention.training.checkpoint import load_run
from numpy_attention.training.writing import reading


@pytest.mark.parametrize("positions", ["learned", "sinusoidal", "rotary", "none"])
@pytest.mark.parametrize("sizes", [{}, {"d_hidden": 12, "norm": True, "layers": 2, "heads": 2, "kv_heads": 1}])
def test_the_cache_gives_the_logits_of_reading_everything_again(positions, sizes):
    model = ToyModel(7, 11, d_model=8, causal=True, positions=positions, rng=0, dtype=np.float64, **sizes)
    ids = np.random.default_rng(1).integers(7, size=11).tolist()
    answers = reading(model, ids[:3], 8)
    step_by_step = [next(answers), *(answers.send(i) for i in ids[3:])]
    np.testing.assert_allclose(step_by_step, model([ids])[0, 2:], atol=1e-12)


def test_a_table_of_positions_that_ends_is_no_end_of_the_text():
    model = ToyModel(7, 5, causal=True, rng=0)
    for ids, more in (([1, 2, 3], [4, 5, 6, 0]), ([1, 2, 3, 4, 5, 6], [0, 1])):
        answers = reading(model, ids, len(more))
        found = [next(answers), *(answers.send(i) for i in more)]
        texts = [[*ids, *more][:len(ids) + i][-5:] for i in range(len(more) + 1)]
        np.testing.assert_allclose(found, [model([text])[0, -1] for text in texts], rtol=0, atol=1e-6)


def test_what_cannot_be_written_is_said():
    with pytest.raises(ValueError, match="only a causal model"):
        next(reading(ToyModel(7, 5, rng=0), [1], 1))


def test_train_a_file_and_generate_from_it(tmp_path, capsys):
    (tmp_path / "my.txt").write_text("abcd" * 40, encoding="utf-8")
    saved = str(tmp_path / "my.npz")
    assert main(["train", "text", "--file", str(tmp_path / "my.txt"), "--positions", "rotary", "--steps", "60",
                 "--save", saved, "--quiet"]) == 0
    assert load_run(saved).accuracy > 0.9
    capsys.readouterr()
    assert main(["generate", saved, "--start", "ab", "-n", "8", "--temperature", "0"]) == 0
    assert capsys.readouterr().out.strip() == "abcdabcdab"
    assert main(["generate", saved, "--start", "ab", "-n", "50", "--top-k", "2", "--samples", "2"]) == 0
    assert len(capsys.readouterr().out.splitlines()) >= 3
    assert main(["generate", saved, "--start", "xyz"]) == 2
    assert "has no 'x'" in capsys.readouterr().err
    assert main(["generate", str(tmp_path / "nowhere.npz")]) == 2
    assert main(["train", "text", "--file", str(tmp_path / "nowhere.txt"), "--quiet"]) == 2
    assert "could not be read" in capsys.readouterr().err


def test_the_lines_of_the_readme(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.txt").write_bytes(("\ufeff" + "one\r\ntwo\rthree\n" * 20).encode())      # as other systems write it
    assert main(["train", "text", "--file", "my.txt", "--save", "my.npz", "--steps", "2", "--quiet"]) == 0
    assert set(load_run("my.npz").task.alphabet.tolist()) == set("one\ntwo\nthree")
    capsys.readouterr()
    assert main(["generate", "my.npz"]) == 0
    out, err = capsys.readouterr()
    assert len(out) > 200 and not err


def test_only_texts_are_written(tmp_path, capsys):
    train("reverse", steps=1, save=tmp_path / "run.npz", progress=False)
    assert main(["generate", str(tmp_path / "run.npz")]) == 2
    assert "wants a text model" in capsys.readouterr().err


def test_a_long_text_is_told_by_its_beginning():
    assert len(repr(task("text", text="x" * 20 + "y" * 2000))) < 80
