"""Sessions at the prompt, from a pipe: what is typed is what happens, and every way out is clean."""
import argparse
import io
import re

import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.commands import step
from numpy_attention.walkthrough.own_arrays import trace_file
from numpy_attention.walkthrough.session import Session, typed_lines
from numpy_attention.words.terminal import width


def session(commands, *options, capsys):
    parser = argparse.ArgumentParser()
    step.configure(parser)
    status = step.run(parser.parse_args([*map(str, options)]), io.StringIO(commands))
    return status, capsys.readouterr()


TRANSCRIPT = """\
(att) g weights
我 爱 AI · step 6/14 · weights                                         [forward]
  weights = softmax(scores)
  scores L S = 3 × 3  →  L S = 3 × 3

            我      爱      AI       Σ
    我  0.0900  0.2447  0.6652  1.0000
    爱  0.1065  0.1065  0.7870  1.0000
    AI  0.0420  0.1142  0.8438  1.0000

  Each row becomes shares: how one query spends its attention.
  next: heads = weights V
(att) w 我 AI
  weights[我, AI] = e^2 / (e^0 + e^1 + e^2)
  = 7.3891 / 11.1073 = 0.6652
(att) v V[0:2,0:3]
  1  0  0
  0  1  0
(att) q
"""


def test_transcript(capsys):
    status, said = session("g weights\nw 我 AI\nv V[0:2,0:3]\nq\n", "--lang", "en", capsys=capsys)
    assert status == 0
    assert said.out.partition("last command\n")[2] == TRANSCRIPT


def test_an_empty_line_repeats_and_p_goes_back(capsys):
    _, said = session("n\n\n\np\n", capsys=capsys)
    assert re.findall(r"· step (\d+)/14", said.out) == ["1", "2", "3", "4", "3"]


def test_the_issue_session(capsys):
    status, said = session("n\nn\nw 0 2\nq\n", capsys=capsys)
    assert status == 0 and "V[我, 2] = 0" in said.out


def test_backward_and_check(capsys):
    status, said = session("g weights; b\nc\n", capsys=capsys)
    assert status == 0 and "step 10/14 · dweights" in said.out
    assert "Gradient check of dweights in 我 爱 AI" in said.out and " ok\n" in said.out


def test_a_failed_check_is_the_exit_status(capsys):
    attention = na.ScaledDotProductAttention()
    attention.backward(attention(np.eye(2), np.eye(2), np.eye(2)) + 1.5)
    attention.grads["K"] = attention.grads["K"] + 1
    assert Session(na.Stepper(na.trace(attention))).loop(io.StringIO("g dK\nc\nq\n")) == 1
    assert "FAIL" in capsys.readouterr().out


@pytest.mark.parametrize(("command", "answer"), [
    ("x", "there is no command 'x'; h shows them all"), ("g", "g wants a name or a number"),
    ("g P", "no step is called 'P'"), ("g 99", "there is no step 99: they go from 1 to 14"),
    ("p", "Q is the first step"), ("w 0", "has 2 indices"), ("w 0 9", "9 is out of range"),
    ("v Q[a]", "a slice looks like Q[0:3,0:5]"),
    ("v Q[7,0]", "out of bounds"), ("f a.docx", "must end in .html"), ("l de", "l takes zh, en or both"),
    ("f /no/such/folder/x.html", "No such file"), ("v Q[__import__('os')]", "a slice looks like")])
def test_wrong_commands_teach_and_are_the_exit_status(command, answer, capsys):
    status, said = session(f"{command}\nq\n", capsys=capsys)
    assert status == 2 and answer in " ".join(said.out.split())
    assert not said.err


def test_interrupt_and_end_of_input_end_cleanly(capsys):
    def interrupted():
        yield "n"
        raise KeyboardInterrupt
    assert Session(na.Stepper(na.worked_example().trace())).loop(interrupted()) == 130
    assert session("", capsys=capsys)[0] == 0


def test_a_closed_pipe_is_left_to_the_command_line(monkeypatch):
    def closed(*_, **__):
        raise BrokenPipeError
    stepper = na.Stepper(na.worked_example().trace())
    monkeypatch.setattr("builtins.print", closed)
    with pytest.raises(BrokenPipeError):
        Session(stepper).loop(io.StringIO("n\n"))


def test_typed_lines_end_with_ctrl_d(monkeypatch, capsys):
    answers = iter(["n", ""])

    def typed(text):
        assert text == "(att) "
        try:
            return next(answers)
        except StopIteration:
            raise EOFError from None
    monkeypatch.setattr("builtins.input", typed)
    assert list(typed_lines()) == ["n", ""]


@pytest.mark.parametrize("lang", ["zh", "en", "both"])
def test_nothing_is_wider_than_a_terminal(lang, capsys):
    _, said = session("n\n" * 13 + "h\ns\nw 0 1\nx" + "y" * 60 + "\n", "--lang", lang, capsys=capsys)
    assert max(map(width, said.out.split("\n"))) <= 80


def test_plain_prints_every_step(capsys):
    status, said = session("", "--plain", "--example", "cycle", capsys=capsys)
    assert status == 0
    assert [line.split()[0] for line in said.out.splitlines() if line[:3].strip().isdecimal()] == [
        str(n) for n in range(1, 15)]


def test_f_writes_the_page(tmp_path, capsys):
    status, said = session(f"f {tmp_path / 'a.html'}\n", capsys=capsys)
    assert status == 0 and "wrote" in said.out and (tmp_path / "a.html").stat().st_size > 10_000


# --- arrays of one's own ---

RNG = np.random.default_rng(0)
MATRICES = {"W_Q": RNG.standard_normal((8, 6)), "W_K": RNG.standard_normal((8, 6)), "W_V": RNG.standard_normal((8, 10)),
            "W_O": RNG.standard_normal((10, 8))}
X = RNG.standard_normal((4, 8))


def test_options_that_need_a_file_say_so(capsys):
    status, said = session("", "--tokens", "a b", capsys=capsys)
    assert status == 2 and "--tokens and --heads go with --npz FILE" in said.err


def test_own_q_k_v(tmp_path, capsys):
    np.savez(tmp_path / "a.npz", Q=np.eye(2), K=np.eye(2), V=[[1., 2.], [3., 4.]], tokens=["a", "我"],
             mask=[[True, False], [True, True]], dheads=np.ones((2, 2)))
    status, said = session("g weights\nw 0 1\ng dQ\nc\n", "--npz", tmp_path / "a.npz", capsys=capsys)
    assert status == 0 and "weights[a, 我] = 0:" in said.out and "a.npz · step" in said.out


@pytest.mark.parametrize("given", [{"x": X}, {"query": X, "memory": X[:3]}, {"query": X, "key": X[:3], "value": X[:3]}])
def test_own_x_and_matrices(given, tmp_path):
    np.savez(tmp_path / "a.npz", **given, **MATRICES, num_heads=2, b_O=np.arange(8.))
    trace = trace_file(tmp_path / "a.npz")
    layer = na.MultiHeadAttention(8, 2, d_k=3, d_v=5)
    for name, proj in zip("QKVO", (layer.query_proj, layer.key_proj, layer.value_proj, layer.output_proj), strict=True):
        proj.params["W"][:] = MATRICES[f"W_{name}"]
    layer.output_proj.params["b"][:] = np.arange(8.)
    np.testing.assert_allclose(trace["out"].value, layer(*given.values()), atol=1e-12)
    assert trace["weights"].shape[0] == 2 and "query_proj.dW" in trace


@pytest.mark.parametrize(("arrays", "answer"), [
    ({}, "holds no arrays"), ({"Q": X, "K": X}, "but not V"), ({"Q": X, "K": X, "V": X, "Z": X}, "holds Z, for which"),
    ({"Q": X, "K": X[:, :3], "V": X}, "Q and K must share the width d_k"), ({"x": X, "W_Q": X}, "lacks W_K, W_V, W_O"),
    ({**MATRICES}, "it wants x"), ({"x": X[:, :6], **MATRICES, "W_Q": MATRICES["W_Q"]}, "transpose it, as PyTorch"),
    ({"x": X, **MATRICES, "num_heads": 4}, "cannot be cut into num_heads = 4"),
    ({"x": X, **MATRICES, "W_O": X}, r"W_O must have shape"),
    ({"x": X, **MATRICES, "b_Q": np.ones(3)}, "b_Q must have"),
    ({"Q": X, "K": X, "V": X, "mask": np.ones((4, 4))}, "mask must be boolean"),
    ({"Q": X, "K": X, "V": X, "dheads": np.ones(3)}, "dheads must have the shape"),
    ({"Q": X, "K": X, "V": X, "tokens": ["a"]}, "must hold L = 4 labels")])
def test_wrong_arrays_say_what_is_wrong(arrays, answer, tmp_path, capsys):
    np.savez(tmp_path / "a.npz", **arrays)
    status, said = session("", "--npz", tmp_path / "a.npz", capsys=capsys)
    assert status == 2 and answer in said.err and said.err.count("\n") == 1


def test_wrong_files_say_what_is_wrong(tmp_path, capsys):
    (tmp_path / "text.npz").write_text("no arrays here")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.savez(tmp_path / "objects.npz", Q=np.array([{}], dtype=object), K=X, V=X)
    np.save(tmp_path / "single.npy", X)
    np.savez(tmp_path / "whole.npz", Q=X, K=X, V=X)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:200])
    for name, answer in (("missing.npz", "there is no file"), ("text.npz", "not an .npz file"),
                         ("empty.npz", "not an .npz file"), ("objects.npz", "Python objects are not read"),
                         ("single.npy", "a single array without a name"), ("cut.npz", "cut off"),
                         ("", "Is a directory")):
        status, said = session("", "--npz", tmp_path / name, capsys=capsys)
        assert status == 2 and answer in said.err, name
