"""Every example in a docstring runs, with `np` and `na` as a notebook would have them."""
import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import numpy_attention as na

MODULES = ["numpy_attention", *(m.name for m in pkgutil.walk_packages(na.__path__, "numpy_attention.")
                                if not m.name.endswith("__main__"))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    result = doctest.testmod(importlib.import_module(name), extraglobs={"np": np, "na": na})
    assert result.failed == 0


def test_every_public_name_has_an_example():
    # A class may show its example at the class, a function at the function.
    missing = [name for name in na.__all__ if ">>>" not in (getattr(na, name).__doc__ or "")]
    assert not missing
