"""Gradient checking: does backward say what forward does?

check.py             check_gradients, the way through all of it
layer_under_test.py  an object or a pair of functions, seen as one, and its time limit; copies.py: all that it holds
gradients.py         which gradient belongs to which input or parameter; subject.py: all of them, in copies
slopes.py            one slope with its error; measure.py: all of them, confirmed; verdict.py: how far they may differ
rules.py             what else is expected of a backward; remarks.py: what to mind, and what was not checked
diagnosis.py         what is wrong, in words; attention_steps.py: which step of attention
report.py            what comes out; step_curve.py: how good a step can be
overview.py          every layer of the package, or yours, or the race of the ways
"""
from .check import check_gradients
from .report import GradientReport
from .step_curve import step_curve

__all__ = ["GradientReport", "benchmark", "check_all", "check_gradients", "step_curve"]

_LATER = {"benchmark": "overview", "check_all": "overview"}


def __getattr__(name):
    if name in _LATER:
        from importlib import import_module
        return getattr(import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
