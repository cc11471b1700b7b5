"""Optimizers: how far each parameter moves, once its gradient is known.

The gradient says which way the loss grows, so every parameter takes a step the other way. SGD steps in proportion to
the gradient; with momentum, the steps gather speed like a ball that rolls downhill. Adam divides each number's step by
the size that its own gradients usually have, so that all numbers move at a similar pace. AdamW is Adam with weight
decay done apart: a pull towards 0 that Adam's division does not touch.

    optimizer = na.Adam(model, lr=1e-3)
    loss(model(x), target)              # forward
    model.backward(loss.backward())     # backward
    optimizer.step()                    # update, in place
"""
import math
from collections import Counter

import numpy as np

from ..engine.arguments import is_number, positive, switch
from ..engine.layer import known_layer

SMALL = 1 << 15         # numbers: a larger array is updated by itself


class Optimizer:
    """What all optimizers share: the layer, the step count, and one state array per slot and parameter.

    A subclass names its slots and writes `update(p, g, lr, **slots)`, which changes p and the slots in place. If it
    says `elementwise = True`, update treats every number by itself, and small arrays are handed to it as one vector.

    step() changes nothing and says why if a gradient is missing, has the wrong shape, or is not finite.
    state_dict() gives {"step": ..., "slot.parameter": array} for a checkpoint, load_state_dict() takes it back.
    """

    slots = ()
    elementwise = False

    def __init_subclass__(cls):
        cls.elementwise = vars(cls).get("elementwise", cls.elementwise and "update" not in vars(cls))

    def __init__(self, layer, lr, weight_decay=0.0):
        if not callable(lr):
            in_range("lr", lr)
        self.layer, self.lr, self.weight_decay = known_layer(layer), lr, in_range("weight_decay", weight_decay)
        self.steps = 0
        self.state = {slot: {name: np.zeros_like(p) for name, p in layer.named_params().items()} for slot in self.slots}

    def step(self):
        """Move every parameter of the layer by one step, in place."""
        params, grads = {}, {}
        for name, owner, own_name in learned(self.layer):
            params[name], grads[name] = owner.params[own_name], gradient(owner, own_name)
            check_gradient(name, params[name], grads[name])
            if self.slots and np.shape(self.state[self.slots[0]].get(name)) != params[name].shape:
                raise ValueError(f"{name} has another shape than when this optimizer was made, or was not there: make "
                                 "a new optimizer, whose running means fit it")
        groups = [(names, _as_one(grads, names)) for names in self._groups(params, grads)]
        for names, g in groups:
            check_finite(names, g, grads)
        step = self.steps + 1
        lr = in_range(f"the schedule's rate at step {step}", self.lr(step)) if callable(self.lr) else self.lr
        self.steps = step
        for names, g in groups:
            p, slots = _as_one(params, names), {slot: _as_one(self.state[slot], names) for slot in self.slots}
            self.update(p, g, lr, **slots)
            if len(names) > 1:
                _take_apart(p, params, names)
                for slot, vector in slots.items():
                    _take_apart(vector, self.state[slot], names)

    def _groups(self, params, grads):
        """Names whose arrays are updated together: small ones of one dtype, as a NumPy call costs more than they do.

        An array that stands twice among the parameters, or shares another's memory, is updated twice, one after the
        other; so it stays alone.
        """
        together, groups = {}, []
        often = Counter(map(id, params.values()))
        for name, p in params.items():
            if self.elementwise and p.size <= SMALL and p.flags.owndata and often[id(p)] == 1:
                together.setdefault((p.dtype, grads[name].dtype), []).append(name)
            else:
                groups.append([name])
        return [*groups, *together.values()]

    def state_dict(self):
        """A copy of everything that the next step depends on, parameters and settings aside."""
        arrays = {f"{slot}.{name}": array.copy() for slot in self.slots for name, array in self.state[slot].items()}
        return {"step": np.array(self.steps), **arrays}

    def load_state_dict(self, state):
        """Take back what state_dict() gave; ValueError, and nothing changed, if it belongs to something else."""
        own = self.state_dict()
        if set(state) != set(own):
            raise ValueError(f"this is not the state of {type(self).__name__} for this layer: missing "
                             f"{sorted(set(own) - set(state))}, unknown {sorted(set(state) - set(own))}")
        state = {name: np.asarray(array) for name, array in state.items()}
        for name, array in own.items():
            if state[name].shape != array.shape or state[name].dtype.kind != array.dtype.kind:
                raise ValueError(f"{name} must have shape {array.shape} and dtype {array.dtype}; "
                                 f"got {state[name].shape} and {state[name].dtype}")
        if state["step"] < 0:
            raise ValueError(f"step must not be negative; got {state['step']}")
        self.steps = int(state["step"])
        for slot in self.slots:
            for name, array in self.state[slot].items():
                array[...] = state[f"{slot}.{name}"]


class SGD(Optimizer):
    """p −= lr · g; with momentum, p −= lr · velocity, where velocity = momentum · velocity + g.

    Args:
        layer: any layer. lr: step size, or a function of the step number (1 at first), such as a schedule.
        momentum: how much of the last step's velocity is kept. dampening: the part of g that velocity leaves out.
        nesterov: step by g + momentum · velocity, looking one step ahead.
        weight_decay: adds weight_decay · p to g, a pull towards 0.

    >>> layer = na.Linear(2, 1, bias=False, rng=0)
    >>> optimizer, loss = na.SGD(layer, lr=0.1), na.MeanSquaredError()
    >>> for _ in range(300):
    ...     value = loss(layer([[1., 0.], [1., 1.]]), [[2.], [5.]])
    ...     _ = layer.backward(loss.backward()[0])
    ...     optimizer.step()
    >>> layer.params["W"].round(3)
    array([[2.],
           [3.]])

    Source: Polyak 1964; Sutskever et al. 2013 for Nesterov's; in PyTorch's form, where the first velocity is g itself.
    """

    elementwise = True

    def __init__(self, layer, lr, *, momentum=0.0, dampening=0.0, nesterov=False, weight_decay=0.0):
        self.momentum, self.dampening = in_range("momentum", momentum), in_range("dampening", dampening)
        nesterov = switch("nesterov", nesterov)
        if nesterov and (momentum == 0 or dampening != 0):
            raise ValueError("nesterov looks ahead along the velocity: it needs momentum > 0 and dampening = 0")
        self.nesterov = nesterov
        self.slots = ("velocity",) if momentum else ()
        super().__init__(layer, lr, weight_decay)

    def update(self, p, g, lr, velocity=None):
        g = g + self.weight_decay * p
        if velocity is not None:
            velocity *= self.momentum
            velocity += g if self.steps == 1 else (1 - self.dampening) * g
            g = g + self.momentum * velocity if self.nesterov else velocity
        p -= lr * g


class Adam(Optimizer):
    """p −= lr · m̂ / (√v̂ + eps), where m is the running mean of g and v that of g².

    Both means start at 0 and are too small at first; m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ) make up for it.

    Args:
        layer: any layer. lr: step size, or a function of the step number (1 at first), such as a schedule.
        betas: β₁ and β₂, how much of the running means is kept each step. eps: keeps the division finite.
        weight_decay: adds weight_decay · p to g. (Most of it then gets lost in the division: see AdamW.)
        amsgrad: divide by the largest v so far.

    >>> layer = na.Linear(3, 2, rng=0)
    >>> optimizer = na.Adam(layer, lr=0.01)
    >>> before = layer.params["b"].copy()
    >>> _ = layer(np.ones((1, 3))), layer.backward([[5., -0.001]])
    >>> optimizer.step()
    >>> (layer.params["b"] - before).round(4)       # large or small, each number's first step is lr
    array([-0.01,  0.01])

    Source: Kingma and Ba 2015, algorithm 1; amsgrad: Reddi et al. 2018, in PyTorch's form.
    """

    elementwise = True

    def __init__(self, layer, lr=1e-3, *, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False):
        if not isinstance(betas, tuple | list) or len(betas) != 2:
            raise ValueError(f"betas must be two numbers, (β₁, β₂), such as (0.9, 0.999); got {betas!r}")
        self.betas = tuple(in_range(f"betas[{i}]", beta, below=1) for i, beta in enumerate(betas))
        self.eps = in_range("eps", eps)
        self.slots = ("m", "v", "v_max") if switch("amsgrad", amsgrad) else ("m", "v")
        super().__init__(layer, lr, weight_decay)

    def update(self, p, g, lr, m, v, v_max=None):
        (beta1, beta2), t = self.betas, self.steps
        g = g + self.weight_decay * p
        m *= beta1
        m += (1 - beta1) * g
        v *= beta2
        v += (1 - beta2) * (g * g)                  # not v += (1 − β₂)(g² − v): where v is far larger, g² would be lost
        if v_max is not None:
            np.maximum(v_max, v, out=v_max)
            v = v_max
        m_hat = m / (1 - beta1**t)
        v_hat = v / (1 - beta2**t)
        p -= lr * m_hat / (np.sqrt(v_hat) + self.eps)


class AdamW(Adam):
    """Adam, after p −= lr · weight_decay · p: the pull towards 0 is the same for all, however large their gradients.

    Args: as Adam's.

    >>> layer = na.Linear(1, 1, bias=False, rng=0)
    >>> layer.params["W"][:] = 2.0
    >>> optimizer = na.AdamW(layer, lr=0.1, weight_decay=0.5)
    >>> _ = layer([[1.]]), layer.backward([[0.]])
    >>> optimizer.step()
    >>> layer.params["W"]                           # no gradient, only decay: 2 - 0.1 · 0.5 · 2
    array([[1.9]])

    Source: Loshchilov and Hutter 2019, algorithm 2.
    """

    elementwise = True

    def __init__(self, layer, lr=1e-3, *, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, amsgrad=False):
        super().__init__(layer, lr, betas=betas, eps=eps, amsgrad=amsgrad)
        self.decay = in_range("weight_decay", weight_decay)     # Adam's own, in the gradient, stays 0

    def update(self, p, g, lr, m, v, v_max=None):
        p -= lr * self.decay * p
        super().update(p, g, lr, m, v, v_max)


def learned(layer, path=""):
    """(name, layer, name within it) of each learned array of `layer` and of the layers that it is made of."""
    found = [(path + name, layer, name) for name in layer.params]
    for name, inner in layer.sublayers().items():
        found += learned(inner, f"{path}{name}.")
    return found


def _as_one(table, names):
    """The arrays of these names as one vector; a single array stays as it is."""
    return table[names[0]] if len(names) == 1 else np.concatenate([table[name].ravel() for name in names])


def _take_apart(vector, table, names):
    """Write a vector's numbers back to the arrays of these names."""
    start = 0
    for name in names:
        array = table[name]
        array[...] = vector[start:start + array.size].reshape(array.shape)
        start += array.size


def gradient(owner, name):
    """The gradient of a layer's learned array, None where there is none; that of a single number may be a number."""
    return np.asarray(owner.grads[name]) if name in owner.grads else None


def check_gradient(name, p, g):
    """The parameter `name` can be moved and its gradient is there and fits, or an error says what is wrong."""
    if g is None:
        raise RuntimeError(f"{name} has no gradient yet: run forward and backward before the step")
    if g.shape != p.shape:
        raise ValueError(f"the gradient of {name} must have its shape, {p.shape}; got {g.shape}")
    if p.dtype.kind != "f" or g.dtype.kind not in "fiu":
        raise TypeError(f"{name} and its gradient must be real numbers; they are {p.dtype} and {g.dtype}")
    if not p.flags.writeable:
        raise ValueError(f"{name} is read-only: give the layer a copy of its own, which may be changed")


def check_finite(names, vector, grads):
    """The gradients of these names, together in the vector, are finite, or an error names the first that is not."""
    if not np.isfinite(vector).all():
        name = next(name for name in names if not np.isfinite(grads[name]).all())
        raise FloatingPointError(f"the gradient of {name} holds NaN or infinity: nothing was changed. A smaller lr or "
                                 "na.clip_grad_norm may help")


def in_range(name, value, below=math.inf):
    """`value` as a number 0 <= value < below, or an error that names it."""
    if not is_number(value) or not 0 <= value < below:
        raise ValueError(f"{name} must be a number with 0 <= {name} < {below}; got {value!r}")
    return value


def longest(name, value):
    """`value` as how long a gradient may be: not negative, and math.inf for as long as it likes; or an error."""
    return math.inf if isinstance(value, float) and value == math.inf else positive(name, value)


def clip_grad_norm(layer, max_norm):
    """Scale all gradients of the layer's parameters so that their common norm is at most max_norm.

    Now and then a batch gives a gradient far larger than all others, and one such step can undo the work of many. The
    direction stays, so all gradients are shortened alike. The norm is that of all gradients as one vector,
    √(Σ g²); they are scaled by min(1, max_norm / (norm + 1e-6)).

    Args: layer: any layer, after backward. max_norm: not negative; math.inf only measures.
    Returns: the norm before clipping, a float.
    Raises: RuntimeError before any backward, FloatingPointError if a gradient is not finite; nothing changes then.

    >>> layer = na.Linear(1, 2, rng=0)
    >>> _ = layer([[0.]]), layer.backward([[3., 4.]])
    >>> na.clip_grad_norm(layer, 1.0)
    5.0
    >>> layer.grads["b"].round(3)
    array([0.6, 0.8])

    Source: Pascanu, Mikolov and Bengio 2013, algorithm 1.
    """
    max_norm = longest("max_norm", max_norm)
    owned = learned(known_layer(layer))
    grads = {name: gradient(owner, own_name) for name, owner, own_name in owned if own_name in owner.grads}
    if missing := sorted({name for name, _, _ in owned} - set(grads)):
        raise RuntimeError(f"{missing[0]} has no gradient yet: run forward and backward before clipping")
    with np.errstate(all="ignore"):
        small = [g.ravel() for g in grads.values() if g.size <= SMALL]      # one call for all of them
        large = [g for g in grads.values() if g.size > SMALL]
        norm = math.sqrt(sum(map(_squares, [*large, *([np.concatenate(small)] if small else [])])))
    if not MIN_NORM < norm < math.inf:
        norm = _careful_norm(grads)
    scale = min(1.0, max_norm / (norm + 1e-6))
    if scale < 1:
        for _, owner, own_name in owned:
            owner.grads[own_name] = owner.grads[own_name] * scale
    return norm


MIN_NORM = 1e-140       # below, a square may have lost digits


def _squares(g, divisor=1.0):
    return float(np.square(g if divisor == 1 else g / divisor, dtype=np.float64).sum())


def _careful_norm(grads):
    """The same where a square is no number: everything is divided by the largest first."""
    largest = 0.0
    for name, g in grads.items():
        if not np.isfinite(g).all():
            raise FloatingPointError(f"the gradient of {name} holds NaN or infinity: nothing was clipped")
        largest = max(largest, float(np.abs(g).max(initial=0)))
    return largest * math.sqrt(sum(_squares(g, largest) for g in grads.values())) if largest else 0.0
