"""What does not depend on the machine: how many matrix products, how much memory, which arrays are views."""
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.bench.contenders import contender, operations
from numpy_attention.bench.rows import table
from numpy_attention.bench.timing import alternate, quartiles
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
    times = alternate([lambda: None, lambda: sum(range(100))], 0.0, least=7)
    assert [len(taken) for taken in times] == [7, 7]
    assert times[0] == sorted(times[0])
    assert quartiles([1, 2, 3, 4, 5]) == (2, 3, 4)


@pytest.mark.parametrize("name", ["direct", "blocked"])
def test_contenders_run_in_their_precision(name):
    out, dx = contender(name, (2, 5, 8, 2), "float32")()
    assert out.dtype == dx.dtype == np.float32
    assert operations((1, 1, 1, 1)) == 36


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


def test_the_table_says_ratio_and_share():
    row = {"contender": "direct", "size": (1, 4, 8, 2), "ms": 1.0, "low": 0.9, "high": 1.1, "times_direct": 1.0,
           "share": 0.5, "mb": 2.0}
    assert table([row]).split("\n")[1].split() == ["direct", "1.000", "(0.900", "…", "1.100)", "1.00", "×", "50%",
                                                   "2.0", "MB"]
