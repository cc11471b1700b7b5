"""Was a layer forgotten somewhere? A new one needs its file, a public name, an entry in the catalogue, and tests."""
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import numpy_attention as na
from numpy_attention import layers

from ..standard import EXAMPLES

MODULES = [importlib.import_module(m.name) for m in pkgutil.walk_packages(layers.__path__, f"{layers.__name__}.")]
PARTS = {"AdjustScores", "AroundAttention", "Attention"}     # what no user makes: tried inside the layers that use them
LAYERS = {name: value for module in MODULES for name, value in vars(module).items()
          if isinstance(value, type) and issubclass(value, na.Layer) and value.__module__ == module.__name__
          and name not in PARTS}
WORDS = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")]


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_is_public(name):
    module = LAYERS[name].__module__.removeprefix("numpy_attention")
    assert getattr(na, name, None) is LAYERS[name], f"numpy_attention/__init__.py: from {module} import {name}"
    assert name in na.__all__, f"numpy_attention/__init__.py, __all__: add {name}"


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_is_in_the_catalogue(name):
    assert name in {type(example.make()).__name__ for example in EXAMPLES.values()}, (
        f"numpy_attention/catalogue.py: EXAMPLES has no {name}")


@pytest.mark.parametrize("name", LAYERS)
def test_every_layer_has_tests_of_its_own(name):
    assert any(re.search(rf"\bna\.{name}\b", words) for words in WORDS), f"no tests/layers/test_*.py tries na.{name}"


@pytest.mark.parametrize("title", EXAMPLES)
def test_a_title_begins_with_the_name_of_its_layer(title):
    assert title.split(",")[0] == type(EXAMPLES[title].make()).__name__
