"""A small form of python -m tests.fuzz, and a planted fault that it finds."""
import numpy_attention as na

from .fuzz import fuzz


def test_random_configurations():
    assert list(fuzz(120, seed=7)) == []


def test_it_finds_a_planted_fault(monkeypatch):
    backward = na.Linear.backward

    def shifted(self, dout):
        dx = backward(self, dout)
        if "b" in self.grads and dout.ndim > 2:
            self.grads["b"] = self.grads["b"] + 1e-6
        return dx
    monkeypatch.setattr(na.Linear, "backward", shifted)
    assert any("slope" in sentence for _, _, sentence in fuzz(20, seed=7))
