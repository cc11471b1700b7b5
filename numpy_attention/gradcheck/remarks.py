"""What the reader of a report should mind although it is no fault of the layer."""
import numpy as np

from . import parameters
from .callee import Finding
from .near import near
from .trial import Trial


def remarks(subject, report, upstream, how):
    """Sentences about an upstream that hides mistakes, zeros by design, kinks, shared arrays, missing gradients."""
    found = []
    constant = how == "as given" and upstream.size > 1 and (upstream == upstream.flat[0]).all()
    if constant and _rows_are_fixed(subject.out):
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
            always = _never_matters(subject, row.name)
            found.append(f"{row.name}: zero by design: whatever its values, the output is the same" if always else
                         f"{row.name}: all zero at these values (other values would matter)")
    for variable in subject.variables.values():
        if len(variable.members) > 1:
            found.append(f"{variable.name}: these inputs are one memory, so only the sum of their gradients was "
                         "compared; give separate arrays to check each")
    unknown = subject.returned.missing + subject.returned.declined
    if unknown:
        found.append(f"not checked, because there is no gradient: {', '.join(unknown)}")
    matters = [".".join(map(str, path)) for path in subject.returned.unknown if _matters(subject, path)]
    if matters:
        found.append(f"not checked: the output depends on {', '.join(matters)} as well, but no gradient was found; if "
                     f"there is one, say where: params={{{matters[0]!r}: ...}}")
    return found


def _matters(subject, path):
    """Does the output change with the array at `path` of the layer?"""
    callee = subject.pristine.copy()
    array = parameters.follow(callee.layer, path)
    parameters.put(callee.layer, path, array + np.random.default_rng(0).standard_normal(array.shape))
    try:
        return not near(Trial(callee, subject.arguments, subject.keywords, subject.globals).out, subject.out, 1e-6)
    except Finding:
        return False


def _rows_are_fixed(out):
    """Is the sum along some axis the same everywhere?"""
    sums = [out.sum(axis=axis) for axis in range(out.ndim) if out.shape[axis] > 1]
    return any(np.allclose(s, s.flat[0], rtol=1e-5, atol=1e-6) for s in sums if s.size > 1)


def _never_matters(subject, name):
    """Does the output stay the same when this variable gets quite different values?"""
    variable, here = subject.variables[name], subject.forward()
    kept = variable.values.copy()
    variable.values[:] = kept + np.random.default_rng(0).standard_normal(kept.size)
    try:
        there = subject.forward()
    except Finding:
        return False
    finally:
        variable.values[:] = kept
    return near(there, here, 1e-6)
