"""Which statements of a notebook an answer needs: those that make its names, and the names that those use, and so on.

So an exercise is marked in a second also where a lesson trains models for a minute. Where names do not tell (code that
builds names from texts, a check within a function), the whole notebook is run instead.
"""
import ast
import builtins
import symtable
from typing import NamedTuple

CANNOT_TELL = {"exec", "eval", "globals", "locals", "vars", "setattr", "__import__", "compile", "get_ipython",
               "_", "__", "___", "Out", "In"}
KNOWN = set(dir(builtins)) | {"display", "__name__", "__file__"}


class Cell(NamedTuple):
    """A cell of code: its number among all cells, its text as Python, its statements (none if it cannot be read)."""

    number: int
    text: str
    experiment: bool
    statements: tuple
    error: str = ""


class Plan(NamedTuple):
    """What to run: (number, text, chosen statements or None for all) for each cell; then the answer, an expression."""

    cells: list
    answer: str
    whole: bool


def code_cells(cells, python_of):
    """The cells of code, from (number, text, experiment)."""
    found = []
    for number, text, experiment in cells:
        python, statements, error = text, (), ""
        try:
            python = python_of(text)
            statements = tuple(ast.parse(python).body)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as failed:
            error = f"{type(failed).__name__}: {getattr(failed, 'msg', failed)}" + (
                f" (line {failed.lineno})" if getattr(failed, "lineno", None) else "")
        found.append(Cell(number, python, experiment, statements, error))
    return found


def plan(cells, name, usual=None, *, whole=False):
    """How to get the answer to the exercise `name`; None if the notebook neither checks it nor defines `usual`.

    Args:
        cells: from code_cells. usual: the expression that the lesson itself hands to its check.
        whole: run everything, as where a first try met a name that nobody defined.
    """
    cells = [cell for cell in cells if not cell.error]
    asked = [(c, s, call) for c, cell in enumerate(cells) for s, statement in enumerate(cell.statements)
             for call in _checks(statement, name)]
    if asked:
        at = asked[-1][:2]
        answer = asked[-1][2].args[1]
    elif usual and any(usual in _bound(s) for cell in cells for s in cell.statements):
        at, answer = (-1, -1), ast.parse(usual, mode="eval").body
    else:
        return None
    if isinstance(answer, ast.Name):        # it may have been defined again further down
        later = [(c, s) for c, cell in enumerate(cells) for s, statement in enumerate(cell.statements)
                 if answer.id in _bound(statement)]
        at = max([at, *later])
    text = ast.unparse(answer)
    direct = not asked or _is_direct(cells[asked[-1][0]].statements[asked[-1][1]])
    chosen = None if whole or not direct else _chosen(cells, at, answer, name)
    if chosen is None:
        return Plan([(cell.number, cell.text, _cheap(cell) if cell.experiment else None) for cell in cells[:at[0] + 1]],
                    text, True)
    runs = [(cells[c].number, cells[c].text, sorted(numbers)) for c, numbers in sorted(chosen.items())]
    return Plan(runs, text, False)


def _cheap(cell):
    """The statements of an experiment that cost nothing: what it imports and defines."""
    cheap = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return [number for number, statement in enumerate(cell.statements) if isinstance(statement, cheap)]


def _checks(statement, name):
    """Calls of check(name, answer) within a statement."""
    return [node for node in ast.walk(statement) if isinstance(node, ast.Call) and len(node.args) >= 2
            and getattr(node.func, "attr", getattr(node.func, "id", "")) == "check"
            and isinstance(node.args[0], ast.Constant) and node.args[0].value == name]


def _is_direct(statement):
    """Whether a check in this statement can be replaced by its answer: not within a function, a loop, a condition."""
    return isinstance(statement, ast.Expr | ast.Assign | ast.Assert) and not any(
        isinstance(node, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.NamedExpr | ast.DictComp | ast.SetComp)
        and any(isinstance(n, ast.Call) and getattr(n.func, "attr", "") == "check" for n in ast.walk(node))
        for node in ast.walk(statement))


def _chosen(cells, at, answer, name):
    """{cell: statements} that the answer needs, or None if it cannot be told."""
    before = [(c, s, cells[c].statements[s]) for c in range(at[0] + 1) for s in range(len(cells[c].statements))
              if (c, s) <= at]
    about = [(c, s, statement, _bound(statement), _used(statement)) for c, s, statement in before
             if not _checks(statement, name)]
    needed, chosen = _used(ast.Expr(answer)), set()
    modules = {bound for _, _, statement, bounds, _ in about if isinstance(statement, ast.Import) for bound in bounds}
    while True:
        new = {(c, s) for c, s, statement, bound, _ in about if (c, s) not in chosen
               and ("*" in bound or bound & needed or _changes(statement, needed - modules))}
        if not new:
            break
        chosen |= new
        needed |= set().union(*(used for c, s, _, _, used in about if (c, s) in new))
    made = KNOWN.union(*(bound for c, s, _, bound, _ in about if (c, s) in chosen))
    star = any("*" in bound for c, s, _, bound, _ in about if (c, s) in chosen)
    if needed & CANNOT_TELL or (needed - made and not star):
        return None
    found = {}
    for c, s in chosen:
        found.setdefault(c, set()).add(s)
    return found


def _bound(statement):
    """The names that a statement of the notebook makes."""
    found = set()
    for node in _outside_functions(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)
                      for alias in node.names}
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
    for node in ast.walk(statement):
        if isinstance(node, ast.Global):
            found |= set(node.names)
    return found


def _outside_functions(statement):
    """All nodes of a statement but those within functions, classes and lambdas, which have names of their own."""
    yield statement
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    for child in ast.iter_child_nodes(statement):
        yield from _outside_functions(child)


def _used(statement):
    """The names that a statement takes from the notebook: also those that its functions will take when called."""
    try:
        table = symtable.symtable(ast.unparse(statement), "<cell>", "exec")
    except (SyntaxError, ValueError, RecursionError):
        return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    found = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_referenced()}

    def inner(scope):
        for child in scope.get_children():
            found.update(symbol.get_name() for symbol in child.get_symbols() if symbol.is_global())
            inner(child)

    inner(table)
    return found


def _changes(statement, needed):
    """Whether a statement may change one of these names in place: x[0] = 1, x.append(1), fill(x)."""
    for node in _outside_functions(statement):
        target = None
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            target = node
        elif isinstance(node, ast.AugAssign):
            target = node.target
        elif isinstance(node, ast.Call) and isinstance(statement, ast.Expr | ast.For | ast.While | ast.If | ast.With):
            if getattr(node.func, "id", "") in ("print", "display") or _is_check(node):
                continue
            if any(isinstance(a, ast.Name) and a.id in needed for a in node.args):
                return True
            target = node.func if isinstance(node.func, ast.Attribute) else None
        while isinstance(target, ast.Subscript | ast.Attribute | ast.Starred):
            target = target.value
        if isinstance(target, ast.Name) and target.id in needed:
            return True
    return False


def _is_check(node):
    return getattr(node.func, "attr", getattr(node.func, "id", "")) == "check"


def source_of(plan):
    """The text of the functions and classes that a plan runs, for comparing students with each other."""
    found = []
    for _, text, chosen in plan.cells:
        body = ast.parse(text).body
        found += [s for i, s in enumerate(body) if (chosen is None or i in chosen)
                  and isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    names = {node.id for node in ast.walk(ast.parse(plan.answer)) if isinstance(node, ast.Name)}
    last = {s.name: s for s in found}
    todo, kept = [n for n in names if n in last], []
    while todo:
        name = todo.pop()
        if name not in [s.name for s in kept]:
            kept.append(last[name])
            todo += [n for n in _used(last[name]) if n in last]
    return "\n".join(ast.unparse(s) for s in kept) or plan.answer
