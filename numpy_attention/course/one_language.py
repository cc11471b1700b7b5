"""A notebook in one language: what it says in the other is left out.

A paragraph is in one language, a title or a cell of a table in both, with " · " between them or side by side; so are
comments and printed texts in code. Formulas, numbers and names belong to both.
"""
import copy
import re

HAN = "(?![我爱])[\u4e00-\u9fff]"       # but for the tokens of the examples
PIECE = re.compile(r"""(?<=# ).*|(?<=["'}])[^"'{}\n\\#]*""")     # a comment, a text in quotes, a part between braces


def in_language(notebook, lang):
    """A copy in one language: the paragraphs, titles and pictures of the other are left out. "both" leaves all.

    A paragraph is Chinese if at least a fifth of its letters are; formulas belong to both. Of code, and of tables, what
    is said in both languages side by side ("正确率 accuracy") is left in one.
    """
    notebook = copy.deepcopy(notebook)
    if lang == "both":
        return notebook
    first = True
    for cell in notebook["cells"]:
        text = cell["source"] if isinstance(cell["source"], str) else "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            text = "\n\n".join(filter(None, (_paragraph(part, lang) for part in re.split(r"\n{2,}", text))))
        else:
            text = PIECE.sub(lambda piece: _in_code(piece[0], lang), text).replace('lang="both"', f'lang="{lang}"')
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


def _in_code(piece, lang):
    """Of a piece of code that says something in both languages, side by side or around " · ", what is in that one.

    A comment, a text in quotes, or a part of one between braces is such a piece; words that are neither stay.

    >>> _in_code("一个头，4 个问题 one head, 4 questions:", "zh"), _in_code(" layers 层 × ", "en")
    ('一个头，4 个问题:', ' layers × ')
    """
    words = piece.split()
    kinds = [_kind(word) for word in words]
    if not {"zh", "en"} <= set(kinds):
        return piece
    before, behind = re.match(" *", piece)[0], re.search(" *$", piece)[0]
    halves = piece.strip().split(" · ")
    if len(halves) == 2 and [bool(re.search(HAN, half)) for half in halves] == [True, False]:
        return before + halves[lang == "en"] + behind
    for place, word in enumerate(words):        # a number belongs to the words before it, the first to those behind it
        if kinds[place] is None and re.fullmatch(r"[\d.,:]*\d[\d.,:%]*|%", word):
            kinds[place] = next(filter(None, kinds[:place][-1:] or kinds), None)
    kept = []
    for place, (word, kind) in enumerate(zip(words, kinds, strict=True)):
        around = {next(filter(None, side), None) for side in (kinds[:place][::-1], kinds[place + 1:])}
        if (kind or (around.pop() if len(around) == 1 else None)) in (None, lang):      # a sign between two such words
            kept.append(word)
    end = words[-1][-1] if kinds[-1] not in (None, lang) and words[-1][-1] in ":,;" else ""
    return before + " ".join(kept).rstrip(",") + end + behind


def _kind(word):
    """"zh" or "en" for a word, None for numbers, signs, names in code, and the tokens of the examples."""
    if re.search(HAN, word):
        return "zh"
    return "en" if re.fullmatch(r"[(]?(a|[A-Za-z][a-z]+([-/][a-z]+|'s)*)[,.:;?!)]*", word) else None


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
