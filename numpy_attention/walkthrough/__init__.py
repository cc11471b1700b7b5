"""The walkthrough: every step of a run, with its name, formula, shape and numbers."""
from .examples import WorkedExample, trace, worked_example
from .step import Step
from .stepper import Stepper
from .trace import Trace

__all__ = ["Step", "Stepper", "Trace", "WorkedExample", "trace", "worked_example"]
