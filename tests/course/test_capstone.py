"""The capstone: its golden numbers are PyTorch's, every planted bug is caught, and what is right can be trained."""
import numpy as np
import pytest

import numpy_attention as na
from numpy_attention import course
from numpy_attention.course import capstone
from numpy_attention.course.exercises import n14

torch = pytest.importorskip("torch", reason="only to make the golden numbers again")
N, L, D, H = 2, 3, 4, 2


def test_the_golden_numbers_are_those_of_pytorch():
    mha = torch.nn.MultiheadAttention(D, H, batch_first=True, dtype=torch.float64)
    p = n14.P
    with torch.no_grad():
        mha.in_proj_weight[:] = torch.tensor(np.concatenate([p[f"W_{role}"].T for role in "QKV"]))
        mha.in_proj_bias[:] = torch.tensor(np.concatenate([p[f"b_{role}"] for role in "QKV"]))
        mha.out_proj.weight[:], mha.out_proj.bias[:] = torch.tensor(p["W_O"].T.copy()), torch.tensor(p["b_O"])
    x = torch.tensor(n14.X, requires_grad=True)
    out, weights = mha(x, x, x, attn_mask=~torch.tensor(n14.MASK), average_attn_weights=False)
    out.backward(torch.tensor(n14.DOUT))
    found = {"out": out, "weights": weights, "dx": x.grad, "dW_O": mha.out_proj.weight.grad.T,
             "db_O": mha.out_proj.bias.grad}
    for number, role in enumerate("QKV"):
        rows = slice(number * D, (number + 1) * D)
        found |= {f"dW_{role}": mha.in_proj_weight.grad[rows].T, f"db_{role}": mha.in_proj_bias.grad[rows]}
    assert found.keys() == n14.TORCH.keys()
    for name, value in found.items():
        np.testing.assert_allclose(n14.TORCH[name], value.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("bug", [*capstone.FORWARD_BUGS, *capstone.BACKWARD_BUGS])
def test_every_planted_bug_is_caught_and_called_by_its_name(bug):
    name = "mha-forward" if bug in capstone.FORWARD_BUGS else "mha-backward"
    verdict = course.check(name, {**capstone.FORWARD_BUGS, **capstone.BACKWARD_BUGS}[bug])
    assert not verdict.ok
    known = {(mistake.zh, mistake.en) for mistake in course.exercises()[name].mistakes}
    assert verdict.hint in known, str(verdict)


def test_a_layer_of_ones_own_is_right_and_learns():
    layer = capstone.YourLayer(8, 2, capstone.forward, capstone.backward, rng=0)
    x = np.random.default_rng(1).standard_normal((2, 5, 8))
    assert na.check_gradients(layer, x, mask=na.causal_mask(5)).ok
    task = na.training.task("reverse")
    model = capstone.model_with(task, capstone.forward, capstone.backward)
    assert na.training.train(task, model, steps=150, stop_at=0.99, progress=False).stopped == "learned"


def test_a_missing_gradient_is_told():
    def without_one(x, p, H, mask, dout):
        dx, dp = capstone.backward(x, p, H, mask, dout)
        del dp["b_K"]
        return dx, dp
    assert "b_K" in str(course.check("mha-backward", without_one))
