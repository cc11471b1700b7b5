"""Wrong only where a mask hides: the blocked cells themselves, keys that nobody sees, queries that see nothing."""
import contextlib

import numpy as np


def only_hidden(row, subject):
    """A sentence if every wrong element of the row belongs to something hidden by a mask, and only such."""
    wrong = row.excess > 1
    for mask in subject.keywords.values():
        if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.ndim < 2 or mask.all():
            continue
        for words, hidden in (("hidden cells", ~mask), ("keys that no query may see", ~mask.any(axis=-2)[..., None]),
                              ("queries that may see no key", ~mask.any(axis=-1)[..., None])):
            for fitted in _fitted(hidden, wrong.shape):
                if fitted.any() and not fitted.all() and not (wrong & ~fitted).any():
                    return f"correct except at {words}: the gradient there has to be exactly 0"
    return None


def _fitted(hidden, shape):
    """The mask broadcast to the tensor's shape, by the same number of axes or by leaving out axes of the heads."""
    while True:
        with contextlib.suppress(ValueError):
            yield np.broadcast_to(hidden, shape)
        if hidden.ndim <= 2:
            return
        hidden = hidden.all(axis=-3) if hidden.ndim > 3 else hidden.all(axis=0)
