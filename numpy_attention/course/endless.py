"""A loop that never ends, seen before it starts: for a browser's Python, where nothing can stop it afterwards.

Only what is certain is said: `while True` that nothing leaves, or `while n < 3` whose numbers and names nothing in the
loop can change. Most endless loops of beginners are of these two kinds: the line that counts was forgotten.
"""
import ast
import inspect
import textwrap

LEAVES = ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await, ast.Assert
FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef
HARMLESS = {"print", "range", "len", "abs", "float", "int"}      # calls that change nothing
PLAIN = (ast.Name, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.Load, ast.cmpop, ast.boolop,
         ast.unaryop, ast.operator)


def endless_loop(function):
    """The line of the function, from 1, on which a loop begins that cannot end; None if none is seen.

    >>> def count(n):
    ...     i = 0
    ...     while i < n:
    ...         n * 2
    >>> endless_loop(count), endless_loop(sum)
    (3, None)
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):       # no source to look at: a built-in, or half a line
        return None
    if any(isinstance(node, ast.Global | ast.Nonlocal) for node in ast.walk(tree)):
        return None
    return next((node.lineno for node in ast.walk(tree) if isinstance(node, ast.While) and _never_ends(node)), None)


def _never_ends(loop):
    inside = list(_inside(loop.body))
    if any(isinstance(node, LEAVES) for node, _ in inside):
        return False
    if any(isinstance(node, ast.Break) and not deeper for node, deeper in inside):
        return False
    if isinstance(loop.test, ast.Constant):
        return bool(loop.test.value) and not any(_calls(node) for node, _ in inside)     # next() may raise what ends it
    asked = list(ast.walk(loop.test))
    if not all(isinstance(node, PLAIN) for node in asked):
        return False
    names = {node.id for node in asked if isinstance(node, ast.Name)}
    return not any(_may_change(node, names) for node, _ in inside)


def _may_change(node, names):
    """May this part of the loop change what the condition asks about, or end the loop by an error?"""
    if isinstance(node, ast.Name):
        return node.id in names and not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Attribute | ast.Subscript):
        return not isinstance(node.ctx, ast.Load)       # an element of an array that also has another name
    return _calls(node) or isinstance(node, ast.FunctionDef | ast.ClassDef)


def _calls(node):
    return isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in HARMLESS)


def _inside(body, deeper=False):
    """(node, is it in a loop of its own?) of what belongs to this loop and to no function inside it."""
    for node in body:
        yield node, deeper
        if not isinstance(node, FUNCTIONS):
            yield from _inside(ast.iter_child_nodes(node), deeper or isinstance(node, ast.While | ast.For))
