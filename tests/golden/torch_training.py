"""torch's losses and optimisers."""
import numpy as np

import numpy_attention as na

from .reference import adapter
from .torch_layers import along


@adapter("torch", "LogSoftmax")
def log_softmax(case):
    return along(case, na.LogSoftmax())


@adapter("torch", "CrossEntropy")
def cross_entropy(case):
    attrs, given = case.attrs, case.inputs
    logits = np.moveaxis(given["logits"], attrs["class_dim"], -1)       # ours wants the classes last
    loss = na.CrossEntropyLoss(class_weights=given.get("weight"), ignore_index=attrs["ignore_index"],
                               label_smoothing=attrs["label_smoothing"], reduction=attrs["reduction"])
    out = loss(logits, given["target"])
    dlogits = loss.backward(given["grad_out"]) if "grad_out" in given else loss.backward()
    return {"out": out, "grad_logits": np.moveaxis(dlogits, -1, attrs["class_dim"])}


class Parameters(na.Layer):
    """A layer that is nothing but parameters, with gradients handed in."""

    def __init__(self, **params):
        super().__init__()
        self.params.update({name: array.copy() for name, array in params.items()})


def _trajectory(case, optimizer, states, **settings):
    """The parameters after each step, stacked, and the optimiser's own arrays after the last, under torch's names."""
    start, grads = ({name.removeprefix(prefix): array for name, array in case.inputs.items() if name.startswith(prefix)}
                    for prefix in ("param_", "grad_"))
    layer = Parameters(**start)
    optimizer = optimizer(layer, case.attrs["lr"], weight_decay=case.attrs["weight_decay"], **settings)
    after = {f"param_{name}": [] for name in start}
    for step in range(case.attrs["steps"]):
        layer.grads = {name: grad[step] for name, grad in grads.items()}
        optimizer.step()
        for name, array in layer.params.items():
            after[f"param_{name}"].append(array.copy())
    kept = {f"state_{theirs}_{name}": optimizer.state[ours][name]
            for ours, theirs in states.items() if ours in optimizer.slots for name in start}
    return {**{name: np.stack(arrays) for name, arrays in after.items()}, **kept}


@adapter("torch", "SGD")
def sgd(case):
    settings = {name: case.attrs[name] for name in ("momentum", "dampening", "nesterov")}
    return _trajectory(case, na.SGD, {"velocity": "momentum_buffer"}, **settings)


@adapter("torch", "Adam")
@adapter("torch", "AdamW")
def adam(case):
    settings = {name: case.attrs[name] for name in ("betas", "eps", "amsgrad")}
    states = {"m": "exp_avg", "v": "exp_avg_sq", "v_max": "max_exp_avg_sq"}
    return _trajectory(case, getattr(na, case.op), states, **settings)


@adapter("torch", "ClipGradNorm")
def clip_grad_norm(case):
    grads = {name.removeprefix("grad_"): array for name, array in case.inputs.items()}
    layer = Parameters(**grads)
    layer.grads = dict(grads)
    norm = na.clip_grad_norm(layer, case.attrs["max_norm"])
    return {"total_norm": norm, **{f"clipped_{name}": array for name, array in layer.grads.items()}}
