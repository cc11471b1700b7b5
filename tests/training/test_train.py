"""The loop: it learns, measures, keeps snapshots, stops when it should, and keeps what was learned."""
import functools
import os
import signal
import sys

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.training import Diverged, ToyModel, task, train


def quiet(name="reverse", **options):
    return train(name, progress=False, **{"steps": 10, "measure_every": 5, **options})


def test_reversal_is_learned_and_the_heads_show_it():
    run = train("reverse", stop_at=0.99, progress=False)
    assert run.stopped == "learned"
    assert run.accuracy >= 0.99
    assert run.history["gold mass"][-1].item() > 0.9
    assert run.history["gold mass"][0].item() < 0.3


def test_what_is_noted():
    run = quiet(layers=2, heads=2, snapshots=(0, 4, 10), watch=[(0, 1), (1, 0)])
    assert run.stopped == "done"
    assert run.step == len(run.losses) == 10
    assert run.history["step"] == [0, 5, 10]
    assert all(len(values) == 3 for values in run.history.values())
    assert {"loss", "accuracy", "entropy", "gold mass", "previous token", "prefix match"} < set(run.history)
    assert run.history["entropy"][0].shape == (2, 2)
    assert list(run.snapshots) == [0, 4, 10]
    assert set(run.snapshots[4]) == {(0, 1), (1, 0)}
    np.testing.assert_allclose(run.snapshots[4][0, 1].sum(axis=-1), 1, rtol=1e-6)
    assert (run.snapshots[0][1, 0] != run.snapshots[10][1, 0]).any()
    assert "10 steps" in str(run)


def test_the_same_seed_gives_the_same_run_and_another_one_another():
    first, again, other = quiet(seed=4), quiet(seed=4), quiet(seed=5)
    assert first.losses == again.losses != other.losses


def test_measuring_and_snapshots_do_not_disturb_the_training():
    assert quiet(measure_every=1, snapshots=range(10)).losses == quiet(measure_every=10).losses


def test_a_model_of_ones_own_is_trained_in_place():
    model = ToyModel(10, 8, d_model=12, heads=3, rng=0)
    before = model.embedding.params["W"].copy()
    assert quiet(model=model).model is model
    assert (model.embedding.params["W"] != before).any()
    with pytest.raises(ValueError, match="the model is given, so its sizes are too; got layers"):
        quiet(model=model, layers=2)


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", functools.partial(na.SGD, momentum=0.9)])
def test_other_optimizers_and_schedules(optimizer):
    run = quiet(optimizer=optimizer, lr=na.warmup_cosine(0.3 if optimizer == "sgd" else 0.01, warmup=5, total=40),
                steps=40)
    assert run.losses[-1] < run.losses[0]


def test_ctrl_c_ends_after_the_step_under_way(tmp_path):
    path = tmp_path / "run.npz"

    def press(run):
        if run.step == 7:
            os.kill(os.getpid(), signal.SIGINT)

    run = quiet(steps=20, on_step=press, save=path)
    assert (run.stopped, run.step) == ("interrupted", 7)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert quiet(steps=20, resume=path).losses == quiet(steps=20).losses


def test_ctrl_c_twice_does_not_wait():
    def press(run):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        quiet(on_step=press)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class Broken(na.Softmax):
    """A softmax that goes wrong in its third forward or backward."""

    def __init__(self, where):
        super().__init__()
        self.where, self.calls = where, 0

    def forward(self, scores, *, mask=None):
        weights = super().forward(scores, mask=mask).copy()
        self.calls += 1
        if self.where == "forward" and self.calls > 20:
            weights[0, 0, 0, 0] = np.nan
        self.cache["weights"] = weights
        return weights

    def backward(self, dweights):
        dscores = super().backward(dweights).copy()
        if self.where == "backward" and self.calls > 20:
            dscores[0, 0, 0, 0] = np.inf
        self.grads["scores"] = dscores
        return dscores


@pytest.mark.parametrize(("where", "tensor"), [("forward", "softmax: weights"), ("backward", "softmax: dscores")])
def test_a_run_that_breaks_names_step_layer_and_tensor(where, tensor):
    model = ToyModel(10, 8, layers=2, rng=0)
    model.blocks[1].attention.attention.softmax = Broken(where)
    with pytest.raises(Diverged, match=f"it began at blocks.1.attention.attention.{tensor}") as caught:
        quiet(model=model, steps=100, measure_every=100)
    broken = caught.value
    assert broken.step == broken.run.step + 1 == 20         # one forward was for the first measurement
    assert all(np.isfinite(p).all() for p in model.named_params().values())


def test_an_update_that_overflows_is_named():
    with pytest.raises(Diverged, match=r"the parameter \S+, in an earlier update|it began at \S+: "):
        quiet(optimizer="sgd", lr=1e38, clip=1e30, warmup=0, steps=50)


def test_a_line_without_tqdm_and_silence_when_asked(capsys, monkeypatch):
    quiet()
    assert capsys.readouterr() == ("", "")
    monkeypatch.setitem(sys.modules, "tqdm", None)
    train("reverse", steps=3, measure_every=3)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("step 3/3: loss ")
    assert said.err.count("\n") == 1


def test_a_bar_with_tqdm(capsys):
    pytest.importorskip("tqdm")
    train("reverse", steps=3, measure_every=3)
    said = capsys.readouterr()
    assert said.out == ""
    assert "3/3" in said.err
    assert "accuracy" in said.err


@pytest.mark.parametrize(("options", "says"), [
    ({"name": "nothing"}, "there is no task 'nothing'; there are: reverse"),
    ({"optimizer": "rmsprop"}, "optimizer must be one of adam, adamw, sgd"),
    ({"batch_size": 0}, "batch_size must be at least 1"),
    ({"measure_every": 0}, "measure_every must be at least 1"),
    ({"heads": 3}, "d_model = 16 cannot be cut into num_heads = 3"),
    ({"name": "recall", "layers": 2}, "LookupModel has no size layers; it has: heads, d_model, kv_heads"),
])
def test_errors_come_before_the_first_step(options, says):
    with pytest.raises(ValueError, match=says):
        quiet(**options)


def test_settings_of_a_task_are_given_to_the_task():
    assert quiet(task("shift", L=5)).task.length == 5
    with pytest.raises(ValueError, match=r"ToyModel has no size V; .*; give a size of the task to task\('reverse', V"):
        quiet(V=3)
