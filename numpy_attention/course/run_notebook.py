"""Run a learner's notebook without Jupyter and write down what its checks say.

    python -m numpy_attention.course.run_notebook NOTEBOOK RESULTS

Cells run in order in one namespace. One that fails does not stop the others, lines that only Jupyter understands are
left out, and so are the cells tagged `experiment`: they take time, and no exercise needs them. RESULTS is a JSON file,
written anew after each check, so that a notebook that is stopped half way keeps what it has.
"""
import contextlib
import io
import json
import linecache
import sys

from ..words.files import write_whole
from . import asking
from .lessons import read, source, tags


def run_cells(notebook, note):
    """Execute all cells; note(kind, name, ...) hears of every check and of every cell that fails."""
    asking.listeners.append(lambda exercise, verdict: note(exercise.name, verdict))
    space = {"__name__": "__main__"}
    try:
        for number, cell in enumerate(notebook["cells"], 1):
            if cell["cell_type"] == "code" and not tags(cell) & {"experiment", "raises-exception"}:
                _run(source(cell), f"<cell {number}>", space, note)
    finally:
        asking.listeners.pop()


def _run(text, name, space, note):
    lines = ["pass" if line.startswith(("%", "!")) else line for line in text.splitlines()]
    linecache.cache[name] = len(text), None, [line + "\n" for line in lines], name
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile("\n".join(lines), name, "exec"), space)
    except BaseException as error:      # a learner's exit() too
        note(name, error)


def main(notebook, results):
    found = {"checks": {}, "errors": []}

    def note(name, outcome):
        if isinstance(outcome, BaseException):
            found["errors"].append(f"{name} {type(outcome).__name__}: {outcome}")
        else:
            first = next((remark.what.en for _, remark in outcome.results if remark), "")
            found["checks"][name] = {"ok": outcome.ok, "passed": outcome.passed, "stages": outcome.stages,
                                     "says": first, "text": str(outcome)}
        write_whole(results, json.dumps(found, ensure_ascii=False))

    run_cells(read(notebook), note)


if __name__ == "__main__":
    main(*sys.argv[1:])
