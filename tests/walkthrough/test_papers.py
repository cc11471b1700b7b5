"""Steps as LaTeX and Typst: every formula that a layer states can be set, and the page compiles where a compiler is."""
import re
import shutil
import subprocess

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.walkthrough.papers import Latex, Typst, formula, to_latex, to_typst


@pytest.fixture(scope="module")
def trace():
    return na.worked_example("by-hand").trace()


@pytest.fixture(scope="module")
def whole():
    """Multi-head attention, forward and backward, at sizes that are all different."""
    rng = np.random.default_rng(0)
    mha = na.MultiHeadAttention(8, 3, d_k=6, d_v=7, rng=0)
    out = mha(rng.standard_normal((2, 4, 8)), rng.standard_normal((2, 5, 8)))
    mha.backward(rng.standard_normal(out.shape))
    return na.trace(mha)


def test_every_step_and_every_number_is_there(trace):
    latex, typst = trace.to_latex(), trace.to_typst()
    assert latex.count("\\[") == typst.count("\n$ ") == len(trace) == 14
    assert "0.09 & 0.24 & 0.67" in latex
    assert '"我", 0.09, 0.24, 0.67' in typst
    # −0.0048 keeps a digit.
    assert "-5 \\cdot 10^{-3}" in latex
    assert "-5 dot 10^(-3)" in typst


def test_a_head_and_an_item_are_picked(whole):
    value = whole["weights"].value[1, 2, 0, 0]
    assert f"{value:.3f}" in whole["weights"].to_latex(digits=3, head=2, batch=1)
    assert "\\dots" in to_latex(np.zeros((9, 20)))


@pytest.mark.parametrize(("stated", "latex", "typst"), [
    ("Q Kᵀ / √d_k", r"Q K^{\top} / \sqrt{d_{k}}", r"Q K^(top) \/ sqrt(d_(k))"),
    ("softmax(scores)", r"\operatorname{softmax}(\mathit{scores})", 'op("softmax")("scores" )'),
    ("dscores Wᵀ − Σ_S weights", r"\mathrm{d}\mathit{scores}\, W^{\top} - \sum_{S} \mathit{weights}",
     'upright(d)"scores" thin W^(top) - sum_(S) "weights"'),
    ("xᵀ dout", r"x^{\top}\, \mathrm{d}\mathit{out}", 'x^(top) thin upright(d)"out"'),
])
def test_formulas(stated, latex, typst):
    assert formula(stated, Latex()).strip() == latex
    assert formula(stated, Typst()).strip() == typst


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="a Step, a Trace or a matrix"):
        to_typst(np.zeros((2, 3, 4)))
    with pytest.raises(TypeError, match="a Step, a Trace or a matrix"):
        to_latex("Q")


def test_braces_are_balanced(whole):
    latex = re.sub(r"\\[{}]", "", whole.to_latex())
    assert latex.count("{") == latex.count("}")


def test_typst_compiles(trace, whole):
    typst = pytest.importorskip("typst", reason="the page is compiled where typst is installed")
    for one in (trace, whole):
        assert typst.compile(one.to_typst().encode()).startswith(b"%PDF")


def test_latex_compiles(trace, whole, tmp_path):
    compiler = shutil.which("xelatex")
    if not compiler:
        pytest.skip("no xelatex on this machine")
    for number, one in enumerate((trace, whole)):
        text = one.to_latex()
        if number == 0 and subprocess.run(["kpsewhich", "xeCJK.sty"], capture_output=True).returncode:
            text = one.to_latex(labels=False).replace("我 爱 AI", "three tokens").replace("\\usepackage{xeCJK}", "")
        (tmp_path / f"{number}.tex").write_text(text, encoding="utf-8")
        done = subprocess.run([compiler, "-interaction=batchmode", "-halt-on-error", f"{number}.tex"], cwd=tmp_path,
                              capture_output=True, timeout=120)
        assert done.returncode == 0, (tmp_path / f"{number}.log").read_text(encoding="utf-8", errors="replace")[-1500:]
