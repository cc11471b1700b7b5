"""The notebooks as lessons: where they lie, what each teaches, and the version that a learner starts from."""
import copy
import json
import re
from pathlib import Path
from typing import NamedTuple

from ..words.languages import Words

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


def in_language(notebook, lang):
    """A copy in one language: the paragraphs, titles and pictures of the other are left out. "both" leaves all.

    A paragraph is Chinese if at least a fifth of its letters are; code, tables and formulas belong to both.
    """
    notebook = copy.deepcopy(notebook)
    if lang == "both":
        return notebook
    first = True
    for cell in notebook["cells"]:
        text = source(cell)
        if cell["cell_type"] == "markdown":
            text = "\n\n".join(filter(None, (_paragraph(part, lang) for part in re.split(r"\n{2,}", text))))
        else:
            text = text.replace('lang="both"', f'lang="{lang}"')
            if first and "from numpy_attention import course" in text:
                text, first = f'{text}\ncourse.language("{lang}");', False      # the semicolon: say nothing
        cell["source"] = text
    return notebook


def _paragraph(text, lang):
    """What is left of one paragraph in that language; "" if nothing is."""
    lines = text.split("\n")
    if any(line.startswith(("```", "    ", "|", "<", "$$", "def ")) for line in lines) and not _is_list(lines):
        return "\n".join(_both_in_one(line, lang) if line.startswith(("<details", "|")) else line for line in lines)
    if lines[0].startswith(("#", "*约")):
        return "\n".join(_both_in_one(line, lang) for line in lines)
    if _is_list(lines):
        kept = [line for line in lines if _chinese(line) in (None, lang == "zh")]
        return "\n".join(kept)
    return text if _chinese(text) in (None, lang == "zh") else ""


def _is_list(lines):
    return all(re.match(r"(- |\d\. |   )", line) for line in lines)


def _both_in_one(line, lang):
    """Of "## 中文 · English", a cell "中文 English" and the like, the half in that language."""
    if line.startswith("|"):
        return "|".join(_cell(cell, lang) for cell in line.split("|"))
    found = re.match(r"(#+ \d\d · |#+ |\*|<details><summary>)?(.*[\u4e00-\u9fff].*?) · (.*?)(\*|</summary>)?$", line)
    if not found or " · " in found[2] or _chinese(found[2]) is not True:
        return line
    before, zh, en, behind = found.groups("")
    return before + (zh if lang == "zh" else en) + behind


def _cell(text, lang):
    """Of a cell of a table in both languages, Chinese first, the one asked for."""
    found = re.fullmatch(r"(\s*)([^A-Za-z`$]*[\u4e00-\u9fff][^A-Za-z`$]*?)\s+([A-Za-z][^\u4e00-\u9fff]*?)(\s*)", text)
    return text if not found else found[1] + found[2 if lang == "zh" else 3] + found[4]


def _chinese(text):
    """True for Chinese, False for another language, None where there are no words."""
    bare = re.sub(r"`[^`]*`|\$[^$]*\$", "", text)
    han, latin = len(re.findall(r"[\u4e00-\u9fff]", bare)), len(re.findall(r"[A-Za-z]{2,}", bare))
    if not han and not latin:
        return None
    return han > 0.8 * latin


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
