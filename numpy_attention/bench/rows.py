"""The rows of the benchmark: one contender each at one size, measured and as text."""
import sys

from .contenders import available, contender, operations
from .memory import peak_megabytes
from .timing import alternate, product, quartiles


def measure(size, dtype, seconds, *, memory=True):
    """One dict for each contender: times in ms, share of the machine's product rate, MB, ratio to `direct`."""
    names = available()
    _progress(f"{dtype} {size}: {', '.join(names)}")
    multiply, work = product(dtype)
    *times, products = alternate([*(contender(name, size, dtype) for name in names), multiply], seconds)
    rate = work / quartiles(products)[1]
    direct = quartiles(times[0])[1]
    rows = []
    for name, taken in zip(names, times, strict=True):
        low, middle, high = quartiles(taken)
        _progress(f"{dtype} {size}: peak memory of {name}")
        rows.append({"contender": name, "size": size, "dtype": dtype, "ms": middle * 1e3, "low": low * 1e3,
                     "high": high * 1e3, "runs": len(taken), "share": operations(size) / middle / rate,
                     "times_direct": middle / direct, "mb": peak_megabytes(name, size, dtype) if memory else None})
    _progress("")
    return rows


def table(rows):
    """The rows of one size as text."""
    N, L, D, H = rows[0]["size"]
    lines = [f"  N {N}, L {L}, D {D}, H {H}"]
    for row in rows:
        memory = "" if row["mb"] is None else f"{row['mb']:9.1f} MB"
        lines.append(f"    {row['contender']:<19}{row['ms']:10.3f}  ({row['low']:.3f} … {row['high']:.3f})".ljust(60)
                     + f"{row['times_direct']:6.2f} ×{row['share']:6.0%}{memory}")
    return "\n".join(lines)


def _progress(text):
    if sys.stderr.isatty():
        print(f"\r{text:<79}", end="" if text else "\r", file=sys.stderr, flush=True)
