"""Slides and handouts: a lesson as one file to show, and as pages to print.

Both come from the notebook, in one language. It is run again, so that its pictures are drawn as vectors: sharp on any
wall and on any paper. Each heading begins a slide; what stands below it is shown piece by piece, one screen each. The
file needs no network: the little script that turns its pages lies in it.
"""
import ast
import base64
import contextlib
import html
import io
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from ..words.files import write_whole
from . import lessons, one_language
from .predicting import FOLDED

# Runs before the first cell: pictures show themselves as vectors.
VECTORS = '''
import io
from numpy_attention.plots.figure import Picture
def _as_svg(picture, include=None, exclude=None):
    file = io.BytesIO()
    picture.savefig(file, format="svg", bbox_inches="tight")
    return {"image/svg+xml": file.getvalue().decode(), "text/plain": picture.alt_text}
Picture._repr_mimebundle_ = _as_svg
'''
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge",
            "microsoft-edge")
COLOUR_CODE = r"\x1b\[[0-9;]*m"
MATPLOTLIB_SAYS = ((r"\\top", "T"), (r"\\text\{", r"\\mathrm{"), (r"\\sqrt(\d)", r"\\sqrt{\1}"),
                   (r"\\tfrac(\w)(\w)", r"\\frac{\1}{\2}"))      # TeX that it knows by another spelling
EXTRA = "slides need the packages of the notebooks: pip install \"numpy_attention[notebooks]\""


def pieces(number, lang):
    """The lesson's slides, [[HTML of a piece, ...], ...], a heading at the start of each; and its title.

    Args: number: of the lesson, such as "01". lang: "zh" or "en" (one at a time; what has no words is in both).
    Raises: ImportError without the `notebooks` extra; ValueError for another number, or a cell that fails.
    """
    lesson = _lesson(number)
    notebook = _run(one_language.in_language(lessons.read(lesson.path), lang), lesson.path.parent)
    slides = []
    for cell in notebook["cells"]:
        text = lessons.source(cell)
        if lessons.tags(cell) & {"solution", "guess"} or _only_asserts(cell, text):      # the class answers first
            continue
        if cell["cell_type"] != "markdown":
            outputs = [] if "exercise" in lessons.tags(cell) else cell["outputs"]       # nobody has answered yet
            slides[-1].append(f"<pre class='code'>{html.escape(text)}</pre>" + "".join(map(_output, outputs)))
            continue
        for part in re.split(r"(?m)^(?=#{1,2} )", text):
            if part.startswith("#"):
                heading, _, part = part.partition("\n")
                slides.append([_markdown(heading)])
            if part.strip():
                slides[-1].append(_markdown(part))
    return slides, re.sub(r"<[^>]*>", "", slides[0][0].partition("</h1>")[0]).strip()


def page(number, lang, on_paper=False):
    """The slides as one HTML page. on_paper: what a click would unfold becomes a line to write on, or is left out."""
    slides, title = pieces(number, lang)
    body = "\n".join(f"<section>{''.join(f'<div>{piece}</div>' for piece in slide)}</section>" for slide in slides)
    if on_paper:
        folded = re.escape(html.escape(FOLDED.say(lang)))
        body = re.sub(f"(?s)<details><summary>([^<]*?) *{folded}</summary>.*?</details>",
                      r"<p>\1 <span class='blank'></span></p>", body)
        body = re.sub("(?s)<details.*?</details>", "", body)
    frame = Path(__file__).with_name("slides.html").read_text(encoding="utf-8")
    return (frame.replace("{lang}", {"zh": "zh-CN", "en": "en"}[lang]).replace("{title}", html.escape(title))
            .replace("{body}", body))


def slides(number, lang, path):
    """Write the slides of a lesson to `path`, an .html file. Returns the path."""
    return write_whole(path, page(number, lang))


def handout(number, lang, path):
    """Write the lesson as a .pdf to print, by a browser (Chromium, Chrome or Edge). Returns the path.

    Raises: OSError where there is none, or where it wrote nothing.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise OSError("a handout is printed by a browser, and none of Chromium, Chrome and Edge is here: write the "
                      "slides, open them in any browser, and print them")
    with tempfile.TemporaryDirectory(prefix="numpy_attention_") as folder:
        source, printed = Path(folder, "handout.html"), Path(folder, "handout.pdf")
        source.write_text(page(number, lang, on_paper=True), encoding="utf-8")
        command = [browser, "--headless", "--disable-gpu", "--no-pdf-header-footer",
                   f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}", source.as_uri()]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            command.insert(1, "--no-sandbox")               # Chromium refuses to run for root with it
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, check=False, timeout=120)
        if not printed.is_file():
            raise OSError(f"{browser} printed nothing: write the slides, open them in a browser, and print them")
        return write_whole(path, printed.read_bytes())


def _only_asserts(cell, text):
    """Whether a cell only keeps the lesson honest: it shows nothing."""
    try:
        return cell["cell_type"] == "code" and all(isinstance(s, ast.Assert) for s in ast.parse(text).body)
    except SyntaxError:         # a magic
        return False


def _lesson(number):
    known = lessons.lessons()
    found = next((lesson for lesson in known if lesson.number == str(number).zfill(2)), None)
    if found is None:
        raise ValueError(f"there is no lesson {number!r}; there are {known[0].number} to {known[-1].number}")
    return found


def _run(notebook, folder):
    """The notebook with new outputs."""
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError
    except ImportError as error:
        raise ImportError(EXTRA) from error
    notebook = nbformat.from_dict(notebook)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(VECTORS))
    try:
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    except CellExecutionError as error:
        raise ValueError(f"a cell of the lesson failed: {error.ename}: {error.evalue}") from None
    return {"cells": notebook.cells[1:]}


def _output(output):
    """One output as HTML: a picture as vectors, a table, or text."""
    data = output.get("data", {})
    if "image/svg+xml" in data:
        return _picture(data["image/svg+xml"], data.get("text/plain", ""))
    if "image/png" in data:
        return f"<img src='data:image/png;base64,{data['image/png'].strip()}' alt=''>"
    if "text/html" in data:
        return f"<div class='out'>{data['text/html']}</div>"
    text = output.get("text") or data.get("text/plain") or "\n".join(output.get("traceback", []))
    return f"<pre class='out'>{html.escape(re.sub(COLOUR_CODE, '', text))}</pre>" if text else ""


def _picture(svg, alt):
    content = base64.b64encode(svg.encode()).decode()
    return f"<img src='data:image/svg+xml;base64,{content}' alt='{html.escape(alt, quote=True)}'>"


def _markdown(text):
    """Markdown as HTML; what stands between dollar signs is set as mathematics, between two on a line of its own."""
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise ImportError(EXTRA) from error
    formulas = []

    def keep(found):
        formulas.append((found[found.lastindex].replace("\n", " ").strip(), found.lastindex == 1))
        return f"\ue000{len(formulas) - 1}\ue001"
    kept = re.sub(r"\$\$([^$`]+)\$\$|\$([^$`\n]+)\$", keep, text)
    written = MarkdownIt("commonmark", {"html": True}).enable("table").render(kept)
    return re.sub("\ue000(\\d+)\ue001", lambda found: _formula(*formulas[int(found[1])]), written)


def _formula(tex, displayed=False):
    """A formula as a picture of vectors; as its TeX where Matplotlib cannot set it."""
    from matplotlib.mathtext import math_to_image
    file = io.BytesIO()
    text = tex
    for pattern, instead in MATPLOTLIB_SAYS:
        text = re.sub(pattern, instead, text)
    try:
        depth = math_to_image(f"${text}$", file, format="svg")
    except ValueError:
        return f"<code>{html.escape(tex)}</code>"
    svg = file.getvalue().decode()
    wide, high = (float(re.search(rf'{side}="([\d.]+)pt"', svg)[1]) for side in ("width", "height"))
    content = base64.b64encode(file.getvalue()).decode()
    kind = "formula displayed" if displayed else "formula"
    return (f"<img class='{kind}' src='data:image/svg+xml;base64,{content}' alt='{html.escape(tex, quote=True)}' "
            f"style='height:{high / 10:.3f}em;width:{wide / 10:.3f}em;vertical-align:{-depth / 10:.3f}em'>")
