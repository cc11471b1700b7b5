"""Every wrong backward is seen, and no right layer is accused.

Each entry is tried here at one seed and one scale; at all of them by

    python -m tests.gradcheck.test_collections [every] [from]        # of so many entries one, from this one on
"""
import sys
import time
from collections import Counter

import pytest

import numpy_attention as na

from .awkward_layers import RIGHT, TOLD, UNDECIDED
from .collection import made
from .wrong_backwards import SAID, WRONG

SEEDS, SCALES = (0, 1, 2, 3, 4), (1e-4, 1.0, 1e4)


def checked(make, seed, scale):
    layer, inputs, options = made(make, seed, scale)
    return na.check_gradients(layer, *inputs, **options)


def seen(name, report):
    """Is the wrong backward called wrong, or what is out of reach named in the headline?"""
    return "not checked" in report.headline() if name in SAID else not report.ok


def passed(name, report):
    """Is the right layer passed, or at least its gradient?"""
    rows = bool(report.rows) and all(row.ok for row in report.rows)
    if name in UNDECIDED:
        return not any(row.differs for row in report.rows) and not report.problem
    return report.ok or (name in TOLD and rows)


def one_of_each(entries):
    return [(name, SEEDS[i % 5], SCALES[i % 3]) for i, name in enumerate(entries)]


@pytest.mark.parametrize(("name", "seed", "scale"), one_of_each(WRONG))
def test_a_wrong_backward_is_seen(name, seed, scale):
    report = checked(WRONG[name], seed, scale)
    assert seen(name, report), report


@pytest.mark.parametrize(("name", "seed", "scale"), one_of_each(RIGHT))
def test_a_right_layer_is_not_accused(name, seed, scale):
    report = checked(RIGHT[name], seed, scale)
    assert passed(name, report), report


def test_the_collections_are_large():
    assert len(WRONG) >= 120
    assert len(RIGHT) >= 120


def in_full(every="1", start="0"):
    """Print what went wrong at any seed and scale, and the counts; how often the second measurement decided."""
    for title, entries, good in (("wrong", WRONG, seen), ("right", RIGHT, passed)):
        counts, started = Counter(), time.perf_counter()
        for name in list(entries)[int(start)::int(every)]:
            for seed in SEEDS:
                for scale in SCALES:
                    report = checked(entries[name], seed, scale)
                    counts["checks"] += 1
                    counts["ok" if report.ok else "not ok"] += 1
                    counts["mistaken"] += not good(name, report)
                    counts["could not be measured"] += any(row.unmeasured.any() for row in report.rows)
                    counts["the slow way, as the second measurement contradicted the complex step"] += any(
                        row.why and "complex numbers" not in row.why for row in report.rows)
                    counts["the slow way, as forward takes no complex numbers"] += any(
                        "complex numbers" in row.why for row in report.rows)
                    counts["single numbers contradicted the complex step"] += any(row.forced for row in report.rows)
                    if not good(name, report):
                        print(f"MISTAKEN {name}, seed {seed}, scale {scale:g}: {report.headline()}", flush=True)
        print(f"{title}: {len(entries)} entries, of these one in {every}, {time.perf_counter() - started:.0f} s, "
              f"{dict(counts)}", flush=True)


if __name__ == "__main__":
    in_full(*sys.argv[1:])
