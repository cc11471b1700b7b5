"""One figure of each kind, from small arrays with awkward tokens; what holds for every plot is tried on all of them."""
import functools

import numpy as np

import numpy_attention as na
from numpy_attention import plots
from numpy_attention.plots import curves, detection_matrix

SQUARE = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
TOKENS = ["我", "$x_$", "我"]
COSTS = [{"contender": name, "dtype": "float32", "size": (1, L, 64, 4), "ms": L * part, "low": 0.9 * L * part,
          "high": 1.1 * L * part, "mb": L} for name, part in (("direct", 0.01), ("blocked", 0.02)) for L in (128, 512)]


@functools.cache
def _multi_head():
    """Attention of two heads over three tokens, after its forward."""
    mha = na.MultiHeadAttention(4, 2, rng=0)
    mha(np.random.default_rng(0).standard_normal((1, 3, 4)))
    return mha


def every(**options):
    """{name: a function that draws it with these options}."""
    both = {"query_tokens": TOKENS, "key_tokens": TOKENS, **options}
    scores, steps = np.log(SQUARE), np.logspace(-1, -8, 8)
    trace = na.worked_example("by-hand").trace()
    return {
        "plot_heads": lambda: plots.plot_heads(SQUARE, **both),
        "plot_walkthrough": lambda: plots.plot_walkthrough(trace, highlight=(0, 1), **options),
        "plot_mnemonic": lambda: plots.plot_mnemonic(trace, **options),
        "plot_lines": lambda: plots.plot_lines(SQUARE, **both),
        "plot_query_key": lambda: plots.plot_query_key(scores, -scores, **both),
        "plot_mixing": lambda: plots.plot_mixing(SQUARE, scores, **both),
        "plot_gradients": lambda: plots.plot_gradients(SQUARE, scores, -scores, **both),
        "plot_masks": lambda: plots.plot_masks(scores, na.causal_mask(3), **both),
        "plot_cross_attention": lambda: plots.plot_cross_attention(
            SQUARE, value_tokens=list("abc"), gold=[0, 1, None], **both),
        "plot_symmetry": lambda: plots.plot_symmetry(scores, TOKENS, **options),
        "plot_gradient_check": lambda: plots.plot_gradient_check(scores, scores + 1e-9, name="dQ", **options),
        "plot_model": lambda: plots.plot_model([np.stack([SQUARE, SQUARE.T])] * 2, TOKENS, **options),
        "plot_multi_head": lambda: plots.plot_multi_head(_multi_head(), **options),
        "plot_film": lambda: plots.plot_film([SQUARE, SQUARE], [0, 4], [3, 2, 1, 1, 0], **both),
        "plot_step_curve": lambda: curves.plot_step_curve(
            steps, {"float64 central": steps ** 2 + 1e-16 / steps}, name="dQ", **options),
        "plot_cost": lambda: curves.plot_cost(COSTS, **options),
        "plot_detection_matrix": lambda: detection_matrix.plot_detection_matrix(
            ["scale-missing", "mask-ignored"], ["golden numbers", "gradient check"], [[True, False], [None, True]],
            groups=[("头", "heads"), ("掩码", "masks")], **options),
    }


NAMES = list(every())
