"""The claims: what textbooks repeat about attention, each measured with several seeds, each with its margin.

    python -m numpy_attention claims               # all of them, on all processors
    python -m numpy_attention claims induction     # one of them

A claim is a function of a seed; the files are sorted by what they ask about.
"""
from . import depth, heads, matrices, memory, order  # noqa: F401  each adds its claims to the list
from .claim import CLAIMS, Claim, Verdict, at_least, at_most, check_claims, claim

__all__ = ["CLAIMS", "Claim", "Verdict", "at_least", "at_most", "check_claims", "claim"]
