"""The course as a site of plain files: a visitor's browser runs Python itself, nothing is installed anywhere.

JupyterLite is Jupyter in a browser, Pyodide the Python that runs there. What stands here are the settings that were
seen to work, for exactly the versions below; the package is there before the first cell runs.

    DIR/index.html            where to begin
    DIR/lite/                 JupyterLite with the learner's copies, the package's wheel in lite/pypi/
    DIR/attention.html  interview.html  pictures.html  pictures/
    DIR/lite/pyodide/         Python itself, if its folder was given; else it comes from the host that JupyterLite names
"""
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ..walkthrough import worked_example
from ..walkthrough.page import save
from ..words.files import write_whole
from .lessons import lessons, start
from .site_pages import interview_page, pictures_page, start_page
from .wheels import pack_installed, pack_ourselves

VERSIONS = {"jupyterlite-core": "0.6.4", "jupyterlite-pyodide-kernel": "0.6.1"}
PYODIDE = "0.27"            # the one that this kernel was made for
KERNEL = "@jupyterlite/pyodide-kernel-extension:kernel"
OURS = "numpy_attention-site.json"      # marks a folder that may be written anew


def build(folder, numbers=(), *, lang="both", pyodide=None, draw=lambda target: {}):
    """Write the site into `folder`, which must be new, empty, or an earlier site.

    Args:
        numbers: which lessons; all unless given. lang: "zh", "en" or "both".
        pyodide: a folder with Pyodide 0.27, to be copied into the site, so that nothing is asked of another host.
        draw: function that draws pictures into a folder and returns {name: description}.

    Returns: bytes by what they are: {"site": ..., "package": ..., "pyodide": ...}.
    Raises: ValueError if the folder holds something else, Pyodide is another version, or JupyterLite is missing.
    """
    folder, numbers = Path(folder), [number.zfill(2) for number in numbers]
    _ask_first(folder, pyodide)
    with tempfile.TemporaryDirectory() as scratch:
        work, new = Path(scratch), Path(scratch, "site")
        start(work / "content", numbers, lang)
        wheels = [pack_ourselves(work), pack_installed(work, "comm")]
        (new / "pictures").mkdir(parents=True)
        _jupyterlite(work, new / "lite", wheels, pyodide)
        save(worked_example("by-hand").trace(), new / "attention.html", lang=lang)
        chosen = set(numbers) or {each.number for each in lessons()}
        for name, text in {"index.html": start_page(chosen, pyodide is None), "interview.html": interview_page(),
                           "pictures.html": pictures_page(draw(new / "pictures")), ".nojekyll": ""}.items():
            write_whole(new / name, text)
        sizes = {"site": _bytes(new), "package": wheels[0].stat().st_size, "pyodide": _bytes(new / "lite/pyodide")}
        write_whole(new / OURS, json.dumps({"versions": VERSIONS, "bytes": sizes}, indent=1))
        if folder.exists():
            shutil.rmtree(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(new, folder)
    return sizes


def _ask_first(folder, pyodide):
    """Refuse before anything is written."""
    for name, wanted in VERSIONS.items():
        try:
            there = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            raise ValueError(f"a site needs {name} {wanted}: pip install 'numpy_attention[site]'") from None
        if there != wanted:
            raise ValueError(f"a site needs {name} {wanted}, and {there} is installed: "
                             "pip install 'numpy_attention[site]' in an environment of its own")
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / OURS).exists())):
        raise ValueError(f"{folder} holds something else: choose a new folder")
    if pyodide is not None:
        try:
            info = json.loads(Path(pyodide, "pyodide-lock.json").read_text(encoding="utf-8"))["info"]
        except (OSError, ValueError, KeyError):
            raise ValueError(f"{pyodide} holds no Pyodide: a folder with pyodide.js and pyodide-lock.json is "
                             "wanted") from None
        if not info["version"].startswith(f"{PYODIDE}."):
            raise ValueError(f"{pyodide} holds Pyodide {info['version']}, and this JupyterLite needs {PYODIDE}")


def _jupyterlite(work, target, wheels, pyodide):
    """Let JupyterLite write its part of the site, with nobody's own settings."""
    # The wheel's address is relative to the worker, four folders down, so that the site may lie anywhere.
    kernel = {"disablePyPIFallback": True, "loadPyodideOptions": {
        "packages": ["numpy", "matplotlib", f"../../../../pypi/{wheels[0].name}"]}}
    if pyodide is not None:
        kernel["pyodideUrl"] = "./pyodide/pyodide.js"
    (work / "jupyter-lite.json").write_text(json.dumps({"jupyter-lite-schema-version": 0, "jupyter-config-data": {
        "appName": "numpy_attention", "exposeAppInBrowser": True, "litePluginSettings": {KERNEL: kernel}}}))
    (work / "jupyter_lite_config.json").write_text(json.dumps({
        "LiteBuildConfig": {"contents": ["content"], "output_dir": str(target), "apps": ["lab"], "no_sourcemaps": True},
        "PipliteAddon": {"piplite_urls": [wheel.name for wheel in wheels]}}))
    done = subprocess.run([sys.executable, "-m", "jupyterlite_core", "build"], cwd=work, capture_output=True, text=True,
                          encoding="utf-8", errors="replace", stdin=subprocess.DEVNULL,
                          env={**os.environ, "JUPYTER_CONFIG_DIR": str(work / "no settings"), "PYTHONUTF8": "1"})
    if done.returncode:
        raise ValueError("JupyterLite did not build:\n" + "\n".join((done.stdout + done.stderr).splitlines()[-12:]))
    if pyodide is not None:
        shutil.copytree(pyodide, target / "pyodide")


def _bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
