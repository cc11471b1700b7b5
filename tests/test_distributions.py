"""What is handed out: a wheel that holds the course, and a source distribution that holds what its tests need.

Both are built from a copy of this folder, without a network: setuptools is one of the test extras for this.
"""
import configparser
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SKIP = ".git", ".venv", "build", "*.egg-info", "__pycache__", ".*_cache"
MOST_BYTES = 6e6        # a course that waits for its download is not begun; 3.7 MB when this was written


def own_files(*folders):
    """The files of these folders, but for what running Python leaves."""
    found = (path.relative_to(ROOT) for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.as_posix() for path in found if not any(part.startswith((".", "__pycache__")) for part in path.parts)}


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory):
    """The wheel and the source distribution."""
    if int(importlib.metadata.version("setuptools").partition(".")[0]) < 77:
        pytest.skip("needs setuptools 77 or later: pip install numpy_attention[test]")
    copy, made = tmp_path_factory.mktemp("copy") / "source", tmp_path_factory.mktemp("made")
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*SKIP))
    for build in ("build_wheel", "build_sdist"):        # a process for each, as pip does
        subprocess.run([sys.executable, "-c", f"from setuptools import build_meta; build_meta.{build}({str(made)!r})"],
                       cwd=copy, check=True, capture_output=True, timeout=300)
    return next(made.glob("*.whl")), next(made.glob("*.tar.gz"))


def test_setup_names_every_package():
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    named = setup["options"]["packages"].split()
    found = {path.parent.relative_to(ROOT).as_posix().replace("/", ".") for path in
             (ROOT / "numpy_attention").rglob("__init__.py")}
    assert set(named) == found | {"numpy_attention.course.notebooks"}
    assert named == sorted(named)


def test_the_wheel_holds_the_package_and_the_course_and_nothing_else(handed_out):
    wheel, _ = handed_out
    with zipfile.ZipFile(wheel) as file:
        names = {name for name in file.namelist() if ".dist-info/" not in name}
    home = "numpy_attention/course/"
    assert names == own_files("numpy_attention") | {home + name for name in own_files("notebooks")}
    assert wheel.stat().st_size < MOST_BYTES


def test_from_a_wheel_in_an_empty_folder_to_a_graded_course(handed_out, tmp_path):
    with zipfile.ZipFile(handed_out[0]) as file:
        file.extractall(tmp_path / "installed")
    (tmp_path / "empty").mkdir()

    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed"), "PYTHONIOENCODING": "utf-8"}

    def course(*words):
        done = subprocess.run([sys.executable, "-m", "numpy_attention", "course", *words], cwd=tmp_path / "empty",
                              env=environment, capture_output=True, text=True, encoding="utf-8", timeout=300)
        return done.returncode, done.stdout + done.stderr

    assert "Attention by hand" in course("list")[1]
    assert course("start", "mine", "01")[0] == 0
    assert [path.name for path in (tmp_path / "empty/mine").iterdir()] == ["01_attention_by_hand.ipynb"]
    status, said = course("grade", "mine")
    assert status == 1 and "attention-forward" in said


def test_the_source_distribution_holds_what_its_tests_need(handed_out):
    with tarfile.open(handed_out[1]) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    needed = own_files("numpy_attention", "notebooks", "tests", "figures") | {
        ".ci/run", ".github/CONTRIBUTING.md", "README.md", "LICENSE", "setup.cfg", "pyproject.toml"}
    assert not needed - names
