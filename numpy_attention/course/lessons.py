"""The notebooks as lessons: where they lie, what each teaches, and the version that a learner starts from."""
import copy
import json
import re
from pathlib import Path
from typing import NamedTuple

from ..words.languages import Words
from .one_language import in_language

PLACES = Path(__file__).resolve().parent / "notebooks", Path(__file__).resolve().parents[2] / "notebooks"
FOLDER = next(filter(Path.is_dir, PLACES), PLACES[0])       # installed, or beside the package in a checkout


class Lesson(NamedTuple):
    """One notebook: its number, file, title, goal, minutes to work through, and seconds to run."""

    number: str
    path: Path
    title: Words
    goal: Words
    minutes: str
    seconds: str


def lessons(folder=FOLDER):
    """All lessons in order; what they teach is read from their first cell.

    Raises: FileNotFoundError where the notebooks are not beside the package.

    >>> first = lessons()[0]
    >>> first.number, first.title.en
    ('01', 'Attention by hand')
    """
    paths = sorted(Path(folder).glob("[0-9][0-9]_*.ipynb"))
    if not paths:
        raise FileNotFoundError(f"there are no notebooks in {folder}: install numpy_attention again")
    return [_lesson(path) for path in paths]


def _lesson(path):
    text = source(read(path)["cells"][0])

    def found(pattern):
        match = re.search(pattern, text, re.MULTILINE)
        return match[1].strip() if match else ""

    title = [part.strip() for part in found(r"^# (.*)").split("·")]
    return Lesson(path.name[:2], path, Words(title[-2], title[-1]),
                  Words(found(r"^\*\*目标\*\*：(.*)"), found(r"^\*\*Goal\*\*: (.*)")),
                  found(r"about (\d+) minutes"), found(r"runs in (\d+) s"))


def read(path):
    """A notebook as the dictionary it is."""
    return json.loads(Path(path).read_text(encoding="utf-8"))


def source(cell):
    """The text of a cell; files may hold it as one string or as a list of lines."""
    return cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])


def tags(cell):
    """The tags of a cell, as a set."""
    return set(cell.get("metadata", {}).get("tags", ()))


def for_learners(notebook):
    """A copy without solutions and without outputs, so that predicting first makes sense."""
    notebook = copy.deepcopy(notebook)
    notebook["cells"] = [cell for cell in notebook["cells"] if "solution" not in tags(cell)]
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    return notebook


def start(folder, numbers=(), lang="both"):
    """Copy the learner's versions into `folder`; what lies there already is never touched.

    Args:
        folder: made if it does not exist.
        numbers: such as ("01", "7"); all lessons unless given. lang: "zh", "en" or "both".

    Returns: [(path, True if it was written, False if it was there already), ...].
    Raises: ValueError for a folder that is the course's own, or a number that no lesson has.
    """
    folder = Path(folder)
    known, numbers = lessons(), [number.zfill(2) for number in numbers]
    unknown = set(numbers) - {lesson.number for lesson in known}
    if unknown:
        raise ValueError(f"there is no lesson {', '.join(sorted(unknown))}; there are: "
                         f"{', '.join(lesson.number for lesson in known)}")
    if folder.resolve() == FOLDER.resolve():
        raise ValueError(f"{folder} holds the course itself: choose a folder of your own")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: choose a folder")
    folder.mkdir(parents=True, exist_ok=True)
    done = []
    for lesson in known:
        if not numbers or lesson.number in numbers:
            text = json.dumps(in_language(for_learners(read(lesson.path)), lang), ensure_ascii=False, indent=1) + "\n"
            done.append((folder / lesson.path.name, _write_new(folder / lesson.path.name, text)))
    return done


def _write_new(path, text):
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True
