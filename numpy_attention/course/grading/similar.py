"""Answers that look alike: for a teacher to look at, no more. A short answer has few right forms.

Names, comments, docstrings and the order of functions do not count. Two answers are alike if nearly all runs of five
steps of their syntax trees are the same.
"""
import ast
import itertools
from collections import Counter

SMALLEST, LARGEST, RUN, ALIKE = 60, 20_000, 5, 0.9


def shape_of(text):
    """The steps of an answer's syntax tree, without names, as a list of short texts; [] if too few or too many."""
    try:
        return _steps(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return []


def _steps(tree):
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        docstring = body[0].value if isinstance(body, list) and body and isinstance(body[0], ast.Expr) else None
        if isinstance(getattr(docstring, "value", None), str):
            del body[0]
    steps = []

    def walk(node):
        what = type(node).__name__
        if isinstance(node, ast.Attribute):
            what += node.attr
        elif isinstance(node, ast.Constant):
            what += repr(node.value)[:20]
        if not isinstance(node, ast.expr_context):
            steps.append(what)
        for child in ast.iter_child_nodes(node):
            walk(child)

    functions = sorted(tree.body, key=ast.dump)
    for each in functions:
        walk(each)
    return steps if SMALLEST <= len(steps) <= LARGEST else []


def alike(shapes):
    """Pairs of students with answers that look alike: [(exercise, one, other, share), ...], the most alike first.

    Args:
        shapes: {(student, exercise): steps}
    """
    runs = {key: Counter(tuple(steps[i:i + RUN]) for i in range(len(steps) - RUN + 1))
            for key, steps in shapes.items() if steps}
    found = []
    for exercise in sorted({exercise for _, exercise in runs}):
        students = sorted(student for student, each in runs if each == exercise)
        for one, other in itertools.combinations(students, 2):
            a, b = runs[one, exercise], runs[other, exercise]
            if min(a.total(), b.total()) < ALIKE * max(a.total(), b.total()):
                continue
            share = (a & b).total() / (a | b).total()
            if share >= ALIKE:
                found.append((exercise, one, other, share))
    return sorted(found, key=lambda each: (-each[3], each[:3]))
