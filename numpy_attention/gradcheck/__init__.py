"""Gradient checking: does backward say what forward does?

check.py       check_gradients, the way through all of it
callee.py      an object or a pair of functions, seen as one; parameters.py, returned.py, variables.py: its numbers
numeric.py     slopes by central differences and by the complex step; directional.py: all numbers at once
conduct.py     what else is expected of a backward
diagnosis.py   what is wrong, in words; ratios.py, hidden.py, story.py: how it knows
report.py      what comes out; row.py: one tensor; layout.py, machine.py, picture.py: as text, for machines, a figure
overview.py    every layer of the package, or yours; race.py, steps.py: measurements; command.py: from the shell
"""
from .check import check_gradients
from .report import GradientReport

__all__ = ["GradientReport", "benchmark", "check_all", "check_gradients", "step_curve"]

_LATER = {"benchmark": "race", "check_all": "overview", "step_curve": "steps"}


def __getattr__(name):
    if name in _LATER:
        from importlib import import_module
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
