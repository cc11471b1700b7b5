"""Somebody's own layer from the command line: module:factory, or file.py:factory.

    # my_layer.py
    def factory():
        return MyLayer(8, 3), np.ones((2, 8))                  # the layer, its inputs, and if wanted {"mask": ...}
"""
import importlib
import importlib.util
import os
import sys

HOW = "a factory returns the layer and its inputs: return MyLayer(), np.ones((2, 3)), or with a dictionary of options"


def load(target):
    """(layer, inputs, options) of what `target` names.

    Raises: ValueError with a sentence for whatever is wrong with the name, the module or what its factory returns.
    """
    module, colon, name = target.rpartition(":")
    if not colon or not module or not name:
        raise ValueError(f"{target!r} should read module:factory, such as my_layer:factory or my_layer.py:factory")
    factory = _imported(module)
    for part in name.split("."):
        if not hasattr(factory, part):
            raise ValueError(f"{module} has no {name}")
        factory = getattr(factory, part)
    try:
        made = factory() if callable(factory) and not isinstance(factory, tuple) else factory
    except (Exception, SystemExit) as error:
        raise ValueError(f"{target} raised {_said(error)}; {HOW}") from None
    if not isinstance(made, tuple) or len(made) < 2:
        raise ValueError(f"{target} returned {type(made).__name__} alone; {HOW}")
    layer, *inputs = made
    options = inputs.pop() if isinstance(inputs[-1], dict) else {}
    return layer, inputs, options


def _imported(module):
    try:
        if module.endswith(".py"):
            spec = importlib.util.spec_from_file_location(os.path.basename(module)[:-3], module)
            loaded = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(loaded)
            return loaded
        if os.getcwd() not in sys.path:
            sys.path.insert(0, os.getcwd())
        return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{module} cannot be imported: {_said(error)}") from None


def _said(error):
    if isinstance(error, SystemExit):
        return f"it ended the program (SystemExit: {error})"
    return f"{type(error).__name__}: {error}"


def example():
    """A factory as a user would write it."""
    import numpy as np

    from ..layers.linear import Linear
    return Linear(4, 3, rng=0), np.random.default_rng(0).standard_normal((2, 4)), {}
