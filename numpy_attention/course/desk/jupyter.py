"""What a notebook's cell expects of Jupyter: `display`, `get_ipython`, magics, `_`, `await` outside of a function.

Commands of a shell are not run, and magics that only change the look of things do nothing.
"""
import ast
import asyncio
import inspect
import linecache
import sys
import types
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

TOP_LEVEL_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def display(*objects, **options):
    """Print each object, as a notebook without pictures would."""
    for each in objects:
        print(each)


class Shell:
    """What get_ipython() answers: the magics that run code run it, the others do nothing."""

    def __init__(self, space):
        self.user_ns = space

    def run_line_magic(self, name, line, *more):
        """%time and the like give the value of their expression; %run runs a file; anything else gives None."""
        if name in ("time", "timeit", "prun"):
            return self.run_text(line)
        if name == "run" and line.split():
            with open(line.split()[0], encoding="utf-8") as file:
                return self.run_text(file.read())
        return None

    def run_cell_magic(self, name, line, cell):
        """%%writefile writes its file; a cell for another language or for a stop watch does nothing."""
        if name in ("writefile", "file") and line.split():
            with open(line.split()[-1], "w", encoding="utf-8") as file:
                file.write(cell)

    def run_text(self, text):
        """Run code in the notebook's namespace; the value, if it is one expression."""
        try:
            return eval(text, self.user_ns)
        except SyntaxError:
            exec(text, self.user_ns)
            return None

    run_cell = ex = run_text

    def ev(self, text):
        """The value of an expression."""
        return eval(text, self.user_ns)

    def system(self, command):
        """No command is run."""

    def getoutput(self, command, **options):
        """No command is run: no lines."""
        return []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: None


def namespace():
    """The names that a notebook starts with."""
    space = {"__name__": "__main__", "__builtins__": __builtins__, "display": display, "_": "", "__": "", "___": "",
             "In": [""], "Out": {}}
    shell = Shell(space)
    space["get_ipython"] = lambda: shell
    if find_spec("IPython") is None:
        for name in ("IPython", "IPython.display", "IPython.core.interactiveshell"):
            sys.modules[name] = _Anything(name)
            sys.modules[name].__spec__ = ModuleSpec(name, None)
        sys.modules["IPython"].version_info = (8, 24)       # Matplotlib asks
        sys.modules["IPython"].get_ipython = space["get_ipython"]
        sys.modules["IPython"].display = sys.modules["IPython.display"]
        sys.modules["IPython.display"].display = display
    return space


class _Anything(types.ModuleType):
    """A module in place of one that is not installed: whatever is asked of it does nothing."""

    __path__ = ()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: None


def run_cell(text, number, space, chosen=None, passing=()):
    """Run one cell, which is Python by now; only its statements number `chosen`, if given. `_` is its last value.

    An error ends the cell, and is raised; one of those that are `passing` is raised after the rest of it.
    """
    name = f"<cell {number}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    statements = ast.parse(text, name).body
    if chosen is not None:
        statements = [statements[i] for i in chosen]
    passed = None
    for statement in statements:
        try:
            if statement is statements[-1] and isinstance(statement, ast.Expr):
                value = _run(compile(ast.Expression(statement.value), name, "eval", TOP_LEVEL_AWAIT), space)
                if value is not None:
                    space["_"], space["__"], space["___"] = value, space["_"], space["__"]
                    space["Out"][number] = value
            else:
                _run(compile(ast.Module([statement], []), name, "exec", TOP_LEVEL_AWAIT), space)
        except passing as error:
            passed = error
    if passed:
        raise passed


def _run(code, space):
    value = eval(code, space)
    return asyncio.run(value) if code.co_flags & inspect.CO_COROUTINE else value
