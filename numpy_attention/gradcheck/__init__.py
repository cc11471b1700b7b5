"""Gradient checking: does backward say what forward does?"""
from .check import check_gradients
from .report import GradientReport

__all__ = ["GradientReport", "check_gradients"]
