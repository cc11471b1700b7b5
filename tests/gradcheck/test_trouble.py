"""Whatever the checked code does, there is a sentence and the right exit status; and what the report says of causes."""
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.gradcheck.gradients import Slot, Variable
from numpy_attention.gradcheck.slopes import grain

from .collection import Linear
from .test_others_layers import normal, text


def of(forward, backward=lambda d, c: d):
    return forward, backward


def endless(x):
    while True:
        pass


def test_an_endless_loop_is_stopped_in_the_main_thread_and_in_others():
    started, reports, told = time.perf_counter(), [], []

    def check():
        reports.append(na.check_gradients(of(endless), normal(3), seconds=1, progress=told.append))
    check()
    thread = threading.Thread(target=check)
    thread.start()
    thread.join()
    assert all("endless was stopped after 1 s: an endless loop?" in report.problem for report in reports)
    assert len(reports) == 2
    assert time.perf_counter() - started < 60


def test_what_sleeps_is_woken():
    report = na.check_gradients(of(lambda x: time.sleep(1000)), normal(3), seconds=1)
    assert "stopped after 1 s" in report.problem


def test_a_word_of_progress():
    def slow(x):
        time.sleep(0.7)
        return x, None
    told = []
    na.check_gradients(of(slow), normal(1), rules=False, progress=told.append)
    assert "in slow" in told[0]


@pytest.mark.parametrize(("forward", "words"), [
    (lambda x: sys.exit(0), "ended the program (SystemExit: 0)"),
    (lambda x: ((i for i in range(3)), None), "must return an array of numbers; it returned generator"),
    (lambda x: 1 / 0, "ZeroDivisionError"),
    (lambda x: forever(x), "RecursionError"),
])
def test_there_is_a_sentence_for(forward, words):
    report = na.check_gradients(of(forward), normal(3))
    assert not report.ok
    assert words in text(report)


def forever(x):
    return forever(x)


@pytest.mark.parametrize("where", ["factory", "forward", "backward"])
def test_sys_exit_is_no_success(tmp_path, where):
    path = tmp_path / "own.py"
    path.write_text(f"import sys, numpy as np\nWHERE = {where!r}\n" + """
def leave(here, value):
    if here == WHERE:
        sys.exit(0)
    return value
def factory():
    return leave("factory", ((lambda x: leave("forward", (x, None)), lambda d, c: leave("backward", d)), np.ones(3)))
""")
    done = subprocess.run([sys.executable, "-W", "error", "-m", "numpy_attention", "gradcheck", f"{path}:factory"],
                          capture_output=True, text=True)
    assert done.returncode in (1, 2)
    assert "SystemExit: 0" in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr


def test_infinities_make_no_noise(capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for backward in (lambda d, x: d * np.inf, lambda d, x: np.full_like(d, np.nan)):
            assert not na.check_gradients(of(lambda x: (x * 2, x), backward), normal(3, 4)).ok
        assert not na.check_gradients(of(lambda x: (np.exp(x * 1e5), x), lambda d, x: d), normal(3, 4)).ok
    assert capsys.readouterr().err == ""


def test_a_forward_that_writes_is_measured_as_given_and_told_so():
    def forward(x):
        x += 1
        return np.tanh(x), x
    report = na.check_gradients((forward, lambda d, x: d * (1 - np.tanh(x) ** 2)), np.array([[0.5, -0.25]]),
                                upstream=np.ones((1, 2)))
    assert report.rows[0].ok
    assert report.rows[0].numeric[0, 0] == pytest.approx(0.18070664, abs=1e-8)
    assert "forward writes to x" in text(report)
    assert not report.diagnosis


def test_the_names_of_causes():
    def report(factor):
        return na.check_gradients(of(lambda x: (x * 2, x), lambda d, x: 2 * d * factor), normal(3, 4))
    assert "agrees to 7 of 16 digits: is something computed in float32" in report(1 + 7e-8).diagnosis[0]
    pattern = 1 + 0.3 * np.sin(np.arange(12.0)).reshape(3, 4)
    assert "no simple pattern. Look at the worst first: in x, (" in report(pattern).diagnosis[0]


def test_root_d_k_comes_before_root_d_v():
    class Unscaled(na.ScaledDotProductAttention):
        def backward(self, dheads):
            dQ, dK, dV = super().backward(dheads)
            return dQ * 6 ** 0.5, dK, dV
    report = na.check_gradients(Unscaled(), normal(2, 3, 4, 6), normal(2, 3, 5, 6), normal(2, 3, 5, 6))
    assert "√d_k" in report.diagnosis[0]


def test_a_layer_that_runs_twice_is_named_as_the_cause():
    class Twice:
        def __init__(self):
            self.lin = na.Linear(4, 4, rng=0)

        def forward(self, x):
            return self.lin(self.lin(x))

        def backward(self, d):
            return self.lin.backward(self.lin.backward(d))
    report = na.check_gradients(Twice(), normal(5, 4))
    assert "lin runs 2 times in one forward" in text(report)


def test_swapped_gradients_are_named():
    report = na.check_gradients(of(lambda x, y: (x + 2 * y, None), lambda d, c: (2 * d, d)), normal(3, 4), normal(3, 4))
    assert "could" not in report.headline()
    assert not report.ok


def test_stacking_is_used_where_it_is_safe_and_only_there():
    calls = []

    def counted(mix):
        def forward(x):
            calls.append(x.shape)
            return (x * x + mix * x[3], x)
        return forward
    na.check_gradients((counted(0), lambda d, x: 2 * x * d), normal(10, 4), rules=False)
    assert len(calls) < 40                          # forty numbers, and the confirmation
    assert any(len(shape) == 3 for shape in calls)
    calls.clear()

    def right(d, x):
        g = 2 * x * d
        g[3] += d.sum(axis=0)
        return g
    assert na.check_gradients((counted(1), right), normal(10, 4), rules=False).ok
    assert sum(shape == (10, 4) for shape in calls) > 40


def test_the_second_measurement_says_why():
    report = na.check_gradients(of(lambda x: (np.abs(x), x), lambda d, x: d * np.sign(x)), 1e5 * normal(10, 4))
    report.assert_ok()
    assert "forward drops the imaginary part" in report.reason


def test_named_parameters():
    class Strange(Linear):
        def backward(self, d):
            self.slope = 2 * self.x.T @ d
            self.db = d.sum(0)
            return d @ self.W.T
    layer = Strange(normal(4, 3), normal(3))
    assert na.check_gradients(layer, normal(5, 4)).unchecked == ["W"]
    report = na.check_gradients(layer, normal(5, 4), params={"W": "slope"})
    assert [row.name for row in report.rows if not row.ok] == ["W"]


def test_few_digits_are_said_and_many_are_not():
    def rough(x):
        return np.tanh(x.astype(np.float32)).astype(float), x
    report = na.check_gradients(of(rough, lambda d, x: d * (1 - np.tanh(x) ** 2)), normal(3, 4), rules=False)
    assert "digits only: forward is rough or noisy here" in text(report)
    for forward, backward in ((lambda x: (np.abs(x), x), lambda d, x: d * np.sign(x)),
                              (lambda x: (x * x, x), lambda d, x: 2 * x * d),
                              (lambda x: (0 * x, x), lambda d, x: 0 * d)):
        assert "digits only" not in text(na.check_gradients(of(forward, backward), normal(3, 4)))


def test_each_tensor_that_is_measured_slowly_has_its_own_reason():
    report = na.check_gradients(of(lambda x, y: (np.abs(x) + y * y.real, (x, y)),
                                   lambda d, c: (d * np.sign(c[0]), 2 * d * c[1])), normal(3, 4), normal(3, 4, seed=2))
    report.assert_ok()
    assert "x: forward drops the imaginary part; y: it gives" in report.reason


def test_small_numbers_are_nudged_as_the_others_would_be_unless_that_leaves_the_domain():
    slot = Slot(0, (), "x", np.array([-4.0, 2.0, 1e-9, 0.0, np.inf]))
    assert np.allclose(Variable([(slot, None)]).scale(), [4, 2, 0.06, 0.06, 0.06], rtol=1e-6)
    assert np.allclose(Variable([(slot, None)]).scale(own=True), [4, 2, 1e-9, 1e-9, 1e-9], rtol=1e-6)
    zeros = Variable([(Slot(0, (), "x", np.zeros(2)), None)])
    assert (zeros.scale() == 1).all()


def test_stairs_of_one_are_no_float32():
    assert grain(np.array([26754.0, 12345.0, -3.0])) == np.finfo(np.float64).eps
    assert grain(np.float32([0.1, 2.7, 3.14159]).astype(float)) == np.finfo(np.float32).eps
    assert grain(np.array([0.1, 2.7, 3.14159])) == np.finfo(np.float64).eps


def test_a_learned_number_that_is_no_array_is_named_with_the_fix():
    class Gain:
        def __init__(self):
            self.gain = 1.5

        def forward(self, x):
            self.x = x
            return x * self.gain

        def backward(self, dout):
            self.dgain = float((dout * self.x).sum())
            return dout * self.gain
    report = na.check_gradients(Gain(), normal(3, 4))
    assert report.headline().endswith("all 12 numbers agree; not checked: gain (Python's own numbers)")
    assert any("has to be floats in a NumPy array, such as np.array(1.5)" in text for text in report.warnings)
    assert not any("params=" in text for text in report.warnings)
