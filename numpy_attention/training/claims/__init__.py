"""The claims: what textbooks repeat about attention, each measured with several seeds, each with its margin.

    python -m numpy_attention claims               # all of them, on all processors
    python -m numpy_attention claims induction     # one of them
    python -m numpy_attention claims --attack      # under other conditions; the table is kept in attacked.md

A claim is a function of a seed; the files are sorted by what they ask about.
"""
from . import attack, depth, heads, matrices, memory, order  # noqa: F401  the last five add their claims to the list
from .claim import CLAIMS, Attack, Claim, Verdict, at_least, at_most, check_claims, claim

__all__ = ["CLAIMS", "Attack", "Claim", "Verdict", "at_least", "at_most", "attack", "check_claims", "claim"]
