"""The rows of the benchmark: one contender each, measured in turns with the others, and as text.

Times belong to a machine and an hour; what can be compared are the ratios within one block of rows.
"""
import sys

from .contenders import attention_alone, available, contender, operations, operations_alone
from .memory import peak_megabytes
from .timing import alternate, product, quartiles


def measure(size, dtype, seconds, *, memory=True):
    """One dict for each contender at a size (N, L, D, H): times in ms, ratios, share of the product rate, MB."""
    names = available()
    functions = {name: contender(name, size, dtype) for name in names}
    rows = _race(f"{dtype} {size}", functions, dtype, operations(size), seconds)
    for row in rows:
        _progress(f"{dtype} {size}: peak memory of {row['contender']}")
        row.update(size=size, dtype=dtype, mb=peak_megabytes(row["contender"], size, dtype) if memory else None)
    _progress("")
    return rows


def measure_alone(length, seconds, *, causal=False):
    """The same for attention without projections, 8 heads of width 64 in float32: BlockedAttention and torch SDPA."""
    what = f"attention alone, L {length}{', causal' if causal else ''}"
    functions = {name: attention_alone(name, length, causal=causal) for name in available(("blocked", "torch SDPA"))}
    rows = _race(what, functions, "float32", operations_alone(length, causal=causal), seconds)
    for row in rows:
        row.update(length=length, causal=causal, dtype="float32")
    _progress("")
    return rows


def _race(what, functions, dtype, work, seconds):
    _progress(f"{what}: {', '.join(functions)}")
    multiply, product_work = product(dtype)
    *times, products = alternate([*functions.values(), multiply], seconds)
    rate = product_work / quartiles(products)[1]
    medians = {name: quartiles(taken)[1] for name, taken in zip(functions, times, strict=True)}
    rows = []
    for name, taken in zip(functions, times, strict=True):
        low, middle, high = quartiles(taken)
        rows.append({"contender": name, "ms": middle * 1e3, "low": low * 1e3, "high": high * 1e3, "runs": len(taken),
                     "share": work / middle / rate,
                     "times": {other: middle / median for other, median in medians.items() if other != name}})
    return rows


def table(rows):
    """The rows of one size as text: ms (quartiles), how many times the others' time, share of the product rate, MB."""
    first = rows[0]
    if "size" in first:
        title = "  N {}, L {}, D {}, H {}".format(*first["size"])
    else:
        title = f"  L {first['length']}{', causal' if first['causal'] else ''}"
    others = [name for name in ("plain", "torch with weights", "torch SDPA") if any(name in r["times"] for r in rows)]
    lines = [title.ljust(53) + "".join(f"{'× ' + name.removeprefix('torch '):>15}" for name in others)
             + f"{'rate':>7}" + f"{'MB':>9}" * any(row.get("mb") for row in rows)]
    for row in rows:
        ratios = "".join(f"{row['times'][name]:15.2f}" if name in row["times"] else f"{'1':>15}" for name in others)
        memory = f"{row['mb']:9.1f}" if row.get("mb") else ""
        lines.append(f"    {row['contender']:<19}{row['ms']:9.3f} ({row['low']:.3f} … {row['high']:.3f})".ljust(53)
                     + ratios + f"{row['share']:7.0%}" + memory)
    return "\n".join(lines)


def _progress(text):
    if sys.stderr.isatty():
        print(f"\r{text:<79}", end="" if text else "\r", file=sys.stderr, flush=True)
