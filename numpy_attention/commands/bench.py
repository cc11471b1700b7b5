"""python -m numpy_attention bench: the table of times, shares and peak memory."""
import argparse
import json
import platform
import sys
from pathlib import Path

from ..bench.rows import measure, table
from ..words.files import write_whole

USAGE_ERROR = 2
SIZES = [(1, 16, 64, 4), (1, 3, 512, 8), (8, 128, 512, 8), (2, 512, 512, 8), (1, 2048, 512, 8), (1, 4096, 512, 8)]


def configure(parser):
    """Give `parser` the options of the benchmark."""
    parser.add_argument("--sizes", nargs="+", type=_size, default=SIZES, metavar="N,L,D,H", help="instead of the usual")
    parser.add_argument("--dtype", choices=["float32", "float64", "both"], default="both")
    parser.add_argument("--seconds", type=_seconds, default=6.0, help="time for each row of sizes (%(default)g)")
    parser.add_argument("--no-memory", action="store_true", help="do not measure peak memory in fresh processes")
    parser.add_argument("--json", metavar="FILE", help="also write the results there")
    parser.add_argument("--figure", metavar="FILE", help="also draw time and memory against the length")
    parser.set_defaults(run=run)


def _size(text):
    parts = text.split(",")
    if len(parts) != 4 or not all(part.isdecimal() and int(part) for part in parts) or int(parts[2]) % int(parts[3]):
        raise argparse.ArgumentTypeError(f"wants N,L,D,H, such as 8,128,512,8, with D a multiple of H; not {text!r}")
    return tuple(map(int, parts))


def _seconds(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"wants a number of seconds, not {text!r}")
    return seconds


def run(arguments):
    """Measure, print the table, write what was asked for."""
    for path in filter(None, (arguments.json, arguments.figure)):       # rather now than after all the measuring
        if not Path(path).absolute().parent.is_dir():
            print(f"bench: there is no folder for {path}", file=sys.stderr)
            return USAGE_ERROR
    if arguments.figure:
        from ..plots.cost import plot_cost
    dtypes = ["float32", "float64"] if arguments.dtype == "both" else [arguments.dtype]
    results = []
    for dtype in dtypes:
        print(f"{dtype}: forward + backward, median ms (quartiles)")
        for size in arguments.sizes:
            rows = measure(size, dtype, arguments.seconds, memory=not arguments.no_memory)
            results += rows
            print(table(rows), end="\n\n", flush=True)
    if arguments.json:
        machine = {"machine": platform.processor() or platform.machine(), "python": platform.python_version()}
        write_whole(arguments.json, json.dumps({**machine, "results": results}, indent=1))
    if arguments.figure:
        plot_cost(results).save(arguments.figure)
    return 0
