"""What is no setting of the draw is refused by its name, whatever it is, before anything is chosen."""
import math

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.models import choose, generate

MODEL = na.training.ToyModel(7, 9, causal=True, rng=0)
WRONG = {
    "temperature": [math.nan, math.inf, -1, True, np.bool_(True), "1", None, [1], np.array([1, 2]), 1j, {}],
    "top_k": [math.nan, -1, 0, True, 2.5, "3", [1], np.array([1, 2]), 1j],
    "top_p": [math.nan, 0, 1.5, True, "1", [1], np.array([0.1, 0.2]), 1j, {}],
}
CASES = [(name, wrong) for name in WRONG for wrong in WRONG[name]]


@pytest.mark.parametrize(("name", "wrong"), CASES, ids=repr)
def test_settings(name, wrong):
    for call in (lambda **o: choose(np.zeros((2, 7)), **o), lambda **o: generate(MODEL, [1, 2], 3, **o)):
        with pytest.raises((TypeError, ValueError), match=f"^{name} must"):
            call(**{name: wrong})


@pytest.mark.parametrize(("name", "wrong"), [
    ("seed", -1), ("seed", 0.5), ("seed", True), ("stop", 0.5), ("stop", [0.5]), ("stop", -1), ("each", 1),
    ("each", "print"), ("prompt", 1), ("prompt", None), ("prompt", math.nan), ("n", 0.5), ("n", True),
], ids=repr)
def test_the_rest(name, wrong):
    given = {"prompt": [1, 2], "n": 3, name: wrong}
    with pytest.raises((TypeError, ValueError), match=rf"^{name} must"):
        generate(MODEL, **given)
    for prompt in ([0.5], [-1], [True], [[1, 2], [0.5, 1]]):
        with pytest.raises((TypeError, ValueError), match="^an id of the prompt must"):
            generate(MODEL, prompt, 3)


@pytest.mark.parametrize("logits", [1, "a", [1, 2], [[1j]], [[math.nan, 1]], [[]], [[1], [2, 3]], None], ids=repr)
def test_logits(logits):
    with pytest.raises((TypeError, ValueError), match="^logits must"):
        choose(logits)
