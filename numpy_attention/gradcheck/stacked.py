"""Many nudged copies in one run: most of the time of a small forward is Python's, not the numbers'.

A thousand nudges are a thousand runs. But a layer that handles a batch handles copies of its input as well, each nudged
in another place. So copies of an input are stacked along a new first axis, or along the batch axis, and run together.
Whether a layer treats stacked copies as it treats each of them alone is not taken on trust: three of them are run
alone, too, and if anything differs (the layer mixes its batch, draws random numbers, refuses the shape) every copy is
run alone.
"""
import numpy as np

from .callee import Finding
from .near import near

MOST_NUMBERS, MOST_COPIES = 12_000, 24    # beyond that, matrix products start threads that wait for each other


def copies(subject):
    """How many copies may be run at once."""
    size = subject.out.size + sum(v.values.size for v in subject.variables.values())
    return max(3, min(MOST_COPIES, MOST_NUMBERS // max(1, size)))


def outputs(subject, variable, rows):
    """The output, flat, for each of the rows that the variable's values may be: (K, size of out)."""
    if variable.stacking is None:
        variable.stacking = _found(subject, variable, rows)
    if variable.stacking:
        return _together(subject, variable, rows, variable.stacking)
    return np.array([_alone(subject, variable, row) for row in rows])


def _found(subject, variable, rows):
    """The way of stacking that this layer understands, or False."""
    if variable.kind != "input" or len(rows) < 3 or not subject.out.ndim:
        return False
    alone = {k: _alone(subject, variable, rows[k]) for k in (0, len(rows) // 2, len(rows) - 1)}
    return next((way for way in (_new_axis, _along_batch)
                 if _agrees(_together(subject, variable, rows, way), alone)), False)


def _alone(subject, variable, row):
    kept = variable.values.copy()
    variable.values[:] = row
    out = subject.forward().reshape(-1)
    variable.values[:] = kept
    return out


def _together(subject, variable, rows, stack):
    """All rows in one run, or None if the layer refuses."""
    arguments, options = subject.present()
    K, out = len(rows), subject.out
    arguments = [_repeated(given, K, out, stack) for given in arguments]
    options = {name: _repeated(given, K, out, stack) for name, given in options.items()}
    for where, places in variable.members:
        mine = rows.reshape(K, *variable.shape) if places is None else rows[:, places]
        (arguments if isinstance(where, int) else options)[where] = stack(mine)
    try:
        found = subject.run(arguments, options)
    except Finding:
        return None
    return found.reshape(K, -1) if found.shape == stack(np.empty((K, *out.shape))).shape else None


def _repeated(given, K, out, stack):
    """K copies of what has the batch axis of the output; a mask of only two axes is meant for all of the batch."""
    is_batch = isinstance(given, np.ndarray) and given.ndim > 0 and given.shape[0] == out.shape[0]
    if not is_batch or (given.dtype == bool and given.ndim < 3):
        return given
    return stack(np.repeat(given[None], K, axis=0))


def _new_axis(copies):
    """(K, ...) as it is."""
    return copies


def _along_batch(copies):
    """(K, N, ...) -> (K·N, ...)."""
    return copies.reshape(len(copies) * copies.shape[1], *copies.shape[2:]) if copies.ndim > 1 else copies


def _agrees(together, alone):
    """Do the copies run alone say the same, in the real and in the imaginary part?"""
    if together is None:
        return False
    pairs = [(together[k], out) for k, out in alone.items()]
    return all(a.dtype == b.dtype and near(part(a), part(b), 1e3 * np.finfo(a.dtype).eps)
               for a, b in pairs for part in (np.real, np.imag))
