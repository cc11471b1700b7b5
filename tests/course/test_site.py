"""The site: built without a network, complete, and asking nobody but itself, and Pyodide's host for Python."""
import hashlib
import json
import re
import subprocess
import sys
import zipfile
from base64 import urlsafe_b64encode
from html.parser import HTMLParser

import pytest

from numpy_attention.commands.main import main
from numpy_attention.course import lessons, site, wheels

PAGES = "index.html", "attention.html", "interview.html", "pictures.html"


def draw(folder):
    (folder / "one.png").write_bytes(b"")
    return {"one": "A picture & more."}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    pytest.importorskip("jupyterlite_core", reason="needs JupyterLite: pip install numpy_attention[site]")
    pytest.importorskip("jupyterlite_pyodide_kernel", reason="needs JupyterLite: pip install numpy_attention[site]")
    folder = tmp_path_factory.mktemp("site") / "course"
    return folder, site.build(folder, draw=draw)


class Links(HTMLParser):
    """What a page asks for or leads to."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found += [value for name, value in attributes if name in ("href", "src") and value]


def test_every_link_of_the_pages_leads_somewhere_here(built):
    folder, _ = built
    for page in PAGES:
        for link in Links((folder / page).read_text(encoding="utf-8")).found:
            if link.startswith(("#", "data:")):
                continue
            path, _, name = link.partition("?path=")
            assert (folder / path).is_file(), f"{page}: {link}"
            assert not name or (folder / "lite/files" / name).is_file(), f"{page}: {link}"


def test_the_lessons_are_the_learners_copies(built):
    files = sorted((built[0] / "lite/files").glob("*.ipynb"))
    assert [path.name for path in files] == [lesson.path.name for lesson in lessons.lessons()]
    listed = json.loads((built[0] / "lite/api/contents/all.json").read_text(encoding="utf-8"))["content"]
    assert {entry["name"] for entry in listed} == {path.name for path in files}
    for path in files:
        notebook = lessons.read(path)
        assert notebook["nbformat"] == 4 and notebook["metadata"]["kernelspec"]["language"] == "python"
        assert not any(cell.get("outputs") or "solution" in lessons.tags(cell) for cell in notebook["cells"])


def test_python_starts_with_the_package_and_asks_only_pyodides_host(built):
    config = json.loads((built[0] / "lite/jupyter-lite.json").read_text(encoding="utf-8"))["jupyter-config-data"]
    kernel = config["litePluginSettings"][site.KERNEL]
    assert kernel["disablePyPIFallback"] and "pyodideUrl" not in kernel
    worker = built[0] / "lite/extensions/@jupyterlite/pyodide-kernel-extension/static"
    assert (worker / kernel["loadPyodideOptions"]["packages"][-1]).resolve().is_file()
    assert not re.search(r"https?://", json.dumps({**kernel, "apps": config.get("appUrl")}))
    named = {host for path in worker.rglob("*.js") for host in re.findall(
        r"https://([^/\"'`]+)/pyodide/v0\.27\.\d+/full/pyodide\.js", path.read_text(encoding="utf-8"))}
    assert len(named) == 1
    for page in PAGES:
        assert not re.findall(r"""(?:src|href)=["']?(?:https?:)?//""", (built[0] / page).read_text(encoding="utf-8"))


def test_the_wheel_is_one(built, tmp_path):
    (wheel,) = (built[0] / "lite/pypi").glob("numpy_attention-*.whl")
    with zipfile.ZipFile(wheel) as file:
        record = next(name for name in file.namelist() if name.endswith("/RECORD"))
        rows = [line.split(",") for line in file.read(record).decode().splitlines()]
        assert {row[0] for row in rows} == set(file.namelist())
        for name, digest, size in rows[:-1]:
            data = file.read(name)
            assert digest == "sha256=" + urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            assert int(size) == len(data)
    assert built[1]["package"] == wheel.stat().st_size < 2e6
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target",
                    str(tmp_path / "there"), str(wheel)], check=True, timeout=120)
    code = "import numpy_attention as na; print(na.__file__); na.course.exercises()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "there", capture_output=True, text=True,
                          timeout=120)
    assert str(tmp_path / "there") in done.stdout


def test_the_same_files_give_the_same_wheel(tmp_path):
    (tmp_path / "again").mkdir()
    first, second = wheels.pack_ourselves(tmp_path), wheels.pack_ourselves(tmp_path / "again")
    assert first.read_bytes() == second.read_bytes()


def test_an_earlier_site_is_replaced_and_anything_else_refused(built, tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "empty").mkdir()
    folder = built[0].parent / "small"
    site.build(folder, ["01"], lang="en", draw=draw)
    site.build(folder, ["02"], lang="en", draw=draw)
    assert [path.name[:2] for path in (folder / "lite/files").iterdir()] == ["02"]
    for words, says in (([str(tmp_path)], "holds something else"),
                        ([str(folder), "--pyodide", str(tmp_path / "empty")], "holds no Pyodide"),
                        ([str(folder), "99"], "there is no lesson 99")):
        assert main(["course", "site", *words]) == 2
        assert says in capsys.readouterr().err
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert [path.name[:2] for path in (folder / "lite/files").iterdir()] == ["02"]


def test_another_pyodide_is_refused(built, tmp_path, capsys):
    (tmp_path / "pyodide-lock.json").write_text('{"info": {"version": "0.29.4"}}')
    assert main(["course", "site", str(tmp_path / "new"), "--pyodide", str(tmp_path)]) == 2
    assert "holds Pyodide 0.29.4, and this JupyterLite needs 0.27" in capsys.readouterr().err


def test_without_jupyterlite_it_says_what_to_install(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(site, "VERSIONS", {"no-such-package": "1.0"})
    assert main(["course", "site", str(tmp_path / "new")]) == 2
    assert "pip install 'numpy_attention[site]'" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
