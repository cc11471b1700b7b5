"""Checkpoints: killed and resumed is the same as never killed, and no accident costs the one that was there."""
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.training import CheckpointError, ToyModel, task, train
from numpy_attention.training.checkpoint import load_checkpoint, load_run, save_checkpoint

QUIET = {"progress": False, "measure_every": 100}
OPTIONS = {"steps": 12, "measure_every": 4, "snapshots": (0, 8), "layers": 2, "d_model": 8, "progress": False}


def everything(run):
    """A copy of all numbers of a run, flat."""
    arrays = {name: p.copy() for name, p in run.model.named_params().items()} | run.optimizer.state_dict()
    arrays |= {f"history {name}": np.array(values) for name, values in run.history.items()}
    arrays |= {f"snapshot {step} {head}": w for step, heads in run.snapshots.items() for head, w in heads.items()}
    return {**arrays, "losses": np.array(run.losses), "step": run.step, "rng": str(run.rng.bit_generator.state)}


def assert_same(first, second):
    first, second = everything(first), everything(second)
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)        # to the last bit


def run_python(code, **options):
    package = Path(na.__file__).parents[1]
    return subprocess.Popen([sys.executable, "-c", code], cwd=package, text=True, **options,
                            env={**os.environ, "PYTHONPATH": str(package)})


def test_in_two_halves_is_the_same_as_in_one(tmp_path):
    whole = train("induction", **OPTIONS)
    train("induction", **{**OPTIONS, "steps": 7}, save=tmp_path / "run.npz")
    resumed = train("induction", **OPTIONS, resume=tmp_path / "run.npz")
    np.testing.assert_array_equal(resumed.losses, whole.losses)
    for name, p in whole.model.named_params().items():
        np.testing.assert_array_equal(resumed.model.named_params()[name], p, err_msg=name)


def test_dropout_goes_on_with_the_same_holes(tmp_path):
    def model():
        made = ToyModel(10, 8, layers=2, d_hidden=8, rng=0)
        for i, block in enumerate(made.blocks):
            block.feed_forward.dropout = na.Dropout(0.3, rng=i)
        return made

    whole = train("reverse", model(), steps=6, **QUIET)
    train("reverse", model(), steps=4, save=tmp_path / "run.npz", **QUIET)
    np.testing.assert_array_equal(train("reverse", model(), steps=6, resume=tmp_path / "run.npz", **QUIET).losses,
                                  whole.losses)


def test_settings_that_json_does_not_know(tmp_path):
    options = {"dtype": np.float64, "seed": np.int64(3), "d_model": np.int32(8), **QUIET}
    train("reverse", steps=1, save=tmp_path / "run.npz", **options)
    assert train("reverse", steps=2, resume=tmp_path / "run.npz", **options).step == 2


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 on this system")
def test_killed_and_resumed_is_the_same_as_never_killed(tmp_path):
    path = tmp_path / "run.npz"
    code = f"""
import sys
from numpy_attention.training import train
def wait_to_be_killed(run):
    if run.step == 10:
        print("step 10", flush=True)
        sys.stdin.read()
train("induction", save={str(path)!r}, save_every=4, on_step=wait_to_be_killed, **{OPTIONS!r})
"""
    with run_python(code, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == "step 10\n"
        child.kill()                                                    # kill -9
    assert child.returncode == -signal.SIGKILL
    resumed = train("induction", **OPTIONS, resume=path)
    assert_same(resumed, train("induction", **OPTIONS))


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on file sizes on this system")
def test_a_full_disk_leaves_the_previous_checkpoint_whole(tmp_path):
    path = tmp_path / "run.npz"
    train("induction", **{**OPTIONS, "steps": 4}, save=path)
    before = path.read_bytes()
    code = f"""
import resource, signal
from numpy_attention.training import CheckpointError, train
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))             # the disk is full after 5000 bytes
try:
    train("induction", resume={str(path)!r}, save={str(path)!r}, **{OPTIONS!r})
except CheckpointError as error:
    print(error)
"""
    with run_python(code, stdout=subprocess.PIPE) as child:
        said = child.stdout.read()
    assert "could not be written: File too large; the one that is there is unharmed" in said
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("stage", ["fsync", "replace"])
def test_a_save_that_fails_at_any_stage_harms_nothing(tmp_path, monkeypatch, stage):
    run, path = train("reverse", steps=2, progress=False), tmp_path / "run.npz"
    save_checkpoint(path, run)
    before = path.read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, stage, full)
    run.advance()
    with pytest.raises(CheckpointError, match="No space left on device; the one that is there is unharmed"):
        save_checkpoint(path, run)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_damaged_file_is_refused_or_reads_as_it_was(tmp_path):
    path = tmp_path / "run.npz"
    whole = train(task("reverse", V=2, L=2), steps=2, d_model=2, **QUIET)
    save_checkpoint(path, whole)
    content = path.read_bytes()
    fresh = train(task("reverse", V=2, L=2), steps=0, d_model=2, **QUIET)
    before = everything(fresh)
    refused = 0
    for place in np.random.default_rng(0).permutation(len(content))[:100]:
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1:])
        try:
            load_checkpoint(path, fresh)
        except CheckpointError:
            refused += 1
            assert all(np.array_equal(value, before[name]) for name, value in everything(fresh).items())
        else:                                           # what was hit was a date or the like
            assert_same(fresh, whole)
            fresh = train(task("reverse", V=2, L=2), steps=0, d_model=2, **QUIET)
    assert refused > 70
    for length in (0, 1, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(CheckpointError, match="is damaged or no checkpoint"):
            load_checkpoint(path, fresh)


@pytest.mark.parametrize(("name", "options", "says"), [
    ("reverse", {"layers": 2}, "its model is .*'layers': 1.*, yours is .*'layers': 2"),
    ("shift", {}, "its task is 'reverse', yours is 'shift'"),
    ("reverse", {"seed": 1}, "its seed is 0, yours is 1"),
    ("reverse", {"lr": 0.1, "batch_size": 3}, "its lr is 0.01, yours is 0.1; its batch_size is 64, yours is 3"),
    (task("reverse", L=5), {}, "its task settings is .*'L': 8.*, yours is .*'L': 5"),
])
def test_a_checkpoint_of_another_run_is_refused(tmp_path, name, options, says):
    train("reverse", steps=1, save=tmp_path / "run.npz", **QUIET)
    with pytest.raises(CheckpointError, match=says):
        train(name, steps=2, resume=tmp_path / "run.npz", **QUIET, **options)


def test_a_checkpoint_of_another_model_is_refused_and_that_model_unchanged(tmp_path):
    train("reverse", ToyModel(10, 8, d_model=16, rng=0), steps=1, save=tmp_path / "run.npz", **QUIET)
    for sizes, says in (({"d_model": 8}, r"its embedding.W is \(10, 16\) float32, yours is \(10, 8\) float32"),
                        ({"d_model": 16, "layers": 2}, r"its blocks.1.*W is missing, yours is \(16, 16\)"),
                        ({"d_model": 16, "dtype": np.float64}, "float32, yours is .* float64")):
        model = ToyModel(10, 8, rng=0, **sizes)
        before = {name: p.copy() for name, p in model.named_params().items()}
        with pytest.raises(CheckpointError, match=says):
            train("reverse", model, steps=2, resume=tmp_path / "run.npz", **QUIET)
        assert all((before[name] == p).all() for name, p in model.named_params().items())


def test_what_is_no_checkpoint_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"there is no checkpoint .*nothing.npz to be read: No such file"):
        train("reverse", resume=tmp_path / "nothing.npz", **QUIET)
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    with pytest.raises(CheckpointError, match=r"is damaged or no checkpoint: .*told"):
        train("reverse", resume=tmp_path / "other.npz", **QUIET)
    np.savez(tmp_path / "pickle.npz", told=np.array({"format": 1}, dtype=object))
    with pytest.raises(CheckpointError, match=r"is damaged or no checkpoint: told is no plain array .Python objects"):
        train("reverse", resume=tmp_path / "pickle.npz", **QUIET)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"could not be written: No such file or directory$"):
        train("reverse", steps=1, save=tmp_path / "nowhere" / "run.npz", **QUIET)


def changed(path, change):
    """The checkpoint with other entries; told is handed over as a dict."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    told = json.loads(str(arrays["told"]))
    change(told, arrays)
    np.savez(path, **{**arrays, **({"told": np.array(json.dumps(told))} if "told" in arrays else {})})


def test_another_version_is_named_whatever_it_tells(tmp_path):
    path = tmp_path / "run.npz"
    train("reverse", steps=1, save=path, **QUIET)
    for told in ({"format": 2}, {"format": 2, "step": "3", "settings": []}, {"format": 0}):
        changed(path, lambda old, arrays, told=told: (old.clear(), old.update(told)))
        with pytest.raises(CheckpointError, match=f"has format {told['format']}, this version reads format 1$"):
            train("reverse", resume=path, **QUIET)


CHANGES = {
    "no step": lambda told, arrays: told.pop("step"),
    "step -5": lambda told, arrays: told.update(step=-5),
    "step 10**9": lambda told, arrays: told.update(step=10**9),
    "half a step": lambda told, arrays: told.update(step=1.5),
    "true steps": lambda told, arrays: told.update(step=True),
    "no generator": lambda told, arrays: told.update(rng=[]),
    "rng is missing": lambda told, arrays: told.pop("rng"),
    "another generator": lambda told, arrays: told["rng"][0].update(bit_generator="MT19937"),
    "a state that is none": lambda told, arrays: told["rng"][0].update(state={"state": -1, "inc": 1e9}),
    "settings are a list": lambda told, arrays: told.update(settings=[]),
    "no settings": lambda told, arrays: told.pop("settings"),
    "seconds are NaN": lambda told, arrays: told.update(seconds=float("nan")),
    "seconds below 0": lambda told, arrays: told.update(seconds=-1),
    "seconds beyond floats": lambda told, arrays: told.update(seconds=10**400),
    "no losses": lambda told, arrays: arrays.pop("losses "),
    "losses too few": lambda told, arrays: arrays.update({"losses ": np.zeros(1)}),
    "losses as text": lambda told, arrays: arrays.update({"losses ": np.array(["a", "b"])}),
    "no history": lambda told, arrays: [arrays.pop(name) for name in list(arrays) if name.startswith("history")],
    "no accuracy": lambda told, arrays: arrays.pop("history accuracy"),
    "a history too short": lambda told, arrays: arrays.update({"history loss": np.zeros(1)}),
    "steps that fall": lambda told, arrays: arrays.update({"history step": arrays["history step"][::-1]}),
    "heads that are not there": lambda told, arrays: arrays.update({"history entropy": np.zeros((2, 3, 3))}),
    "snapshots of nobody": lambda told, arrays: told["snapshots"].append([1, [[7, 7]]]),
    "snapshots of nothing": lambda told, arrays: told["snapshots"].append([1, [[0, 0]]]),
    "snapshots are numbers": lambda told, arrays: told.update(snapshots=[1, 2]),
    "an entry too many": lambda told, arrays: arrays.update({"more": np.zeros(1)}),
    "optimizer ahead": lambda told, arrays: arrays.update({"optimizer step": np.array(10**9)}),
    "optimizer without": lambda told, arrays: [arrays.pop(n) for n in list(arrays) if n.startswith("optimizer")],
    "told is a number": lambda told, arrays: arrays.update(told=np.array(3.0)) or arrays.pop("told"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_entries_that_are_missing_or_changed_are_refused(tmp_path, change):
    path, made = tmp_path / "run.npz", task("reverse", V=2, L=2)
    train(made, steps=2, d_model=2, save=path, snapshots=(0,), measure_every=1, progress=False)
    fresh = train(made, steps=0, d_model=2, **QUIET)
    before = everything(fresh)
    changed(path, change)
    with pytest.raises(CheckpointError, match=r"run\.npz is (damaged|of another)") as told:
        load_checkpoint(path, fresh)
    assert told.value.run is None and "allow_pickle" not in str(told.value)
    assert all(np.array_equal(value, before[name]) for name, value in everything(fresh).items())


def test_the_order_of_the_measurements_stays(tmp_path):
    path = tmp_path / "run.npz"
    first = train("induction", **OPTIONS, save=path)
    assert list(train("induction", **OPTIONS, resume=path).history) == list(first.history)


def test_a_run_that_cannot_be_written_is_not_lost(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    train("reverse", steps=1, progress=False)
    with pytest.raises(CheckpointError, match="No space") as told:
        train("reverse", steps=3, save=tmp_path / "run.npz", save_every=10, progress=False,
              on_step=lambda run: monkeypatch.setattr(os, "replace", full) if run.step == 3 else None)
    run = told.value.run
    monkeypatch.undo()
    assert run.step == 3 and len(run.losses) == 3
    save_checkpoint(tmp_path / "elsewhere.npz", run)
    assert train("reverse", steps=3, resume=tmp_path / "elsewhere.npz", progress=False).losses == run.losses


@pytest.mark.parametrize("change", [
    lambda settings: settings.pop("model"), lambda settings: settings.pop("task"),
    lambda settings: settings.pop("seed"),
    lambda settings: settings.update(task="nothing"), lambda settings: settings.update(task=3),
    lambda settings: settings.update({"task settings": [1]}),
    lambda settings: settings.update({"task settings": {"V": -1}}),
    lambda settings: settings["model"].update(d_model=10**12), lambda settings: settings["model"].update(heads=0),
    lambda settings: settings["model"].update(unknown=1), lambda settings: settings.update(clip="a"),
    lambda settings: settings.update(optimizer=None), lambda settings: settings.update(seed=-1)])
def test_settings_that_make_no_run_are_refused(tmp_path, change):
    train("reverse", steps=1, save=tmp_path / "run.npz", **QUIET)
    changed(tmp_path / "run.npz", lambda told, arrays: change(told["settings"]))
    with pytest.raises(CheckpointError, match=r"run\.npz"):
        load_run(tmp_path / "run.npz")
