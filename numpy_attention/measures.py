"""One number for a row of weights, for all who measure heads: pictures, training, trained models."""
import numpy as np


def row_entropy(weights):
    """How spread each row is, in nats: 0 for one key, log S for S keys alike.

    Args: weights (..., S), rows of shares. Returns: (...).

    >>> row_entropy(np.array([[0.5, 0.5], [1.0, 0.0]])).round(4)
    array([0.6931, 0.    ])

    Source: Shannon 1948, section 6.
    """
    return 0.0 - (weights * np.log(np.where(weights > 0, weights, 1))).sum(axis=-1)
