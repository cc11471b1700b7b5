"""From outside: the command, the pytest fixture, the benchmark, the full-size layer."""
import os
import subprocess
import sys

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention import gradcheck
from numpy_attention.gradcheck.overview import command, overview, race

from .test_others_layers import normal

LAYER = """
import numpy as np
class Square:
    def forward(self, x):
        self.x = x
        return x * x
    def backward(self, dout):
        return {factor} * self.x * dout
def factory():
    return Square(), np.arange(1.0, 4.0)
def alone():
    return Square()
def options():
    return Square(), np.ones(3), {{"method": "central"}}
def test_square(gradcheck):
    gradcheck(Square(), np.arange(1.0, 4.0))
"""


@pytest.fixture
def own_layer(tmp_path):
    def write(factor):
        path = tmp_path / f"square_{factor}.py"
        path.write_text(LAYER.format(factor=factor))
        return path
    return write


def test_command_on_a_file(own_layer):
    text, ok = command(f"{own_layer(2)}:factory")
    assert ok
    assert "Square: all 3 numbers agree" in text
    text, ok = command(f"{own_layer(3)}:factory")
    assert not ok
    assert "1.5 times" in text
    assert command(f"{own_layer(2)}:options")[1]


@pytest.mark.parametrize(("target", "words"), [
    ("square", "should read module:factory"), ("no_such_module:f", "cannot be imported"), ("math:f", "math has no f"),
    ("math:pi", "a factory returns the layer and its inputs"), ("json:loads", "raised TypeError"),
    ("missing.py:f", "cannot be imported: FileNotFoundError"),
])
def test_command_says_what_is_missing(target, words):
    with pytest.raises(ValueError, match=words):
        command(target)


def test_command_wants_the_inputs_too(own_layer):
    with pytest.raises(ValueError, match="returned Square alone"):
        command(f"{own_layer(2)}:alone")


def test_table_of_the_package():
    reports = gradcheck.check_all(["Linear", "ScaledDotProductAttention, mask", "Embedding", "CrossEntropyLoss",
                                   "Dropout"])
    assert len(reports) == 5
    for title, report in reports.items():
        assert report.ok, f"{title}\n{report}"
        assert report.largest < 1e-12
    lines = overview(reports)
    assert "5 layers" in lines[-1]
    assert "all agree" in lines[-1]


def test_fixture(own_layer):
    for factor, status, words in ((2, 0, "1 passed"), (3, 1, "What is wrong")):
        run = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "numpy_attention.gradcheck.pytest_plugin", "-p",
             "no:cacheprovider", own_layer(factor)], capture_output=True, text=True, cwd=own_layer(factor).parent,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": os.pathsep.join(sys.path)})
        assert run.returncode == status, run.stdout + run.stderr
        assert words in run.stdout


def test_ours_needs_less_than_half_the_runs_of_the_plain_loop():
    small = na.MultiHeadAttention(4, 2, rng=0), normal(2, 3, 4)
    ways = {way: error for way, _, _, error in race(rounds=1, case=small)}
    assert ways["ours: complex step, confirmed"] < 1e-12 < ways["the plain loop of a course"] < 1e-8
    runs = []

    class Counted(na.MultiHeadAttention):
        def forward(self, query):
            runs.append(1)
            return super().forward(query)
    report = na.check_gradients(Counted(8, 2, rng=0), normal(2, 4, 8))
    assert report.ok
    assert len(runs) < report.elements + 100 < 2 * report.elements


def test_a_million_numbers_in_one_go():
    mha = na.MultiHeadAttention(512, 8, rng=0)
    report = na.check_gradients(mha, normal(1, 3, 512), rules=False)
    assert report.ok
    assert report.elements == 4 * 512 * 512 + 4 * 512 + 3 * 512
    assert "all at once" in report.method
    assert report.largest < 1e-11

    class Slip(na.MultiHeadAttention):
        def backward(self, dout):
            dx = super().backward(dout)
            dW = self.key_proj.grads["W"].copy()
            dW[7, 7] *= 1.001                           # one number in a million, off by a thousandth
            self.key_proj.grads["W"] = dW
            return dx
    report = na.check_gradients(Slip(512, 8, rng=0), normal(1, 3, 512), rules=False)
    assert not report.ok
    assert [row.name for row in report.rows if not row.ok] == ["all at once", "key_proj.W"]


def test_directional_central_differences():
    def forward(x, w):
        return np.abs(x) * w, (x, w)

    def backward(dout, cache):
        x, w = cache
        return dout * np.sign(x) * w, dout * np.abs(x)
    x, w = normal(300), normal(300, seed=3)
    na.check_gradients((forward, backward), x, w, method="directional").assert_ok()
    report = na.check_gradients((forward, lambda d, c: (backward(d, c)[0], backward(d, c)[1] * 1.01)), x, w,
                                method="directional")
    assert [row.ok for row in report.rows] == [False, True, False]
