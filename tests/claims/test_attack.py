"""Attacks change what they say and nothing else, and what was measured is not measured again."""
import json
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from numpy_attention.commands import claims as command
from numpy_attention.training import task
from numpy_attention.training.claims import CLAIMS, attack
from numpy_attention.training.claims.claim import built, learn, under

TRAINING = {"steps": 300, "lr": 0.01}


def changed(name, **sizes):
    return attack.ATTACKS[name].sizes({"heads": 1, "d_model": 32, **sizes})


def test_what_each_attack_changes():
    assert attack.ATTACKS["ten times the steps"].training({"steps": 100})["steps"] == 1000
    assert attack.ATTACKS["ten times the steps"].training({"steps": 5000})["steps"] == 5000
    assert attack.ATTACKS["rate × 3"].training(TRAINING)["lr"] == pytest.approx(0.03)
    assert attack.ATTACKS["rate × 3"].training({"lr": lambda step: step})["lr"](2) == 6
    falling = attack.ATTACKS["falling rate"].training(TRAINING)["lr"]
    assert falling(20) == 0.01
    assert falling(300) == pytest.approx(0)
    assert changed("two more heads") == {"heads": 3, "d_model": 36}
    assert changed("twice the width", d_k=64) == {"heads": 1, "d_model": 64, "d_k": 128}
    assert changed("feed-forward layer")["d_hidden"] == 128
    longer = attack.ATTACKS["twice as long"].task
    assert longer(task("induction")).length == 40
    assert longer(task("recall")).slots == 12
    assert longer(task("facts")).length == 17


def test_runs_inside_a_claim_are_under_attack():
    with under(attack.ATTACKS["start × 2"]) as models:
        model = built("reverse", 0)
        run = learn("reverse", steps=2, seed=0)
    assert np.allclose(model.embedding.params["W"], 2 * built("reverse", 0).embedding.params["W"])
    assert models == ["reverse", "reverse"]
    with under(attack.ATTACKS["twice as long"]):
        assert learn("reverse", steps=1, seed=0).task.length == 2 * run.task.length


def sweep(folder, seeds=1):
    with ThreadPoolExecutor(1) as thread:
        names = ["gradient-without-scale", "induction-by-hand"]
        return [result for result, _, _ in attack.attack_claims(names, attacks=["as stated", "start × 2"], seeds=seeds,
                                                                folder=folder, executor=thread)]


def test_what_is_kept_is_not_measured_again_and_makes_the_table(tmp_path, monkeypatch):
    assert len(sweep(tmp_path)) == 4
    assert sweep(tmp_path) == []
    assert len(sweep(tmp_path, seeds=2)) == 4
    lines = (tmp_path / "attacked.md").read_text(encoding="utf-8").splitlines()
    columns = next(line for line in lines if line.startswith("| claim")).split(" | ")
    row = next(line for line in lines if line.startswith("| induction-by-hand")).strip("| ").split("|")
    assert re.fullmatch(r"✓ \d", row[1].strip())
    assert row[columns.index("start × 2")].strip() == "–"

    def another(seed):
        return {"gradient of W_Q at step 0, without over with": 1.0}

    monkeypatch.setitem(CLAIMS, "gradient-without-scale", CLAIMS["gradient-without-scale"]._replace(measure=another))
    again = sweep(tmp_path)
    assert {result["claim"] for result in again} == {"gradient-without-scale"}
    assert "✗ 1/1" in (tmp_path / "attacked.md").read_text(encoding="utf-8")


def test_an_attack_that_is_stopped_keeps_what_it_has(tmp_path):
    with ThreadPoolExecutor(1) as thread:
        going = attack.attack_claims(["gradient-without-scale"], seeds=2, folder=tmp_path, executor=thread)
        next(going)
        going.close()
    assert len(json.loads((tmp_path / "attacked.json").read_text(encoding="utf-8"))) == 1
    assert (tmp_path / "attacked.md").exists()


def test_unknown_names_are_errors(tmp_path, capsys):
    with pytest.raises(ValueError, match="there is no attack 'magic'; there are: as stated"):
        list(attack.attack_claims(attacks=["magic"], folder=tmp_path))
    import argparse
    parser = argparse.ArgumentParser()
    command.configure(parser)
    arguments = parser.parse_args(["--attack", "--keep", str(tmp_path / "nowhere")])
    assert arguments.run(arguments) == 2
    assert "--keep wants a folder" in capsys.readouterr().err


def test_the_table_kept_beside_the_claims_is_that_of_its_measurements():
    kept = attack.read()
    assert (attack.FOLDER / "attacked.md").read_text(encoding="utf-8") == attack.table(kept)
    stated = {r["claim"] for r in kept.values() if r["attack"] == attack.UNCHANGED.name}
    assert stated == set(CLAIMS), "measure what has changed: python -m numpy_attention claims --attack"
