"""A cell as Python: %magics, !commands and questions? become calls of get_ipython(), as Jupyter does it.

IPython's own transformer does it where it is installed; else a small one of ours, which knows where a statement begins,
so that a line of a text or of a long expression that begins with % stays what it is.

>>> print(own_transform("%matplotlib inline\\nx = (7\\n% 4)\\nprint?"))
get_ipython().run_line_magic('matplotlib', 'inline')
x = (7
% 4)
get_ipython().run_line_magic('pinfo', 'print')
"""
import ast
import io
import re
import tokenize

RUN_THEIR_CELL = ("time", "capture", "prun")
ASSIGNED = re.compile(r"(\s*)([\w., ]+?\s*=\s*)([%!])(?!=)(.*)", re.DOTALL)
QUOTED = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
TIMED = re.compile(rf"^(\s*(?:[\w., ]+=\s*)?)get_ipython\(\)\.run_line_magic\('(?:time|prun)', {QUOTED}\)\s*$",
                   re.MULTILINE)


def python_of(text):
    """The Python that Jupyter would run for this cell."""
    text = text.replace("\r\n", "\n")
    first, _, rest = text.lstrip("\n").partition("\n")
    if first.startswith("%%") and first[2:].split()[:1] and first[2:].split()[0] in RUN_THEIR_CELL:
        text = "\n" * (text.count("\n") - rest.count("\n")) + rest
    try:
        from IPython.core.inputtransformer2 import TransformerManager
    except ImportError:
        text = own_transform(text)
    else:
        try:
            text = TransformerManager().transform_cell(text)
        except SyntaxError:
            text = own_transform(text)
    return TIMED.sub(lambda found: found[1] + ast.literal_eval(found[2]), text)


def own_transform(text):
    """What IPython's transformer makes of the usual cells, line by line."""
    first, _, rest = text.lstrip("\n").partition("\n")
    if first.startswith("%%"):
        name, _, line = first[2:].partition(" ")
        return f"get_ipython().run_cell_magic({name!r}, {line.strip()!r}, {rest!r})\n"
    done, statement = [], ""
    for line in text.split("\n"):
        if not statement:
            line = _line(line)
        statement += line + "\n"
        done.append(line)
        if not _goes_on(statement):
            statement = ""
    return "\n".join(done)


def _line(line):
    """One line at whose beginning a statement begins."""
    indent, bare = line[:len(line) - len(line.lstrip())], line.strip()
    call = "get_ipython()"
    if bare.startswith("%"):
        name, _, rest = bare.lstrip("%").partition(" ")
        return f"{indent}{call}.run_line_magic({name!r}, {rest.strip()!r})"
    if bare.startswith("!"):
        return f"{indent}{call}.{'getoutput' if bare.startswith('!!') else 'system'}({bare.lstrip('!')!r})"
    asks = re.fullmatch(r"(\?{1,2})([\w.%*]+)|([\w.%*]+)(\?{1,2})", bare)
    if asks:
        marks, name = (asks[1], asks[2]) if asks[1] else (asks[4], asks[3])
        return f"{indent}{call}.run_line_magic({'pinfo2' if len(marks) == 2 else 'pinfo'!r}, {name!r})"
    given = ASSIGNED.fullmatch(line)
    if given and given[4].strip():
        name, _, rest = given[4].strip().partition(" ")
        value = f"run_line_magic({name!r}, {rest.strip()!r})" if given[3] == "%" else f"getoutput({given[4].strip()!r})"
        return f"{given[1]}{given[2]}{call}.{value}"
    return line


def _goes_on(statement):
    """Whether the lines so far end inside of brackets or of a text in three quotes, or with a backslash."""
    if statement.rstrip("\n").endswith("\\"):
        return True
    try:
        for _ in tokenize.generate_tokens(io.StringIO(statement).readline):
            pass
    except tokenize.TokenError as error:
        return "EOF in multi-line" in str(error) or "unexpected EOF" in str(error)
    except (SyntaxError, ValueError):
        return False
    return False
