"""A wheel made of files that are already here: what a browser's Python installs.

A wheel is a zip file: the package's files, and a folder that says what they are. So none of the tools that build
packages is needed, and no network.
"""
import base64
import hashlib
import importlib.metadata
import re
import zipfile
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
SKIP = {"__pycache__", "notebooks"}     # the notebooks lie beside the wheel already, and are larger than all the rest
ABOUT = "Wheel-Version: 1.0\nGenerator: numpy_attention\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def pack_ourselves(folder):
    """This package as a wheel in `folder`, without the notebooks. Returns its path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pack_ourselves(folder).name.endswith("-py3-none-any.whl")
    True
    """
    version = re.search(r'^__version__ = "(.+)"', (PACKAGE / "__init__.py").read_text("utf-8"), re.MULTILINE)[1]
    files = {f"{PACKAGE.name}/{path.relative_to(PACKAGE).as_posix()}": path.read_bytes()
             for path in sorted(PACKAGE.rglob("*")) if path.is_file() and not SKIP & set(path.parts)}
    about = (f"Metadata-Version: 2.1\nName: {PACKAGE.name}\nVersion: {version}\nRequires-Python: >=3.10\n"
             "Requires-Dist: numpy>=2.0\nRequires-Dist: matplotlib>=3.8.4\n")
    return _pack(folder, PACKAGE.name, version, files, about)


def pack_installed(folder, name):
    """An installed package in pure Python, as a wheel in `folder`. Returns its path.

    Raises: importlib.metadata.PackageNotFoundError if it is not installed.
    """
    found = importlib.metadata.distribution(name)
    files = {path.as_posix(): path.locate().read_bytes() for path in sorted(found.files)
             if path.suffix != ".pyc" and ".dist-info" not in path.parts[0] and path.parts[0] != ".."}
    return _pack(folder, name, found.version, files, found.read_text("METADATA"))


def _pack(folder, name, version, files, about):
    """Write the zip file: the same bytes for the same files, whenever and wherever it is made."""
    home = f"{name}-{version}.dist-info"
    files = {**files, f"{home}/METADATA": about.encode(), f"{home}/WHEEL": ABOUT.encode()}
    rows = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in files.items()]
    files[f"{home}/RECORD"] = "\n".join([*rows, f"{home}/RECORD,,", ""]).encode()
    target = Path(folder) / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path)       # dated 1980: a zip file must have a date
            entry.external_attr = 0o644 << 16
            wheel.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return target


def _digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
