"""What a trace remembers of the run it was read from, so that the run can be repeated and checked.

A layer forgets its last run at the next one, and an optimiser changes its parameters in place. So a trace keeps the
arguments of its forward (they are read-only already) and a copy of the learned arrays.
"""
import copy
import inspect

import numpy as np


class LayerRun:
    """The run of a layer: `arguments` of its forward by name, `parameters` by dotted name.

    constants: what the formulas of the steps use besides the steps, by the names there; learned: those of them that
    are parameters, with the parameter's dotted name.

    >>> run = na.worked_example("by-hand").trace().run
    >>> list(run.arguments), run.forward().shape
    (['Q', 'K', 'V'], (3, 4))
    """

    def __init__(self, layer=None, binding=None):
        self.constants, self.learned = (binding.constants, binding.learned) if binding else ({}, {})
        self.layer, self.parameters, self.arguments, self.roles = layer, {}, {}, {}
        if layer is not None:
            self.parameters = {name: array.copy() for name, array in layer.named_params().items()}
            names = inspect.signature(layer.forward).parameters
            self.arguments = {name: layer.cache[name] for name in names if layer.cache.get(name) is not None}
            mask, query = self.arguments.get("mask"), self.arguments.get("query")
            if mask is not None and query is not None and query.ndim == 2 and mask.ndim == 3:
                self.arguments["mask"] = mask[None]         # (H, L, S) of a single sequence
            for name, array in layer.cache.items():         # x is query, key and value at once
                self.roles[name] = [role for role in self.arguments if layer.cache[role] is array]

    def forward(self):
        """The run's result once more."""
        return self.again()()

    def again(self):
        """A function that repeats the run on a copy of the layer, with one argument or learned array replaced."""
        return self.copy()[1]

    def copy(self):
        """A copy of the layer, and the function that repeats the run on it."""
        layer = copy.deepcopy(self.layer)
        slots = _slots(layer)

        def forward(name=None, value=None):
            for key, (params, short) in slots.items():
                params[short] = value if key == name else self.parameters[key]
            arguments = dict(self.arguments)
            if name in arguments:
                arguments[name] = value
            elif name is not None and name not in self.parameters:
                arguments.update(dict.fromkeys(self.roles[name], value))
            return np.asarray(layer.forward(**arguments))

        return layer, forward


def _slots(layer, prefix=""):
    found = {prefix + short: (layer.params, short) for short in layer.params}
    for name, inner in layer.sublayers().items():
        found |= _slots(inner, f"{prefix}{name}.")
    return found
