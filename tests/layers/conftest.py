"""NumPy's floating-point warnings are errors in every test of a layer: a layer has to be silent by itself."""
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _raise_on_floating_point_trouble():
    with np.errstate(all="raise"):
        yield
