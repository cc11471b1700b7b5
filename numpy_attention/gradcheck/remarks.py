"""What the reader of a report should mind although it is no fault of the layer, and what could not be looked at."""
import numpy as np

from .copies import MOST, follow
from .layer_under_test import Finding


def unchecked(subject):
    """What the output depends on, or what forward hands out, and no gradient was found for."""
    declined = [name for name, v in subject.others.items() if v.values.dtype.kind == "f"]
    found = [*declined, *subject.odd, *subject.ignored]
    found += [f"what lies beyond {MOST:,} objects inside"] * subject.cut
    return list(dict.fromkeys([*found, *(f.name for f in _matter(subject))]))


def _matter(subject):
    """Of the arrays without a row: those that change the output."""
    doubtful = list({id(f.thing): f for f in [*subject.unnamed, *subject.late]}.values())
    if not doubtful or not _changes(subject, doubtful):
        return []
    return [f for f in doubtful if _changes(subject, [f])]


def _changes(subject, some):
    """Does the output change when these arrays do?"""
    copy = subject.copy()
    try:
        before = copy.forward(restore=False)
    except Finding:
        return False
    arrays = [copy.memo.get(id(f.thing), follow(copy.layer, f.path)) if f.copied else f.thing for f in some]
    arrays = [array for array in arrays if isinstance(array, np.ndarray)]
    kept = [(array, array.copy(), array.flags.writeable) for array in arrays]
    try:
        for array in arrays:
            array.setflags(write=True)
            array[...] = array * 1.25 + np.random.default_rng(0).uniform(0.1, 0.5, array.shape)
        after = copy.forward(restore=False)
        return not (before.shape == after.shape and np.array_equal(before, after, equal_nan=True))
    except (Finding, ValueError):
        return True
    finally:
        for array, old, writeable in kept:
            if not np.array_equal(array, old, equal_nan=True):          # it may have been closed again in between
                array.setflags(write=True)
                array[...] = old
            array.setflags(write=writeable)


def remarks(subject, ruler, report, upstreams, how):
    """Sentences about an upstream that hides mistakes, zeros by design, kinks, shared arrays, missing gradients."""
    found = []
    constant = how == "as given" and upstreams[0].size > 1 and (upstreams[0] == upstreams[0].flat[0]).all()
    if constant and _rows_are_fixed(subject.outs[0]):
        found.append("your upstream is constant and each row of the output has the same sum (a softmax?): their sum "
                     "never changes, so a backward that returns 0, or anything times 0, passes as well. Leave upstream "
                     "out for a random one")
    for row in report.rows:
        if row.empty:
            found.append(f"{row.name} is empty, shape {row.shape}: there is nothing in it to check")
        elif row.skipped.any():
            found.append(f"{row.name}: {int(row.skipped.sum())} of {row.skipped.size} elements skipped, because the "
                         "output has a kink there (ReLU at 0, a tie of maxima) and no slope")
        elif row.kind in ("input", "parameter") and row.negligible:
            always = _never_matters(subject, ruler, row.name)
            found.append(f"{row.name}: zero by design: whatever its values, the output is the same" if always else
                         f"{row.name}: all zero at these values (other values would matter)")
        if not np.isfinite(row.numeric).all():
            found.append(f"{row.name}: forward itself gives NaN or infinity, here or when some of this is nudged")
        elif row.unmeasured.any():
            found.append(f"{row.name}: {int(row.unmeasured.sum())} of {row.unmeasured.size} elements could not be "
                         "measured: the outputs are so large, so rough or so noisy beside these slopes that ±"
                         f"{float(row.error[row.unmeasured].max()):.1e} is all that can be said. Check it at other "
                         "numbers")
        elif row.ok and row.why and row.error.size and not row.negligible:
            with np.errstate(all="ignore"):
                share = np.nanmedian(np.where(row.numeric != 0, row.error / np.abs(row.numeric), np.nan))
            if share > 1e-5:
                found.append(f"{row.name}: measured to {max(1, int(-np.log10(share)))} digits only: forward is rough "
                             "or noisy here; is something computed in float32?")
    for variable in subject.variables.values():
        if len(variable.members) > 1:
            found.append(f"{variable.name}: these are one memory, so only the sum of their gradients was compared; "
                         "give separate arrays to check each")
    if subject.writes and any(subject.written_names):
        found.append(f"forward writes to {', '.join(subject.written_names)}; it was measured on fresh copies, so the "
                     "slopes are those of the numbers as given")
    unfound = [name for name in report.unchecked if name not in subject.odd]
    if unfound:
        found.append(f"not checked: the output depends on {', '.join(unfound)} as well, or hands it out, but no "
                     f"gradient was found; if there is one, say where: params={{{unfound[0]!r}: ...}}")
    if subject.odd:
        found.append(f"not checked: {', '.join(subject.odd)}: what is to be nudged has to be floats in a NumPy array, "
                     "such as np.array(1.5)")
    return found


def _rows_are_fixed(out):
    """Is the sum along some axis the same everywhere?"""
    sums = [out.sum(axis=axis) for axis in range(out.ndim) if out.shape[axis] > 1]
    return any(np.allclose(s, s.flat[0], rtol=1e-5, atol=1e-6) for s in sums if s.size > 1)


def _never_matters(subject, ruler, name):
    """Does the output stay the same when this variable gets quite different values?"""
    variable, copy = subject.variables[name], subject.copy()
    other = variable.values + np.random.default_rng(0).standard_normal(variable.size) * ruler.scales[name]
    copy.put(variable, other.astype(variable.values.dtype))
    try:
        size = np.abs(ruler.here).max(initial=0)
        return np.allclose(copy.forward(), ruler.here, rtol=0, atol=1e-6 * size, equal_nan=True)
    except Finding:
        return False
