"""Optimizers, clipping and schedules: PyTorch's trajectories, and what must never be half done."""
import math
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

import numpy_attention as na
from numpy_attention.training import optimizers

from ..golden.golden import cases

SLOTS = {"exp_avg": "m", "exp_avg_sq": "v", "max_exp_avg_sq": "v_max", "momentum_buffer": "velocity"}


def bare_layer(case):
    """A layer that has the case's parameters and nothing else."""
    layer = na.Layer()
    layer.params = {name.removeprefix("param_"): array.copy() for name, array in case.inputs.items()
                    if name.startswith("param_")}
    return layer


def use_gradients(layer, case, step):
    layer.grads = {name: case.inputs[f"grad_{name}"][step].copy() for name in layer.params}


def options(case):
    return {name: value for name, value in case.attrs.items() if name != "steps"}


def trajectory(layer, optimizer, case, steps):
    path = []
    for step in steps:
        use_gradients(layer, case, step)
        optimizer.step()
        path.append({name: p.copy() for name, p in layer.params.items()})
    return path


TRAJECTORIES = [pytest.param(case, id=case.name) for op in ("SGD", "Adam", "AdamW") for case in cases("torch", op)]


@pytest.mark.parametrize("case", TRAJECTORIES)
def test_trajectory_is_pytorchs(case):
    layer = bare_layer(case)
    optimizer = getattr(na, case.op)(layer, **options(case))
    path = trajectory(layer, optimizer, case, range(case.attrs["steps"]))
    ours = {f"param_{name}": np.stack([at[name] for at in path]) for name in layer.params}
    for theirs, slot in SLOTS.items():
        if slot in optimizer.slots:
            ours.update({f"state_{theirs}_{name}": array for name, array in optimizer.state[slot].items()})
    assert set(ours) == set(case.outputs)
    assert case.mismatches(ours) == []


@pytest.mark.parametrize("case", TRAJECTORIES)
def test_resumed_is_the_same_to_the_last_bit(case):
    layer = bare_layer(case)
    whole = trajectory(layer, getattr(na, case.op)(layer, **options(case)), case, range(5))
    layer = bare_layer(case)
    first = getattr(na, case.op)(layer, **options(case))
    trajectory(layer, first, case, range(2))
    second = getattr(na, case.op)(layer, **options(case))
    second.load_state_dict(first.state_dict())
    resumed = trajectory(layer, second, case, range(2, 5))
    for name, p in layer.params.items():
        np.testing.assert_array_equal(p, whole[-1][name])
    assert len(resumed) == 3


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in cases("torch", "ClipGradNorm")])
def test_clipping_is_pytorchs(case):
    layer = na.Layer()
    layer.grads = {name.removeprefix("grad_"): array for name, array in case.inputs.items()}
    layer.params = {name: np.zeros_like(g) for name, g in layer.grads.items()}
    total = na.clip_grad_norm(layer, case.attrs["max_norm"])
    ours = {"total_norm": total, **{f"clipped_{name}": g for name, g in layer.grads.items()}}
    assert set(ours) == set(case.outputs)
    assert case.mismatches(ours) == []
    assert all((case.inputs[name] == array).all() for name, array in case.inputs.items())


def small_model(dtype=np.float64):
    model = na.FeedForward(3, 4, rng=0, dtype=dtype)
    x = np.random.default_rng(1).standard_normal((2, 3)).astype(dtype)
    model(x)
    model.backward(np.ones((2, 3), dtype))
    return model


OPTIMIZERS = {
    "sgd": lambda model: na.SGD(model, 0.1, momentum=0.9),
    "adam": lambda model: na.Adam(model, amsgrad=True),
    "adamw": lambda model: na.AdamW(model, 0.01),
}


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.parametrize("fault", ["missing", "nan", "inf", "shape"])
def test_a_bad_gradient_changes_nothing(make, fault):
    model = small_model()
    optimizer = make(model)
    optimizer.step()
    before = {name: p.copy() for name, p in model.named_params().items()}
    state = optimizer.state_dict()
    grads = model.down_proj.grads               # the last layer: a loop would have moved the others by then
    if fault == "missing":
        del grads["W"]
    elif fault == "shape":
        grads["W"] = grads["W"].T
    else:
        grads["W"] = np.full((4, 3), float(fault))
    with pytest.raises((RuntimeError, ValueError, FloatingPointError), match=r"down_proj\.W"):
        optimizer.step()
    for name, p in model.named_params().items():
        np.testing.assert_array_equal(p, before[name])
    assert optimizer.steps == 1
    for name, array in optimizer.state_dict().items():
        np.testing.assert_array_equal(array, state[name])


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_float32_stays_float32_and_arrays_stay_in_place(make):
    model = small_model(np.float32)
    held = model.named_params()
    optimizer = make(model)
    optimizer.step()
    for name, p in model.named_params().items():
        assert p is held[name]
        assert p.dtype == np.float32
    assert {array.dtype for name, array in optimizer.state_dict().items() if name != "step"} <= {np.dtype(np.float32)}


def steps_of(make, small, monkeypatch, dtype=np.float32):
    monkeypatch.setattr(optimizers, "SMALL", small)
    model = small_model(dtype)
    optimizer = make(model)
    for _ in range(3):
        model(np.ones((2, 3)))
        model.backward(np.arange(6).reshape(2, 3) - 2.5)
        optimizer.step()
    return {**model.named_params(), **optimizer.state_dict()}


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_small_arrays_move_together_as_each_alone(make, monkeypatch):
    alone, together = (steps_of(make, small, monkeypatch) for small in (0, 1000))
    assert alone.keys() == together.keys()
    for name in alone:
        np.testing.assert_array_equal(alone[name], together[name])


def test_only_numbers_by_themselves_are_put_together():
    class Normed(optimizers.Optimizer):
        """Steps of length lr: what a parameter's shape is matters here."""

        def update(self, p, g, lr):
            assert p.ndim == g.ndim
            seen.append(p.shape)
            p -= lr * g / np.linalg.norm(g)

    class OwnAdam(na.Adam):
        def update(self, p, g, lr, m, v):
            seen.append(p.shape)

    class Plain(optimizers.Optimizer):
        elementwise = True

        def update(self, p, g, lr):
            seen.append(p.shape)

    for cls, together in ((Normed, False), (OwnAdam, False), (Plain, True)):
        seen, model = [], small_model()
        cls(model, 0.1).step()
        assert (len(seen) == 1) is together
        assert len(seen) == 1 or seen == [p.shape for p in model.named_params().values()]


@pytest.mark.parametrize("view", [False, True])
def test_an_array_with_two_names_moves_twice(view):
    model = na.FeedForward(3, 3, rng=0)
    model.down_proj.params["W"] = model.up_proj.params["W"].T if view else model.up_proj.params["W"]
    model(np.ones((2, 3)))
    model.backward(np.ones((2, 3)))
    before, grads = model.up_proj.params["W"].copy(), model.named_grads()
    na.SGD(model, 0.5).step()
    second = grads["down_proj.W"].T if view else grads["down_proj.W"]
    np.testing.assert_allclose(model.up_proj.params["W"], before - 0.5 * (grads["up_proj.W"] + second), rtol=1e-13)


def test_state_of_something_else_is_refused():
    model = small_model()
    optimizer = na.Adam(model)
    optimizer.step()
    state = optimizer.state_dict()
    for wrong in (na.SGD(model, 0.1, momentum=0.9).state_dict(), {}, {**state, "m.up_proj.W": np.zeros((4, 3))},
                  {**state, "step": np.array(-1)}, {**state, "step": np.array(2.5)}, {**state, "more": np.zeros(1)}):
        fresh = na.Adam(model)
        with pytest.raises(ValueError, match=r"state|shape|step"):
            fresh.load_state_dict(wrong)
        assert fresh.steps == 0
        assert not fresh.state["m"]["up_proj.W"].any()


def test_state_dict_is_a_copy():
    model = small_model()
    optimizer = na.Adam(model)
    state = optimizer.state_dict()
    optimizer.step()
    assert not state["m.up_proj.W"].any()
    assert state["step"] == 0


@pytest.mark.parametrize("make", [
    lambda m: na.SGD(m, -0.1), lambda m: na.SGD(m, math.nan), lambda m: na.SGD(m, "fast"), lambda m: na.Adam(m, True),
    lambda m: na.SGD(m, 0.1, momentum=-1), lambda m: na.SGD(m, 0.1, nesterov=True),
    lambda m: na.SGD(m, 0.1, momentum=0.9, dampening=0.1, nesterov=True), lambda m: na.Adam(m, betas=(1.0, 0.9)),
    lambda m: na.Adam(m, eps=-1), lambda m: na.AdamW(m, weight_decay=-0.1), lambda m: na.SGD(m, math.inf),
])
def test_settings_that_make_no_sense_are_refused(make):
    with pytest.raises(ValueError, match=r"lr|momentum|nesterov|betas|eps|weight_decay"):
        make(na.Linear(2, 2))


def test_clipping_leaves_short_gradients_as_they_are():
    model = small_model()
    before = model.named_grads()
    norm = na.clip_grad_norm(model, 1e6)
    assert norm == pytest.approx(math.sqrt(sum((g**2).sum() for g in before.values())))
    for name, g in model.named_grads().items():
        np.testing.assert_array_equal(g, before[name])


def test_clipping_survives_gradients_whose_squares_overflow():
    layer = na.Layer()
    layer.params, layer.grads = {"W": np.zeros(2)}, {"W": np.array([3e200, 4e200])}
    assert na.clip_grad_norm(layer, 1.0) == pytest.approx(5e200)
    np.testing.assert_allclose(layer.grads["W"], [0.6, 0.8])


@pytest.mark.parametrize("size", [1e-200, 1e-30, 1.0, 1e30, 1e200, 0.0])
def test_the_norm_is_right_for_numbers_of_any_size(size):
    layer = na.Layer()
    layer.params, layer.grads = {"W": np.zeros(2), "b": np.zeros(1)}, {"W": np.array([3., 4.]) * size,
                                                                       "b": np.array([12.]) * size}
    assert na.clip_grad_norm(layer, math.inf) == pytest.approx(13 * size, rel=1e-14, abs=0)


@pytest.mark.parametrize("max_norm", [-1, math.nan, "1", True])
def test_clipping_refuses_a_norm_that_is_none(max_norm):
    with pytest.raises(ValueError, match="max_norm"):
        na.clip_grad_norm(small_model(), max_norm)


def test_clipping_refuses_what_it_cannot_scale():
    with pytest.raises(RuntimeError, match="no gradient yet"):
        na.clip_grad_norm(na.Linear(2, 2), 1.0)
    model = small_model()
    model.up_proj.grads["b"] = np.full(4, np.nan)
    before = model.named_grads()
    with pytest.raises(FloatingPointError, match=r"up_proj\.b"):
        na.clip_grad_norm(model, 1.0)
    assert all(g is before[name] for name, g in model.named_grads().items())


def test_schedules_rise_peak_and_end():
    lr = na.warmup_cosine(2.0, warmup=10, total=50, final=0.5)
    rates = [lr(step) for step in range(1, 61)]
    assert rates[0] == pytest.approx(0.2)
    assert rates[9] == max(rates) == 2.0
    assert rates[29] == pytest.approx(1.25)         # half way down
    assert rates[49:] == [0.5] * 11
    assert na.warmup_cosine(1.0, warmup=0, total=4)(1) < 1.0
    assert na.warmup_inverse_sqrt(1.0, warmup=4)(100) == pytest.approx(0.2)


def test_a_schedule_drives_an_optimizer_and_can_be_sent_to_another_process():
    schedule = pickle.loads(pickle.dumps(na.warmup_cosine(0.4, warmup=4, total=8)))
    layer = na.Layer()
    layer.params, layer.grads = {"W": np.zeros(1)}, {"W": np.ones(1)}
    optimizer = na.SGD(layer, schedule)
    moved = []
    for _ in range(4):
        before = layer.params["W"].copy()
        optimizer.step()
        moved.append((before - layer.params["W"]).item())
    np.testing.assert_allclose(moved, [0.1, 0.2, 0.3, 0.4])


@pytest.mark.parametrize("make", [
    lambda: na.warmup_cosine(1.0, warmup=5, total=5), lambda: na.warmup_cosine(1.0, warmup=-1, total=5),
    lambda: na.warmup_cosine(-1.0, warmup=1, total=5), lambda: na.warmup_cosine(math.nan, warmup=1, total=5),
    lambda: na.warmup_inverse_sqrt(1.0, warmup=0),
])
def test_schedules_that_make_no_sense_are_refused(make):
    with pytest.raises(ValueError, match=r"warmup|peak|final"):
        make()


def test_adam_without_memory_forgets_a_large_gradient_at_once():
    layer = na.Linear(1, 1, bias=False, rng=0, dtype=np.float32)
    optimizer = na.Adam(layer, lr=0.1, betas=(0.0, 0.0))
    for g in (1e3, 1e-3):
        before = layer.params["W"].copy()
        layer.grads["W"] = np.full((1, 1), g, np.float32)
        optimizer.step()
        assert_allclose(before - layer.params["W"], 0.1, rtol=1e-4)


def moved_once(make):
    layer = na.Linear(3, 2, rng=0)
    optimizer = make(layer)
    layer(np.ones((4, 3))), layer.backward(np.ones((4, 2)))
    return layer, optimizer


def other_shape(layer):
    layer.params["W"], layer.grads["W"] = np.zeros((3, 5)), np.ones((3, 5))


def one_more(layer):
    layer.params["c"], layer.grads["c"] = np.zeros(2), np.ones(2)


def read_only(layer):
    layer.params["W"].setflags(write=False)


def complex_params(layer):
    layer.params["W"] = layer.params["W"] * 1j


def complex_grads(layer):
    layer.grads["b"] = layer.grads["b"] * 1j


@pytest.mark.parametrize(("spoil", "says"), [
    (other_shape, "W has another shape than when this optimizer was made"),
    (one_more, "c has another shape .* or was not there"), (read_only, "W is read-only"),
    (complex_params, "W and its gradient must be real numbers"),
    (complex_grads, "b and its gradient must be real numbers"),
])
@pytest.mark.parametrize("make", [na.Adam, na.AdamW, lambda layer: na.SGD(layer, lr=0.1, momentum=0.9)],
                         ids=["Adam", "AdamW", "SGD"])
def test_a_step_that_cannot_be_done_changes_nothing(make, spoil, says):
    layer, optimizer = moved_once(make)
    spoil(layer)
    params, state = ({name: array.copy() for name, array in table.items()}
                     for table in (layer.params, optimizer.state_dict()))
    with pytest.raises((TypeError, ValueError), match=says):
        optimizer.step()
    assert all((layer.params[name] == array).all() for name, array in params.items())
    assert all((optimizer.state_dict()[name] == array).all() for name, array in state.items())


@pytest.mark.parametrize("wrong", [None, {"W": 1}, [na.Linear(2, 2)], na.Linear])
def test_only_layers_learn(wrong):
    for call in (lambda: na.Adam(wrong), lambda: na.SGD(wrong, 0.1), lambda: na.clip_grad_norm(wrong, 1.0)):
        with pytest.raises(TypeError, match="^layer must be a layer"):
            call()


def test_a_single_number_may_have_a_number_as_its_gradient():
    class Scale(na.Layer):
        def __init__(self):
            super().__init__()
            self.params["scale"] = np.array(2.0)

        def forward(self, x):
            out = x * self.params["scale"]
            self.cache = {"x": x, "out": out}
            return out

        def backward(self, dout):
            self.grads = {"scale": float((dout * self.cache["x"]).sum())}
            return dout * self.params["scale"]

    layer = Scale()
    layer([1., 2.]), layer.backward([1., 1.])
    assert na.clip_grad_norm(layer, 10.0) == 3.0
    na.SGD(layer, lr=0.5).step()
    assert layer.params["scale"] == 0.5
