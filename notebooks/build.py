"""Build notebooks/*.ipynb from the percent-format sources in notebooks/src.

    python notebooks/build.py               build the notebooks whose source has changed
    python notebooks/build.py 01 07         only those whose name starts so
    python notebooks/build.py --force       run all of them again, as after a change in the package
    python notebooks/build.py --to DIR      leave the committed ones alone and build into DIR

Needs the `notebooks` extra. Cells run in order in a fresh kernel, every warning is an error, and outputs are kept.
The same source and the same outputs give the same bytes: nothing in the file tells when, where or on which Python
it was built. A cell whose output differs from run to run (a stop watch) carries the tag `varies`; a cell that is
meant to fail carries `raises-exception`. What is printed by the cell below one tagged `guess` is folded away, so that a
reader can predict first.
"""

import argparse
import hashlib
import html
import itertools
import os
import re
import sys
import tempfile
import time
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

HERE = Path(__file__).resolve().parent

# Runs in the kernel before the first cell. What the kernel's own modules find deprecated is not the notebook's
# business. Tracebacks would show folders of this machine: keep their last line.
STARTUP = """
import warnings
warnings.simplefilter("error")
for old in (DeprecationWarning, PendingDeprecationWarning):
    warnings.filterwarnings("ignore", "", old, module="(ipykernel|IPython|jupyter_client|traitlets|tornado|zmq)[.]")
get_ipython().run_line_magic("xmode", "Minimal")
"""


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def read_source(path):
    """The notebook of a source, not run yet; ids and metadata follow from the text alone."""
    text = path.read_text(encoding="utf-8")
    notebook = jupytext.reads(text, fmt="py:percent")
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        "numpy_attention": {"source": f"src/{path.name}", "sha256": digest(text)},
    }
    seen = {}
    for cell in notebook.cells:
        cell.metadata.pop("lines_to_next_cell", None)
        # From the text, not the position: a new cell leaves the ids below it alone.
        name = digest(f"{cell.cell_type} {cell.source}")[:12]
        seen[name] = seen.get(name, 0) + 1
        cell.id = name if seen[name] == 1 else f"{name}-{seen[name]}"
    return notebook


def run(notebook):
    metadata = dict(notebook.metadata)
    with tempfile.TemporaryDirectory() as profile:
        startup = Path(profile, "profile_default", "startup")
        startup.mkdir(parents=True)
        (startup / "00.py").write_text(STARTUP)
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            timeout=300,
            record_timing=False,
            coalesce_streams=True,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(HERE)}},
        )
        client.execute(env={
            **os.environ,
            "IPYTHONDIR": profile,  # nobody's own IPython settings
            "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
            "PYTHONHASHSEED": "0",
            **dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1"),
        })
    notebook.metadata = metadata  # as it was, without the version of this Python
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                output.traceback = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in output.traceback]
    for above, cell in itertools.pairwise(notebook.cells):
        if "guess" in above.metadata.get("tags", []):
            cell.outputs = [folded(output) for output in cell.outputs]
    return notebook


def folded(output):
    """What a cell printed, behind a line to click on; anything else is left as it is."""
    if output.output_type != "stream":
        return output
    page = f"<details><summary>打印的内容 · what was printed</summary><pre>{html.escape(output.text)}</pre></details>"
    return nbformat.v4.new_output("display_data", {"text/plain": output.text, "text/html": page})


def without_varying_outputs(notebook):
    cells = [
        {**cell, "outputs": None} if "varies" in cell.metadata.get("tags", []) else cell for cell in notebook.cells
    ]
    return {**notebook, "cells": cells}


def build(source, target, force):
    """Build one notebook; answers what happened to it."""
    notebook = read_source(source)
    old = nbformat.read(target, as_version=4) if target.exists() else None
    if old and old.metadata == notebook.metadata and not force:
        return "source unchanged, not run"
    start = time.perf_counter()
    run(notebook)
    seconds = time.perf_counter() - start
    if old and without_varying_outputs(old) == without_varying_outputs(notebook):
        return f"run in {seconds:.1f} s, nothing new"
    target.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, target)
    return f"built in {seconds:.1f} s, {target.stat().st_size / 1e3:.0f} kB"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="how the names of the wanted notebooks start")
    parser.add_argument("--force", action="store_true", help="run also what has not changed")
    parser.add_argument("--to", type=Path, default=HERE, metavar="DIR", help="where the notebooks go")
    args = parser.parse_args(argv)

    sources = [path for path in sorted((HERE / "src").glob("*.py")) if path.name.startswith(tuple(args.names or [""]))]
    if args.names and not sources:
        parser.error(f"no source in notebooks/src starts with {' or '.join(args.names)}")
    failed = False
    for source in sources:
        try:
            print(f"{source.stem}: {build(source, args.to / f'{source.stem}.ipynb', args.force)}", flush=True)
        except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
            print(f"{source.stem}: failed, left as it was\n{error}", file=sys.stderr)
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
