"""python -m numpy_attention bench: tables of times, ratios, shares of the machine's product rate and peak memory."""
import argparse
import json
import platform
import re
import sys
from pathlib import Path

from ..bench import training_vs_torch
from ..bench.rows import measure, measure_alone, table
from ..words.files import write_whole
from .options import number

USAGE_ERROR = 2
SIZES = [(1, 16, 64, 4), (1, 3, 512, 8), (8, 128, 512, 8), (2, 512, 512, 8), (1, 2048, 512, 8), (1, 4096, 512, 8)]
LENGTHS = [1024, 2048, 4096]            # of attention alone
QUICK = {"sizes": [(1, 16, 64, 4), (8, 128, 512, 8)], "lengths": [1024], "dtype": "float32", "seconds": 2.0,
         "steps": 60, "memory": False}


def configure(parser):
    """Give `parser` the options of the benchmark."""
    parser.add_argument("--quick", action="store_true", help="two sizes, one length, float32, no memory: half a minute")
    parser.add_argument("--sizes", nargs="+", type=_size, metavar="N,L,D,H", help="only these, and nothing else")
    parser.add_argument("--dtype", choices=["float32", "float64", "both"], help="of the layers' tables (both)")
    parser.add_argument("--seconds", type=number(0, 10**6), help="time for each table (6; --quick: 2)")
    parser.add_argument("--no-memory", action="store_true", help="do not measure peak memory in fresh processes")
    parser.add_argument("--json", metavar="FILE", help="also write the results there")
    parser.add_argument("--figure", metavar="FILE", help="also draw time and memory against the length")
    parser.set_defaults(run=run)


def _size(text):
    parts = text.split(",")
    if len(parts) != 4 or not all(re.fullmatch("0*[1-9][0-9]{0,8}", part) for part in parts) or (
            int(parts[2]) % int(parts[3])):
        raise argparse.ArgumentTypeError(f"wants N,L,D,H, such as 8,128,512,8, with D a multiple of H; not {text!r}")
    return tuple(map(int, parts))


def run(arguments):
    """Measure, print the table, write what was asked for."""
    for path in filter(None, (arguments.json, arguments.figure)):       # rather now than after all the measuring
        if not Path(path).absolute().parent.is_dir():
            print(f"bench: there is no folder for {path}", file=sys.stderr)
            return USAGE_ERROR
    if arguments.figure:
        from ..plots.curves import plot_cost
    quick = QUICK if arguments.quick else {}
    seconds = quick.get("seconds", 6.0) if arguments.seconds is None else arguments.seconds
    dtypes = arguments.dtype or quick.get("dtype", "both")
    memory = quick.get("memory", True) and not arguments.no_memory
    results, alone, training = [], [], []
    for dtype in ["float32", "float64"] if dtypes == "both" else [dtypes]:
        print(f"Multi-head self-attention, {dtype}: forward + backward, median ms (quartiles), as multiples of others' "
              "time, share of the rate of one large matrix product")
        for size in arguments.sizes or quick.get("sizes", SIZES):
            rows = measure(size, dtype, seconds, memory=memory)
            results += rows
            print(table(rows), end="\n\n", flush=True)
    if not arguments.sizes:
        print("Attention alone, 8 heads of width 64, float32: forward + backward")
        for length in quick.get("lengths", LENGTHS):
            for causal in (False, True):
                rows = measure_alone(length, seconds, causal=causal)
                alone += rows
                print(table(rows), flush=True)
        print("\nTraining the induction model, one thread each: processor time")
        training = training_vs_torch.measure(quick.get("steps", 300))
        print(training_vs_torch.table(training))
    if arguments.json:
        machine = {"machine": platform.processor() or platform.machine(), "python": platform.python_version()}
        measured = {"results": results, "alone": alone, "training": training}
        write_whole(arguments.json, json.dumps({**machine, **measured}, indent=1))
    if arguments.figure:
        plot_cost(results).save(arguments.figure)
    return 0
