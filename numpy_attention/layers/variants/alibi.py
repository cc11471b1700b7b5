"""ALiBi: no position code at all, only a penalty on the scores that grows with the distance.

Each head has its own slope: a steep head looks at its neighbours only, a flat one far away. The penalty is a bias
that is added to the scores, so a model can meet longer sequences than it was trained on.
"""
import math

import numpy as np

from ...engine.arguments import size, whole


def alibi_slopes(num_heads):
    """The slope of each head.

    For H a power of two, 2^(-8/H), 2^(-16/H), ..., 2^-8. For other H, the paper's code (not its text) takes the slopes
    of the next lower power of two, then every other slope of the next higher one, from its first on.

    Args: num_heads: H. Returns: (H,) float64. Raises: TypeError/ValueError unless H is a positive whole number.

    >>> na.alibi_slopes(2)
    array([0.0625    , 0.00390625])
    >>> na.alibi_slopes(6).round(4)
    array([0.25  , 0.0625, 0.0156, 0.0039, 0.5   , 0.125 ])

    Source: Press et al. 2022 (ALiBi), section 3, and the code published with it.
    """
    H = size("num_heads", num_heads)
    lower = 2 ** int(math.log2(H))
    slopes = 2.0 ** (-8 * np.arange(1, lower + 1) / lower)
    between = 2.0 ** (-8 * np.arange(1, 2 * (H - lower), 2) / (2 * lower))
    return np.concatenate([slopes, between])


def alibi_bias(num_heads, L, S=None, *, offset=0, dtype=np.float64):
    """−slope · |distance| for each head, query and key: pass it as `bias=`.

    Args:
        num_heads: H. L: number of queries. S: number of keys, L unless given.
        offset: place of the first query, while the first key stands at 0. dtype: of the result.

    Returns: (1, H, L, S).
    Raises: TypeError/ValueError for sizes that are not positive whole numbers.

    >>> na.alibi_bias(2, 3)[0, 0]
    array([[-0.    , -0.0625, -0.125 ],
           [-0.0625, -0.    , -0.0625],
           [-0.125 , -0.0625, -0.    ]])

    Source: Press et al. 2022 (ALiBi), section 3. Together with a causal mask only the lower triangle counts.
    """
    L = size("L", L)
    S = L if S is None else size("S", S)
    distance = np.abs(np.arange(L)[:, None] + whole("offset", offset) - np.arange(S))
    return (-alibi_slopes(num_heads)[:, None, None] * distance).astype(dtype)[None]
