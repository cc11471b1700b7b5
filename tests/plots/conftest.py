"""Arrays and traces that the plot tests share."""
import numpy as np
import pytest

import numpy_attention as na
from numpy_attention.plots import fonts


def softmax(scores):
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


@pytest.fixture
def maps():
    """A function that makes attention weights of a shape."""
    return lambda *shape, seed=0: softmax(2 * np.random.default_rng(seed).standard_normal(shape))


@pytest.fixture(scope="session")
def by_hand():
    return na.worked_example("by-hand").trace()


@pytest.fixture(scope="session")
def layer():
    """Multi-head attention after forward and backward, at sizes that are all different; cross-attention."""
    rng = np.random.default_rng(0)
    N, H, L, S, d_k, d_v, D = 2, 3, 4, 5, 6, 7, 8
    mha = na.MultiHeadAttention(D, H, d_k=d_k, d_v=d_v, rng=0)
    out = mha(rng.standard_normal((N, L, D)), rng.standard_normal((N, S, D)))
    mha.backward(rng.standard_normal(out.shape))
    return mha


@pytest.fixture(autouse=True)
def no_font_warned_before():
    fonts._warned.clear()
