"""python -m numpy_attention gradcheck [module:factory]: one layer in full, or every layer of the package in a table."""
import time

from .catalogue import catalogue
from .check import check_gradients
from .layout import table
from .loading import load

COLUMNS = ("layer", "method", ">largest error", ">numbers", ">ms", "verdict")


def command(target=None, **options):
    """(text, ok): the report on somebody's layer, or without a target the table of every layer of the package.

    Args: target: "module:factory", see loading.py. options: as for check_gradients.
    Raises: ValueError/TypeError with one sentence if there is nothing that could be checked.

    >>> text, ok = command("numpy_attention.gradcheck.overview:example")
    >>> print(text.splitlines()[0])
    Gradient check of Linear: all 23 numbers agree
    """
    if target is not None:
        layer, inputs, keywords = load(target)
        report = check_gradients(layer, *inputs, **keywords, **options)
        return str(report), report.ok
    reports = check_all(**options)
    text = "\n".join(overview(reports))
    failed = [str(report) for report in reports.values() if not report.ok]
    return "\n\n".join([text, *failed]), not failed


def example():
    """A factory as a user would write it."""
    import numpy as np

    from ..layers.linear import Linear
    return Linear(4, 3, rng=0), np.random.default_rng(0).standard_normal((2, 4)), {}


def check_all(names=None, **options):
    """{title: GradientReport} of every layer in the catalogue, or of those named."""
    return {title: check_gradients(layer, *inputs, **keywords, **options)
            for title, (layer, inputs, keywords) in catalogue().items() if names is None or title in names}


def overview(reports):
    """The table, as lines: one layer a line, with the largest error and the milliseconds of its whole check."""
    rows = []
    for title, report in reports.items():
        method = "complex step" if "complex" in report.method else "central" if report.rows else "none"
        rows.append([title, method, f"{report.largest:.1e}", f"{report.elements:,}", f"{report.seconds * 1000:.0f}",
                     "ok" if report.ok else "FAIL"])
    bad = sum(not report.ok for report in reports.values())
    numbers = sum(report.elements for report in reports.values())
    total = f"{len(rows)} layers, {numbers:,} numbers, {sum(r.seconds for r in reports.values()):.1f} s: "
    return [*table(COLUMNS, rows), "", total + (f"{bad} FAIL" if bad else "all agree")]


def seconds_of(run):
    """How long one call takes."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started
