"""The report's pictures; drawing them needs matplotlib, which is imported only when asked for."""
from ..words.pictures import draw


def plot_errors(report, tensor=None, **options):
    """The gradient of one tensor by backward, as measured, and the error of every element on a logarithmic scale."""
    rows = {row.name: row for row in report.rows if row.numeric.ndim and not row.empty}
    if not rows:
        raise ValueError(f"there is no picture of this report: {report.problem or 'no tensor was compared element by '}"
                         f"{'' if report.problem else 'element'}")
    if tensor is not None and tensor not in rows:
        raise ValueError(f"there is no tensor {tensor!r}; there are {', '.join(rows)}")
    row = rows[tensor] if tensor else max(rows.values(), key=lambda row: float(row.excess.max()))
    return draw("plot_gradient_check", row, **{"tolerance": 10 * report.settings["rtol"], **options})


def plot_steps(curve, **options):
    """The V-curve: largest relative error against the step, one line for each way of measuring."""
    return draw("plot_step_curve", curve.steps, curve.errors, name=f"d{curve.tensor}", **options)
