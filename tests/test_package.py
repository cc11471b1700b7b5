"""The package as its users meet it: what importing costs, what is public, what lies where, what the README claims."""

import ast
import configparser
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import numpy_attention as na

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path(na.__file__).parent


def run_python(code, cwd=ROOT):
    # Matplotlib 3.8 calls the parser that it depends on by names that have become old since.
    old = [word for part in ("_fontconfig_pattern", "_mathtext")
           for word in ("-W", f"ignore::DeprecationWarning:matplotlib.{part}")]
    command = [sys.executable, "-W", "error", *old, "-c", code]
    env = {**os.environ, "PYTHONPATH": str(PACKAGE.parent), "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def readme_block(marker, language):
    """The lines of the fenced block right below `<!-- marker -->`."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(rf"^<!-- {marker} -->\n```{language}\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1, f"README.md has {len(blocks)} {language} blocks below <!-- {marker} -->"
    return blocks[0].splitlines()


def test_importing_brings_numpy_and_nothing_heavier():
    foreign = run_python(
        "import sys, numpy.random; before = set(sys.modules)\n"
        "import numpy_attention\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(*sorted(new - sys.stdlib_module_names))"
    )
    assert foreign.split() == ["numpy_attention"]


def test_public_names_exist_and_are_documented():
    assert len(set(na.__all__)) == len(na.__all__)
    for name in na.__all__:
        assert (getattr(na, name).__doc__ or "").strip(), name


def test_every_plot_is_public_and_is_drawn_by_the_figures_command():
    plots = {name for name in na.plots.__all__ if name.startswith("plot_")}
    source = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    editors = {alias.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)
               and node.module == "plots" for alias in node.names}
    drawn = {name for name in plots if f"{name}(" in (PACKAGE / "commands/figures.py").read_text(encoding="utf-8")}
    for place, names in {"__all__": set(na.__all__), "_PACKAGES": set(na._PACKAGES["plots"]),
                         "TYPE_CHECKING": editors}.items():
        assert not plots - names, f"numpy_attention/__init__.py, {place}: add {sorted(plots - names)}"
        assert not {name for name in names - plots if name.startswith("plot_")}, place
    assert not plots - drawn, f"numpy_attention/commands/figures.py: PICTURES has no {sorted(plots - drawn)}"


def test_installed_version_is_the_declared_one():
    try:
        installed = importlib.metadata.version("numpy_attention")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("numpy_attention is on the path, but not installed")
    assert installed == na.__version__


def test_top_level_stays_small():
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    top = {name.partition("/")[0] for name in listed.split("\0") if name}
    agreed = {"setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE",
              "numpy_attention", "notebooks", "tests", "figures"}
    assert {name for name in top if not name.startswith(".")} <= agreed


def test_readme_quick_look_runs(tmp_path):
    run_python("\n".join(readme_block("quick look", "python")), tmp_path)


@pytest.mark.parametrize("marker", ["run command", "test command"])
def test_readme_states_each_command_as_one_line(marker):
    # .ci/run reads them from there, so that what the README promises is what is run.
    assert len(readme_block(marker, "sh")) == 1


def test_readme_counts_what_there_is():
    from numpy_attention.museum import names
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lessons = len(list((ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb")))
    for sentence in (f"{len(names())} real bugs", f"{lessons} notebooks", f"{lessons} 个笔记本"):
        assert sentence in readme, f"README.md should say {sentence!r}"
    linked = re.findall(r"\(notebooks/(\d\d_\w+\.ipynb)\)", readme)
    assert sorted(linked) == sorted(p.name for p in (ROOT / "notebooks").glob("[0-9][0-9]_*.ipynb"))


def test_readme_names_every_package_and_every_command():
    from numpy_attention.commands.main import COMMANDS
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    where, typed = readme.partition("## Where is what")[2], readme.partition("## More to type")[2].partition("##")[0]
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert not {name for name in packages if f"{name}/`" not in where}
    assert not {name for name in COMMANDS if not re.search(rf"`{name}\b", typed)}


def test_every_command_has_its_file_and_every_file_its_command(capsys):
    from numpy_attention.commands.main import COMMANDS, main
    files = {path.stem for path in (PACKAGE / "commands").glob("*.py") if not path.stem.startswith("course_")}
    files -= {"__init__", "main", "options", "traced"}
    assert files == set(COMMANDS)
    for name in COMMANDS:
        with pytest.raises(SystemExit, match="0"):
            main([name, "--help"])
        assert name in capsys.readouterr().out


def test_the_console_script_is_the_same_command_line(capsys):
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    name, target = setup["options.entry_points"]["console_scripts"].strip().split(" = ")
    assert name == "numpy-attention"
    script = importlib.metadata.EntryPoint(name, target, "console_scripts").load()
    with pytest.raises(SystemExit, match="0"):
        script(["--help"])
    assert "gradcheck" in capsys.readouterr().out


def test_one_name_is_one_class():
    found = Counter()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found.update(node.name for node in tree.body if isinstance(node, ast.ClassDef))
    assert not [name for name, count in found.items() if count > 1]


def test_the_oldest_versions_are_those_that_are_tried():
    """.ci/run tries the oldest versions that setup.cfg allows."""
    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    needed = dict(re.findall(r"^(\w+)>=([\d.]+)$", settings["options"]["install_requires"], re.MULTILINE))
    tried = dict(re.findall(r"\b(numpy|matplotlib)=([\d.]+)", (ROOT / ".ci/run").read_text(encoding="utf-8")))
    assert {name: (version + ".0.0")[:5] for name, version in needed.items()} == tried
    assert settings["options"]["python_requires"] == ">=3.10" and "python3.10" in (ROOT / ".ci/run").read_text("utf-8")
