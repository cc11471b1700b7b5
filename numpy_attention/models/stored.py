"""Folders: which files hold a model's arrays, and what they are called in them."""
import json
from pathlib import Path

from .safetensors import read_safetensors


def read_json(path):
    """A JSON file that holds an object, as a dict; ValueError in a sentence otherwise."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read as JSON: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path} must hold an object, got a {type(found).__name__}")
    return found


def read_folder(folder):
    """(config, {name: Stored}) of a folder with config.json and *.safetensors, in one file or in several.

    Raises: FileNotFoundError for what is missing, ValueError for what cannot be used; a .bin file is refused with the
        reason.
    """
    folder = Path(folder)
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(f"{folder} has no config.json: a model's folder holds config.json and "
                                "model.safetensors")
    config = read_json(folder / "config.json")
    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").is_file():
        return config, read_safetensors(folder / "model.safetensors")
    if index.is_file():
        return config, _shards(folder, read_json(index).get("weight_map"), index)
    if any(folder.glob("*.bin")) or any(folder.glob("*.pt")) or any(folder.glob("*.pth")):
        raise ValueError(f"{folder} holds its arrays as a pickle (.bin): to read one is to run what its author wrote, "
                         "so it is not read here. Save it again as safetensors: "
                         "model.save_pretrained(folder, safe_serialization=True)")
    raise FileNotFoundError(f"{folder} has no model.safetensors and no model.safetensors.index.json")


def _shards(folder, where, index):
    """The arrays of all files that the index names, each from the file it is said to be in."""
    if not isinstance(where, dict) or not all(isinstance(name, str) for name in where.values()):
        raise ValueError(f"{index} must hold a weight_map: which file holds which array")
    files = {}
    for name in sorted(set(where.values())):
        if Path(name).name != name or not name.endswith(".safetensors"):
            raise ValueError(f"{index} names the file {name!r}: it must be a .safetensors file of the same folder")
        if not (folder / name).is_file():
            raise FileNotFoundError(f"{folder} has no {name}, which {index.name} names")
        files[name] = read_safetensors(folder / name)
    absent = [name for name, file in where.items() if name not in files[file]]
    if absent:
        raise ValueError(f"{where[absent[0]]} does not hold {absent[0]}, though {index} says so")
    return {name: files[file][name] for name, file in where.items()}
