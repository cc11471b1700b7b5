"""What is checked, whatever it is: numbers that can be nudged, a forward, a backward.

A gradient check asks one question of every number that goes into a layer: if I nudge this number, does the output
move as backward says? So a layer is seen here as `variables` (its inputs and its parameters, each a flat row of
numbers), `forward()` at their present values, and `backward(dout)`, which hands out one gradient for each variable.
The layer itself is a deep copy; the caller's is never touched.
"""
import copy
import inspect

import numpy as np


class Variable:
    """Numbers that may be nudged: `values` is flat, `shape` says how the layer sees them."""

    def __init__(self, name, array, kind):
        self.name, self.kind, self.shape = name, kind, array.shape
        self.values = array.astype(np.float64).reshape(-1)

    def array(self):
        return self.values.reshape(self.shape)


class Subject:
    """A layer with its inputs, on copies: `variables`, `forward()`, `backward(dout)`."""

    def __init__(self, layer, inputs, keywords):
        self.layer = copy.deepcopy(layer)
        self.name = type(layer).__name__
        self.keywords = {name: copy.deepcopy(value) for name, value in keywords.items()}
        integer = getattr(layer, "integer_inputs", ())
        self.arguments, self.variables = [], {}
        for name, given in zip(_argument_names(layer, len(inputs)), inputs, strict=True):
            array = np.array(given)
            if name in integer or array.dtype.kind not in "fciu":
                self.arguments.append(array)
            else:
                self.arguments.append(Variable(name, array, "input"))
        self._name_variables()

    def _name_variables(self):
        """One run, to see which gradients backward hands out and under which names."""
        out = self.forward()
        self.shape, self.dtype = out.shape, out.dtype
        self.is_loss = out.ndim == 0 and not _needs_upstream(self.layer)
        returned = self._returned(np.zeros_like(out))
        wanted = [a for a in self.arguments if isinstance(a, Variable)]
        if len(returned) == len(self.arguments):
            pairs = [(a, g) for a, g in zip(self.arguments, returned, strict=True) if isinstance(a, Variable)]
        elif len(returned) == len(wanted):
            pairs = list(zip(wanted, returned, strict=True))
        elif not returned:
            pairs = []
        else:
            raise ValueError(f"{self.name}.backward returned {len(returned)} gradients for {len(wanted)} inputs")
        grads = getattr(self.layer, "grads", None) or {}
        pairs = [(variable, gradient) for variable, gradient in pairs if gradient is not None]
        for variable, gradient in pairs:
            if grads.get(variable.name) is not gradient:
                variable.name = next((name for name, g in reversed(grads.items()) if g is gradient), variable.name)
        self.inputs = [variable for variable, _ in pairs]
        self.keyword_inputs = [name for name, value in self.keywords.items() if name in grads
                               and isinstance(value, np.ndarray) and value.dtype.kind in "fc"]
        for name in self.keyword_inputs:
            self.keywords[name] = Variable(name, self.keywords[name], "input")
        self.variables = {v.name: v for v in [*self.inputs, *(self.keywords[n] for n in self.keyword_inputs)]}
        self.slots = {}
        for name, params, key in _parameters(self.layer):
            self.variables[name] = Variable(name, params[key], "parameter")
            self.slots[name] = params, key
        self.use(np.float64)

    def use(self, dtype):
        """Carry all variables as `dtype` from now on."""
        for variable in self.variables.values():
            values = variable.values if np.issubdtype(dtype, np.complexfloating) else variable.values.real
            variable.values = values.astype(dtype)
        for name, (params, key) in self.slots.items():
            params[key] = self.variables[name].array()

    def forward(self):
        """The output at the variables' present values."""
        inputs = [a.array() if isinstance(a, Variable) else a for a in self.arguments]
        keywords = {name: a.array() if isinstance(a, Variable) else a for name, a in self.keywords.items()}
        return np.asarray(self.layer.forward(*inputs, **keywords))

    def backward(self, dout):
        """{variable name: gradient} of Σ dout ∘ out, after a fresh forward."""
        self.forward()
        found = dict(zip((v.name for v in self.inputs), (g for g in self._returned(dout) if g is not None),
                         strict=False))
        found.update({name: self.layer.grads[name] for name in self.keyword_inputs})
        found.update({name: layer_grads[key] for name, layer_grads, key in _parameters(self.layer, "grads")})
        return {name: np.asarray(found[name]) for name in self.variables}

    def _returned(self, dout):
        returned = self.layer.backward() if self.is_loss else self.layer.backward(dout)
        if returned is None:
            return []
        return list(returned) if isinstance(returned, tuple | list) else [returned]


def _argument_names(layer, count):
    parameters = inspect.signature(layer.forward).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [names[i] if i < len(names) else f"input {i}" for i in range(count)]


def _needs_upstream(layer):
    parameters = inspect.signature(layer.backward).parameters.values()
    return any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def _parameters(layer, which="params", prefix=""):
    """(dotted name, dictionary, key) of every learned array in the layer and its sublayers."""
    found = [(prefix + key, getattr(layer, which), key) for key in layer.params]
    for name, inner in layer.sublayers().items():
        found += _parameters(inner, which, f"{prefix}{name}.")
    return found
