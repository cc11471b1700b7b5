"""What does not depend on the machine: how many matrix products, how much memory, which arrays are views."""
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.bench import rows
from numpy_attention.bench.contenders import attention_alone, contender, operations, plain
from numpy_attention.bench.rows import table
from numpy_attention.bench.timing import alternate, quartiles
from numpy_attention.bench.training_vs_torch import measure as measure_training
from numpy_attention.commands import bench
from numpy_attention.commands.main import main
from numpy_attention.engine import call_rules


class Counted(np.ndarray):
    """An array that counts the matrix products it takes part in."""

    products = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        Counted.products += ufunc is np.matmul
        inputs = [i.view(np.ndarray) if isinstance(i, Counted) else i for i in inputs]
        if out is not None:
            options["out"] = tuple(o.view(np.ndarray) if isinstance(o, Counted) else o for o in out)
        return getattr(ufunc, method)(*inputs, **options)


def counted(*shape):
    return np.random.default_rng(0).standard_normal(shape).view(Counted)


def products_of(function, *arguments):
    Counted.products, call_rules._thread.current = 0, call_rules._Pass(None, 0)     # as if inside another layer
    try:
        result = function(*arguments)
    finally:
        call_rules._thread.current = None
    return Counted.products, result


def test_attention_needs_two_products_forward_and_four_backward():
    # The functions inside the house rules, which would turn the counting arrays into ordinary ones.
    attention = na.ScaledDotProductAttention()
    forward, backward = (getattr(na.ScaledDotProductAttention, name).__wrapped__ for name in ("forward", "backward"))
    count, _ = products_of(forward, attention, counted(2, 3, 4, 6), counted(2, 3, 5, 6), counted(2, 3, 5, 7))
    assert count == 2
    assert products_of(backward, attention, counted(2, 3, 4, 7))[0] == 4


def test_linear_is_one_product_for_all_rows_forward_and_two_backward():
    layer = na.Linear(6, 7, rng=0)
    assert products_of(na.Linear.forward.__wrapped__, layer, counted(2, 3, 4, 6))[0] == 1
    assert products_of(na.Linear.backward.__wrapped__, layer, counted(2, 3, 4, 7))[0] == 2


def test_heads_are_views_and_names_are_references():
    mha = na.MultiHeadAttention(8, 2, rng=0)
    mha(np.ones((2, 5, 8)))
    for name, projection in (("Q", mha.query_proj), ("K", mha.key_proj), ("V", mha.value_proj)):
        assert np.shares_memory(mha.cache[name], projection.cache["out"])
    assert mha.cache["weights"] is mha.attention.cache["weights"] is mha.attention.softmax.cache["weights"]
    assert mha.cache["out"] is mha.output_proj.cache["out"]


@pytest.mark.parametrize(("length", "options", "most"), [
    (512, {}, 4.5), (512, {"mask": na.causal_mask(512)}, 6), (1024, {}, 2.3)], ids=["plain", "mask", "very large"])
def test_the_direct_layer_holds_few_tables(length, options, most):
    # Scores, weights and their gradients; of a very large table only the weights and the scores' gradient.
    mha, x = na.MultiHeadAttention(64, 8, rng=0, dtype=np.float32), np.ones((1, length, 64), np.float32)
    mha(x, **options)
    tracemalloc.start()
    mha(x, **options)
    mha.backward(x)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < most * mha.weights.nbytes + 12 * x.nbytes


def test_importing_the_package_opens_no_other_room():
    code = ("import sys, numpy_attention; print([m for m in sys.modules if m.startswith(("
            "'matplotlib', 'concurrent', 'numpy_attention.plots', 'numpy_attention.training', "
            "'numpy_attention.gradcheck', 'numpy_attention.walkthrough'))])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_alternating_times_are_sorted_and_quartiles_in_order():
    times = alternate([lambda: None, lambda: sum(range(100))], 0.0, least=7, rest=0)
    assert min(map(len, times)) >= 7
    assert times[0] == sorted(times[0])
    assert quartiles([1, 2, 3, 4, 5]) == (2, 3, 4)


@pytest.mark.parametrize("name", ["plain", "direct", "blocked"])
def test_contenders_run_in_their_precision(name):
    out, dx, *_ = contender(name, (2, 5, 8, 2), "float32")()
    assert out.dtype == dx.dtype == np.float32
    assert operations((1, 1, 1, 1)) == 36
    direct = contender("direct", (2, 5, 8, 2), "float32")()
    for array, wanted in zip((out, dx), direct, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=0, atol=1e-5)


def test_the_textbook_code_does_all_of_the_work():
    mha, x, dout = na.MultiHeadAttention(8, 2, rng=0), *np.random.default_rng(0).standard_normal((2, 3, 5, 8))
    out, dx, grads = plain(x, dout, mha.named_params(), 2)
    np.testing.assert_allclose(out, mha(x), rtol=0, atol=1e-14)
    np.testing.assert_allclose(dx, mha.backward(dout), rtol=0, atol=1e-14)
    assert set(grads) == set(mha.named_params())
    for name, gradient in mha.named_grads().items():
        np.testing.assert_allclose(grads[name], gradient, rtol=0, atol=1e-13)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_alone_is_attention(causal):
    heads, grads = attention_alone("blocked", 6, causal=causal, heads=2, width=4)()
    assert heads.shape == (1, 2, 6, 4)
    assert [grad.shape for grad in grads] == [heads.shape] * 3


def test_attention_alone_and_training_are_rows_too():
    measured = rows.measure_alone(8, 0.0, causal=True)
    assert "L 8, causal" in table(measured)
    assert measured[0]["contender"] == "blocked"
    (ours, *_) = measure_training(21, batch_size=2)
    assert ours["contender"] == "numpy_attention"
    assert ours["our_speed"] == 1


def test_quick_leaves_out_what_takes_long(monkeypatch, capsys):
    sizes, lengths = [], []
    monkeypatch.setattr(bench, "measure", lambda size, *_, memory: sizes.append((size, memory)) or [ROW])
    monkeypatch.setattr(bench, "measure_alone", lambda length, *_, causal: lengths.append((length, causal)) or [ROW])
    monkeypatch.setattr(bench.training_vs_torch, "measure", lambda steps: [])
    assert main(["bench", "--quick"]) == 0
    assert not any(memory for _, memory in sizes)
    quick = len(sizes), len(lengths)
    assert main(["bench"]) == 0
    assert len(sizes) - quick[0] > quick[0]
    assert len(lengths) - quick[1] > quick[1]


def test_the_command_measures_and_writes_what_was_asked_for(tmp_path, capsys):
    assert main(["bench", "--sizes", "1,4,8,2", "--dtype", "float32", "--seconds", "0", "--json",
                 str(tmp_path / "bench.json"), "--no-memory", "--figure", str(tmp_path / "cost.svg")]) == 0
    text = capsys.readouterr().out
    assert "direct" in text
    assert "N 1, L 4, D 8, H 2" in text
    assert (tmp_path / "bench.json").stat().st_size > 100
    assert (tmp_path / "cost.svg").stat().st_size > 1000


@pytest.mark.parametrize("sizes", ["8", "1,2,3", "1,4,9,2", "0,4,8,2", "a,b,c,d"])
def test_impossible_sizes_are_refused(sizes, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["bench", "--sizes", sizes])
    assert stop.value.code == 2
    assert "N,L,D,H" in capsys.readouterr().err


ROW = {"contender": "direct", "size": (1, 4, 8, 2), "ms": 1.0, "low": 0.9, "high": 1.1, "times": {"plain": 1.25},
       "share": 0.5, "mb": 2.0}


def test_the_table_says_ratio_and_share():
    heading, line = table([ROW]).split("\n")
    assert heading.split() == ["N", "1,", "L", "4,", "D", "8,", "H", "2", "×", "plain", "rate", "MB"]
    assert line.split() == ["direct", "1.000", "(0.900", "…", "1.100)", "1.25", "50%", "2.0"]
