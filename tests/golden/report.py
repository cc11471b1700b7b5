"""python -m tests.golden.report: the reference cases passed, left out and different on purpose, by operator and tag."""
import collections

from .reference import Verdict, all_cases, verdict

STATUSES = ("passed", "differs", "left", "failed")


def report():
    """The table as text."""
    counts = collections.defaultdict(collections.Counter)
    remarks = {status: [] for status in STATUSES}
    for source, case in all_cases():
        try:
            found = verdict(source, case)
        except Exception as error:      # a table with the crash in it says more than a crash
            found = Verdict("failed", repr(error))
        for row in [("", "", "all"), (source, "", "all"), (source, case.op, "all"),
                    *((source, case.op, tag) for tag in case.tags)]:
            counts[row][found.status] += 1
        remarks[found.status].append(f"{source} {case.op} {case.name}: {found.detail}")
    lines = [f"{'source':<7} {'operator':<24} {'tag':<26} " + " ".join(f"{status:>8}" for status in STATUSES)]
    for row in sorted(counts, key=lambda row: (row[0] == "", row[0] == "onnx", row[1] == "", row[1], row[2] != "all",
                                               row[2])):
        source, op, tag = row
        lines.append(f"{source or 'both':<7} {op or 'all':<24} {tag:<26} "
                     + " ".join(f"{counts[row][status] or '.':>8}" for status in STATUSES))
    for status, title in (("differs", "Answered differently on purpose"), ("left", "Left out"), ("failed", "Failed")):
        if remarks[status]:
            lines += ["", f"{title}:", *("  " + line for line in remarks[status])]
    return "\n".join(lines)


if __name__ == "__main__":
    print(report())
