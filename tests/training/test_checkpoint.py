"""Checkpoints: killed and resumed is the same as never killed, and no accident costs the one that was there."""
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.training import CheckpointError, ToyModel, task, train
from numpy_attention.training.checkpoint import load_checkpoint, save_checkpoint

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
    with pytest.raises(CheckpointError, match=r"is damaged or no checkpoint: .*allow_pickle=False"):
        train("reverse", resume=tmp_path / "pickle.npz", **QUIET)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"could not be written: No such file or directory$"):
        train("reverse", steps=1, save=tmp_path / "nowhere" / "run.npz", **QUIET)
