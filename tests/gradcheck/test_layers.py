"""Every layer of the package passes, element by element, at sizes that are all different."""
import numpy as np
import pytest

import numpy_attention as na

N, H, L, S, d_k, d_v, D, kdim, vdim = 2, 3, 4, 5, 6, 7, 8, 9, 10


def normal(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape)


CASES = {
    "linear": lambda: (na.Linear(D, 5, rng=0), normal(N, L, D)),
    "linear without bias": lambda: (na.Linear(D, 5, bias=False, rng=0), normal(D)),
    "split": lambda: (na.SplitHeads(H), normal(N, L, H * d_k)),
    "merge": lambda: (na.MergeHeads(), normal(N, H, L, d_v)),
    "softmax": lambda: (na.Softmax(), normal(N, H, L, S)),
    "embedding": lambda: (na.Embedding(5, D, rng=0), np.array([[1, 4, 1], [0, 1, 3]])),
    "attention": lambda: (na.ScaledDotProductAttention(),
                          normal(N, H, L, d_k), normal(N, H, S, d_k, seed=2), normal(N, H, S, d_v, seed=3)),
    "self-attention": lambda: (na.MultiHeadAttention(D, 2, rng=0), normal(N, L, D)),
    "memory": lambda: (na.MultiHeadAttention(D, H, d_k=d_k, d_v=d_v, rng=0), normal(N, L, D), normal(N, S, D, seed=2)),
    "cross-attention": lambda: (na.MultiHeadAttention(D, H, d_k=d_k, d_v=d_v, kdim=kdim, vdim=vdim, rng=0),
                                normal(N, L, D), normal(N, S, kdim, seed=2), normal(N, S, vdim, seed=3)),
}


@pytest.mark.parametrize("name", CASES)
def test_complex_step_agrees_to_the_last_digits(name):
    report = na.check_gradients(*CASES[name]())
    report.assert_ok()
    assert report.method == "complex step"
    assert report.largest < 1e-12


def test_central_differences_agree_too():
    report = na.check_gradients(*CASES["memory"](), method="central")
    report.assert_ok()
    assert report.largest < 1e-9
