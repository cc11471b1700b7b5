"""Steps as mathematics for a paper: LaTeX and Typst, formula and numbers.

Both say the same: a step is its name, its formula and its matrix; a trace is one step a line, forward, then backward.
The formulas are the layers' own statements, read letter by letter; nothing is written twice.
"""
import re

import numpy as np

from ..words.numbers import numbers

MOST, CORNER = 8, 3         # rows and columns of a matrix that are shown; of a larger one its corners
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉ₙₖᵢⱼᵥ", "0123456789nkijv", strict=True))
SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀ", ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "-", "T"), strict=True))
PIECE = re.compile(r"√(?P<root>\w+|\([^)]*\))|(?P<sum>Σ_?)(?P<over>[A-Z]?\b)|(?P<word>[A-Za-z][A-Za-z0-9_]*)"
                   r"|(?P<sub>[₀-₉ₙₖᵢⱼᵥ]+)|(?P<sup>[⁰-⁹¹²³⁻ᵀ]+)|(?P<number>\d+(?:\.\d+)?)|(?P<other>\S)|(?P<blank>\s+)")
# What stands before and after a blank between two factors, one of them a word.
WORD_BEFORE, WORD_AFTER = re.compile(r"([A-Za-z]{2}ᵀ?|\))$"), re.compile(r"[A-Za-z]{2}")


class Latex:
    """How LaTeX writes each kind of thing."""

    signs = {"∘": r"\circ ", "·": r"\cdot ", "−": "-", "×": r"\times ", "…": r"\dots ", "÷": r"\div ", "→": r"\to ",
             "∈": r"\in ", "≤": r"\le ", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "#": r"\#", "φ": r"\varphi ",
             "Φ": r"\Phi ", "σ": r"\sigma ", "μ": r"\mu ", "ε": r"\varepsilon ", "γ": r"\gamma ", "β": r"\beta "}
    top = r"\top"

    def word(self, text):
        return text if len(text) == 1 else rf"\mathit{{{text}}}"

    def function(self, text):
        return rf"\operatorname{{{text}}}"

    def text(self, text):
        for letter, safe in (("\\", r"\textbackslash "), ("{", r"\{"), ("}", r"\}"), ("_", r"\_"), ("$", r"\$"),
                             ("%", r"\%"), ("&", r"\&"), ("#", r"\#"), ("^", r"\^{}"), ("~", r"\~{}")):
            text = text.replace(letter, safe) if letter != "\\" else text.replace("\\", "\0")
        return rf"\text{{{text}}}".replace("\0", r"\textbackslash{}")

    def root(self, inside):
        return rf"\sqrt{{{inside}}}"

    def sum(self, over):
        return rf"\sum_{{{over}}} " if over else r"\sum "

    def differential(self, name):
        return rf"\mathrm{{d}}{name}"

    def low(self, base, inside):
        return f"{base}_{{{inside}}}"

    def high(self, inside):
        return f"^{{{inside}}}"

    def matrix(self, rows, labels, names):
        head = [" & ".join(["", *map(self.text, names)]) + r" \\ \hline"] if names else []
        lines = [" & ".join([*([self.text(label)] if labels else []), *row])
                 for label, row in zip(labels or [""] * len(rows), rows, strict=True)]
        if not labels and not names:
            return "\\begin{pmatrix}\n" + " \\\\\n".join(lines) + "\n\\end{pmatrix}"
        columns = ("r|" if labels else "") + "r" * len(rows[0] if rows else ())
        body = "\n".join([*head, " \\\\\n".join(lines)])
        return f"\\begin{{array}}{{{columns}}}\n{body}\n\\end{{array}}"

    gap, room = r"\dots", r"\, "

    def number(self, text):
        mantissa, _, exponent = text.partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else text

    def equation(self, parts):
        return "\\[\n" + " = ".join(parts) + "\n\\]"

    def document(self, title, blocks, plain):
        wide = [] if plain else ["\\usepackage{xeCJK}            % compile with xelatex"]
        head = ["\\documentclass[a4paper]{article}", "\\usepackage{amsmath}", *wide,
                "\\usepackage[margin=2cm]{geometry}", "\\begin{document}", f"\\section*{{{self.text(title)[6:-1]}}}"]
        return "\n".join([*head, *blocks, "\\end{document}", ""])

    def heading(self, text):
        return f"\\subsection*{{{text}}}"


class Typst(Latex):
    """How Typst writes each kind of thing."""

    signs = {"∘": "compose ", "·": "dot ", "−": "-", "×": "times ", "…": "dots ", "÷": "div ", "→": "arrow.r ",
             "∈": "in ", "≤": "<= ", "{": "{", "}": "}", "%": "%", "&": "\\&", "#": "\\#", "/": "\\/ "}
    top, gap, room = "top", "dots", "thin "

    def word(self, text):
        return f"{text} " if len(text) == 1 else f'"{text}" '

    def function(self, text):
        return f'op("{text}")'

    def text(self, text):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def root(self, inside):
        return f"sqrt({inside.strip()}) "

    def sum(self, over):
        return f"sum_({over}) " if over else "sum "

    def differential(self, name):
        return f"upright(d){name}"

    def low(self, base, inside):
        return f"{base.strip()}_({inside}) "

    def high(self, inside):
        return f"^({inside}) "

    def matrix(self, rows, labels, names):
        lines = [", ".join(row) for row in rows]
        if labels or names:
            head = [", ".join([*(['""'] if labels else []), *map(self.text, names)])] if names else []
            lines = head + [", ".join([*([self.text(label)] if labels else []), row])
                            for label, row in zip(labels or [""] * len(rows), lines, strict=True)]
            rules = ", ".join([*["hline: 1"] * bool(names), *["vline: 1"] * bool(labels)])
            return f"mat(delim: #none, augment: #({rules}), {'; '.join(lines)})"
        return f"mat({'; '.join(lines)})"

    def equation(self, parts):
        return "$ " + " = ".join(parts) + " $"

    def document(self, title, blocks, plain):
        title = re.sub(r"([\\*_#$@<>`])", r"\\\1", title)
        return f"#set page(margin: 1.5cm)\n#set text(size: 9pt)\n= {title}\n\n" + "\n\n".join(blocks) + "\n"

    def heading(self, text):
        return f"== {text}"

    def number(self, text):
        mantissa, _, exponent = text.partition("e")
        return f"{mantissa} dot 10^({int(exponent)})" if exponent else text


def to_latex(what, **options):
    """A step, a trace or a matrix as LaTeX; see to_typst for the options.

    >>> print(to_latex(na.worked_example("by-hand").trace()["scores"], labels=False))
    \\[
    \\mathit{scores} = Q K^{\\top} / \\sqrt{d_{k}} = \\begin{pmatrix}
    0 & 1 & 2 \\\\
    2 & 2 & 4 \\\\
    1 & 2 & 4
    \\end{pmatrix}
    \\]
    """
    return _write(Latex(), what, **options)


def to_typst(what, **options):
    """A step, a trace or a matrix as Typst.

    Args:
        what: a Step, a Trace, or an array (rows, columns).
        digits: decimals of the numbers. labels: for a trace, whether tokens stand beside rows and above columns.
        head, batch: which matrix of a step that has several.
        document: for a trace, whether a whole document is written (as it is unless given) or only its equations.

    Returns: a text. Matrices of more than 8 rows or columns show their corners.
    Raises: TypeError for anything else.

    >>> to_typst(np.array([[0.5, -0.25]]))
    'mat(0.50, -0.25)'
    """
    return _write(Typst(), what, **options)


def formula(text, language):
    """A stated formula, "Q Kᵀ / √d_k", as mathematics.

    >>> formula("softmax(scores)", Latex()), formula("dheads Vᵀ", Typst()).strip()
    ('\\\\operatorname{softmax}(\\\\mathit{scores})', 'upright(d)"heads" thin V^(top)')
    """
    found = ""
    for piece in PIECE.finditer(text):
        kind, value = piece.lastgroup, piece.group()
        if kind == "root":
            found += language.root(formula(piece["root"].strip("()"), language))
        elif kind in ("sum", "over"):
            found += language.sum(piece["over"])
        elif kind == "word":
            called = text[piece.end():piece.end() + 1] == "("
            found += language.function(value) if called and len(value) > 1 else name(value, language)
        elif kind == "sub":
            found = language.low(found, "".join(SUBSCRIPTS[letter] for letter in value))
        elif kind == "sup":
            inside = "".join(SUPERSCRIPTS[letter] for letter in value)
            found = found.rstrip() + language.high(language.top if inside == "T" else inside)
        elif kind == "blank":       # between two factors of which one is a word, a little room
            before, after = text[:piece.start()], text[piece.end():]
            product = (WORD_BEFORE.search(before) and re.match(r"[A-Za-z√(]", after)) or (
                WORD_AFTER.match(after) and re.search(r"(?<!_)[A-Za-z]ᵀ?$", before))
            found += language.room if product else " "
        elif value.isascii() or value in language.signs:
            found += language.signs.get(value, value)
        else:
            found += language.text(value)
    return re.sub(" +", " ", found)


def name(text, language):
    """A tensor's name: "dscores", "W_Q", "d_k"."""
    if text[0] == "d" and len(text) > 1 and text[1] != "_" and text not in ("dropped", "dropout", "dot", "diag"):
        return language.differential(name(text[1:], language))
    base, _, index = text.partition("_")
    if index and len(base) == 1:
        return language.low(language.word(base), index if len(index) == 1 else language.word(index).strip())
    return language.word(text)


def _write(language, what, *, digits=2, labels=True, head=0, batch=0, document=True):
    if hasattr(what, "forward") and hasattr(what, "title"):
        return _trace(language, what, digits, labels, head, batch, document)
    if hasattr(what, "formula"):
        return _step(language, what, (None, None), digits, head, batch)
    array = np.asarray(what)
    if array.dtype.kind not in "biuf" or array.ndim > 2:
        raise TypeError("give a Step, a Trace or a matrix (rows, columns); "
                        f"got {type(what).__name__}{f' {array.shape}' if array.ndim > 2 else ''}")
    return _matrix(language, np.atleast_2d(array), None, None, digits)


def _trace(language, trace, digits, labels, head, batch, document):
    blocks, half = [], ""
    for step in trace:
        if step.direction != half:
            half = step.direction
            blocks.append(language.heading(half.capitalize()))
        symbols = ["", "", *step.symbols.split()][-2:]
        tokens = tuple(trace.tokens(symbol) for symbol in symbols) if labels else (None, None)
        blocks.append(_step(language, step, tokens, digits, head, batch))
    if not document:
        return "\n".join(blocks)
    words = trace.title + "".join(trace.query_tokens or ()) * labels + "".join(trace.key_tokens or ()) * labels
    return language.document(trace.title, blocks, words.isascii())


def _step(language, step, tokens, digits, head, batch):
    values = step.value
    for index in (batch, head)[4 - values.ndim:] if values.ndim in (3, 4) else ():
        values = values[index % len(values)]
    parts = [name(step.short_name, language)]
    if step.formula not in ("given", "upstream gradient"):
        parts.append(formula(step.formula, language))
    parts.append(_matrix(language, np.atleast_2d(values), *tokens, digits))
    return language.equation([part.strip() for part in parts])


def _matrix(language, array, rows, columns, digits):
    kept = [list(range(count)) if count <= MOST else [*range(CORNER), None, *range(count - CORNER, count)]
            for count in array.shape]
    texts = numbers(array, digits)
    cells = [[language.gap if None in (i, j) else language.number(_number(texts[i][j], array[i, j])) for j in kept[1]]
             for i in kept[0]]
    picked = [None if tokens is None or len(tokens) != count else ["" if k is None else tokens[k] for k in keep]
              for tokens, count, keep in zip((rows, columns), array.shape, kept, strict=True)]
    return language.matrix(cells, *picked)


def _number(text, value):
    """A number as it was formatted; what is not 0 keeps a digit."""
    return f"{value:.0e}" if value and not text.strip("-0.") else text
