"""The committed notebooks are what their sources give, run from top to bottom with every warning an error."""

import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
NAMES = sorted(path.stem for path in (NOTEBOOKS / "src").glob("*.py"))

MISSING = [name for name in ("jupytext", "nbclient", "nbformat", "ipykernel") if not importlib.util.find_spec(name)]
needs_extra = pytest.mark.skipif(bool(MISSING), reason=f"the notebooks extra is not installed: no {', '.join(MISSING)}")


def load(name, folder=NOTEBOOKS):
    return json.loads((folder / f"{name}.ipynb").read_text(encoding="utf-8"))


def outputs(notebook):
    return [output for cell in notebook["cells"] for output in cell.get("outputs", [])]


def comparable(notebook):
    """What has to be the same on every machine: pictures count by their presence and their alt text only."""
    for cell in notebook["cells"]:
        if "varies" in cell["metadata"].get("tags", []):
            cell["outputs"] = "differ from run to run"
    for output in outputs(notebook):
        if "data" in output:
            output["data"].update({kind: "a picture" for kind in output["data"] if kind.startswith("image/")})
    return notebook


def test_sources_and_notebooks_are_the_same_set():
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_built_from_its_present_source(name):
    source = (NOTEBOOKS / "src" / f"{name}.py").read_text(encoding="utf-8")
    recorded = load(name)["metadata"]["numpy_attention"]["sha256"]
    assert recorded == hashlib.sha256(source.encode()).hexdigest(), "run: python notebooks/build.py"


@pytest.mark.parametrize("name", NAMES)
def test_small_enough_to_be_shown_by_a_hosting_site(name):
    assert (NOTEBOOKS / f"{name}.ipynb").stat().st_size < 1_000_000


@pytest.mark.parametrize("name", NAMES)
def test_every_picture_has_alt_text(name):
    for output in outputs(load(name)):
        for kind in output.get("data", {}):
            if kind.startswith("image/"):
                assert output["metadata"].get(kind, {}).get("alt"), output["data"].get("text/plain")


@needs_extra
@pytest.mark.parametrize("name", NAMES)
def test_running_it_again_gives_the_committed_outputs(name, tmp_path):
    command = [sys.executable, NOTEBOOKS / "build.py", "--to", tmp_path, name]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr
    fresh, committed = comparable(load(name, tmp_path)), comparable(load(name))
    for fresh_cell, committed_cell in zip(fresh["cells"], committed["cells"], strict=True):
        assert fresh_cell == committed_cell
    assert fresh == committed
