"""What is no rate, step, seed or size is refused where it is given, by its name, and before anything is made."""
import math

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.training import LookupModel, ToyModel, train
from numpy_attention.training.schedules import warmup_constant
from numpy_attention.training.sweeps import processes

NO_RATES = [math.nan, -1.0, -math.inf, True, np.bool_(True), "0.1", None, [0.1], np.array(0.1), np.array([0.1]), 1j,
            10**400]
NO_COUNTS = [-1, 1.5, 2.0, math.nan, True, np.bool_(True), "3", [3], np.array([3, 4])]
rates = pytest.mark.parametrize("wrong", [*NO_RATES, math.inf], ids=repr)
counts = pytest.mark.parametrize("wrong", NO_COUNTS, ids=repr)


def refused(name, call):
    with pytest.raises((ValueError, TypeError), match=rf"^(max_)?{name}"):
        call()


@rates
def test_rates(wrong):
    layer = na.Linear(3, 2, rng=0)
    for name, call in (("lr", lambda: na.SGD(layer, wrong)), ("lr", lambda: na.Adam(layer, wrong)),
                       ("momentum", lambda: na.SGD(layer, 0.1, momentum=wrong)),
                       ("dampening", lambda: na.SGD(layer, 0.1, dampening=wrong)),
                       ("weight_decay", lambda: na.AdamW(layer, weight_decay=wrong)),
                       ("eps", lambda: na.Adam(layer, eps=wrong)),
                       (r"betas\[1\]", lambda: na.Adam(layer, betas=(0.9, wrong))),
                       ("peak", lambda: na.warmup_cosine(wrong, warmup=1, total=2)),
                       ("final", lambda: na.warmup_cosine(1.0, warmup=1, total=2, final=wrong)),
                       ("peak", lambda: na.warmup_inverse_sqrt(wrong, warmup=1)),
                       ("lr", lambda: train("reverse", lr=wrong, progress=False))):
        refused(name, call)
    for wrong_pair in (wrong, (0.9,), (0.9, 0.9, 0.9)):
        refused("betas", lambda wrong_pair=wrong_pair: na.Adam(layer, betas=wrong_pair))
    if not (isinstance(wrong, float) and wrong == math.inf):        # a norm may be as long as it likes
        refused("max_norm", lambda: na.clip_grad_norm(layer, wrong))
        refused("clip", lambda: train("reverse", clip=wrong, progress=False))
    if wrong is not None and not (isinstance(wrong, float) and wrong == -1):        # nowhere to stop; below all
        refused("stop_at", lambda: train("reverse", stop_at=wrong, progress=False))
    layer([[1., 2., 3.]]), layer.backward([[1., 1.]])
    before, optimizer = layer.params["W"].copy(), na.SGD(layer, lambda step: wrong)
    refused("the schedule's rate at step 1", optimizer.step)
    assert (layer.params["W"] == before).all() and optimizer.steps == 0


@counts
def test_counts(wrong):
    for name, call in (("warmup", lambda: na.warmup_cosine(1., warmup=wrong, total=2)),
                       (".*total", lambda: na.warmup_cosine(1., warmup=0, total=wrong)),
                       ("warmup", lambda: na.warmup_inverse_sqrt(1., warmup=wrong)),
                       *((name, lambda name=name: train("reverse", **{name: wrong}, progress=False)) for name in (
                           "steps", "seed", "warmup", "batch_size", "measure_every", "save_every", "layers", "heads",
                           "d_model", "d_k", "d_hidden", "kv_heads")),
                       ("snapshots", lambda: train("reverse", snapshots=[wrong], progress=False)),
                       ("heads", lambda: ToyModel(10, 8, heads=wrong)),
                       ("d_model", lambda: ToyModel(10, 8, d_model=wrong)),
                       ("heads", lambda: LookupModel(10, heads=wrong)),
                       ("workers", lambda: processes(wrong).__enter__()),
                       ("N", lambda: na.training.task("reverse").batch(wrong))):
        with pytest.raises((ValueError, TypeError), match=rf"(^|_){name.removeprefix('kv_').removeprefix('d_')}"):
            call()


@pytest.mark.parametrize("name", ["heads", "layers", "d_model", "d_k", "d_hidden", "batch_size", "measure_every"])
def test_none_of_it_is_too_little(name):
    refused(f"(num_)?(up_)?{name}|out_features", lambda: train("reverse", **{name: 0}, progress=False))


SCHEDULES = [na.warmup_cosine(1., warmup=4, total=10), na.warmup_cosine(1., warmup=0, total=10),
             na.warmup_inverse_sqrt(1., warmup=4), warmup_constant(1., warmup=4), warmup_constant(1., warmup=0)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_there_is_no_step_before_the_first(schedule):
    for step in (0, -1, -10**30):
        with pytest.raises(ValueError, match="step must be at least 1: steps count from 1"):
            schedule(step)
    for step in (1.5, True, "1", math.nan, np.array([1, 2])):
        with pytest.raises(TypeError, match="step must be a whole number"):
            schedule(step)
    assert all(0 <= schedule(step) <= 1 for step in (1, 4, 9, 11, np.int64(3)))


def test_adamw_like_torch():
    torch = pytest.importorskip("torch")
    layer, other = na.Linear(3, 2, rng=0), torch.nn.Linear(3, 2).double()
    with torch.no_grad():
        other.weight.copy_(torch.tensor(layer.params["W"].T))
        other.bias.copy_(torch.tensor(layer.params["b"]))
    ours = na.AdamW(layer, 1e-2, weight_decay=0.1, eps=1e-3)
    theirs = torch.optim.AdamW(other.parameters(), 1e-2, weight_decay=0.1, eps=1e-3)
    rng = np.random.default_rng(5)
    for _ in range(7):
        x, upstream = rng.standard_normal((4, 3)), rng.standard_normal((4, 2))
        layer(x), layer.backward(upstream)
        ours.step()
        theirs.zero_grad()
        (other(torch.tensor(x)) * torch.tensor(upstream)).sum().backward()
        theirs.step()
    assert np.abs(layer.params["W"] - other.weight.detach().numpy().T).max() < 1e-15


WRONG = {
    "watch": [math.nan, 0, True, "00", [0], [(0,)], [(1, 0)], [(0, -1)], [(0, 0.5)], ["00"], {0: 0}, np.array(1)],
    "snapshots": [math.nan, 5, True, "05", [-1], [0.5], ["0"], {0: 1}],
    "stop_at": [math.nan, -0.1, 1.5, True, "1", [1]],
    "progress": [0, None, "no", []],
    "save": [1, True, 0.5, [], ""],
    "resume": [1, True, 0.5, [], ""],
    "model": [1, "ToyModel", ToyModel],
}


@pytest.mark.parametrize(("name", "wrong"), [(name, each) for name in WRONG for each in WRONG[name]], ids=repr)
def test_train_refuses_by_name(name, wrong):
    with pytest.raises((TypeError, ValueError), match=f"^{name} must"):
        train("reverse", steps=0, **{"progress": False, name: wrong})


def test_train_takes_any_list_of_heads_and_steps():
    for watch, snapshots in (([(0, 0)], {0}), (np.array([[0, 0]]), range(1)), ([[0, 0]], np.array([0]))):
        run = train("reverse", steps=0, watch=watch, snapshots=snapshots, progress=False)
        assert list(run.snapshots) == [0]
        assert list(run.snapshots[0]) == [(0, 0)]
